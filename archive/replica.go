package archive

import (
	"context"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Replica says where an archive keeps copies of its records and keys, so that Recover can make the
// archive again when its directory is lost. Bodies must be in Options.Bodies then.
//
// Each transaction stores what it changes in archive.db as an object of Records, before it commits.
// The objects are numbered without gaps, and an object is never replaced, so two processes cannot
// both continue the same copies. Keys are stored in Keys, before the commit of the transaction that
// uses them. All copies are encrypted with keys that derive from Secret.
type Replica struct {
	Records Records
	Keys    KeyCopies
	Secret  []byte        // 32 bytes
	Epoch   func() uint64 // the lease of this process; 0: it has none. nil: none
}

// Records stores copies of records as small objects with names. It must be safe for concurrent use.
type Records interface {
	// Create stores an object that does not exist. The error wraps fs.ErrExist if it exists.
	Create(ctx context.Context, name string, b []byte) error

	// Read returns an object. The error wraps fs.ErrNotExist if there is none.
	Read(ctx context.Context, name string) ([]byte, error)

	// List returns the names of the objects that begin with folder, in ascending order.
	List(ctx context.Context, folder string) iter.Seq2[string, error]

	// Remove removes an object. A missing object is not an error.
	Remove(ctx context.Context, name string) error
}

// KeyCopy is the encrypted copy of a key.
type KeyCopy struct {
	ID     uint64
	Sealed []byte
}

// KeyCopies stores copies of keys. It must be safe for concurrent use.
type KeyCopies interface {
	// Put stores copies, and returns when they are durable. If replace is not set, the error wraps
	// fs.ErrExist if a key has a copy already.
	Put(ctx context.Context, copies []KeyCopy, replace bool) error

	// Remove removes copies, and overwrites them. A missing copy is not an error.
	Remove(ctx context.Context, ids []uint64) error

	// Compact returns when no file of the servers contains a copy that Remove has removed.
	Compact(ctx context.Context) error

	// All returns all copies, in any order.
	All(ctx context.Context) iter.Seq2[KeyCopy, error]

	// Close is called when the archive is closed.
	Close()
}

// Errors about copies of records and keys.
var (
	ErrSecret   = errors.New("encrypted with another key of the cluster")
	ErrReplaced = errors.New("continued from another data directory")
	ErrReplica  = errors.New("the records of the archive are copied to the cluster, which is not given")
	ErrNoCopies = errors.New("no copies of records")
	ErrReplaces = errors.New("the object store replaces objects although the request forbids it (If-None-Match); " +
		"copies of records need a store that obeys")
)

// replicaError means that copies could not be stored now.
type replicaError struct{ cause error }

func (e *replicaError) Error() string {
	return "the copies of records and keys cannot be stored: " + e.cause.Error()
}
func (e *replicaError) Unwrap() error { return e.cause }

// Limits of the time that copies may take, so that an erasure is executed soon in this directory.
const erasureWait = 10 * time.Second // how long a transaction that erases waits for its copies

var downPause = 10 * time.Second // how long copies are not tried again after a failure; changed by tests

// replicaRecord is the record under kReplica in archive.db.
type replicaRecord struct {
	Check      []byte // identifies Replica.Secret
	Generation string // identifies the directory: Recover makes a new one
	Seq        uint64 // number of the copy of the last transaction
	Based      bool   // Base is a complete snapshot, or the archive was empty at the beginning
	Base       uint64 // number of the last snapshot
	BaseBytes  uint64 // size of the last snapshot
	Bytes      uint64 // size of the copies since then
	Copies     uint64 // number of the copies since then
}

var (
	kReplica = []byte("replica")
	// bUnsent contains changes that were committed without a copy, because they erase something and
	// the copy could not be stored: number → range of new keys, changes. Only archives with copies have it
	bUnsent = []byte("unsent")
)

// replica is the state of Options.Replica. Fields before mu belong to the writer.
type replica struct {
	o       Replica
	check   []byte
	records cipher.AEAD // encrypts records
	keys    cipher.AEAD // encrypts keys
	process string      // identifies this process in copies

	// detached: the archive was opened without the stores of its copies. What it changes is copied later, and it stores
	// no bodies
	detached bool
	record   replicaRecord // as committed
	claimed  bool
	next     uint64    // number of the next copy
	attempt  uint64    // number of the last attempt of this process to store a copy
	sent     uint64    // greatest number of a key whose copy may exist
	strays   []uint64  // keys of failed transactions whose copies may exist
	down     time.Time // until then no copies are tried, because the last attempt failed
	failed   error     // why it failed
	local    bool      // the transaction commits without copies
	replaced error

	kick    chan struct{} // makes the goroutine of keepCopies look around
	ended   chan struct{} // closed when that goroutine has ended
	enough  context.CancelFunc
	finally context.CancelFunc

	remover sync.Mutex // held while copies of keys are removed

	mu        sync.Mutex
	removing  []uint64 // keys destroyed in keys.db whose copies must be removed
	removed   []uint64 // keys whose copies are removed since the last transaction
	left      bool     // files of the servers may contain copies that were removed
	unsent    bool     // bUnsent contains changes
	oversized bool     // a snapshot is due
}

// newReplica derives the keys. id is the ID of the archive.
func newReplica(o Replica, id []byte) (*replica, error) {
	r := &replica{o: o, process: rand.Text(), kick: make(chan struct{}, 1), ended: make(chan struct{})}
	if len(o.Secret) != slot {
		return nil, fmt.Errorf("the key of the cluster has %d bytes and should have %d", len(o.Secret), slot)
	}
	var err error
	if r.check, err = SecretCheck(o.Secret); err != nil {
		return nil, err
	}
	if r.records, err = derivedCipher(o.Secret, nil, "records"); err != nil {
		return nil, err
	}
	if id != nil {
		r.keys, err = derivedCipher(o.Secret, id, "keys")
	}
	return r, err
}

// SecretCheck returns a text that identifies a key of a cluster, and from which the key cannot be computed.
func SecretCheck(secret []byte) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "acapcrawl check", 16)
}

func derivedCipher(secret, salt []byte, purpose string) (cipher.AEAD, error) {
	b, err := hkdf.Key(sha256.New, secret, salt, "acapcrawl "+purpose, slot)
	if err != nil {
		return nil, err
	}
	return randomSealer(key(b))
}

func (a *Archive) recording() *changes {
	if a.replica == nil {
		return nil
	}
	return &changes{}
}

// loadReplica reads the record of the copies, and makes it if the archive has none yet.
func (a *Archive) loadReplica(o *Replica, h *header) (err error) {
	held := false
	err = a.db.View(func(tx *bolt.Tx) (err error) {
		value := tx.Bucket(bMeta).Get(kReplica)
		if held = value != nil; !held {
			return nil
		}
		if o == nil {
			a.replica = &replica{detached: true}
			return unpack(kReplica, value, &a.replica.record)
		}
		if a.replica, err = newReplica(*o, h.ID); err != nil {
			return err
		}
		return a.readReplica(tx, value)
	})
	switch {
	case err != nil || held || o == nil:
		return err
	case a.outside == nil:
		return errors.New("copies of records need an object store for bodies")
	}
	if a.replica, err = newReplica(*o, h.ID); err != nil {
		return err
	}
	return a.db.Update(func(tx *bolt.Tx) error {
		h.Format = max(h.Format, formatCopied)
		a.replica.record = replicaRecord{Check: a.replica.check, Generation: rand.Text()}
		_, err := tx.CreateBucketIfNotExists(bUnsent)
		return errors.Join(err, tx.Bucket(bMeta).Put(kHeader, mustPack(kHeader, *h)),
			a.replica.record.put(tx))
	})
}

// readReplica checks that the copies are encrypted with the given secret.
func (a *Archive) readReplica(tx *bolt.Tx, value []byte) error {
	r := a.replica
	if err := unpack(kReplica, value, &r.record); err != nil {
		return a.damaged("its record of copies", err)
	}
	if string(r.record.Check) != string(r.check) {
		return fmt.Errorf("the copies of the archive in %s are %w", a.dir, ErrSecret)
	}
	bucket := tx.Bucket(bUnsent)
	if bucket == nil {
		return a.corrupt(fmt.Sprintf("its part %q is missing", bUnsent))
	}
	k, _ := bucket.Cursor().First()
	r.unsent = k != nil
	return nil
}

func (r replicaRecord) put(tx *bolt.Tx) error {
	return tx.Bucket(bMeta).Put(kReplica, mustPack(kReplica, r))
}

// entry is the head of a copy of records.
type entry struct {
	Archive    []byte // ID of the archive
	Generation string
	Process    string
	Attempt    uint64
	Epoch      uint64
	Prev       uint64 // number of the copy of the transaction before; copies between do not count
	Last       bool   `json:",omitempty"` // of a snapshot: it is the last part
}

const (
	recordsFolder   = "records/"
	snapshotsFolder = "snapshots/"
	copyMagic       = "acapcrawl copy 1\n"
)

func entryName(n uint64) string { return fmt.Sprintf("%s%016x", recordsFolder, n) }

// sealEntry encrypts a copy for the object with the given name.
func (r *replica) sealEntry(name string, e entry, encoded []byte) []byte {
	head, err := json.Marshal(e)
	if err != nil {
		panic("a head cannot be written as JSON: " + err.Error())
	}
	out := append([]byte(copyMagic), r.check...)
	plain := append(appendBytes(nil, head), encoded...)
	return r.records.Seal(out, nil, plain, []byte(name))
}

// readEntry reads a copy.
func (r *replica) readEntry(ctx context.Context, name string) (e entry, encoded []byte, err error) {
	b, err := r.o.Records.Read(ctx, name)
	if err != nil {
		return e, nil, err
	}
	at := len(copyMagic)
	if len(b) < at+len(r.check) || string(b[:at]) != copyMagic {
		return e, nil, fmt.Errorf("the copy %s is %w", name, ErrCorrupt)
	}
	if string(b[at:at+len(r.check)]) != string(r.check) {
		return e, nil, fmt.Errorf("the copies of records are %w", ErrSecret)
	}
	plain, err := r.records.Open(nil, nil, b[at+len(r.check):], []byte(name))
	if err != nil {
		return e, nil, fmt.Errorf("the copy %s is %w", name, ErrCorrupt)
	}
	head, encoded, ok := cutBytes(plain)
	if !ok || json.Unmarshal(head, &e) != nil {
		return e, nil, fmt.Errorf("the copy %s is %w", name, ErrCorrupt)
	}
	return e, encoded, nil
}

// head returns the head of the next copy.
func (a *Archive) head() entry {
	r := a.replica
	r.attempt++
	return entry{Archive: a.rawID, Generation: r.record.Generation, Process: r.process, Attempt: r.attempt,
		Prev: r.record.Seq, Epoch: r.epoch()}
}

// epoch returns the epoch of the lease of this process; 0 if it has none.
func (r *replica) epoch() uint64 {
	if r.o.Epoch == nil {
		return 0
	}
	return r.o.Epoch()
}

// appendCopy stores a copy under the next number, and returns the number and the size. It skips numbers of
// failed attempts of this process. The error is an ErrReplaced if another process has used the number.
func (r *replica) appendCopy(ctx context.Context, e entry, encoded []byte) (n uint64, size int, err error) {
	for {
		name := entryName(r.next)
		sealed := r.sealEntry(name, e, encoded)
		err := r.o.Records.Create(ctx, name, sealed)
		if errors.Is(err, fs.ErrExist) {
			found, _, err := r.readEntry(ctx, name)
			switch {
			case err != nil:
				return 0, 0, err
			case found.Process != r.process:
				return 0, 0, fmt.Errorf("the archive is %w", ErrReplaced)
			case found.Attempt != e.Attempt:
				r.next++
				continue
			}
		} else if err != nil {
			return 0, 0, err
		}
		r.next++
		return r.next - 1, len(sealed), nil
	}
}
