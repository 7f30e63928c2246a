package archive

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// Errors that concern the archive as a whole. Test for them with errors.Is.
var (
	ErrLocked  = errors.New("in use by another process")
	ErrCorrupt = errors.New("damaged or not an archive")
	ErrFormat  = errors.New("written by a newer version of this program")
	ErrClosed  = errors.New("the archive is closed")
	ErrBodies  = errors.New("the store of bodies fails")
	ErrStore   = errors.New("not the store of this archive's bodies") // see Options.Bodies
	ErrNotHeld = errors.New("not held")                               // the capture does not exist or was erased
)

const (
	format        = 1
	formatOutside = 2 // format of an archive whose bodies are outside its directory
	formatCopied  = 3 // format of an archive whose records and keys have copies
	// format of an archive in which a rendered document was stored; header.Store and kReplica say whether its
	// bodies are outside, and whether it has copies
	formatRendered = 4
	lockWait       = 150 * time.Millisecond // long enough for a process that is just ending to release its lock
	// how many bytes beyond its end the file is mapped, so that the file can grow without waiting
	// for readers: 16 GB, 1 GB on 32-bit systems
	ahead       = 1 << (30 + 4*(^uint(0)>>63))
	leastGrowth = 1 << 20 // minimal growth of the file in bytes
	mostGrowth  = 16 << 20
)

// Options configures an archive. Fields after Replica are for tests.
type Options struct {
	// Erased is called for each erasure after it is on disk. It must be quick and must not call the
	// archive. It may be nil.
	Erased func(Tombstone)

	// Stored is called with the URL of each capture after it is on disk. It must be quick and must not call the
	// archive. It may be nil.
	Stored func(url string)

	// Bodies is the store of bodies; nil: files in the directory. A new archive claims the store, and
	// can be opened only with a store of the same name.
	Bodies Outside

	// Replica says where records and keys are copied; nil: they are not. If it is nil and the archive has copies, the
	// archive stores no bodies, and copies what it changes when it is opened with Replica again.
	Replica *Replica

	Now   func() time.Time // the clock for the dates of tombstones; nil: time.Now
	Fault func(Step) error // called before each step; if it returns an error, the step fails with it
	Ahead int64            // how many bytes beyond the end of the file are mapped; 0: the default
}

// Archive is an open archive.
type Archive struct {
	dir     string
	db      *bolt.DB
	file    *os.File // the file of db, to read and overwrite its pages directly
	keys    *keys
	files   *bodyFiles
	pack    *packer
	now     func() time.Time
	fault   func(Step) error
	noted   func(Tombstone)  // function in Options.Erased
	stored  func(url string) // function in Options.Stored
	ahead   int64            // how many bytes beyond the end of the file are mapped
	life    context.Context  // canceled by Close
	endLife context.CancelFunc

	outside Outside  // store in Options.Bodies; nil: bodies are in files
	id      string   // ID of the header, in hexadecimal digits
	rawID   []byte   // ID of the header
	replica *replica // of Options.Replica; nil: records and keys are not copied
	claimed bool     // outside is claimed; used by the writer only
	spent   uint64   // greatest number of a body that a failed transaction sent; used by the writer only

	erasings atomic.Uint64 // number of transactions since Open that have erased something

	stale atomic.Bool // one of the two root records was damaged when the file was opened

	jobs    chan *job
	halts   chan *halt
	callers atomic.Int32 // number of callers that wait for the writer
	quit    chan struct{}
	stopped chan struct{}
	closing sync.Once
	closed  error

	readers sync.RWMutex // write-locked while keys are overwritten

	compacting chan struct{} // contains a value while Compact or Repair runs, and after Close
	unlisted   bool          // body files may exist that archive.db does not list; used by Compact only
	erased     chan struct{} // contains a value if something was erased since the last value was received
	left       chan struct{} // contains a value if the last reader of an earlier era has ended

	mu          sync.Mutex     // protects the following fields
	era         uint64         // increased by each call of awaitReaders
	reading     map[uint64]int // number of readers by the era in which they began
	broken      error          // the first fatal error; after a fatal error nothing is written
	outstanding map[string]int // by URL: number of intents logged since Open for which Done was not called
	done        []string       // URLs of intents that the next transaction clears

	// Only the writer goroutine uses the following fields.
	underway  *compaction // the compaction that will overwrite free pages; nil: none
	crowd     int         // number of callers that waited when the last transaction ended
	condemned []uint64    // keys to destroy; the records that used these keys are already deleted
	unnamed   []uint64    // bodies to delete from the store outside db; no record refers to them
	gone      []uint64    // bodies that are deleted from this store, but still listed in the bucket bRemains
	destroyed []uint64    // keys that are destroyed, but still listed in the bucket bDoomed
}

// Open opens the archive in dir, and creates missing files. It first finishes interrupted
// destructions of keys. The errors are ErrLocked, ErrCorrupt, ErrFormat, or errors of the operating
// system.
func Open(dir string, o Options) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the archive's directory cannot be made: %w", err)
	}
	a := &Archive{dir: dir, now: o.Now, fault: o.Fault, noted: o.Erased, stored: o.Stored, ahead: o.Ahead,
		outside: o.Bodies, jobs: make(chan *job), halts: make(chan *halt), quit: make(chan struct{}),
		stopped: make(chan struct{}), compacting: make(chan struct{}, 1), erased: make(chan struct{}, 1),
		left: make(chan struct{}, 1), reading: map[uint64]int{}, outstanding: map[string]int{}}
	a.life, a.endLife = context.WithCancel(context.Background())
	if a.now == nil {
		a.now = time.Now
	}
	if a.fault == nil {
		a.fault = noFault
	}
	if a.noted == nil {
		a.noted = func(Tombstone) {}
	}
	if a.stored == nil {
		a.stored = func(string) {}
	}
	if a.ahead == 0 {
		a.ahead = ahead
	}
	var err error
	if a.pack, err = newPacker(); err != nil {
		a.endLife()
		return nil, err
	}
	if err := a.openFiles(o.Replica); err != nil {
		a.endLife()
		a.closeFiles(false)
		return nil, err
	}
	a.startCopying()
	go a.write()
	return a, nil
}

// Close writes pending changes and closes the files. Calls that are already waiting are completed;
// later calls return ErrClosed. Close aborts a running compaction or repair.
func (a *Archive) Close() error {
	a.closing.Do(func() {
		close(a.quit)
		<-a.stopped
		a.endLife()
		a.compacting <- struct{}{}
		a.closed = a.closeFiles(a.failure() != nil)
		if a.replica != nil && !a.replica.detached {
			a.replica.o.Keys.Close()
		}
	})
	return a.closed
}

// load reads the header of the archive, or writes the header of a new one, and opens the matching
// key file.
func (a *Archive) load(o *Replica) error {
	var h header
	var used uint64
	var condemned, unnamed []uint64
	fresh := false
	err := a.db.View(func(tx *bolt.Tx) error {
		if name, _ := tx.Cursor().First(); name == nil {
			fresh = true
			return nil
		}
		if err := a.readHeader(tx, &h); err != nil {
			return err
		}
		var err error
		if unnamed, err = a.unnamedBodies(tx); err != nil {
			return err
		}
		c, err := readCounts(tx)
		used = c.Keys
		if err != nil {
			return err
		}
		return tx.Bucket(bDoomed).ForEach(func(k, _ []byte) error {
			condemned = append(condemned, number(k))
			return nil
		})
	})
	if err != nil {
		return err
	}
	if fresh {
		h = header{Format: format, ID: make([]byte, 16)}
		if _, err := rand.Read(h.ID); err != nil {
			return err
		}
	}
	a.id, a.rawID = hex.EncodeToString(h.ID), h.ID
	if err := a.claimStore(fresh, &h); err != nil {
		return err
	}
	if a.keys, err = openKeys(filepath.Join(a.dir, "keys.db"), h.ID, fresh); err != nil {
		return err
	}
	if fresh {
		if err := a.create(h); err != nil {
			return err
		}
	}
	if err := a.loadReplica(o, &h); err != nil {
		return err
	}
	if err := a.openKeySlots(used); err != nil {
		return err
	}
	a.condemned, a.unnamed = condemned, unnamed
	if err := a.openBodies(); err != nil {
		return err
	}
	return a.destroy()
}

// claimStore claims the outside store of a new archive, or checks that the store is that of the
// archive.
func (a *Archive) claimStore(fresh bool, h *header) error {
	name := ""
	if a.outside != nil {
		name = a.outside.Name()
	}
	switch {
	case !fresh && h.Store == name:
		return nil
	case !fresh:
		return fmt.Errorf("%s is %w: the bodies of the archive in %s are in %s", storeWords(name), ErrStore, a.dir,
			storeWords(h.Store))
	case name != "":
		h.Store, h.Format = name, formatOutside
		a.claimed = true
		return a.outside.Claim(a.life, a.id)
	}
	return nil
}

func storeWords(name string) string {
	if name == "" {
		return "files of the data directory"
	}
	return name
}

// openBodies opens the body files that archive.db lists.
func (a *Archive) openBodies() error {
	return a.db.View(func(tx *bolt.Tx) error {
		l := local{a, tx}
		last, end, err := l.lastFile()
		if err == nil {
			a.files, err = openBodyFiles(a.dir, last, end, l.lists)
		}
		return err
	})
}

func (a *Archive) readHeader(tx *bolt.Tx, h *header) error {
	meta := tx.Bucket(bMeta)
	if meta == nil {
		return a.corrupt("it is a database of something else")
	}
	if err := unpack(kHeader, meta.Get(kHeader), h); err != nil {
		return a.damaged("its header", err)
	}
	if h.Format > formatRendered {
		return fmt.Errorf("the archive in %s is %w: its format is %d, this program knows %d", a.dir, ErrFormat,
			h.Format, formatRendered)
	}
	for _, name := range buckets {
		if tx.Bucket(name) == nil {
			return a.corrupt(fmt.Sprintf("its part %q is missing", name))
		}
	}
	return nil
}

func (a *Archive) create(h header) error {
	err := a.db.Update(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bMeta)
		return errors.Join(meta.Put(kHeader, mustPack(kHeader, h)), meta.Put(kCounts, mustPack(kCounts, counts{})))
	})
	if err != nil {
		return fmt.Errorf("the archive in %s cannot be made: %w", a.dir, err)
	}
	return disk.Sync(a.dir)
}

// guard calls fn, which uses the database. If fn panics, guard returns an error.
func (a *Archive) guard(fn func() error) error {
	return spool.Guard(fn, func(cause any) error { return a.corrupt(fmt.Sprint(cause)) })
}

func (a *Archive) corrupt(what string) error {
	return fmt.Errorf("%s is %w: %s", filepath.Join(a.dir, "archive.db"), ErrCorrupt, what)
}

// damaged returns an ErrCorrupt. what names the damaged record, and the text of err continues the
// sentence that begins with this name.
func (a *Archive) damaged(what string, err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrBodies) {
		return err
	}
	return fmt.Errorf("%s is %w: %s %w", filepath.Join(a.dir, "archive.db"), ErrCorrupt, what, err)
}

// view runs fn in a read transaction. While fn runs, no key is overwritten that records of this
// transaction use.
func (a *Archive) view(fn func(*bolt.Tx) error) error {
	a.readers.RLock()
	defer a.readers.RUnlock()
	return a.snapshot(fn)
}

// snapshot is like view, but for long work. Erasures do not wait for fn, so keys that records of
// this transaction use may be destroyed while fn runs.
func (a *Archive) snapshot(fn func(*bolt.Tx) error) error {
	era, err := a.enter()
	if err != nil {
		return err
	}
	defer a.leave(era)
	entered := false
	err = a.guard(func() error {
		return a.db.View(func(tx *bolt.Tx) error {
			entered = true
			return fn(tx)
		})
	})
	switch {
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return ErrClosed
	case !entered && errors.Is(err, ErrCorrupt):
		a.fail(err) // after a panic the database may hold a lock that is never released
	}
	return err
}

func (a *Archive) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken
}

func (a *Archive) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken == nil {
		a.broken = err
	}
}

func noFault(Step) error { return nil }

// header identifies an archive. The header of keys.db contains the same ID.
type header struct {
	Format int
	ID     []byte
	Store  string `json:",omitempty"` // name of the store of bodies outside the directory; "": body files
}
