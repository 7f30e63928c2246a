package actions

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// announced reports whether r was requested through the channel or by the operator.
func (r *Request) announced() bool { return r.From.Credential != "" || r.From.Kind == Operator }

// blocks reports whether r is a take-down in force that was submitted by a credential or by the
// operator, and that no line of robots.txt requests.
func (r *Request) blocks() bool {
	return r.Action == acap.TakeDown && r.Standing && r.State != Seen && r.From.File == ""
}

// updateStanding adds r to the list of announced requests in force, or removes r from that list. A
// re-crawl that no line of robots.txt requests is removed when it has been executed, because the
// caller requested only one execution.
func (t *txn) updateStanding(r *Request) error {
	if !r.announced() {
		return nil
	}
	if r.State == Refused || r.State == Done && r.Action == acap.ReCrawl && r.From.File == "" {
		r.Standing = false
	}
	t.touched = append(t.touched, r.Origin)
	name := named(r.Origin, r.Action, r.URL)
	if r.listed() {
		return t.tx.Bucket(bStanding).Put(name, number(r.ID))
	}
	if id := t.tx.Bucket(bStanding).Get(name); id == nil || binary.BigEndian.Uint64(id) != r.ID {
		return nil
	}
	return t.tx.Bucket(bStanding).Delete(name)
}

// standing returns the announced request in force with that origin, action and URL.
func (t *txn) standing(origin, action, url string) (r Request, stands bool, err error) {
	id := t.tx.Bucket(bStanding).Get(named(origin, action, url))
	if id == nil {
		return r, false, nil
	}
	return t.request(binary.BigEndian.Uint64(id))
}

// blockingTakeDown returns the take-down that blocks a URL: an announced take-down in force, or
// else the last take-down that a line of robots.txt requested.
func (t *txn) blockingTakeDown(origin, url string) (r Request, known bool, err error) {
	r, stands, err := t.standing(origin, acap.TakeDown, url)
	if err != nil || stands && r.blocks() {
		return r, err == nil, err
	}
	return t.last(origin, acap.TakeDown, url)
}

// pending counts the announced re-crawls in force of an origin.
func (t *txn) pending(origin string) (n int) {
	prefix := string(named(origin, acap.ReCrawl, ""))
	c := t.tx.Bucket(bStanding).Cursor()
	for name, _ := c.Seek([]byte(prefix)); strings.HasPrefix(string(name), prefix); name, _ = c.Next() {
		n++
	}
	return n
}

// bound is a cached result of Bind.
type bound struct {
	from, to *acap.Policy
	until    time.Time // zero: valid until something changes for the origin
}

// bindings caches the results of Bind by origin. It is safe for concurrent use.
type bindings struct {
	mu   sync.Mutex
	turn uint64 // number of invalidations
	of   map[string]bound
}

// maxBound is the maximal number of origins in the cache.
const maxBound = 4096

// forget invalidates the cached results of origins.
func (b *bindings) forget(origins ...string) {
	if len(origins) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	for _, o := range origins {
		delete(b.of, o)
	}
}

// get returns the cached result for the policy from, or nil if there is none. The caller must pass
// turn to remember.
func (b *bindings) get(origin string, from *acap.Policy, now time.Time) (to *acap.Policy, turn uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.of[origin]; e.from == from && (e.until.IsZero() || now.Before(e.until)) {
		to = e.to
	}
	return to, b.turn
}

// remember caches e, unless a result was invalidated after the call of get that returned turn.
func (b *bindings) remember(origin string, e bound, turn uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if turn != b.turn {
		return
	}
	if b.of == nil || len(b.of) >= maxBound {
		b.of = map[string]bound{}
	}
	b.of[origin] = e
}

// Bind returns p, the policy in the files of an origin, with the requests that are in force now. It
// adds take-downs that were submitted by a credential or by the operator. P1 2.6 (P07): if the
// requests of the origin must be confirmed, take-downs in robots.txt are not executed unless a
// credential announced them. If nothing changes, Bind returns p itself.
func (l *Ledger) Bind(origin string, p *acap.Policy) (*acap.Policy, error) {
	if p == nil {
		return nil, nil
	}
	to, turn := l.bound.get(origin, p, l.o.Now())
	if to != nil {
		return to, nil
	}
	e := bound{from: p, to: p}
	err := l.view(func(t *txn) error {
		list, err := t.announcedTakeDowns(origin)
		if err != nil {
			return err
		}
		confirms, until, err := t.confirms(origin, l.o)
		if err != nil {
			return err
		}
		e.until = until
		if len(list) == 0 && (!confirms || len(p.Actions()) == 0) {
			return nil
		}
		for _, a := range p.Actions() {
			if confirms && a.Action == acap.TakeDown && a.Execute {
				line, known, err := t.last(origin, a.Action, a.URL)
				if err != nil {
					return err
				}
				if !known || !line.Standing || line.State == Seen || line.State == Refused {
					a.Execute, a.Why = false, unannounced
				}
			}
			list = append(list, a)
		}
		e.to = p.WithActions(list)
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.bound.remember(origin, e, turn)
	return e.to, nil
}

const unannounced = "no credential submitted the same request, and requests of this publisher need a line and a " +
	"submission"

// announcedTakeDowns returns the take-downs in force of an origin that no line of robots.txt
// requests.
func (t *txn) announcedTakeDowns(origin string) (list []acap.Action, err error) {
	prefix := string(named(origin, acap.TakeDown, ""))
	c := t.tx.Bucket(bStanding).Cursor()
	for name, id := c.Seek([]byte(prefix)); strings.HasPrefix(string(name), prefix); name, id = c.Next() {
		r, _, err := t.request(binary.BigEndian.Uint64(id))
		if err != nil {
			return nil, err
		}
		if r.blocks() {
			list = append(list, acap.Action{Action: r.Action, URL: r.URL, Field: r.field(r.ID), Execute: true})
		}
	}
	return list, nil
}

// confirms reports whether requests in the robots.txt of an origin must be confirmed. They must be
// confirmed if the publisher of the origin has a valid credential (P1 2.6: "has notified"). The
// result is valid up to the time until. If until is zero, the result is valid until something
// changes for the origin.
func (t *txn) confirms(origin string, o Options) (confirms bool, until time.Time, err error) {
	if o.ConfirmWithin <= 0 {
		return false, until, nil
	}
	now := o.Now()
	err = t.grants(func(g grant) error {
		if !slices.Contains(g.Origins, origin) || !g.Valid(now) {
			return nil
		}
		switch {
		case !confirms || !until.IsZero() && g.Expires.After(until):
			until = g.Expires
		case g.Expires.IsZero():
			until = time.Time{}
		}
		confirms = true
		return nil
	})
	return confirms, until, err
}

// confirmByLine handles r, a request in robots.txt that must be confirmed (P1 2.6, P07: a request
// is confirmed by another channel). If a credential submitted the same request, confirmByLine sets
// r to the submitted request and confirms it. Otherwise r waits for confirmation.
func (t *txn) confirmByLine(r *Request) error {
	asked, stands, err := t.standing(r.Origin, r.Action, r.URL)
	if err != nil {
		return err
	}
	if !stands || asked.From.Credential == "" || asked.From.File != "" {
		r.State, r.Why = Seen, unannounced
		return nil
	}
	line := *r
	if line.ID != 0 { // the ledger already has a request of the line: the submitted request replaces it
		past := line
		past.Standing, past.State, past.Why = false, Refused, fmt.Sprintf("request %d asks for the same", asked.ID)
		if err := t.note("lapsed", &past); err != nil {
			return err
		}
	}
	*r = asked
	r.Source, r.From = line.Source, line.From
	r.From.Credential = asked.From.Credential
	if err := t.name(r); err != nil {
		return err
	}
	return t.confirm(r)
}

// Expire refuses submitted requests that no line of robots.txt has confirmed within ConfirmWithin.
// If requests need no confirmation any more, the waiting requests become due.
func (l *Ledger) Expire() error {
	over := func(t *txn) (list []Request, err error) {
		err = t.open(func(r Request) error {
			if r.State == Seen && r.announced() &&
				(l.o.ConfirmWithin <= 0 || l.o.Now().Sub(r.Asked) >= l.o.ConfirmWithin) {
				list = append(list, r)
			}
			return nil
		})
		return list, err
	}
	var some bool
	if err := l.view(func(t *txn) error {
		list, err := over(t)
		some = len(list) > 0
		return err
	}); err != nil || !some {
		return err
	}
	return l.update(func(t *txn) error {
		list, err := over(t)
		for _, r := range list {
			if r.State, r.Why = Due, ""; l.o.ConfirmWithin > 0 {
				r.State, r.Why = Refused, fmt.Sprintf("no line of robots.txt confirmed it within %s", l.o.ConfirmWithin)
			}
			if err == nil {
				err = t.note(string(r.State), &r)
			}
		}
		return err
	})
}
