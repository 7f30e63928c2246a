package actions

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/acap"
)

// State is where a request stands.
type State string

// The states of a request.
const (
	Seen    State = "seen"
	Refused State = "refused"
	Due     State = "due"
	Done    State = "done"
	Failed  State = "failed"
)

// Request is one action request. It holds no content of the resource.
type Request struct {
	ID       uint64    `json:"id"`
	Action   string    `json:"action"` // take-down or re-crawl
	URL      string    `json:"url"`
	Origin   string    `json:"origin"`
	Source   string    `json:"source"` // file, line and field that ask for it
	State    State     `json:"state"`
	Why      string    `json:"why,omitempty"` // why it was refused or failed
	Asked    time.Time `json:"asked"`         // when it was first seen
	Done     time.Time `json:"done,omitzero"` // when it was last executed
	Erased   int       `json:"erased,omitempty"`
	Standing bool      `json:"standing"` // its line is still in the file (P05)
}

// Ledger is the list of requests in actions.db. It is safe for concurrent use; one process at a time may have it open.
type Ledger struct{ db *bbolt.DB }

var (
	requests = []byte("requests")
	byName   = []byte("by-name") // origin, action and URL to the ID of the last request
)

// ErrLocked means that another process has the ledger open.
var ErrLocked = errors.New("in use by another process")

// Open opens or makes the ledger in the file at path.
func Open(path string) (*Ledger, error) {
	l := &Ledger{}
	err := l.guard(func() (err error) {
		l.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType})
		if errors.Is(err, bolterrors.ErrTimeout) {
			return ErrLocked
		}
		if err != nil {
			return err
		}
		return l.db.Update(func(tx *bbolt.Tx) error {
			if _, err := tx.CreateBucketIfNotExists(requests); err != nil {
				return err
			}
			_, err := tx.CreateBucketIfNotExists(byName)
			return err
		})
	})
	if err != nil {
		if l.db != nil {
			err = errors.Join(err, l.guard(l.db.Close))
		}
		return nil, fmt.Errorf("the ledger of action requests %s cannot be opened (if it is damaged, move it away: a new one is begun): %w", path, err)
	}
	return l, nil
}

// guard turns the panics and faults that a damaged file leads to into an error.
func (l *Ledger) guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the ledger of action requests is damaged: %v", r)
		}
	}()
	return fn()
}

func (l *Ledger) update(fn func(*bbolt.Tx) error) error {
	return l.guard(func() error { return l.db.Update(fn) })
}

func (l *Ledger) view(fn func(*bbolt.Tx) error) error {
	return l.guard(func() error { return l.db.View(fn) })
}

// Close closes the file.
func (l *Ledger) Close() error { return l.guard(l.db.Close) }

func key(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

func name(origin, action, url string) []byte { return []byte(origin + "\x00" + action + "\x00" + url) }

// Observe notes what the policy of an origin asks for now, and returns what is due, in the order of execution. Requests whose line
// has gone stand no longer; a line that comes back asks anew (P04).
func (l *Ledger) Observe(origin string, asked []acap.Action, now time.Time) (due []Request, err error) {
	if len(asked) == 0 {
		if known, err := l.knows(origin); err != nil || !known {
			return nil, err
		}
	}
	err = l.update(func(tx *bbolt.Tx) error {
		due = nil
		standing := map[string]bool{}
		for _, a := range asked {
			n := name(origin, a.Action, a.URL)
			if standing[string(n)] && !a.Execute { // the same is asked for where it may be
				continue
			}
			standing[string(n)] = true
			r, known, err := last(tx, n)
			if err != nil {
				return err
			}
			if !known || !r.Standing {
				id, err := tx.Bucket(requests).NextSequence()
				if err != nil {
					return err
				}
				r = Request{ID: id, Action: a.Action, URL: a.URL, Origin: origin, Asked: now.UTC(), State: Due, Standing: true}
			}
			r.Source = a.Field.String()
			switch {
			case a.Action == acap.ReCrawl && r.State == Done: // P04
			case !a.Execute:
				r.State, r.Why = Refused, a.Why
			default:
				r.State, r.Why = Due, ""
				due = append(due, r)
			}
			if err := save(tx, n, r); err != nil {
				return err
			}
		}
		return lapse(tx, origin, standing)
	})
	if err != nil {
		return nil, fmt.Errorf("the ledger of action requests cannot be written: %w", err)
	}
	return due, nil
}

// knows reports whether the origin has ever asked for anything.
func (l *Ledger) knows(origin string) (known bool, err error) {
	err = l.view(func(tx *bbolt.Tx) error {
		n, _ := tx.Bucket(byName).Cursor().Seek([]byte(origin + "\x00"))
		known = strings.HasPrefix(string(n), origin+"\x00")
		return nil
	})
	return known, err
}

func last(tx *bbolt.Tx, n []byte) (r Request, known bool, err error) {
	id := tx.Bucket(byName).Get(n)
	if id == nil {
		return r, false, nil
	}
	if err := json.Unmarshal(tx.Bucket(requests).Get(id), &r); err != nil {
		return r, false, fmt.Errorf("the request for %q is damaged: %w", n, err)
	}
	return r, true, nil
}

func save(tx *bbolt.Tx, n []byte, r Request) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := tx.Bucket(byName).Put(n, key(r.ID)); err != nil {
		return err
	}
	return tx.Bucket(requests).Put(key(r.ID), data)
}

// lapse marks the requests of an origin whose lines have gone.
func lapse(tx *bbolt.Tx, origin string, standing map[string]bool) error {
	prefix := origin + "\x00"
	var gone [][]byte
	c := tx.Bucket(byName).Cursor()
	for n, _ := c.Seek([]byte(prefix)); strings.HasPrefix(string(n), prefix); n, _ = c.Next() {
		if !standing[string(n)] {
			gone = append(gone, append([]byte(nil), n...))
		}
	}
	for _, n := range gone {
		r, known, err := last(tx, n)
		if err != nil {
			return err
		}
		if known && r.Standing {
			r.Standing = false
			if err := save(tx, n, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Result is what came of a request that was due.
type Result struct {
	Request Request
	Erased  int
	Err     error // it failed, and is due again
}

// Finish notes what came of requests, all in one transaction.
func (l *Ledger) Finish(results []Result, now time.Time) error {
	if len(results) == 0 {
		return nil
	}
	err := l.update(func(tx *bbolt.Tx) error {
		for _, res := range results {
			r := res.Request
			r.State, r.Why = Done, ""
			r.Done, r.Erased = now.UTC(), r.Erased+res.Erased
			if res.Err != nil {
				r.State, r.Why, r.Done = Failed, res.Err.Error(), time.Time{}
			}
			if err := save(tx, name(r.Origin, r.Action, r.URL), r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the ledger of action requests cannot be written: %w", err)
	}
	return nil
}

// List gives all requests, the oldest first.
func (l *Ledger) List() ([]Request, error) {
	var out []Request
	err := l.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(requests).ForEach(func(_, data []byte) error {
			var r Request
			if err := json.Unmarshal(data, &r); err != nil {
				return fmt.Errorf("the ledger of action requests is damaged: %w", err)
			}
			out = append(out, r)
			return nil
		})
	})
	return out, err
}
