package terms

import (
	"errors"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
)

// Picture is the source of a thumbnail.
type Picture struct {
	Body []byte
	From string // value of the must-use-resource; "" if the source is the page itself
	// Of holds the addresses of the other resource: the named address, then the redirects from it.
	// nil means that the thumbnail is made from the page.
	Of []string

	Drawn bool // a drawing of the page, made when the page was received
}

// Other reports whether the thumbnail cannot be made from a copy of the page alone.
func (p Picture) Other() bool { return p.Of != nil || p.Drawn }

// Picture returns what u (present-thumbnail or present-oldthumbnail) may be made from: the page, or
// the resource that must be used instead (P1 2.5.5.3: must-use-resource). d is the decision. If the
// page comes from storage and the thumbnail is not made from its copy, Body is nil. The thumbnail
// was then made when the page was received.
func (t *Terms) Picture(u acap.Usage) (p Picture, d acap.Decision) {
	if d = t.Decide(u); !d.Allowed {
		return p, d
	}
	if uses := t.substitutes(d); len(uses) > 0 {
		r := uses[0]
		own, err := t.useSubstitute(r, d, &p)
		if err != nil {
			d.Because = r.Field
			return p, d.Refuse(acap.Unfulfillable, r.Value+": "+err.Error())
		}
		if !own {
			return p, d
		}
	}
	if t.kept != nil && t.kept.Drawing != nil && u == acap.PresentThumbnail {
		if _, err := t.checkDrawing(u, d); err != nil {
			return p, d.Refuse(acap.Unfulfillable, err.Error())
		}
		p.Drawn = true
		return p, d
	}
	if t.page == nil {
		return p, d
	}
	var ok bool
	if p.Body, _, ok = t.Copy(u); !ok { // P2 2.2.5 (N28): a prohibited part must be cut out
		return p, d.Refuse(acap.ByProhibition, "a part that may not be shown cannot be cut out")
	}
	return p, d
}

// Drawn returns the source of a thumbnail that must be stored now, because it cannot be made later;
// ok is false if no thumbnail must be stored. copied reports whether a copy of the page is stored:
// a thumbnail of the page itself can then be made from the copy. Like Keep, Drawn permits a
// thumbnail that at least one reader may see.
func (t *Terms) Drawn(copied bool) (p Picture, ok bool) {
	t = t.forAnyReader()
	if copied && len(t.substitutes(t.decide(acap.PresentThumbnail))) == 0 {
		return p, false
	}
	p, d := t.Picture(acap.PresentThumbnail)
	return p, d.Allowed && (!copied || p.Of != nil)
}

// FitsPicture reports whether a thumbnail stored for u may stay. If it may not stay, d says why. k
// is the data stored for the page. other reports that the thumbnail was made from another resource,
// or drawn with images or style sheets.
func (t *Terms) FitsPicture(u acap.Usage, k Kept, other bool) (d acap.Decision, fits bool) {
	t = t.forAnyReader().Keeping(k)
	d = t.decide(u)
	uses := t.substitutes(d)
	switch {
	case !d.Allowed:
		return d, d.Reason == acap.Unavailable // X63: an unreadable policy erases nothing
	case len(uses) == 0 && other && k.Drawing != nil:
		unread, err := t.checkDrawing(u, d)
		if err == nil || unread {
			return d, true
		}
		if part, barred := t.FirstBarred(u); barred {
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
		d = d.Refuse(acap.ByProhibition, "it was made from something else")
	}
	return d, fits
}

// useSubstitute sets p to the resource that must be used instead of the page, as r requires. own
// reports that the required resource is the page itself.
func (t *Terms) useSubstitute(r *acap.Required, d acap.Decision, p *Picture) (own bool, err error) {
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
	if t.isPage(address) {
		return true, nil
	}
	if t.kept != nil {
		of, made := t.kept.Pictured(r.Value)
		if !made || of != address {
			return false, errNotKept
		}
		p.Of = t.kept.Of[kept.Thumbnail]
		for _, of := range p.Of {
			if err := t.checkUsable(of); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	pg, err := t.fetchOther(address)
	if err != nil {
		return false, err
	}
	p.Body, p.Of = pg.Last().Body, hopsTo(address, pg)
	return false, nil
}

func (t *Terms) isPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && acap.NewResource(u).URL == t.resource.URL
}

// checkPictured returns an error if r names another resource and no stored thumbnail was made from
// it. Otherwise it returns nil.
func (t *Terms) checkPictured(r *acap.Required) error {
	if _, made := t.kept.Pictured(r.Value); made || r.IsText || r.Locator != "" && t.page != nil || t.isPage(r.URL) {
		return nil
	}
	return errNotKept
}
