// Package archive holds what a crawler may preserve, and forgets it so that nothing is left.
//
// Only a few words: a Deposit is what one fetch hands over; a Capture is one preserved version of
// one URL; a Resource is what is known of a URL (its dates, validators and the statements it made
// last), whether or not a copy is held; an alias is an earlier hop that led to a URL (X66); a
// Tombstone says that something was erased, when and why, and holds no content.
//
// Of a capture the heads of its exchanges and its body are kept byte for byte as they were sent,
// with the version of policy, the lines and the statements of the page that decided; readers get
// the body decoded. Identical bodies are stored once. Where parts of a page may not be kept, or a
// broken stream cannot be read again as it was, what is left of it stands for what was sent. A
// redirect is a capture of its own address, which never becomes the current version. The capture of
// its target lists it among its hops, until that address is erased.
//
// Two files make an archive. archive.db (bbolt) holds records and bodies; keys.db holds keys. Every
// body, and everything else that derives from a page (headers, deciding lines, title, excerpt, META
// text), is sealed with a key of its own. Erasing removes the record and then overwrites the key in
// place: what remains in free pages of archive.db is noise, and Compact leaves that behind, too, by
// writing the file anew. Dates and counters are not content and outlive expiry, so that a time
// limit does not start again (P1 2.5.3.1). Of a resource that pages require, and that is not kept
// itself, digest and validators stand as they are, until no page requires it or it is erased.
//
// All writes pass one goroutine, which groups what is waiting into one transaction. A call that
// writes returns when its transaction is on disk, or with an error and nothing changed. What the
// index has to do is logged in the same transaction and stays until Done is called: an archive
// opened after a crash lists it in Intents.
//
// An Archive is safe for concurrent use; one process at a time may have it open.
//
// Reading the source: archive.go with files.go (opening), writer.go (grouping), receive.go (what a
// fetch changes), past.go (what an import changes), renew.go (what a 304 changes), erase.go with
// receipt.go (what is left of it?), compact.go with copier.go and changes.go (archive.db written
// anew while it is in use), read.go, verify.go with check.go and pages.go (is everything still
// true?), repair.go with mend.go and mend_resource.go (what was lost goes, and nothing points at
// it), picture.go, sources.go, passed.go and part.go, backup.go, and below them records.go and
// text.go (what stands in the file), bodies.go (where bodies are stored, and how they fill it),
// pack.go with dictionary.txt, seal.go, keys.go.
package archive
