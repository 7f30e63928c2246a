package present

import (
	"context"
	"errors"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// closed reports whether every version of the page r at the end of way is refused to the reader in
// the form f, whatever the versions contain; d is then the refusal. It reads no version, so that a
// page of thousands of hidden versions is answered about as fast as a page that was never archived.
//
// The statements of an earlier version only restrict those of the last fetch (H11), and its time limits end no
// later. A required resource may be in a version itself: such a refusal does not count here.
func (p *Presenter) closed(ctx context.Context, way []string, r archive.Resource, who Reader, f form) (
	d acap.Decision, all bool, err error) {
	v, err := p.underTerms(ctx, way, r, archive.Capture{}, nil, who, f)
	if refused, ok := errors.AsType[*acap.Refused](err); ok {
		return refused.Decision, true, nil
	}
	if err != nil {
		return d, false, err
	}
	old, all := v.always(f.old)
	if !all {
		return d, false, nil
	}
	if d, all = v.always(f.current); r.Current == 0 {
		d = old
	}
	return d, all, nil
}

// always reports whether u is refused for every version of the page, and by which decision.
func (v *version) always(u acap.Usage) (d acap.Decision, refused bool) {
	if v.way != nil && !v.way.Open(u) {
		d = v.way.Decide(u)
	} else {
		d = v.Decide(u)
	}
	return d, !d.Allowed && d.Reason != acap.Unfulfillable
}
