// Package holdings decides what may be stored of a fetched page and keeps archive and index
// consistent.
//
// Receive stores a page if it may be preserved, indexes it if it may be indexed, and erases what
// may no longer be stored. It writes to the archive first, with an intent for the index in the same
// transaction. Index writes follow in groups. Open finishes what a crash left. If the indexed text
// cannot be read again from a copy, Receive returns only when the index has it.
//
//	holdings.go   Holdings: the open archive and index, and erasure of a page that is gone
//	receive.go    Receive: stores what may be stored of a page
//	decide.go     the one decision on what may be stored of a page, without I/O
//	judge.go      collects the facts about a received page and builds its deposit
//	gather.go     collects the facts about what is stored of a page
//	redirect.go   redirects, each a capture of its own address
//	erase.go      erases a page with everything derived from it
//	beside.go     removes what was made from a resource that is taken down or gone
//	condition.go  the conditional request for an archived page, and what a 304 confirms
//	indexer.go    grouped writes to the index
//	recover.go    repairs archive and index after a crash
//	sweep.go      Sweep: erases what time and policy no longer permit, of pages that are due
//	sweeping.go   a running sweep: batches of pages, checked at the same time
//	due.go        which pages a sweep must check, and until when a page needs no check
//	listed.go     checks that the list of due pages contains each page in time
//	grounds.go    reason and policy line of an erasure, without text of the page
//	compact.go    Compact and Upkeep: remove erased data from the files
//	rejudge.go    Rejudge: a sweep in the background when a policy has changed
//	parts.go      resources that pages require: removes what was made from one that is gone
//	remake.go     checks the pages of a required resource that has changed
//	picture.go    thumbnails that cannot be made from a copy
//	draw.go       thumbnails that a browser draws
//	verify.go     Verify: checks that archive, index and policy agree
//	repair.go     Repair: makes them agree
//	backup.go     Backup: copies archive and index as they are at one instant
//	export.go     Export: what may be preserved, as WARC; export_records.go: its records
//	import.go     Import: pages of WARC files; import_read.go combines records,
//	              import_rendered.go reads rendered documents, import_page.go builds the page,
//	              import_take.go stores what may be stored
package holdings
