package present

import (
	"context"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// Availability says whether a copy of an address may be shown to a reader, and otherwise what the
// reader may learn about the address.
type Availability int

// The values of Availability.
const (
	NotHeld     Availability = iota // nothing was stored, or the reader may not even see a link
	Erased                          // a link to it may be shown, but it was taken down or erased
	Unavailable                     // today's policy could not be read
	Withheld                        // it is stored and may not be shown to the reader
	Showable                        // it may be shown
)

// State is the availability of an address for a reader, with the reason.
type State struct {
	Availability Availability
	// Unavailable and Withheld: the refusal; Erased: the take-down in force, zero if there is none
	Decision acap.Decision
	Erased   archive.Tombstone // Erased: the last erasure; zero if a take-down is in force and erases soon
}

// State returns what the reader may learn about rawurl if nothing of it can be shown. refused is
// the decision that refused the request; it is zero if nothing is stored.
func (p *Presenter) State(ctx context.Context, rawurl string, refused acap.Decision, who Reader) (State, error) {
	way, r, known, err := p.lookUp(ctx, rawurl, who)
	if err != nil {
		return State{}, err
	}
	stones, err := p.library.Tombstones(ctx, way[len(way)-1])
	if err != nil || !known && len(stones) == 0 {
		return State{}, err
	}
	if refused.Usage == "" && len(stones) == 0 {
		return State{}, nil
	}
	l, err := p.link(ctx, way, r, who)
	switch {
	case err != nil && ctx.Err() != nil:
		return State{}, ctx.Err()
	case err != nil:
		return State{Availability: Unavailable, Decision: acap.Decision{Usage: acap.PresentLink,
			Reason: acap.Unavailable, Note: err.Error()}}, nil
	case l.Reason == acap.Unavailable:
		return State{Availability: Unavailable, Decision: l.Decision}, nil
	case !l.open:
		return State{}, nil
	case l.down != nil:
		out := State{Availability: Erased, Decision: acap.Decision{Usage: acap.Present, Reason: acap.ByProhibition,
			Because: l.down}}
		if n := len(stones); r.Current == 0 && n > 0 && stones[n-1].TakenDown() {
			out.Erased = stones[n-1]
		}
		return out, nil
	case refused.Usage == "":
		return State{Availability: Erased, Erased: stones[len(stones)-1]}, nil
	case refused.Reason == acap.Unavailable:
		return State{Availability: Unavailable, Decision: refused}, nil
	}
	return State{Availability: Withheld, Decision: refused}, nil
}
