// Package archive stores what a crawler may preserve, and erases it so that no trace is left.
//
// Terms: a Deposit is the result of one fetch. A Capture is one preserved version of one URL. A
// Resource is what the archive knows about a URL: its dates, validators and last statements,
// whether or not a copy is held. An alias is a URL that redirected to another URL (X66: earlier
// hops are aliases of the page). A Tombstone records when and why something was erased; it contains
// no content.
//
// A capture contains the heads of its exchanges and its body byte for byte as sent. It also contains the version
// of the policy, the lines and the statements of the page that decided. Readers get the decoded body. Identical
// bodies are stored once. If parts of a page may not be kept, or a broken stream could not be decoded again in the
// same way, only the remaining decoded body is stored. If the page was rendered, the capture also contains the
// document after its scripts ran, as a second body. The page as sent remains the evidence: a capture whose
// rendered document is lost stays, and a capture whose body as sent is lost is removed with its rendered document.
// A redirect is a capture of its own URL, and never becomes the current version. The capture of its target lists
// it as a hop until its URL is erased.
//
// An archive consists of archive.db (bbolt), which contains the records, of keys.db, which contains
// keys, and of body files of some 16 MB in the directory bodies. Every body and everything else
// that derives from a page (headers, deciding lines, title, excerpt, META text) is sealed with its
// own key. Erasing removes the record and then overwrites the key in place. What is left of the
// content in free pages of archive.db and in body files is unreadable, and Compact overwrites it
// too. Compact also removes body files of which half is erased. Its cost depends on what was erased
// and on the number of free pages, not on what is stored. Dates and counters are not content and
// survive expiry, so that a time limit does not start again (P1 2.5.3.1). For a subresource that is
// not kept itself, digest and validators are stored unsealed until no page requires it or it is
// erased.
//
// One goroutine executes all writes, and combines the waiting ones into one transaction. A call
// that writes returns when its transaction is on disk, or returns an error and has changed nothing.
// The same transaction logs an intent if the index must be updated. The intent remains until Done
// is called; after a crash, Intents lists it.
//
// The archive lists the pages about which the caller must decide again: pages that have changed,
// pages that reach a time limit, and pages whose policy has changed. It does not know policies; the
// caller reports its decisions with SetDecided.
//
// With Options.Replica, records and keys are copied outside the directory: each transaction first
// stores copies of its new keys, then an object with its changes, and then commits. Recover makes a
// lost archive again. If the copies cannot be stored, only what erases is executed, and copied
// later.
//
// An Archive is safe for concurrent use. Only one process at a time can open it.
//
// Source files: archive.go and files.go (opening), writer.go (grouping writes), readers.go (waiting
// for readers), receive.go (deposits), past.go (imports), due.go and judged.go (pages to decide
// again), renew.go (304 responses), erase.go and receipt.go (erasing, and proof of it), compact.go,
// overwrite.go and movebodies.go (removing erased data from the files), read.go, documents.go, verify.go,
// verify_some.go and check.go (checks), repair.go, mend.go and mend_resource.go (repairs),
// picture.go, sources.go, passed.go, part.go, backup.go, records.go and text.go (file format),
// bodies.go and bodyfiles.go (storage of bodies), pack.go and dictionary.txt (compression),
// seal.go, keys.go; changes.go, replica.go, replicate.go, keycopies.go, snapshot.go and recover.go
// (copies of records and keys); steps.go, intents.go.
package archive
