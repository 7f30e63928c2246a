package terms

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// obtained is a resource that a permission names, once asked for.
type obtained struct {
	page *page.Page
	err  error
}

var (
	errNotFound = errors.New("the page has no such part")
	errNotKept  = errors.New("it is not at hand until the page is crawled again")
)

// fulfil turns an allowed decision into a refusal where what it requires cannot be had.
func (t *Terms) fulfil(d acap.Decision) acap.Decision {
	limits := d.Limits(t.facts)
	if nothing(limits) { // X05
		d.Because = d.Holder(t.facts, nothing)
		return d.Refuse(acap.Unfulfillable, "its length is limited to nothing")
	}
	uses := d.MustUse()
	for i, r := range uses {
		if r.Value != uses[0].Value { // F15: all restrictions bind, and no text can be made of two sources alone
			d.Because = r.Field
			return d.Refuse(acap.Unfulfillable, "two different resources must be used")
		}
		if i > 0 {
			continue
		}
		if err := t.usable(r, d.Usage); err != nil {
			d.Because = r.Field
			return d.Refuse(acap.Unfulfillable, r.Value+": "+err.Error())
		}
	}
	for _, r := range d.MustInclude() {
		if _, err := t.include(r, d); err != nil { // J12
			d.Because = r.Field
			return d.Refuse(acap.Unfulfillable, r.Value+": "+err.Error())
		}
	}
	if (d.Usage == acap.PresentSnippet || d.Usage == acap.PresentOldSnippet) && (t.page == nil || t.page.MIME() != "") {
		if ex := t.extracts(d); len(ex) > 0 { // J04
			if _, ok := snippet.Build("", snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords, Extracts: ex}); !ok {
				d.Because = d.Holder(t.facts, limited)
				return d.Refuse(acap.Unfulfillable, "the required extract is longer than the limit")
			}
		}
	}
	return d
}

// usable says why a substitute cannot be used for u; nil if it can.
func (t *Terms) usable(r *acap.Required, u acap.Usage) error {
	switch {
	case t.kept != nil && (u == acap.PresentThumbnail || u == acap.PresentOldThumbnail):
		return t.depicts(r)
	case r.IsText:
		return nil
	case r.Locator != "" && t.page != nil:
		if !t.page.HTML() { // I08
			return errors.New("the resource is not an HTML page")
		}
		if _, found := t.page.Extract(r.Locator, page.Cut{}); !found { // I01
			return errNotFound
		}
		return nil
	case t.kept == nil:
		_, err := t.other(r.URL)
		return err
	case r.Value != t.kept.Use && r.Value != t.kept.Index:
		return errNotKept
	case r.URL != "":
		return t.standing(r.URL)
	}
	return nil
}

// other obtains another resource: crawl must be permitted for it at every hop (I02, I03), by itself too (X30). Its own
// must-use-resource plays no part.
func (t *Terms) other(rawurl string) (*page.Page, error) {
	u, err := url.Parse(rawurl)
	if err != nil || rawurl == "" {
		return nil, fmt.Errorf("%q is not a URL", rawurl)
	}
	if acap.NewResource(u).URL == t.resource.URL {
		return t.page, nil
	}
	if got, ok := t.fetched[rawurl]; ok {
		return got.page, got.err
	}
	got := t.obtain(rawurl)
	t.fetched[rawurl] = got
	return got.page, got.err
}

func (t *Terms) obtain(rawurl string) obtained {
	if t.sources.Fetcher == nil || t.sources.Policies == nil {
		return obtained{err: errors.New("it is not at hand")}
	}
	pg, err := t.sources.Fetcher.Fetch(t.ctx, rawurl)
	if err != nil {
		return obtained{err: err}
	}
	if s := pg.Last().Status; s < 200 || s > 299 {
		return obtained{err: fmt.Errorf("it answers with status %d", s)}
	}
	d, err := t.crawl(pg.URL(), pg.Own())
	if err != nil {
		return obtained{err: err}
	}
	if !d.Allowed {
		return obtained{err: d.Err(pg.URL().String())}
	}
	for _, hop := range pg.Hops() {
		if err := t.takenDown(hop.URL); err != nil {
			return obtained{err: err}
		}
	}
	return obtained{page: pg}
}

// takenDown is an error where the publisher of another resource has it taken down (P04).
func (t *Terms) takenDown(rawurl string) error {
	u, err := url.Parse(rawurl)
	if err != nil {
		return err
	}
	if p, err := t.sources.Policies.Policy(t.ctx, u); err != nil || TakeDown(p, u) == nil {
		return nil // what no policy says, the gate has judged
	}
	return errors.New("its publisher has it taken down")
}

// include gives a part that must be shown beside or within a presentation, which d permits.
func (t *Terms) include(r *acap.Required, d acap.Decision) (snippet.Include, error) {
	in := snippet.Include{Role: r.Role}
	switch {
	case r.IsText: // X08: a text is shown as text, also where a link is asked for
		in.Text = r.Text
	case r.Link() && r.Locator == "":
		in.Href = r.URL
	case t.kept != nil && (t.page == nil || r.Locator == ""):
		kept, ok := t.kept.Parts[r.Value]
		if !ok {
			return in, errNotKept
		}
		if r.URL != "" {
			return kept, t.standing(r.URL)
		}
		in = kept
	case r.Link():
		href, text, found := t.page.Link(r.Locator)
		if !found || href == "" && text == "" {
			return in, errNotFound
		}
		in.Href, in.Text = href, text
	case r.Locator != "":
		text, found := t.page.Extract(r.Locator, page.Cut{})
		if !found || text == "" {
			return in, errNotFound
		}
		cut := t.cut(d, &acap.Limits{})
		cut.Snippet = d.Usage == acap.PresentSnippet || d.Usage == acap.PresentOldSnippet
		if shown, _ := t.page.Extract(r.Locator, cut); shown != text { // J12: it is shown whole or not at all
			return in, errors.New("a part of it may not be shown")
		}
		in.Text = text
	default:
		pg, err := t.other(r.URL)
		if err != nil {
			return in, err
		}
		in.Href, in.Text = r.URL, pg.Text(page.Cut{})
		if r.Role == "extract" && in.Text == "" {
			return in, errors.New("it holds no text")
		}
	}
	if in.Href != "" && r.Link() {
		return in, t.crawlable(in.Href)
	}
	return in, nil
}

// crawlable: a link's target must be crawlable, it need not exist (X08).
func (t *Terms) crawlable(rawurl string) error {
	u, err := url.Parse(rawurl)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not a link to a web page", rawurl)
	}
	if t.sources.Policies == nil {
		return errors.New("the policy of its target is not at hand")
	}
	d, err := t.crawl(u, acap.Own{})
	if err != nil {
		return err
	}
	return d.Err(rawurl)
}

// standing says why what was kept of another resource may not be used now: it may no longer be crawled (I02), or its publisher has it
// taken down.
func (t *Terms) standing(rawurl string) error {
	if err := t.crawlable(rawurl); err != nil {
		return err
	}
	return t.takenDown(rawurl)
}

// extracts are the texts that must stand in a snippet unmodified (X06).
func (t *Terms) extracts(d acap.Decision) []string {
	var out []string
	for _, r := range d.MustInclude() {
		if r.Role == "extract" {
			if in, err := t.include(r, d); err == nil {
				out = append(out, in.Text)
			}
		}
	}
	return out
}
