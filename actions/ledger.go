package actions

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// Options configure a Ledger. Zero values mean the defaults in the comments.
type Options struct {
	Now    func() time.Time   // clock; nil: time.Now
	Room   func()             // called before each write, to make room on a full disk; may be nil
	Key    ed25519.PrivateKey // signs heads and receipts; nil: no signatures
	Issuer Issuer             // the operator named in receipts

	// ConfirmWithin is how long a request that was submitted through the channel waits for its line
	// in robots.txt, if the origin has a valid credential. If ConfirmWithin is 0, a submitted
	// request or a line is executed without the other. P1 2.6 (P07): confirmation by another
	// channel is off unless it is configured.
	ConfirmWithin time.Duration
	// maximal number of unfinished re-crawls of an origin that were submitted through the channel;
	// 0: no limit
	Pending int
	Day     int // maximal number of re-crawls of an origin within 24 hours; 0: no limit

	Check bool // check the structure of the file before use even if it is large
}

// Ledger is the list of requests in actions.db and the chain of all their changes. The file
// actions.head next to it contains the end of the chain. Ledger is safe for concurrent use. Only
// one process at a time can open it.
type Ledger struct {
	db    *bbolt.DB
	file  *os.File // the file of db, for reading raw pages
	o     Options
	bound bindings
	head  headFile

	mu sync.Mutex // guards head

	nodes  atomic.Pointer[func(order uint64) (done, pending []string)] // see UseNodes
	turns  turns
	crawls crawls
}

var (
	bRequests = []byte("requests")    // ID → Request as of the last entry about it
	bNames    = []byte("by-name")     // origin, action and URL → ID of the last request
	bOrigins  = []byte("by-origin")   // origin and ID
	bOpen     = []byte("open")        // ID of an unfinished request → brief
	bReceipts = []byte("receipts")    // ID → receipt
	bChain    = []byte("chain")       // number → entry
	bAbout    = []byte("by-request")  // ID and number of each entry about the request
	bGrants   = []byte("credentials") // ID → grant
	bStanding = []byte("standing")    // origin, action and URL → ID of an announced request in force
	bKeys     = []byte("keys")        // digest of an idempotency key, credential ID → request ID, time
	bRejected = []byte("rejected")    // code of rejection and credential → tally
	bHeard    = []byte("heard")       // origin → state after its last reading (type heard)
	bMeta     = []byte("meta")        // format and head
)

// buckets returns the names of all buckets.
func buckets() [][]byte {
	return [][]byte{bRequests, bNames, bOrigins, bOpen, bReceipts, bChain, bAbout, bGrants, bStanding, bKeys, bRejected,
		bHeard, bMeta}
}

// ErrLocked means that another process has the ledger open.
var ErrLocked = errors.New("in use by another process")

// ErrDamaged means that the file was changed or is corrupt.
var ErrDamaged = errors.New("the ledger of action requests is damaged")

// Open opens or makes the ledger in the file at path. If the end of the chain differs from the head
// in actions.head, Open notes the difference in the chain, and Verify reports it.
func Open(path string, o Options) (*Ledger, error) {
	l, err := openFile(path, o)
	if err == nil {
		err = l.reconcileHeads(l.head.read(), nil)
	}
	if err != nil {
		return nil, l.closed(path, err)
	}
	return l, nil
}

// soonChecked is the size up to which a file is checked at each opening, which takes some
// hundredths of a second.
const soonChecked = 16 << 20

// openFile opens the ledger without comparing the end of its chain with the stored heads.
func openFile(path string, o Options) (*Ledger, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Ledger{o: o, head: headFile{path: headPath(path)}}
	if err := l.head.createIfNew(path); err != nil {
		return l, err
	}
	err := l.guard(func() (err error) {
		l.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag, mode)
				l.file = f
				return f, err
			}})
		switch {
		case errors.Is(err, bolterrors.ErrTimeout):
			return ErrLocked
		case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
			errors.Is(err, bolterrors.ErrVersionMismatch):
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		case err != nil:
			return err
		}
		info, err := l.file.Stat()
		if err != nil {
			return err
		}
		if o.Check || info.Size() <= soonChecked {
			if wrong, err := l.pages(context.Background()); err != nil || len(wrong) > 0 {
				return errors.Join(err, damagedPages(wrong))
			}
		}
		return l.db.Update(func(tx *bbolt.Tx) error {
			for _, name := range buckets() {
				if _, err := tx.CreateBucketIfNotExists(name); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return l, err
	}
	return l, l.checkFormat()
}

// pages returns the defects of the file's pages. A defective file must not be read, because a page
// may refer to a missing page or to itself.
func (l *Ledger) pages(ctx context.Context) (wrong []string, err error) {
	err = spool.ErrMoved
	for errors.Is(err, spool.ErrMoved) { // the check failed because another goroutine wrote at the same time
		err = l.read(func(tx *bbolt.Tx) (err error) {
			wrong, err = spool.CheckPages(ctx, l.file, tx.DB().Info().PageSize, uint64(tx.ID()))
			return err
		})
	}
	return wrong, err
}

func damagedPages(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrDamaged, wrong[0])
}

// closed closes a ledger that could not be opened, and returns err with its path.
func (l *Ledger) closed(path string, err error) error {
	if l.db != nil {
		err = errors.Join(err, l.guard(l.db.Close))
	}
	return fmt.Errorf("the ledger of action requests %s cannot be opened: %w", path, err)
}

// guard calls fn. If fn panics or causes a memory fault because the file is damaged, guard returns
// an error.
func (l *Ledger) guard(fn func() error) error {
	return spool.Guard(fn, func(cause any) error { return fmt.Errorf("%w: %v", ErrDamaged, cause) })
}

// update calls fn with a transaction that is committed if fn returns nil.
func (l *Ledger) update(fn func(*txn) error) error {
	if l.o.Room != nil {
		l.o.Room()
	}
	t := &txn{now: l.o.Now().UTC(), nodes: l.nodes.Load()}
	var head Head
	err := l.guard(func() error {
		return l.db.Update(func(tx *bbolt.Tx) (err error) {
			t.tx = tx
			if err = fn(t); err == nil && t.end != nil {
				head = l.sign(*t.end)
				err = t.putHead(head)
			}
			return err
		})
	})
	l.bound.forget(t.touched...)
	if err != nil {
		return fmt.Errorf("the ledger of action requests cannot be written: %w", err)
	}
	l.writeHead(head)
	return nil
}

// view calls fn with a read transaction. A long read transaction delays writers.
func (l *Ledger) view(fn func(*txn) error) error {
	return l.read(func(tx *bbolt.Tx) error { return fn(&txn{tx: tx}) })
}

func (l *Ledger) read(fn func(*bbolt.Tx) error) error {
	return l.guard(func() error { return l.db.View(fn) })
}

// Close closes the file.
func (l *Ledger) Close() error { return errors.Join(l.flushHead(), l.guard(l.db.Close)) }

// txn is a transaction of the ledger. All its entries have the same time.
type txn struct {
	tx      *bbolt.Tx
	now     time.Time
	nodes   *func(order uint64) (done, pending []string)
	end     *link    // end of the chain after the last append; nil before the first append
	touched []string // origins whose cached results of Bind are now invalid
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// numbers returns a key that consists of the numbers a and b.
func numbers(a, b uint64) []byte { return binary.BigEndian.AppendUint64(number(a), b) }

// named returns the key of a request in bNames and bStanding.
func named(origin, action, url string) []byte { return []byte(origin + "\x00" + action + "\x00" + url) }

// under returns the key of a request in bOrigins.
func under(origin string, id uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(origin+"\x00"), id)
}

// request returns the request with an ID.
func (t *txn) request(id uint64) (r Request, known bool, err error) {
	data := t.tx.Bucket(bRequests).Get(number(id))
	if data == nil {
		return r, false, nil
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, false, fmt.Errorf("%w: request %d: %w", ErrDamaged, id, err)
	}
	return r, true, nil
}

// last returns the last request with that origin, action and URL.
func (t *txn) last(origin, action, url string) (r Request, known bool, err error) {
	id := t.tx.Bucket(bNames).Get(named(origin, action, url))
	if len(id) != 8 {
		return r, false, nil
	}
	return t.request(binary.BigEndian.Uint64(id))
}

// of calls fn with the requests of an origin: for each action and URL, the last request. fn must
// not write.
func (t *txn) of(origin string, fn func(Request) error) error {
	prefix := origin + "\x00"
	c := t.tx.Bucket(bNames).Cursor()
	for n, id := c.Seek([]byte(prefix)); strings.HasPrefix(string(n), prefix); n, id = c.Next() {
		if len(id) != 8 {
			return fmt.Errorf("%w: a name refers to no request", ErrDamaged)
		}
		r, _, err := t.request(binary.BigEndian.Uint64(id))
		if err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// note stores r and adds an entry with the given event to the chain. A request without an ID gets a
// new ID. If r comes from a line of robots.txt, it becomes the last request of its origin, action
// and URL.
func (t *txn) note(event string, r *Request) error {
	e := Entry{Event: event}
	if r.ID == 0 {
		id, err := t.tx.Bucket(bRequests).NextSequence()
		if err != nil {
			return err
		}
		r.ID = id
		if e.Named = !r.announced(); e.Named {
			if err := t.tx.Bucket(bNames).Put(named(r.Origin, r.Action, r.URL), number(id)); err != nil {
				return err
			}
		}
		if err := t.tx.Bucket(bOrigins).Put(under(r.Origin, id), nil); err != nil {
			return err
		}
	}
	return t.put(e, r)
}

// put stores r and the chain entry e about r.
func (t *txn) put(e Entry, r *Request) (err error) {
	t.spread(r)
	if err := t.updateStanding(r); err != nil {
		return err
	}
	e.About = r.ID
	if e.Request, err = json.Marshal(r); err != nil {
		return err
	}
	if err := t.tx.Bucket(bRequests).Put(number(r.ID), e.Request); err != nil {
		return err
	}
	open := t.tx.Bucket(bOpen)
	if r.open() {
		err = open.Put(number(r.ID), r.brief().bytes())
	} else {
		err = open.Delete(number(r.ID))
	}
	return errors.Join(err, t.append(e))
}

// name makes r the last request of its origin, action and URL.
func (t *txn) name(r *Request) error {
	if err := t.tx.Bucket(bNames).Put(named(r.Origin, r.Action, r.URL), number(r.ID)); err != nil {
		return err
	}
	return t.append(Entry{Event: eventNamed, About: r.ID, Named: true})
}

// exists reports whether a file exists.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
