package archive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/spool"
)

// What can be wrong with an archive as a whole, to be found with errors.Is.
var (
	ErrLocked  = errors.New("in use by another process")
	ErrCorrupt = errors.New("damaged or not an archive")
	ErrFormat  = errors.New("written by a newer version of this program")
	ErrClosed  = errors.New("the archive is closed")
	ErrBodies  = errors.New("the store of bodies does not answer")
	ErrNotHeld = errors.New("not held") // no such capture, or it has been erased
)

const (
	format   = 1
	lockWait = 150 * time.Millisecond // a process that is just ending has let go by then
	// mapped beyond the file, so that growing does not wait for readers: 16 GB, or 1 with 32 bits
	ahead       = 1 << (30 + 4*(^uint(0)>>63))
	leastGrowth = 1 << 20 // of the file, at a time
	mostGrowth  = 16 << 20
)

// Step names a point at which a write can fail.
type Step string

// The steps of a write, in order. An error up to Commit changes nothing; one at Committed leaves
// open what the disk holds, and the archive must be opened again; at Destroy the records are gone
// already and the keys follow with the next write or the next opening.
const (
	ReserveKeys Step = "reserve keys"
	SyncKeys    Step = "sync keys" // reserved or destroyed
	Commit      Step = "commit"
	Committed   Step = "committed" // an error stands for pages that were written and not brought to disk
	Destroy     Step = "destroy keys"
)

// The steps of Compact. An error up to Swap leaves the archive as it was; one at Swapped is like
// one at Committed.
const (
	Rewrite Step = "rewrite" // before each transaction of the new file
	Swap    Step = "swap"    // before the new file takes the place of the old
	Swapped Step = "swapped" // before its directory is brought to disk
)

// Options of an archive. All but Erased and Bodies are for tests.
type Options struct {
	// called for each erasure, once it is on disk; must be quick and must not call the archive; may
	// be nil
	Erased func(Tombstone)

	Bodies Bodies // where bodies are stored; nil: in archive.db

	Now   func() time.Time // the clock of tombstones; nil: time.Now
	Fault func(Step) error // called before each step; its error is taken for the step's own
	Ahead int64            // bytes mapped beyond the file; 0: as many as is right
}

// Archive is an open archive.
type Archive struct {
	dir     string
	db      *bolt.DB
	file    *os.File // the file under db, for reading pages as they are
	keys    *keys
	pack    *packer
	now     func() time.Time
	fault   func(Step) error
	noted   func(Tombstone) // of Options.Erased
	ahead   int64           // bytes mapped beyond the file
	life    context.Context // ends with Close
	endLife context.CancelFunc

	outside Bodies // of Options.Bodies; nil: bodies are in db

	stale atomic.Bool // one of the two root records was damaged when the file was opened

	jobs    chan *job
	halts   chan *halt
	callers atomic.Int32 // callers that wait for the writer
	quit    chan struct{}
	stopped chan struct{}
	closing sync.Once
	closed  error

	readers sync.RWMutex // locked while keys are overwritten

	compacting chan struct{}  // holds a value while Compact or Repair runs, and when the archive is closed
	retiring   sync.WaitGroup // files that Compact has replaced, until nobody reads them
	erased     chan struct{}  // holds a value when something was erased

	mu          sync.Mutex            // of what follows, and of db and file, which Compact changes
	reading     map[*bolt.DB]int      // how many read it
	retired     map[*bolt.DB]*os.File // files that Compact has replaced
	broken      error                 // set once; nothing is written after it
	outstanding map[string]int        // intents logged since opening and not done, by URL
	done        []string              // intents to be cleared with the next transaction

	// The writer's own.
	mapped    int64       // bytes that were mapped when the file was opened
	underway  *compaction // that reads, or has read
	crowd     int         // callers that waited when the last transaction ended
	condemned []uint64    // keys whose records are gone, to be destroyed
	unnamed   []uint64    // bodies outside of db that no record names any more, to be deleted
	destroyed []uint64    // keys destroyed, still listed in the file
	tail      int         // bytes used of the page that the last body ends on, as far as is known
}

// Open opens the archive in dir and creates what is missing. Keys whose destruction was interrupted
// are destroyed first. Errors: ErrLocked, ErrCorrupt, ErrFormat, or what the operating system says.
func Open(dir string, o Options) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the archive's directory cannot be made: %w", err)
	}
	a := &Archive{dir: dir, now: o.Now, fault: o.Fault, noted: o.Erased, ahead: o.Ahead, outside: o.Bodies,
		jobs: make(chan *job), halts: make(chan *halt), quit: make(chan struct{}), stopped: make(chan struct{}),
		compacting: make(chan struct{}, 1), erased: make(chan struct{}, 1), reading: map[*bolt.DB]int{},
		retired: map[*bolt.DB]*os.File{}, outstanding: map[string]int{}}
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
	if a.ahead == 0 {
		a.ahead = ahead
	}
	var err error
	if a.pack, err = newPacker(); err != nil {
		a.endLife()
		return nil, err
	}
	if err := a.openFiles(); err != nil {
		a.endLife()
		a.closeFiles(false)
		return nil, err
	}
	go a.write()
	return a, nil
}

// Close writes what is pending and closes the files. Calls that wait are answered first; later ones
// get ErrClosed. A compaction and a repair under way are broken off.
func (a *Archive) Close() error {
	a.closing.Do(func() {
		close(a.quit)
		<-a.stopped
		a.endLife()
		a.compacting <- struct{}{}
		a.closed = a.closeFiles(a.failure() != nil)
	})
	return a.closed
}

// load reads the header of the archive, or writes it into a new one, and opens the keys that belong
// to it.
func (a *Archive) load() error {
	var h header
	var used uint64
	var condemned []uint64
	fresh := false
	err := a.db.View(func(tx *bolt.Tx) error {
		if name, _ := tx.Cursor().First(); name == nil {
			fresh = true
			return nil
		}
		if err := a.readHeader(tx, &h); err != nil {
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
	if a.keys, err = openKeys(filepath.Join(a.dir, "keys.db"), h.ID, fresh); err != nil {
		return err
	}
	if fresh {
		return a.create(h)
	}
	if err := a.keys.reset(used); err != nil {
		return err
	}
	a.condemned = condemned
	return a.destroy()
}

func (a *Archive) readHeader(tx *bolt.Tx, h *header) error {
	meta := tx.Bucket(bMeta)
	if meta == nil {
		return a.corrupt("it is a database of something else")
	}
	if err := unpack(kHeader, meta.Get(kHeader), h); err != nil {
		return a.damaged("its header", err)
	}
	if h.Format > format {
		return fmt.Errorf("the archive in %s is %w: its format is %d, this program knows %d", a.dir, ErrFormat,
			h.Format, format)
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

// guard calls fn, which uses the database.
func (a *Archive) guard(fn func() error) error {
	return spool.Guard(fn, func(cause any) error { return a.corrupt(fmt.Sprint(cause)) })
}

func (a *Archive) corrupt(what string) error {
	return fmt.Errorf("%s is %w: %s", filepath.Join(a.dir, "archive.db"), ErrCorrupt, what)
}

// damaged says which record is not what it should be; err is a clause that goes on from what.
func (a *Archive) damaged(what string, err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrBodies) {
		return err
	}
	return fmt.Errorf("%s is %w: %s %w", filepath.Join(a.dir, "archive.db"), ErrCorrupt, what, err)
}

// view runs fn in a read transaction. While it runs, no key is overwritten that a record of the
// transaction names.
func (a *Archive) view(fn func(*bolt.Tx) error) error {
	a.readers.RLock()
	defer a.readers.RUnlock()
	return a.snapshot(fn)
}

// snapshot is view for long work: keys may be destroyed meanwhile, and erasing does not wait.
func (a *Archive) snapshot(fn func(*bolt.Tx) error) error {
	db, err := a.enter()
	if err != nil {
		return err
	}
	defer a.leave(db)
	entered := false
	err = a.guard(func() error {
		return db.View(func(tx *bolt.Tx) error {
			entered = true
			return fn(tx)
		})
	})
	switch {
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return ErrClosed
	case !entered && errors.Is(err, ErrCorrupt):
		a.fail(err) // the database may hold a lock that it will never give back
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

// header identifies an archive; keys.db carries the same ID.
type header struct {
	Format int
	ID     []byte
}
