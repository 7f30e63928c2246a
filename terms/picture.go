package terms

import (
	"errors"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/kept"
)

// Picture is what a thumbnail may be made from.
type Picture struct {
	Body []byte
	From string // the must-use-resource that it is; "" for the page as such
	// the addresses of another resource that it is, the one named first, then the hops to it; nil:
	// it is the page
	Of []string

	Drawn bool // it is the page as it was drawn when it was received
}

// Other reports whether more than a copy of the page is needed to make it.
func (p Picture) Other() bool { return p.Of != nil || p.Drawn }

// Picture gives what u (present-thumbnail or present-oldthumbnail) may be made from, where d
// permits it: the page, or the resource that must be used instead (P1 2.5.5.3). Of what is held
// Body is nil where that is not the copy: then it was made when the page was received.
func (t *Terms) Picture(u acap.Usage) (p Picture, d acap.Decision) {
	if d = t.Decide(u); !d.Allowed {
		return p, d
	}
	if uses := t.substitutes(d); len(uses) > 0 {
		r := uses[0]
		own, err := t.instead(r, d, &p)
		if err != nil {
			d.Because = r.Field
			return p, d.Refuse(acap.Unfulfillable, r.Value+": "+err.Error())
		}
		if !own {
			return p, d
		}
	}
	if t.kept != nil && t.kept.Drawing != nil && u == acap.PresentThumbnail {
		if _, err := t.redrawn(u, d); err != nil {
			return p, d.Refuse(acap.Unfulfillable, err.Error())
		}
		p.Drawn = true
		return p, d
	}
	if t.page == nil {
		return p, d
	}
	var ok bool
	if p.Body, _, ok = t.Copy(u); !ok { // N28
		return p, d.Refuse(acap.ByProhibition, "a part that may not be shown cannot be cut out")
	}
	return p, d
}

// Drawn gives what the thumbnail is made from that has to be kept: copied says that a copy is,
// which gives one of the page itself. It is kept for every reader whom the policy lets see it, as
// Keep does.
func (t *Terms) Drawn(copied bool) (p Picture, ok bool) {
	t = t.anyone()
	if copied && len(t.substitutes(t.decide(acap.PresentThumbnail))) == 0 {
		return p, false
	}
	p, d := t.Picture(acap.PresentThumbnail)
	return p, d.Allowed && (!copied || p.Of != nil)
}

// FitsPicture reports whether a thumbnail may stay that is kept for u; other says that it was made
// of another resource, of which k tells, or drawn of the page and more. Where it may not, d says
// why.
func (t *Terms) FitsPicture(u acap.Usage, k Kept, other bool) (d acap.Decision, fits bool) {
	t = t.anyone().Keeping(k)
	d = t.decide(u)
	uses := t.substitutes(d)
	switch {
	case !d.Allowed:
		return d, d.Reason == acap.Unavailable // X63
	case len(uses) == 0 && other && k.Drawing != nil:
		unread, err := t.redrawn(u, d)
		if err == nil || unread {
			return d, true
		}
		if part, barred := t.Barred(u); barred {
			d.Because = part.Because
		}
		return d.Refuse(acap.ByProhibition, err.Error()), false
	case len(uses) == 0:
		fits = !other
	case other:
		_, fits = k.Pictured(uses[0].Value)
	}
	if len(uses) > 0 {
		d.Because = uses[0].Field
	}
	if !fits {
		d = d.Refuse(acap.ByProhibition, "it was made of something else")
	}
	return d, fits
}

// instead fills p with what must be used instead of the page; own says that this is the page
// itself.
func (t *Terms) instead(r *acap.Required, d acap.Decision, p *Picture) (own bool, err error) {
	p.From = r.Value
	address := r.URL
	switch {
	case r.IsText:
		return false, errors.New("no thumbnail can be made of a text")
	case r.Locator != "" && t.page != nil:
		if address = t.page.Image(r.Locator, t.cut(d, &acap.Limits{})); address == "" {
			return false, errors.New("the page has no such image")
		}
	case r.Locator != "":
		address, _ = t.kept.Pictured(r.Value)
	}
	if t.self(address) {
		return true, nil
	}
	if t.kept != nil {
		of, made := t.kept.Pictured(r.Value)
		if !made || of != address {
			return false, errNotKept
		}
		p.Of = t.kept.Of[kept.Thumbnail]
		for _, of := range p.Of {
			if err := t.standing(of); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	pg, err := t.other(address)
	if err != nil {
		return false, err
	}
	p.Body, p.Of = pg.Last().Body, hopsTo(address, pg)
	return false, nil
}

func (t *Terms) self(address string) bool {
	u, err := url.Parse(address)
	return err == nil && acap.NewResource(u).URL == t.resource.URL
}

// depicts says why no thumbnail made of what r names is at hand of what is held; nil if one may be.
func (t *Terms) depicts(r *acap.Required) error {
	if _, made := t.kept.Pictured(r.Value); made || r.IsText || r.Locator != "" && t.page != nil || t.self(r.URL) {
		return nil
	}
	return errNotKept
}
