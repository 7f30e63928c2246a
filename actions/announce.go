package actions

import (
	"math"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Announcement is a request that was submitted through the channel or by the operator, in the form in which the
// ledgers of other machines note it.
type Announcement struct {
	Action     string    `json:"action"`
	URL        string    `json:"url"`
	Origin     string    `json:"origin"`
	Kind       Kind      `json:"kind"`
	Credential string    `json:"credential,omitempty"`
	Text       string    `json:"text"`
	Asked      time.Time `json:"asked"`
	Standing   bool      `json:"standing"`
	State      State     `json:"state"` // Seen, Due, Done (of re-crawls only) or Refused
	Done       time.Time `json:"done,omitzero"`
	Status     int       `json:"status,omitempty"`
}

// Key identifies the requests of which only the last one counts.
func (a Announcement) Key() string { return string(named(a.Origin, a.Action, a.URL)) }

// announcement returns r in the form for other machines. Each machine executes take-downs itself, so the state of their
// execution is left out.
func (r *Request) announcement() Announcement {
	a := Announcement{Action: r.Action, URL: r.URL, Origin: r.Origin, Kind: r.From.Kind, Credential: r.From.Credential,
		Text: r.From.Text, Asked: r.Asked.UTC(), Standing: r.Standing, State: Due}
	switch {
	case r.State == Seen || r.State == Refused:
		a.State = r.State
	case r.State == Done && r.Action == acap.ReCrawl:
		a.State, a.Done, a.Status = Done, r.Done.UTC(), r.Status
	}
	return a
}

// Announced is a request of the ledger with its form for other machines.
type Announced struct {
	ID uint64
	Announcement
}

// Announced returns the requests from the channel and from the operator that have a chain entry with a number greater
// than after, only the last one with each key. It also returns the number of the last entry.
func (l *Ledger) Announced(after uint64) (list []Announced, head uint64, err error) {
	h, err := l.Head()
	if err != nil || h.Seq <= after {
		return nil, h.Seq, err
	}
	noted, err := l.Noted(after)
	if err != nil {
		return nil, 0, err
	}
	last := map[string]bool{}
	for _, r := range slices.Backward(noted) {
		if !r.announced() {
			continue
		}
		a := Announced{r.ID, r.announcement()}
		if !last[a.Key()] {
			last[a.Key()] = true
			list = append(list, a)
		}
	}
	slices.Reverse(list)
	return list, h.Seq, nil
}

// SetOrder notes the position at which a request was published for the other machines.
func (l *Ledger) SetOrder(id, order uint64) error {
	return l.update(func(t *txn) error {
		return t.alter(id, func(r *Request) string {
			if r.order() == order {
				return ""
			}
			r.Spread = &Spread{Order: order}
			return "spread"
		})
	})
}

// Adopt notes a request that another machine has published at the position order, or this one if own is true. It
// returns its ID, or 0 if nothing is to do here. What was noted here and is not published yet is newer: a withdrawal is
// ignored if the same request was submitted here since, and so is an own request that was withdrawn since.
func (l *Ledger) Adopt(a Announcement, order uint64, own bool) (id uint64, err error) {
	stopped := false
	err = l.update(func(t *txn) error {
		r, stands, err := t.standing(a.Origin, a.Action, a.URL)
		switch {
		case err != nil:
			return err
		case stands && !a.Standing && r.order() == 0:
			return nil
		case stands && r.order() >= order: // it is noted, but perhaps not executed
			id = r.ID
			return nil
		case !stands && !a.Standing:
			return nil
		case !stands && own:
			if gone, err := t.withdrawn(a); gone || err != nil {
				return err
			}
		}
		if !stands {
			r = Request{Action: a.Action, URL: a.URL, Origin: a.Origin, Asked: a.Asked,
				From: Source{Kind: a.Kind, Credential: a.Credential, Text: a.Text}}
			r.Source = r.field(t.tx.Bucket(bRequests).Sequence() + 1).String()
		}
		r.Spread, r.Standing = &Spread{Order: order}, a.Standing
		stopped = r.State == Running && r.Action == acap.ReCrawl && a.State != Due
		switch {
		case a.State == Done || a.State == Refused && r.State != Done:
			r.State, r.Why, r.Done, r.Status = a.State, "", a.Done, a.Status
		case r.State == "" || r.State == Seen:
			r.State, r.Why = a.State, ""
		}
		err = t.note("adopted", &r)
		id = r.ID
		return err
	})
	if err == nil && stopped {
		l.crawls.add(a.Origin, -1)
	}
	return id, err
}

// withdrawn reports whether the request a was made here, and withdrawn before it was known to be published.
func (t *txn) withdrawn(a Announcement) (bool, error) {
	for _, id := range t.ids([]string{a.Origin}, math.MaxUint64, math.MaxInt, true) {
		r, known, err := t.request(id)
		if err != nil {
			return false, err
		}
		if known && r.Action == a.Action && r.URL == a.URL && r.Asked.Equal(a.Asked) && r.order() == 0 {
			return !r.Standing, nil
		}
	}
	return false, nil
}
