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
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/spool"
)

// Options configure a Ledger. Zero values take the default named.
type Options struct {
	Now    func() time.Time   // time.Now
	Room   func()             // called before anything is written, to make room on a full disk; may be nil
	Key    ed25519.PrivateKey // signs the head of the chain, and receipts; nil: nothing is signed
	Issuer Issuer             // whom receipts name

	// ConfirmWithin is how long a request of the channel waits for its line in robots.txt (P07), for origins with a valid credential; 0: a
	// request or a line is enough.
	ConfirmWithin time.Duration
	Pending       int // re-crawls of an origin that the channel may have pending; 0: any number
	Day           int // re-crawls of an origin that lines and credentials may ask for within 24 hours; 0: any number

	Check bool // the pages of the file are checked before anything is read from them, however large it is
}

// Ledger is the list of requests in actions.db, and the chain of everything that was ever noted of them; actions.head beside it says where
// the chain ends. It is safe for concurrent use; one process at a time may have it open.
type Ledger struct {
	db    *bbolt.DB
	file  *os.File // under db, for reading pages as they are
	o     Options
	bound bindings
	head  headFile

	mu sync.Mutex // over head

	turns  turns
	crawls crawls
}

var (
	bRequests = []byte("requests")    // ID to Request: what the chain says of each last
	bNames    = []byte("by-name")     // origin, action and URL to the ID of the last request
	bOrigins  = []byte("by-origin")   // origin and ID
	bOpen     = []byte("open")        // IDs of requests about which something is to be done, to brief
	bReceipts = []byte("receipts")    // ID to receipt
	bChain    = []byte("chain")       // number to entry
	bAbout    = []byte("by-request")  // ID and number of each entry about a request
	bGrants   = []byte("credentials") // ID to grant
	bStanding = []byte("standing")    // origin, action and URL to the ID of what stands and was asked for by another way than a line
	bKeys     = []byte("keys")        // digest of a key and ID of a credential to the ID of the request, and when it was given
	bRejected = []byte("rejected")    // kind of rejection and credential to tally
	bHeard    = []byte("heard")       // origin to what was last read of it
	bMeta     = []byte("meta")        // format and head
)

// buckets are all there are.
func buckets() [][]byte {
	return [][]byte{bRequests, bNames, bOrigins, bOpen, bReceipts, bChain, bAbout, bGrants, bStanding, bKeys, bRejected, bHeard, bMeta}
}

// ErrLocked means that another process has the ledger open.
var ErrLocked = errors.New("in use by another process")

// ErrDamaged means that the file is not what was written.
var ErrDamaged = errors.New("the ledger of action requests is damaged")

// Open opens or makes the ledger in the file at path. Where the chain does not end as actions.head beside it says, that is noted in the
// chain, and Verify tells it.
func Open(path string, o Options) (*Ledger, error) {
	l, err := openFile(path, o)
	if err == nil {
		err = l.settle(l.head.read(), nil)
	}
	if err != nil {
		return nil, l.closed(path, err)
	}
	return l, nil
}

// soonChecked is up to what size the pages of a file are checked at each opening: that takes some hundredths of a second.
const soonChecked = 16 << 20

// openFile opens the file, and takes its end for what it should be.
func openFile(path string, o Options) (*Ledger, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Ledger{o: o, head: headFile{path: headPath(path)}}
	if err := l.head.begin(path); err != nil {
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
		case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
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

// pages tells what is wrong with the pages of the file. What stands on such cannot be read: it may lead nowhere, or round in circles.
func (l *Ledger) pages(ctx context.Context) (wrong []string, err error) {
	err = spool.ErrMoved
	for errors.Is(err, spool.ErrMoved) { // somebody writes fast
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

// closed closes a ledger that could not be opened for err.
func (l *Ledger) closed(path string, err error) error {
	if l.db != nil {
		err = errors.Join(err, l.guard(l.db.Close))
	}
	return fmt.Errorf("the ledger of action requests %s cannot be opened: %w", path, err)
}

// guard calls fn, which uses the database.
func (l *Ledger) guard(fn func() error) error {
	return spool.Guard(fn, func(cause any) error { return fmt.Errorf("%w: %v", ErrDamaged, cause) })
}

// update calls fn with a transaction that is written when fn returns nil.
func (l *Ledger) update(fn func(*txn) error) error {
	if l.o.Room != nil {
		l.o.Room()
	}
	t := &txn{now: l.o.Now().UTC()}
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
	l.keep(head)
	return nil
}

// view calls fn with a transaction to read. One that lasts keeps those who write waiting.
func (l *Ledger) view(fn func(*txn) error) error {
	return l.read(func(tx *bbolt.Tx) error { return fn(&txn{tx: tx}) })
}

func (l *Ledger) read(fn func(*bbolt.Tx) error) error {
	return l.guard(func() error { return l.db.View(fn) })
}

// Close closes the file.
func (l *Ledger) Close() error { return errors.Join(l.keepLast(), l.guard(l.db.Close)) }

// txn is a transaction of the ledger. Everything that is noted in it has one time.
type txn struct {
	tx      *bbolt.Tx
	now     time.Time
	end     *link    // of the chain, once something was appended
	touched []string // origins of which something was noted that Bind heeds
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// numbers is a key of two parts.
func numbers(a, b uint64) []byte { return binary.BigEndian.AppendUint64(number(a), b) }

func named(origin, action, url string) []byte { return []byte(origin + "\x00" + action + "\x00" + url) }

// under is the key of a request among those of its origin.
func under(origin string, id uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(origin+"\x00"), id)
}

// request gives a request by its ID.
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

// last gives the last request of a name.
func (t *txn) last(origin, action, url string) (r Request, known bool, err error) {
	id := t.tx.Bucket(bNames).Get(named(origin, action, url))
	if len(id) != 8 {
		return r, false, nil
	}
	return t.request(binary.BigEndian.Uint64(id))
}

// of calls fn with the last request of each name of an origin. fn must not write.
func (t *txn) of(origin string, fn func(Request) error) error {
	prefix := origin + "\x00"
	c := t.tx.Bucket(bNames).Cursor()
	for n, id := c.Seek([]byte(prefix)); strings.HasPrefix(string(n), prefix); n, id = c.Next() {
		if len(id) != 8 {
			return fmt.Errorf("%w: a name leads to no request", ErrDamaged)
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

// note writes what has become of a request, event names it, and adds that to the chain. A request without an ID gets one, and is the last
// of its name from then on if it came by a line.
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

// put writes a request, and its entry.
func (t *txn) put(e Entry, r *Request) (err error) {
	if err := t.stand(r); err != nil {
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

// name makes r the last of its name from now on.
func (t *txn) name(r *Request) error {
	if err := t.tx.Bucket(bNames).Put(named(r.Origin, r.Action, r.URL), number(r.ID)); err != nil {
		return err
	}
	return t.append(Entry{Event: eventNamed, About: r.ID, Named: true})
}

// exists reports whether there is a file.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
