package terms

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Part is another resource that a permission names, once asked for.
type Part struct {
	URL    string     // as it is named
	Page   *page.Page // nil where it cannot be used
	Err    error      // why
	Failed bool       // for a failure, which says nothing of it (H05)
}

// Parts are the other resources that were asked for so far, sorted by address; none where none can
// be.
func (t *Terms) Parts() []Part {
	if t.sources.Fetcher == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(t.fetched), func(a, b Part) int { return strings.Compare(a.URL, b.URL) })
}

// Obtain asks for another resource as the terms of a page do that requires it.
func Obtain(ctx context.Context, s Sources, rawurl string) Part {
	return (&Terms{ctx: ctx, sources: s}).obtain(rawurl)
}

// ErrNoAnswer is wrapped by the errors of a Fetcher that say nothing of a resource: it may be had
// another time.
var ErrNoAnswer = errors.New("no answer")

// What a Lack may be for.
var (
	ErrNoPart  = errors.New("the page has no such part")
	ErrTooLong = errors.New("the required extract is longer than the limit")
)

var (
	errNothing = errors.New("its length is limited to nothing")
	errTwo     = errors.New("two different resources must be used")
	errNotKept = errors.New("it is not available until the page is crawled again")
	errNoText  = errors.New("it holds no text that may be used")
	errHidden  = errors.New("a part of it may not be shown")
)

// Lack is something that a permission requires and that cannot be had.
type Lack struct {
	Field    *acap.Field    // which requires it
	Required *acap.Required // nil where it is no single resource or part
	Err      error          // why
}

func (l Lack) note() string {
	if l.Required == nil {
		return l.Err.Error()
	}
	return l.Required.Value + ": " + l.Err.Error()
}

// Lacks lists all that stands in the way of a usage that is permitted otherwise, each once, where
// Decide names the first. The page must be known.
func (t *Terms) Lacks(u acap.Usage) (list []Lack) {
	if d := t.decide(u); d.Allowed && t.page != nil {
		for l := range t.lacking(d) {
			list = append(list, l)
		}
	}
	return list
}

// fulfil turns an allowed decision into a refusal where what it requires is not available.
func (t *Terms) fulfil(d acap.Decision) acap.Decision {
	for l := range t.lacking(d) {
		d.Because = l.Field
		return d.Refuse(acap.Unfulfillable, l.note())
	}
	return d
}

// lacking gives what d, which permits, requires and cannot have.
func (t *Terms) lacking(d acap.Decision) iter.Seq[Lack] {
	return func(yield func(Lack) bool) {
		if nothing(d.Limits(t.facts)) && !yield(Lack{d.Holder(t.facts, nothing), nil, errNothing}) { // X05
			return
		}
		uses := d.MustUse()
		for i, r := range uses {
			var err error
			switch {
			case r.Value != uses[0].Value: // F15: all restrictions bind, and no text can be made of two sources alone
				if !yield(Lack{r.Field, nil, errTwo}) {
					return
				}
			case i == 0:
				err = t.usable(r, d)
			}
			if err != nil && !yield(Lack{r.Field, r, err}) {
				return
			}
		}
		includes := d.MustInclude()
		if len(includes) > mostParts {
			yield(Lack{includes[mostParts].Field, nil, fmt.Errorf("more than %d parts must be shown with it",
				mostParts)})
			return
		}
		for _, r := range includes {
			if _, err := t.include(r, d); err != nil && !yield(Lack{r.Field, r, err}) { // J12
				return
			}
		}
		if isSnippet(d.Usage) && (t.page == nil || t.page.MIME() != "") {
			limits := t.limits(d)
			if ex := t.extracts(d, &limits); len(ex) > 0 { // J04
				if _, ok := snippet.Build("", snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords,
					Extracts: ex}); !ok {
					yield(Lack{d.Holder(t.facts, limited), nil, ErrTooLong})
				}
			}
		}
	}
}

// usable says why a substitute cannot be used for what d permits; nil if it can. Of what is kept a
// usage leans on what was kept for it alone. Where a text is made of it, one without text is as
// none.
func (t *Terms) usable(r *acap.Required, d acap.Decision) error {
	textual := d.Usage == acap.Index || isSnippet(d.Usage)
	switch {
	case t.kept != nil && (d.Usage == acap.PresentThumbnail || d.Usage == acap.PresentOldThumbnail):
		return t.depicts(r)
	case r.IsText, t.itself(r):
		return nil
	case r.Locator != "" && t.page != nil:
		if !t.page.HTML() { // I08
			return errors.New("the resource is not an HTML page")
		}
		if _, found := t.page.Extract(r.Locator, page.Cut{}); !found { // I01
			return ErrNoPart
		}
		text, _ := t.page.Extract(r.Locator, t.seen(d, &acap.Limits{}))
		if snippet.Plain(text) == "" && (textual || d.Usage == acap.PresentLink) {
			return errNoText
		}
		return nil
	case t.kept == nil:
		pg, err := t.other(r.URL)
		if err == nil && textual && pg.Text(page.Cut{}) == "" {
			return errNoText
		}
		return err
	case !t.kept.Uses(r.Value, d.Usage):
		return errNotKept
	case r.URL != "":
		return t.standing(r.URL)
	}
	return nil
}

// other obtains another resource: crawl must be permitted for it at every hop (I02, I03), by itself
// too (X30). Its own must-use-resource plays no part.
func (t *Terms) other(rawurl string) (*page.Page, error) {
	u, err := url.Parse(rawurl)
	if err != nil || rawurl == "" {
		return nil, fmt.Errorf("%q is not a URL", rawurl)
	}
	if acap.NewResource(u).URL == t.resource.URL {
		return t.page, nil
	}
	if got, ok := t.fetched[rawurl]; ok {
		return got.Page, got.Err
	}
	got := t.obtain(rawurl)
	t.fetched[rawurl] = got
	return got.Page, got.Err
}

func (t *Terms) obtain(rawurl string) Part {
	pg, failed, err := t.fetch(rawurl)
	if err != nil {
		return Part{URL: rawurl, Err: err, Failed: failed}
	}
	return Part{URL: rawurl, Page: pg}
}

// fetch fetches another resource; failed says of an error that it says nothing of it.
func (t *Terms) fetch(rawurl string) (pg *page.Page, failed bool, err error) {
	if t.sources.Fetcher == nil || t.sources.Policies == nil {
		return nil, false, errors.New("it is not available")
	}
	if pg, err = t.sources.Fetcher.Fetch(t.ctx, rawurl); err != nil {
		return nil, errors.Is(err, ErrNoAnswer), err
	}
	if s := pg.Last().Status; s < 200 || s > 299 {
		return nil, later(s), fmt.Errorf("it answers with status %d", s)
	}
	d, err := t.crawl(pg.URL(), pg.Own())
	if err != nil {
		return nil, true, err
	}
	if !d.Allowed {
		return nil, d.Reason == acap.Unavailable, d.Err(pg.URL().String())
	}
	for _, hop := range pg.Hops() {
		if err := t.takenDown(hop.URL); err != nil {
			return nil, false, err
		}
		if err := t.crawlable(hop.URL); err != nil { // since it was fetched, for another page
			return nil, t.unread, err
		}
	}
	return pg, false, nil
}

// later reports whether a status says that an answer may be had another time.
func later(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests ||
		status == http.StatusRequestTimeout
}

// takenDown is an error where the publisher of another resource has it taken down (P04). What no
// policy says, the gate has judged.
func (t *Terms) takenDown(rawurl string) error {
	if TakenDown(t.ctx, t.sources.Policies, rawurl) != nil {
		return errors.New("its publisher has it taken down")
	}
	return nil
}

// longestPart bounds the text of a part that must be shown, in bytes: a longer one cannot be shown
// whole beside anything.
const longestPart = 1 << 10

// mostParts bounds how many parts must be shown with anything.
const mostParts = 32

// include gives a part that must be shown beside or within a presentation, which d permits, as
// plain text.
func (t *Terms) include(r *acap.Required, d acap.Decision) (snippet.Include, error) {
	in, err := t.part(r, d)
	if err != nil {
		return in, err
	}
	had := in.Text != "" || in.Href != ""
	in.Text = snippet.Plain(in.Text)
	switch {
	case len(in.Text) > longestPart:
		return in, fmt.Errorf("it is longer than %d bytes, and must be shown whole or not at all", longestPart)
	case in.Text == "" && in.Href == "" && (had || r.Role == "extract"):
		return in, errors.New("it holds no text")
	case in.Href != snippet.Plain(in.Href):
		return in, errors.New("its address holds characters that may not be shown")
	case in.Href != "" && r.Link():
		return in, t.crawlable(in.Href)
	}
	return in, nil
}

// part returns a part that must be shown, as the page or the other resource has it.
func (t *Terms) part(r *acap.Required, d acap.Decision) (in snippet.Include, err error) {
	switch {
	case r.IsText: // our reading (X08): a text is shown as text, also if a link is required
		return snippet.Include{Role: r.Role, Text: r.Text}, nil
	case r.Link() && r.Locator == "":
		return snippet.Include{Role: r.Role, Href: r.URL}, nil
	case t.kept != nil && (t.page == nil || r.Locator == ""):
		return t.keptPart(r, d)
	case r.Link():
		return t.linkPart(r, d)
	case r.Locator != "":
		return t.elementPart(r, d)
	}
	return t.otherPart(r)
}

// keptPart returns a part as it was stored.
func (t *Terms) keptPart(r *acap.Required, d acap.Decision) (snippet.Include, error) {
	stored, ok := t.kept.Parts[r.Value]
	switch {
	case !ok:
		return snippet.Include{Role: r.Role}, errNotKept
	case r.URL != "":
		return stored, t.standing(r.URL)
	case !slices.Contains(t.kept.Clear, r.Value) && t.cuts(d):
		return veiled(stored)
	}
	return stored, nil
}

// linkPart returns the link that an element of the page holds.
func (t *Terms) linkPart(r *acap.Required, d acap.Decision) (snippet.Include, error) {
	href, text, found := t.page.Link(r.Locator)
	if !found || href == "" && text == "" {
		return snippet.Include{Role: r.Role}, ErrNoPart
	}
	in := snippet.Include{Role: r.Role, Href: href, Text: text}
	if t.hides(r, d) {
		return veiled(in)
	}
	return in, nil
}

// elementPart returns the text of an element of the page: whole or not at all (J12).
func (t *Terms) elementPart(r *acap.Required, d acap.Decision) (snippet.Include, error) {
	in := snippet.Include{Role: r.Role}
	text, found := t.page.Extract(r.Locator, page.Cut{})
	switch {
	case !found || text == "":
		return in, ErrNoPart
	case t.hides(r, d):
		return in, errHidden
	}
	in.Text = text
	return in, nil
}

// otherPart returns the text of another resource.
func (t *Terms) otherPart(r *acap.Required) (snippet.Include, error) {
	in := snippet.Include{Role: r.Role}
	pg, err := t.other(r.URL)
	if err != nil {
		return in, err
	}
	in.Href, in.Text = r.URL, pg.Text(page.Cut{})
	if r.Role == "extract" && in.Text == "" {
		return in, errors.New("it holds no text")
	}
	return in, nil
}

// hides reports whether d leaves out something of a part of the page.
func (t *Terms) hides(r *acap.Required, d acap.Decision) bool {
	whole, _ := t.page.Extract(r.Locator, page.Cut{})
	shown, _ := t.page.Extract(r.Locator, t.seen(d, &acap.Limits{}))
	return shown != whole
}

// cuts reports whether d leaves out anything of the page.
func (t *Terms) cuts(d acap.Decision) bool { return len(t.Aside(d.Usage)) > 0 }

// veiled is a part whose text may not be shown: of a link the address remains.
func veiled(in snippet.Include) (snippet.Include, error) {
	if in.Text = ""; in.Href == "" {
		return in, errHidden
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
		return errors.New("the policy of its target is not available")
	}
	d, err := t.crawl(u, acap.Own{})
	if err != nil {
		return err
	}
	return d.Err(rawurl)
}

// standing says why what was kept of another resource may not be used now: it may no longer be
// crawled (I02), or its publisher has it taken down.
func (t *Terms) standing(rawurl string) error {
	if err := t.crawlable(rawurl); err != nil {
		return err
	}
	return t.takenDown(rawurl)
}

// Standing says by the policies of now why nothing that was made of another resource may be used;
// nil where it may.
func Standing(ctx context.Context, policies Policies, rawurl string) error {
	return (&Terms{ctx: ctx, sources: Sources{Policies: policies}}).standing(rawurl)
}

// extracts are the texts that must stand in a snippet unmodified (X06). The limits of the elements
// they are of are added to l.
func (t *Terms) extracts(d acap.Decision, l *acap.Limits) []string {
	var out []string
	for _, r := range d.MustInclude() {
		if r.Role != "extract" {
			continue
		}
		in, err := t.include(r, d)
		if err != nil {
			continue
		}
		out = append(out, in.Text)
		if r.Locator != "" && t.page != nil {
			t.page.Extract(r.Locator, t.cut(d, l))
		}
	}
	return out
}
