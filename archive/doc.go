// Package archive holds what a crawler may preserve, and forgets it so that nothing is left.
//
// Only a few words: a Deposit is what one fetch hands over; a Capture is one preserved version of one URL; a Resource is
// what is known of a URL (its dates, validators and the statements it made last), whether or not a copy is held; an alias
// is an earlier hop that led to a URL (X66); a Tombstone says that something was erased, when and why, and holds no content.
//
// Two files make an archive. archive.db (bbolt) holds records and bodies; keys.db holds keys. Every body, and everything
// else that derives from a page (headers, deciding lines, title, excerpt, META text), is sealed with a key of its own.
// Erasing removes the record and then overwrites the key in place: what remains in free pages of archive.db is noise. Dates
// and counters are not content and outlive expiry, so that a time limit does not start again (P1 2.5.3.1).
//
// All writes pass one goroutine, which groups what is waiting into one transaction. A call that writes returns when its
// transaction is on disk, or with an error and nothing changed. What the index has to do is logged in the same transaction
// and stays until Done is called: an archive opened after a crash lists it in Intents.
//
// An Archive is safe for concurrent use; one process at a time may have it open.
//
// Reading the source: archive.go (opening), writer.go (grouping), receive.go (what a fetch changes), renew.go (what a 304
// changes), erase.go, read.go, verify.go with pages.go (is everything still true?), and below them records.go (what stands in
// the file), seal.go, keys.go.
package archive
