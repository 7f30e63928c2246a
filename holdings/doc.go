// Package holdings decides what may be stored of a fetched page and keeps archive and index
// consistent.
//
// Receive stores a page if it may be preserved, indexes it if it may be indexed, and erases what
// may no longer be held of it. The archive is written first, with an intent for the index in the
// same transaction. The index follows in groups. Open finishes what a crash left. If the indexed
// text cannot be read again from a copy, Receive returns only when the index has it.
//
//	holdings.go   Holdings: receive a page, and end what is held of one that has gone
//	decide.go     the one decision on what may be held of a page, without I/O
//	judge.go      gathers for it what a received page says, and makes a deposit of the answer
//	gather.go     gathers for it what is held of a page
//	redirect.go   redirects, each a capture of its own address
//	erase.go      erases a page with everything derived from it
//	beside.go     removes what was made of a resource that is taken down or gone
//	condition.go  the conditional request for an archived page, and what a 304 confirms
//	indexer.go    grouped writes to the index
//	recover.go    what a crash left to do between archive and index
//	sweep.go      Sweep: erases what time and policy no longer permit
//	grounds.go    why and by which line, without a word of the page
//	compact.go    Compact and Upkeep: erased data leaves the files
//	rejudge.go    Rejudge: a sweep in the background when a policy has changed
//	parts.go      resources that pages require: one that is gone ends what was made of it
//	remake.go     judges the pages of a required resource that has changed
//	picture.go    thumbnails that no copy gives
//	draw.go       thumbnails that a browser draws
//	verify.go     Verify: do archive, index and policy agree?
//	repair.go     Repair: makes them agree
//	backup.go     Backup: both as they are at one instant
//	export.go     Export: what may be kept, as WARC; export_records.go: its records
//	import.go     Import: pages of WARC files; import_read.go puts records together,
//	              import_take.go stores what may be stored
package holdings
