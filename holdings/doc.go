// Package holdings decides what is held of a fetched page and keeps archive and index of one mind.
//
// Receive takes a page with its terms: it is preserved if it may be, indexed if it may be, and what may no longer be held of it
// goes. The archive is written first, with an intent for the index in the same transaction; the index follows in groups; Open
// finishes what a crash left. Where a page may be indexed but not preserved its text is nowhere to be read again, so Receive
// returns only when the index has it.
//
//	holdings.go  Holdings: receive, erase
//	indexer.go   grouped writes to the index, and what a crash left of them
package holdings
