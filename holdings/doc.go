// Package holdings decides what is held of a fetched page and keeps archive and index of one mind.
//
// Receive takes a page with its terms: it is preserved if it may be, indexed if it may be, and what may no longer be held of it
// goes. The archive is written first, with an intent for the index in the same transaction; the index follows in groups; Open
// finishes what a crash left. Where the text that may be indexed cannot be read again from a copy, Receive returns only when the
// index has it.
//
//	holdings.go   Holdings: receive, and what ends a page
//	erase.go      what goes with a page, and where something of it is held
//	decide.go     the one decision on what may be held of a page, without I/O
//	judge.go      gathers for it what a page received says, and makes a deposit of the answer
//	gather.go     gathers for it what is held of a page
//	condition.go  what to ask for instead of a page that is held, and what a 304 says of it
//	indexer.go    grouped writes to the index
//	recover.go    what a crash left to do between archive and index
//	sweep.go      Sweep: what time and policy no longer let be held goes
//	grounds.go    why and by which line, without a word of the page
//	compact.go    Compact and Upkeep: what was erased leaves the files; Receipt: is it gone?
//	rejudge.go    Rejudge: the same in the background, when a policy has changed
//	parts.go      other resources that pages require: what is gone ends what was made of it, what has changed has its pages judged again
//	verify.go     Verify: do archive, index and policy agree?
//	repair.go     Repair: archive and index are made to
//	backup.go     Backup: both as they are at one instant
//	export.go     Export: what may be kept, as WARC; export_records.go: its records
//	import.go     Import: pages of WARC files; import_read.go puts records together, import_take.go judges and keeps them
package holdings
