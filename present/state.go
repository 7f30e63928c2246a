package present

import (
	"context"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Standing is what a reader may learn about an address of which no copy may be shown.
type Standing int

// The standings of an address.
const (
	NotHeld     Standing = iota // nothing was stored, or the reader may not even see a link
	Erased                      // it could be linked, and was taken down or erased
	Unavailable                 // today's policy could not be read
	Withheld                    // it is stored and may not be shown to the reader
	Showable                    // it may be shown
)

// State is the standing of an address for a reader, with the reason.
type State struct {
	Standing Standing
	Decision acap.Decision     // Unavailable and Withheld: the refusal
	Erased   archive.Tombstone // Erased: the last erasure; zero if a take-down is in force and erases soon
}

// State returns what the reader may learn about rawurl, of which nothing can be shown: refused is the
// refusal of what was requested, zero if nothing is stored.
func (p *Presenter) State(ctx context.Context, rawurl string, refused acap.Decision, who Reader) (State, error) {
	way, r, known, err := p.lookUp(ctx, rawurl)
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
	down, open, err := p.linkable(ctx, way, r, who)
	switch {
	case err != nil && ctx.Err() != nil:
		return State{}, ctx.Err()
	case err != nil:
		return State{Standing: Unavailable, Decision: acap.Decision{Usage: acap.PresentLink, Reason: acap.Unavailable,
			Note: err.Error()}}, nil
	case !open:
		return State{}, nil
	case down != nil:
		return State{Standing: Erased, Decision: acap.Decision{Usage: acap.Present, Reason: acap.ByProhibition,
			Because: down}}, nil
	case refused.Usage == "":
		return State{Standing: Erased, Erased: stones[len(stones)-1]}, nil
	case refused.Reason == acap.Unavailable:
		return State{Standing: Unavailable, Decision: refused}, nil
	}
	return State{Standing: Withheld, Decision: refused}, nil
}

// Linkable reports whether something of rawurl is stored, and a link to its page may be shown to the
// reader. If a policy cannot be read, or if a take-down is in force, it may not.
func (p *Presenter) Linkable(ctx context.Context, rawurl string, who Reader) (bool, error) {
	way, r, known, err := p.lookUp(ctx, rawurl)
	if err != nil || !known {
		return false, err
	}
	down, open, err := p.linkable(ctx, way, r, who)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil && open && down == nil, nil
}

// linkable reports whether a link to the page r at the end of way may be shown to the reader. A
// take-down does not prohibit this link; down is the take-down in force, or nil. The error is that of a
// policy that could not be read.
func (p *Presenter) linkable(ctx context.Context, way []string, r archive.Resource, who Reader) (down *acap.Field,
	open bool, err error) {
	r.URL = way[len(way)-1]
	facts := p.facts(r, who, false)
	t, down, err := p.terms(ctx, r, nil, facts)
	if err != nil {
		return nil, false, err
	}
	open = t.Decide(acap.PresentLink).Allowed
	for _, address := range way[:len(way)-1] {
		if down == nil {
			down = terms.TakenDown(ctx, p.policies, address)
		}
	}
	if len(way) > 1 && open {
		reached, err := terms.ReachHeld(ctx, way, r.Own, nil, terms.Kept{}, terms.Sources{Policies: p.policies}, facts)
		if err != nil {
			return nil, false, err
		}
		open = reached.Open(acap.PresentLink)
	}
	return down, open, nil
}
