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

// Reading is the requests in the policy of an origin, as it was last read.
type Reading struct {
	Origin     string    // in the form that policy.Key returns
	Since      time.Time // since when this version is in force
	Actions    []acap.Action
	Digests    map[string]string // URL of each file of the policy → SHA-256 in hexadecimal
	Incomplete bool              // a referenced file could not be read
	Order      uint64            // position of an order at which, or before which, the policy was published; 0: none
	Stale      func() bool       // reports whether a newer version has been read; nil: no
}

// source returns where the action a comes from: the file, the line and the version of the policy.
func (r *Reading) source(a *acap.Action) Source {
	f := a.Field
	return Source{Kind: Robots, File: f.URL, Line: f.Line, Text: f.Text, Version: r.Since.UTC(),
		Digest: r.digest(f.URL)}
}

// digest returns the labelled digest of a file of the reading, or "".
func (r *Reading) digest(file string) string {
	if sum := r.Digests[file]; sum != "" {
		return "sha256:" + sum
	}
	return ""
}

// asked returns when the requests of the reading were first seen. This is the time of the reading,
// even if the requests are noted later.
func (r *Reading) asked(now time.Time) time.Time {
	if r.Since.IsZero() || r.Since.After(now) {
		return now
	}
	return r.Since.UTC()
}

// sum returns a digest of the requests in the reading. The digest does not change if other lines of
// the files change.
func (r *Reading) sum(confirms bool) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for i := range r.Actions {
		a := &r.Actions[i]
		// cannot fail: the values are text, and a hash accepts all data
		_ = e.Encode([]any{a.Action, a.URL, a.Execute, a.Why, a.Field.URL, a.Field.Line, a.Field.Text})
	}
	if r.Incomplete {
		for _, file := range slices.Sorted(maps.Keys(r.Digests)) {
			_ = e.Encode(file)
		}
	}
	_ = e.Encode(confirms)
	return hex.EncodeToString(h.Sum(nil))
}

// missing reports whether the file that contained the line s could not be read. Then it is unknown
// whether the line was removed.
func (r *Reading) missing(s Source) bool {
	_, read := r.Digests[s.File]
	return r.Incomplete && !read
}

// line is the request for one action and URL in the policy of an origin.
type line struct {
	*acap.Action
	// set for take-downs only: something of the resource is stored, or was erased since the line
	// was read
	held      bool
	announced bool     // a credential requested the same action for the same URL and waits for this line
	known     *Request // the last request with that action and URL
}

// lines returns each request of the reading once. If a request occurs several times, lines prefers
// an occurrence that may be executed. long is the number of requests that are left out because
// their URL is too long to be stored.
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

// observation compares a reading with the requests in the ledger.
type observation struct {
	*Reading
	x        *Executor
	now      time.Time
	heard    heard
	confirms bool // P1 2.6 (P07): lines must be confirmed by a credential
	pending  int  // re-crawls of the origin that are not done
	more     int  // number of lines that are counted but not listed
	steps    []func(*txn) error
}

// observe notes the requests in the policy of an origin. A request whose line was removed is no
// longer in force. P1 2.6 (P04): a restored line is a new request. Requests that are already noted
// are not noted again. observe reports whether anything is due.
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
	case o.heard.Sum == sum && !reached(o.heard.Again, o.now):
		return o.heard.Owed || reached(o.heard.Revive, o.now), nil
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
			// continue with the other lines; the execution will report the error
			if err := o.checkStored(l); err != nil {
				l.held = true
			}
		}
		o.noteLine(l)
	}
	return true, o.write()
}

// executes reports whether the line asks for action in a form that is executed.
func (l *line) executes(action string) bool { return l.Action.Action == action && l.Execute }

// findKnown finds the requests of the origin in the ledger, and the requests that its publisher has
// submitted. It notes which requests have lost their line.
func (o *observation) findKnown(t *txn, lines []*line, by map[string]*line) error {
	if err := t.of(o.Origin, func(r Request) error { return o.matchKnown(r, by) }); err != nil || !o.confirms {
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

// checkStored sets l.held if there is something to erase for a take-down. It also sets l.held if
// something was erased since the line was read, because a sweep may have erased it before the
// Executor.
func (o *observation) checkStored(l *line) (err error) {
	if l.held, err = o.x.eraser.Holds(l.URL); err != nil || l.held || l.known != nil && l.known.Standing {
		return err
	}
	found, err := o.x.eraser.Verify(l.URL, o.asked(o.now))
	l.held = found.Erased != Erasure{} || found.Pending
	return err
}

// matchKnown assigns r, a request in the ledger, to its line. If the line was removed, matchKnown
// notes that.
func (o *observation) matchKnown(r Request, by map[string]*line) error {
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
		return o.noteLineGone(r)
	}
	return nil
}

// noteLineGone notes that the line of the request r was removed. If r has not been executed, r is
// refused.
func (o *observation) noteLineGone(r Request) error {
	var found Evidence
	// an execution may have been interrupted, or a sweep may have erased first
	if r.Action == acap.TakeDown && r.executable() {
		var err error
		if found, err = o.x.eraser.Verify(r.URL, r.since()); err != nil {
			return &Failure{fmt.Errorf("the result of the %s of %s cannot be determined: %w", r.Action, r.URL, err)}
		}
	}
	o.alter(r.ID, func(r *Request) string {
		r.Standing = false
		switch {
		case !r.executable() && r.State != Seen, r.Action == acap.ReCrawl && r.State == Running:
			// the URL is already queued for the re-crawl, so the state stays Running
		case found.Erased != Erasure{}:
			r.Why, r.NotBefore = "", time.Time{}
			r.done(found, o.now)
		default:
			// NotBefore does not change, so that it is still valid if the line is restored
			r.State, r.Why = Refused, "withdrawn before it was executed"
		}
		return "lapsed"
	})
	return nil
}

// noteLine notes the request of a line. If the request is already in force, noteLine only notes
// what has changed.
func (o *observation) noteLine(l *line) {
	if l.known != nil && l.known.Standing {
		o.updateRequest(l)
		return
	}
	r := Request{Action: l.Action.Action, URL: l.URL, Origin: o.Origin, Asked: o.asked(o.now), Standing: true,
		Source: l.Field.String(), From: o.source(l.Action)}
	if o.Order > 0 {
		r.Spread = &Spread{Order: o.Order}
	}
	switch {
	case !l.Execute:
		r.State, r.Why = Refused, l.Why
	case o.confirms && l.announced:
		o.confirmLater(r)
		return
	case o.confirms:
		r.State, r.Why = Seen, unannounced
		o.heard.Again = o.now.Add(reconsider)
	case r.Action == acap.TakeDown && l.held:
		r.State, o.heard.Owed = Due, true
	case r.Action == acap.TakeDown: // nothing is stored: the take-down is complete, and the line blocks the resource
		r.State, r.Done, r.Gone = Done, o.now, o.now
	default:
		r.State = Due
		// P1 2.6 (P04): removing and restoring a line does not shorten the time between two
		// re-crawls
		if l.known != nil {
			r.NotBefore = l.known.again(o.x.limits.Again)
		}
		if r.Why = o.allowRecrawl(); r.Why != "" {
			r.State, r.NotBefore = Refused, time.Time{}
		}
	}
	if r.State != Due && !o.heard.allowListing(o.x.limits) {
		o.more++
		return
	}
	o.steps = append(o.steps, func(t *txn) error { return t.note(string(r.State), &r) })
}

// confirmLater adds a step that confirms the request of a line.
func (o *observation) confirmLater(r Request) {
	o.heard.Owed = o.heard.Owed || r.Action == acap.TakeDown
	o.steps = append(o.steps, func(t *txn) error { return t.confirmByLine(&r) })
}

// allowRecrawl checks the limits for another re-crawl of the origin. If the limits permit the
// re-crawl, allowRecrawl counts it and returns "". Otherwise it returns the reason.
func (o *observation) allowRecrawl() (why string) {
	if why = o.heard.allowRecrawl(o.x.limits, o.pending); why == "" {
		o.pending++
	} else {
		o.heard.Again = o.now.Add(reconsider)
	}
	return why
}

// updateRequest notes changes of a request that is already in force.
func (o *observation) updateRequest(l *line) {
	before := *l.known
	r := before
	if s := o.source(l.Action); s.File != r.From.File || s.Line != r.From.Line || s.Text != r.From.Text {
		s.Credential = r.From.Credential
		r.Source, r.From = l.Field.String(), s
	}
	switch {
	case l.Execute && (r.State == Seen || r.State == Refused) && o.confirms:
		// P1 2.6 (P07): without a submitted request, a line is not executed; the line confirms the
		// submitted request
		if l.announced {
			o.confirmLater(r)
			return
		}
		r.State, r.Why, r.NotBefore = Seen, unannounced, time.Time{}
	case !l.Execute && r.State != Done && r.State != Running:
		r.State, r.Why, r.NotBefore = Refused, l.Why, time.Time{}
	case !l.Execute:
	case r.Action == acap.TakeDown:
		o.askTakeDownAgain(l, &r)
	case (r.State == Refused || r.State == Seen) && !r.NotBefore.After(o.now):
		if r.Why = o.allowRecrawl(); r.Why == "" {
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

// askTakeDownAgain makes a take-down in force due again, unless the take-down is done and nothing
// is stored. P1 2.6 (P04): a take-down is repeated.
func (o *observation) askTakeDownAgain(l *line, r *Request) {
	if r.State == Seen || r.State == Refused || r.State == Done && l.held {
		r.State, r.Why = Due, ""
	}
	o.heard.Owed = o.heard.Owed || r.executable()
}

// alter adds a step that changes the request with the given ID. fn changes the request and returns
// the name of the event.
func (o *observation) alter(id uint64, fn func(*Request) string) {
	o.steps = append(o.steps, func(t *txn) error { return t.alter(id, fn) })
}

// write executes all steps in transactions of limited size. The last transaction notes that the
// reading was observed.
func (o *observation) write() error {
	if o.more > 0 {
		o.steps = append(o.steps, func(t *txn) error {
			return t.remark("limit", map[string]any{"origin": o.Origin, "requests": o.more,
				"digest": o.digest(o.Origin + "/robots.txt"),
				"why":    "requests that were refused or erased nothing; they are too many or too long to be listed"})
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
			err := t.putHeard(o.Origin, o.heard)
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

// alter changes the request with the given ID. fn changes the request and returns the name of the
// event, or "" if nothing changed.
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

// knows reports whether an origin ever had a request.
func (t *txn) knows(origin string) bool {
	n, _ := t.tx.Bucket(bNames).Cursor().Seek([]byte(origin + "\x00"))
	return strings.HasPrefix(string(n), origin+"\x00")
}
