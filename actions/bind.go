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

// announced reports whether somebody asked for r by another way than a file.
func (r *Request) announced() bool { return r.From.Credential != "" || r.From.Kind == Operator }

// bars reports whether r, which did not come by a line, is a take-down that stands.
func (r *Request) bars() bool {
	return r.Action == acap.TakeDown && r.Standing && r.State != Seen && r.From.File == ""
}

// stand keeps the list of what was announced and stands. What came by the channel alone is asked for until it is done: a re-crawl is once.
func (t *txn) stand(r *Request) error {
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

// standing gives the request of that name that was announced and stands.
func (t *txn) standing(origin, action, url string) (r Request, stands bool, err error) {
	id := t.tx.Bucket(bStanding).Get(named(origin, action, url))
	if id == nil {
		return r, false, nil
	}
	return t.request(binary.BigEndian.Uint64(id))
}

// barring gives the take-down that bars a URL: one that was announced and stands, or the last that a line asked for.
func (t *txn) barring(origin, url string) (r Request, known bool, err error) {
	r, stands, err := t.standing(origin, acap.TakeDown, url)
	if err != nil || stands && r.bars() {
		return r, err == nil, err
	}
	return t.last(origin, acap.TakeDown, url)
}

// pending counts the re-crawls of an origin that were announced and stand.
func (t *txn) pending(origin string) (n int) {
	prefix := string(named(origin, acap.ReCrawl, ""))
	c := t.tx.Bucket(bStanding).Cursor()
	for name, _ := c.Seek([]byte(prefix)); strings.HasPrefix(string(name), prefix); name, _ = c.Next() {
		n++
	}
	return n
}

// bound is a policy as Bind gave it.
type bound struct {
	from, to *acap.Policy
	until    time.Time // zero: as long as nothing is noted of the origin
}

// bindings are what Bind gave, by origin.
type bindings struct {
	mu   sync.Mutex
	turn uint64 // grows with what is forgotten
	of   map[string]bound
}

// maxBound is how many origins bindings remember.
const maxBound = 4096

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

// get gives what is known of an origin's policy, and the turn that keep wants.
func (b *bindings) get(origin string, from *acap.Policy, now time.Time) (to *acap.Policy, turn uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.of[origin]; e.from == from && (e.until.IsZero() || now.Before(e.until)) {
		to = e.to
	}
	return to, b.turn
}

// keep remembers e, unless something was forgotten since turn.
func (b *bindings) keep(origin string, e bound, turn uint64) {
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

// Bind gives p, which the files of an origin say, with what stands there now: the take-downs that were asked for by other ways are added,
// and of an origin whose requests have to be confirmed those of lines that nobody announced do not count (P07). It is p itself where
// nothing is to be said.
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
		list, err := t.bars(origin)
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
	l.bound.keep(origin, e, turn)
	return e.to, nil
}

const unannounced = "no credential asked for the same, and of this publisher both have to"

// bars gives the take-downs of an origin that were asked for by other ways than lines.
func (t *txn) bars(origin string) (list []acap.Action, err error) {
	prefix := string(named(origin, acap.TakeDown, ""))
	c := t.tx.Bucket(bStanding).Cursor()
	for name, id := c.Seek([]byte(prefix)); strings.HasPrefix(string(name), prefix); name, id = c.Next() {
		r, _, err := t.request(binary.BigEndian.Uint64(id))
		if err != nil {
			return nil, err
		}
		if r.bars() {
			list = append(list, acap.Action{Action: r.Action, URL: r.URL, Field: r.field(r.ID), Execute: true})
		}
	}
	return list, nil
}

// confirms reports whether the lines of an origin have to be confirmed: its publisher has a credential that is valid (P1 2.6: "has
// notified"). That holds until the time given, zero for as long as nothing is noted.
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

// meet says of r, the request of a line that has to be confirmed (P07): it becomes the one that a credential asked for before, confirmed,
// or waits for that.
func (t *txn) meet(r *Request) error {
	asked, stands, err := t.standing(r.Origin, r.Action, r.URL)
	if err != nil {
		return err
	}
	if !stands || asked.From.Credential == "" || asked.From.File != "" {
		r.State, r.Why = Seen, unannounced
		return nil
	}
	line := *r
	if line.ID != 0 { // the request that a credential made is in its place
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

// Expire ends the wait of what no line has confirmed in time; where nothing has to be confirmed any more, it is due.
func (l *Ledger) Expire() error {
	over := func(t *txn) (list []Request, err error) {
		err = t.open(func(r Request) error {
			if r.State == Seen && r.announced() && (l.o.ConfirmWithin <= 0 || l.o.Now().Sub(r.Asked) >= l.o.ConfirmWithin) {
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
