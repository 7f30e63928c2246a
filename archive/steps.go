package archive

// Step names a point at which a write can fail.
type Step string

// The steps of a write, in order. After an error up to Commit, nothing has changed. After an error
// at Committed, it is unknown what is on disk, and the archive must be reopened. After an error at
// Destroy, the records are deleted, and the next write or the next Open destroys their keys.
const (
	ReserveKeys Step = "reserve keys"
	SyncKeys    Step = "sync keys"    // sync keys.db after new keys were written or keys were destroyed
	SyncBodies  Step = "sync bodies"  // sync the body files after bodies were added
	CopyKeys    Step = "copy keys"    // store copies of new keys; this and the next two only with Options.Replica
	CopyRecords Step = "copy records" // store a copy of the changes of the transaction
	Copied      Step = "copied"
	Commit      Step = "commit"
	Committed   Step = "committed" // the pages were written; an error means that they may not be on disk
	Destroy     Step = "destroy keys"
)

// The steps of Compact. After an error, the compaction can be tried again.
const (
	OverwriteBodies Step = "overwrite bodies"
	OverwritePages  Step = "overwrite pages"
	RemoveBodies    Step = "remove body files"
)
