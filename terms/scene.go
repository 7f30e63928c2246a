package terms

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
	"github.com/acapcrawl/acapcrawl/page"
)

// Scene is everything that a thumbnail of a page may be drawn from: the part of the page that may
// be shown, and the images and style sheets that the page names. A Scene is safe for concurrent
// use.
type Scene struct {
	Body []byte

	terms   *Terms
	drawing kept.Drawing

	mu     sync.Mutex
	named  map[string]bool // addresses that may be requested
	images []string        // addresses of the images that were drawn, including redirects
	sheets []string
}

var errReadOtherwise = errors.New("a browser could read its marks differently")

// Scene returns everything that a thumbnail of the page itself may be drawn from. It returns nil if
// such a thumbnail is prohibited, or if another resource must be used (P1 2.5.5.3:
// must-use-resource). It returns an error if a drawing is permitted but the page cannot be drawn.
// Like Keep, Scene includes everything that at least one reader may see.
func (t *Terms) Scene() (*Scene, error) {
	if t.page == nil || !t.page.HTML() || t.sources.Fetcher == nil || t.sources.Policies == nil {
		return nil, nil
	}
	t = t.forAnyReader()
	t.fetched = maps.Clone(t.fetched)
	d := t.Decide(acap.PresentThumbnail)
	if !d.Allowed || len(t.substitutes(d)) > 0 {
		return nil, nil
	}
	s := &Scene{terms: t, named: map[string]bool{}}
	body, cut, ok := t.Copy(acap.PresentThumbnail)
	if !ok { // P2 2.2.5 (N28): a prohibited part must be cut out
		return nil, nil
	}
	s.Body, s.drawing.Aside, s.drawing.Part = body, t.Aside(acap.PresentThumbnail), cut || t.page.Last().Truncated
	switch {
	case !t.drawable(d, s.drawing):
		return nil, nil
	case !t.page.Drawable(!s.drawing.Part):
		return nil, errReadOtherwise
	}
	s.name(t.Requisites())
	return s, nil
}

// drawable reports whether d permits a drawing with the properties in made. A drawing that leaves
// out a part of the page changes its structure, so d must permit changes of structure.
func (t *Terms) drawable(d acap.Decision, made kept.Drawing) bool {
	return !made.Part || d.Changing(acap.StructureChange, "").Allowed
}

func (s *Scene) name(addresses []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, address := range addresses {
		if key, ok := normal(address); ok {
			s.named[key] = true
		}
	}
}

func normal(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	return acap.NewResource(u).URL, true
}

var errUnnamed = errors.New("the page does not name it, or does not permit to follow it")

// Sheet fetches a style sheet of the page and permits requests for the resources that the style
// sheet names.
func (s *Scene) Sheet(ctx context.Context, rawurl string) (*page.Page, error) {
	own, err := s.requestTerms(ctx, rawurl)
	if err != nil {
		return nil, err
	}
	got := own.obtain(rawurl)
	if got.Err != nil {
		return nil, got.Err
	}
	origin, err := own.sources.Policies.Policy(ctx, got.Page.URL())
	if err != nil {
		return nil, err
	}
	s.name(Of(ctx, origin, got.Page.URL(), got.Page, own.sources, own.facts).Requisites())
	s.drawnWith(&s.sheets, rawurl, got.Page)
	return got.Page, nil
}

// Image fetches an image of the page. It returns an error if the image may not be shown as a
// thumbnail.
func (s *Scene) Image(ctx context.Context, rawurl string) (*page.Page, error) {
	own, err := s.requestTerms(ctx, rawurl)
	if err != nil {
		return nil, err
	}
	if _, err := own.checkDrawable(rawurl); err != nil {
		return nil, err
	}
	got := own.obtain(rawurl)
	if got.Err != nil {
		return nil, got.Err
	}
	for _, address := range hopsTo(rawurl, got.Page) {
		if _, err := own.checkDrawable(address); err != nil {
			return nil, err
		}
	}
	if err := own.checkImage(got.Page); err != nil {
		return nil, err
	}
	s.drawnWith(&s.images, rawurl, got.Page)
	return got.Page, nil
}

// requestTerms returns the terms for one request. It returns an error if neither the page nor its
// style sheets name rawurl, because nothing else may be requested. The result is a copy, so that
// concurrent requests do not affect each other.
func (s *Scene) requestTerms(ctx context.Context, rawurl string) (*Terms, error) {
	key, ok := normal(rawurl)
	s.mu.Lock()
	ok = ok && s.named[key]
	s.mu.Unlock()
	if !ok {
		return nil, errUnnamed
	}
	own := *s.terms
	own.ctx = ctx
	return &own, nil
}

func (s *Scene) drawnWith(list *[]string, rawurl string, pg *page.Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, hopsTo(rawurl, pg)...)
}

// Note records in k that the stored thumbnail was drawn from s.
func (s *Scene) Note(k *Kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.Drawing = &s.drawing
	for value, list := range map[string][]string{kept.DrawnImages: s.images, kept.DrawnSheets: s.sheets} {
		if slices.Sort(list); len(list) > 0 {
			k.SetSource(value, slices.Compact(list))
		}
	}
}

// checkDrawable returns an error if the image at address may not be drawn as a part of the page
// now. unread reports that the policy of the image could not be read. An image is refused if this
// policy requires to show something with the image or in its place, because a drawing cannot do so.
func (t *Terms) checkDrawable(address string) (unread bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return false, err
	}
	p, err := t.sources.Policies.Policy(t.ctx, u)
	if err != nil {
		return true, err
	}
	d := p.Decide(acap.PresentThumbnail, acap.NewResource(u)).At(t.facts)
	return d.Reason == acap.Unavailable, byItself(d, address, t.facts.Now)
}

func byItself(d acap.Decision, address string, now time.Time) error {
	switch {
	case d.Allowed && len(d.MustUse())+len(d.MustInclude()) > 0:
		return fmt.Errorf("%s is to be shown with something else, or in its place", address)
	case d.Allowed && counted(d, now):
		return fmt.Errorf("%s may be shown only for a time that depends on its own dates", address)
	}
	return d.Err(address)
}

// counted reports whether d permits the image only until a time that depends on the first use or
// the next crawl of the image. For images in a drawing neither date is known.
func counted(d acap.Decision, now time.Time) bool {
	l := d.Limits(acap.Facts{Now: now})
	return l.UntilRecrawled || !l.Until.Equal(d.Limits(acap.Facts{Now: time.Unix(0, 0)}).Until)
}

// checkImage returns an error if an image may not be drawn because of statements in the image
// itself. These statements are not stored, so an image that sets a time limit is refused too.
func (t *Terms) checkImage(pg *page.Page) error {
	p, err := t.sources.Policies.Policy(t.ctx, pg.URL())
	if err != nil {
		return err
	}
	r := acap.NewResource(pg.URL())
	before, d := p.Decide(acap.PresentThumbnail, r), p.Narrow(pg.Own()).Decide(acap.PresentThumbnail, r).At(t.facts)
	if err := byItself(d, pg.URL().String(), t.facts.Now); err != nil {
		return err
	}
	if was, is := before.Limits(t.facts), d.Limits(t.facts); !is.Until.Equal(was.Until) {
		return errors.New("it has its own time limit for being shown")
	}
	return nil
}

// checkDrawing returns an error if the stored drawing of the page may no longer be used for u; d is
// the decision that permits u. unread reports that a policy could not be read and that this is the
// reason of the error.
func (t *Terms) checkDrawing(u acap.Usage, d acap.Decision) (unread bool, err error) {
	made := t.kept.Drawing
	if !t.stillPermits(u, kept.Text{Aside: made.Aside}) || !t.drawable(d, *made) {
		return false, errors.New("its thumbnail shows what may not be shown")
	}
	for _, value := range []string{kept.DrawnImages, kept.DrawnSheets} {
		for _, address := range t.kept.Of[value] {
			one := *t
			one.unread = false
			err := one.checkUsable(address)
			if unread = one.unread; err == nil && value == kept.DrawnImages {
				unread, err = t.checkDrawable(address)
			}
			if err != nil {
				return unread, fmt.Errorf("its thumbnail was made from %s: %w", address, err)
			}
		}
	}
	return false, nil
}
