package actions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Reading is what the policy of an origin asks for, as it was read last.
type Reading struct {
	Origin     string    // policy.Key
	Since      time.Time // since when this version is in force
	Actions    []acap.Action
	Digests    map[string]string // SHA-256, hexadecimal, of each file behind it, by its URL
	Incomplete bool              // a file that it refers to could not be read
	Stale      func() bool       // reports whether a newer version has been read by now; nil: none has. It is asked where one was observed
}

// source is where an action of the reading comes from.
func (r *Reading) source(a *acap.Action) Source {
	f := a.Field
	return Source{Kind: Robots, File: f.URL, Line: f.Line, Text: f.Text, Version: r.Since.UTC(), Digest: r.digest(f.URL)}
}

// digest tells the digest of a file behind the reading, "" where there is none.
func (r *Reading) digest(file string) string {
	if sum := r.Digests[file]; sum != "" {
		return "sha256:" + sum
	}
	return ""
}

// asked is when the requests of the reading were first seen: when it was read, even where that is noted later.
func (r *Reading) asked(now time.Time) time.Time {
	if r.Since.IsZero() || r.Since.After(now) {
		return now
	}
	return r.Since.UTC()
}

// sum is a digest of what the reading asks for, whatever else its files say.
func (r *Reading) sum(confirms bool) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for i := range r.Actions {
		a := &r.Actions[i]
		_ = e.Encode([]any{a.Action, a.URL, a.Execute, a.Why, a.Field.URL, a.Field.Line, a.Field.Text}) // it is text, and a hash takes all
	}
	if r.Incomplete {
		for _, file := range slices.Sorted(maps.Keys(r.Digests)) {
			_ = e.Encode(file)
		}
	}
	_ = e.Encode(confirms)
	return hex.EncodeToString(h.Sum(nil))
}

// missing reports whether the file of a line is one that could not be read: that the line is not there says nothing.
func (r *Reading) missing(s Source) bool {
	_, read := r.Digests[s.File]
	return r.Incomplete && !read
}

// line is what a reading asks for by one name.
type line struct {
	*acap.Action
	held      bool     // of a take-down: something of the resource is
	announced bool     // a credential asks for the same, and waits for the line (P07)
	known     *Request // the last request of that name
}

// lines are what the reading asks for, once each: the same is asked for where it may be. Of those whose address is longer than any that
// something can be held of, the number is given: they have no row, in which it would have to stand.
func (r *Reading) lines() (list []*line, by map[string]*line, long int) {
	by = make(map[string]*line, len(r.Actions))
	for i := range r.Actions {
		a := &r.Actions[i]
		n := nameOf(a.Action, a.URL)
		switch l := by[n]; {
		case len(a.URL) > maxURL:
			long++
		case l == nil:
			by[n] = &line{Action: a}
			list = append(list, by[n])
		case !l.Execute && a.Execute:
			l.Action = a
		}
	}
	return list, by, long
}

func nameOf(action, url string) string { return action + " " + url }

// observation compares a reading with what the ledger knows of its origin.
type observation struct {
	*Reading
	x        *Executor
	now      time.Time
	heard    heard
	confirms bool // lines alone are not enough (P07)
	pending  int  // re-crawls of the origin that are not done
	more     int  // lines without a row
	steps    []func(*txn) error
}

// observe notes what the policy of an origin asks for now. Requests whose line has gone stand no longer; a line that comes back asks anew
// (P04). What it asks for that was noted before is not noted again. It reports whether anything is to be executed.
func (x *Executor) observe(reading Reading) (due bool, err error) {
	o := &observation{Reading: &reading, x: x, now: x.ledger.o.Now().UTC()}
	known := false
	err = x.ledger.view(func(t *txn) error {
		known = t.knows(o.Origin)
		o.heard = t.heard(o.Origin)
		o.confirms, _, err = t.confirms(o.Origin, x.ledger.o)
		return err
	})
	if err != nil || !known && len(o.Actions) == 0 {
		return false, err
	}
	switch sum := reading.sum(o.confirms); {
	case x.ledger.turns.overtaken(&reading):
		return o.heard.Owed, nil
	case o.heard.Sum == sum && !come(o.heard.Again, o.now):
		return o.heard.Owed || come(o.heard.Revive, o.now), nil
	default:
		o.heard.Sum = sum
	}
	o.heard.roll(o.now)
	o.heard.Again = time.Time{}
	lines, by, long := o.lines()
	o.more = long
	if err := x.ledger.view(func(t *txn) error { return o.findKnown(t, lines, by) }); err != nil {
		return false, err
	}
	for _, l := range lines {
		if l.executes(acap.TakeDown) && (l.known == nil || !l.known.Standing || l.known.State == Done) {
			if err := o.look(l); err != nil { // executing it reports the error, and does not keep anything else from being done
				l.held = true
			}
		}
		o.ask(l)
	}
	return true, o.write()
}

// executes reports whether the line asks for action in a form that is executed.
func (l *line) executes(action string) bool { return l.Action.Action == action && l.Execute }

// findKnown finds the requests of the origin that the ledger has, and what publishers announced through a credential. It
// notes the requests whose line is gone.
func (o *observation) findKnown(t *txn, lines []*line, by map[string]*line) error {
	if err := t.of(o.Origin, func(r Request) error { return o.meet(r, by) }); err != nil || !o.confirms {
		return err
	}
	for _, l := range lines {
		asked, stands, err := t.standing(o.Origin, l.Action.Action, l.URL)
		if err != nil {
			return err
		}
		l.announced = stands && asked.From.Credential != "" && asked.From.File == ""
	}
	return nil
}

// look finds out whether a take-down has something to erase, or that was erased since it was read: a sweep may have come before.
func (o *observation) look(l *line) (err error) {
	if l.held, err = o.x.eraser.Holds(l.URL); err != nil || l.held || l.known != nil && l.known.Standing {
		return err
	}
	found, err := o.x.eraser.Verify(l.URL, o.asked(o.now))
	l.held = found.Erased != Erasure{} || found.Pending
	return err
}

// meet looks at what was asked for before.
func (o *observation) meet(r Request, by map[string]*line) error {
	if r.Action == acap.ReCrawl && r.executable() {
		o.pending++
	}
	l := by[nameOf(r.Action, r.URL)]
	switch {
	case l != nil:
		l.known = &r
	case r.Standing && !o.missing(r.From):
		if r.Action == acap.ReCrawl && r.executable() && r.State != Running {
			o.pending--
		}
		return o.lapse(r)
	}
	return nil
}

// lapse notes that the line of a request has gone. What was not executed till then is not executed any more.
func (o *observation) lapse(r Request) error {
	var found Evidence
	if r.Action == acap.TakeDown && r.executable() { // a stop or a failure came in the middle, or a sweep before
		var err error
		if found, err = o.x.eraser.Verify(r.URL, r.since()); err != nil {
			return &Failure{fmt.Errorf("what became of the %s of %s cannot be told: %w", r.Action, r.URL, err)}
		}
	}
	o.alter(r.ID, func(r *Request) string {
		r.Standing = false
		switch {
		case !r.executable() && r.State != Seen, r.Action == acap.ReCrawl && r.State == Running: // the page is on its way to be visited
		case found.Erased != Erasure{}:
			r.Why, r.NotBefore = "", time.Time{}
			r.done(found, o.now)
		default:
			r.State, r.Why = Refused, "withdrawn before it was executed" // NotBefore stays: it may come back
		}
		return "lapsed"
	})
	return nil
}

// ask notes what a line asks for, if that is not known.
func (o *observation) ask(l *line) {
	if l.known != nil && l.known.Standing {
		o.askAgain(l)
		return
	}
	r := Request{Action: l.Action.Action, URL: l.URL, Origin: o.Origin, Asked: o.asked(o.now), Standing: true, Source: l.Field.String(), From: o.source(l.Action)}
	switch {
	case !l.Execute:
		r.State, r.Why = Refused, l.Why
	case o.confirms && l.announced:
		o.confirm(r)
		return
	case o.confirms:
		r.State, r.Why = Seen, unannounced
		o.heard.Again = o.now.Add(reconsider)
	case r.Action == acap.TakeDown && l.held:
		r.State, o.heard.Owed = Due, true
	case r.Action == acap.TakeDown: // the line bars the resource; there is nothing to be erased
		r.State, r.Done, r.Gone = Done, o.now, o.now
	default:
		r.State = Due
		if l.known != nil { // P04: not sooner although the line went and came back
			r.NotBefore = l.known.again(o.x.limits.Again)
		}
		if r.Why = o.crawl(); r.Why != "" {
			r.State, r.NotBefore = Refused, time.Time{}
		}
	}
	if r.State != Due && !o.heard.list(o.x.limits) {
		o.more++
		return
	}
	o.steps = append(o.steps, func(t *txn) error { return t.note(string(r.State), &r) })
}

// confirm has the request of a line meet the one that a credential made.
func (o *observation) confirm(r Request) {
	o.heard.Owed = o.heard.Owed || r.Action == acap.TakeDown
	o.steps = append(o.steps, func(t *txn) error { return t.meet(&r) })
}

// crawl asks whether another re-crawl may become due, and tells why not.
func (o *observation) crawl() (why string) {
	if why = o.heard.crawl(o.x.limits, o.pending); why == "" {
		o.pending++
	} else {
		o.heard.Again = o.now.Add(reconsider)
	}
	return why
}

// askAgain notes what is new about a request that stands.
func (o *observation) askAgain(l *line) {
	before := *l.known
	r := before
	if s := o.source(l.Action); s.File != r.From.File || s.Line != r.From.Line || s.Text != r.From.Text {
		s.Credential = r.From.Credential
		r.Source, r.From = l.Field.String(), s
	}
	switch {
	case l.Execute && (r.State == Seen || r.State == Refused) && o.confirms:
		// P07: a line alone is not enough; it confirms what was announced
		if l.announced {
			o.confirm(r)
			return
		}
		r.State, r.Why, r.NotBefore = Seen, unannounced, time.Time{}
	case !l.Execute && r.State != Done && r.State != Running:
		r.State, r.Why, r.NotBefore = Refused, l.Why, time.Time{}
	case !l.Execute:
	case r.Action == acap.TakeDown:
		o.askTakeDownAgain(l, &r)
	case (r.State == Refused || r.State == Seen) && !r.NotBefore.After(o.now):
		if r.Why = o.crawl(); r.Why == "" {
			r.State, r.NotBefore = Due, time.Time{}
		}
	}
	if r == before {
		return
	}
	event := string(r.State)
	if r.State == before.State {
		event = "line"
	}
	o.alter(r.ID, func(is *Request) string {
		is.Source, is.From, is.State, is.Why, is.NotBefore = r.Source, r.From, r.State, r.Why, r.NotBefore
		return event
	})
}

// askTakeDownAgain makes a take-down that is still asked for due, unless it is done and there is nothing to erase (P04: a
// take-down is repeated).
func (o *observation) askTakeDownAgain(l *line, r *Request) {
	if r.State == Seen || r.State == Refused || r.State == Done && l.held {
		r.State, r.Why = Due, ""
	}
	o.heard.Owed = o.heard.Owed || r.executable()
}

// alter has a request changed by fn, which names the event.
func (o *observation) alter(id uint64, fn func(*Request) string) {
	o.steps = append(o.steps, func(t *txn) error { return t.alter(id, fn) })
}

// write notes all in transactions of a bounded size. The last one says that the reading was observed.
func (o *observation) write() error {
	if o.more > 0 {
		o.steps = append(o.steps, func(t *txn) error {
			return t.remark("limit", map[string]any{"origin": o.Origin, "requests": o.more, "digest": o.digest(o.Origin + "/robots.txt"),
				"why": "requests that are refused, or erase nothing, and are too many, or too long, to be listed"})
		})
	}
	for {
		some := o.steps[:min(batch, len(o.steps))]
		o.steps = o.steps[len(some):]
		err := o.x.ledger.update(func(t *txn) error {
			for _, step := range some {
				if err := step(t); err != nil {
					return err
				}
			}
			if len(o.steps) > 0 {
				return nil
			}
			is := t.heard(o.Origin)
			o.heard.Revive = is.Revive
			err := t.hear(o.Origin, o.heard)
			if is.Sum != o.heard.Sum {
				err = errors.Join(err, t.remark(eventRead, observed{o.Origin, o.heard.Sum}))
			}
			return err
		})
		if err != nil || len(o.steps) == 0 {
			return err
		}
	}
}

// alter changes a request by fn, which names the event; "" changes nothing.
func (t *txn) alter(id uint64, fn func(*Request) string) error {
	r, known, err := t.request(id)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("request %d is missing", id)
	}
	if event := fn(&r); event != "" {
		return t.note(event, &r)
	}
	return nil
}

// knows reports whether an origin has ever asked for anything.
func (t *txn) knows(origin string) bool {
	n, _ := t.tx.Bucket(bNames).Cursor().Seek([]byte(origin + "\x00"))
	return strings.HasPrefix(string(n), origin+"\x00")
}
