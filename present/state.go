package present

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Standing is what a reader may learn about an address.
type Standing int

// The standings of an address.
const (
	NotHeld     Standing = iota // nothing was ever stored, or the reader may not even see a link to it
	Erased                      // it was stored and may be linked, and was taken down or erased
	Unavailable                 // the policy of today could not be read
	Withheld                    // it is stored, and may not be shown to the reader
	Showable                    // a version may be shown
)

// State is the standing of an address for a reader, with the reason.
type State struct {
	Standing Standing
	Decision acap.Decision     // Unavailable, Withheld: the refusal
	Erased   archive.Tombstone // Erased: the last erasure
}

// Version is a stored version of a page that a reader may see.
type Version struct {
	URL      string
	Version  int
	Fetched  time.Time
	Status   int
	MIME     string
	Digest   string // of the body
	Current  bool
	Decision acap.Decision // the permission to show the copy
	Limits   acap.Limits   // its limits
}

// Versions returns the copies of the page at rawurl that may be shown to the reader, oldest first, and
// the state of the page.
func (p *Presenter) Versions(ctx context.Context, rawurl string, who Reader) ([]Version, State, error) {
	way, err := p.library.Way(ctx, rawurl)
	if err != nil {
		return nil, State{}, err
	}
	at := way[len(way)-1]
	captures, err := p.library.Versions(ctx, at)
	if err != nil {
		return nil, State{}, err
	}
	var list []Version
	var refused State
	for _, c := range captures {
		v, d, err := p.candidateVersion(ctx, rawurl, c, who)
		switch {
		case errors.Is(err, ErrNotHeld): // erased since the list was read
		case err != nil:
			return nil, State{}, err
		case d.Allowed:
			list = append(list, Version{URL: c.URL, Version: c.Version, Fetched: c.Fetched, Status: c.Status, MIME: c.MIME,
				Digest: c.Digest, Current: c.Current, Decision: d, Limits: d.Limits(v.facts)})
		case d.Usage != "":
			refused = State{Standing: Withheld, Decision: d}
		}
	}
	slices.SortStableFunc(list, func(a, b Version) int { return a.Fetched.Compare(b.Fetched) })
	if len(list) > 0 {
		return list, State{Standing: Showable}, nil
	}
	state, err := p.state(ctx, rawurl, way, refused, who)
	return nil, state, err
}

// candidateVersion decides whether the copy c of the page to which rawurl leads may be shown. It reads
// the copy only if the page has parts that may not be shown. d is zero for a redirect.
func (p *Presenter) candidateVersion(ctx context.Context, rawurl string, c archive.Capture, who Reader) (v *version,
	d acap.Decision, err error) {
	if c.Redirect() {
		return nil, d, nil
	}
	f := copies
	f.listed = true
	v, err = p.version(ctx, rawurl, Which{Version: c.Version}, who, f)
	if err == nil {
		if _, barred := v.FirstBarred(v.usage); barred {
			v, err = p.version(ctx, rawurl, Which{Version: c.Version}, who, copies)
		}
	}
	if refused, ok := errors.AsType[*acap.Refused](err); ok {
		return nil, refused.Decision, nil
	}
	if err != nil {
		return nil, d, err
	}
	d, _, _ = v.decideCopy(who)
	return v, d, nil
}

// state returns the state of an address of which no copy may be shown. way is the redirect chain from
// the address, and refused the state of its last copy, zero if there is none.
func (p *Presenter) state(ctx context.Context, rawurl string, way []string, refused State, who Reader) (State, error) {
	link, err := p.linkDecision(ctx, rawurl, way, who)
	if err != nil {
		return State{}, err
	}
	stones, err := p.library.Tombstones(ctx, way[len(way)-1])
	if err != nil {
		return State{}, err
	}
	switch {
	case refused == (State{}) && len(stones) == 0:
		return State{}, nil
	case link.Reason == acap.Unavailable:
		return State{Standing: Unavailable, Decision: link}, nil
	case !link.Allowed:
		return State{}, nil
	case refused == (State{}):
		return State{Standing: Erased, Erased: stones[len(stones)-1]}, nil
	case refused.Decision.Reason == acap.Unavailable:
		return State{Standing: Unavailable, Decision: refused.Decision}, nil
	}
	return refused, nil
}
