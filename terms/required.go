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

// Part is another resource that a permission names, and the result of fetching it.
type Part struct {
	URL    string     // address as written in the policy
	Page   *page.Page // the fetched resource; nil if the resource cannot be used
	Err    error      // why the resource cannot be used; nil if it can
	Failed bool       // the fetch failed temporarily, which does not mean that the resource is gone (H05)
}

// Parts returns the other resources requested so far, sorted by address; nil if there is no
// Fetcher.
func (t *Terms) Parts() []Part {
	if t.sources.Fetcher == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(t.fetched), func(a, b Part) int { return strings.Compare(a.URL, b.URL) })
}

// Obtain fetches a required resource with the same checks as for a page that requires it.
func Obtain(ctx context.Context, s Sources, rawurl string) Part {
	return (&Terms{ctx: ctx, sources: s}).obtain(rawurl)
}

// ErrNoAnswer marks errors of a Fetcher that are temporary: the resource may be available later.
var ErrNoAnswer = errors.New("no answer")

// ErrNoPart and ErrTooLong are errors that Lack.Err can be compared with.
var (
	ErrNoPart  = errors.New("the page has no such part")
	ErrTooLong = errors.New("the required extract is longer than the limit")
)

var (
	errNothing = errors.New("its length is limited to zero")
	errTwo     = errors.New("two different resources must be used")
	errNotKept = errors.New("it is not available until the page is crawled again")
	errNoText  = errors.New("it has no text that may be used")
	errHidden  = errors.New("a part of it may not be shown")
)

// Lack is a requirement of a permission that cannot be met.
type Lack struct {
	Field    *acap.Field    // the policy field that contains the requirement
	Required *acap.Required // the missing resource; nil if the requirement is not about a single resource or part
	Err      error          // why the requirement cannot be met
}

func (l Lack) note() string {
	if l.Required == nil {
		return l.Err.Error()
	}
	return l.Required.Value + ": " + l.Err.Error()
}

// Lacks lists, without repetition, the requirements that cannot be met for a usage that is
// permitted otherwise. Decide reports only the first of them. The page must be known.
func (t *Terms) Lacks(u acap.Usage) (list []Lack) {
	if d := t.decide(u); d.Allowed && t.page != nil {
		for l := range t.lacking(d) {
			list = append(list, l)
		}
	}
	return list
}

// fulfil turns the permission d into a refusal if something that d requires is not available.
func (t *Terms) fulfil(d acap.Decision) acap.Decision {
	for l := range t.lacking(d) {
		d.Because = l.Field
		return d.Refuse(acap.Unfulfillable, l.note())
	}
	return d
}

// lacking yields the requirements of the permission d that cannot be met. The requirements come
// from must-use-resource (P1 2.5.3.2, 2.5.5.3) and must-include-resource (P1 2.5.5.6). If there is
// any, the usage is not permitted.
func (t *Terms) lacking(d acap.Decision) iter.Seq[Lack] {
	return func(yield func(Lack) bool) {
		// X05: a length limit of zero prohibits
		if isZero(d.Limits(t.facts)) && !yield(Lack{d.Holder(t.facts, isZero), nil, errNothing}) {
			return
		}
		uses := d.MustUse()
		for i, r := range uses {
			var err error
			switch {
			case r.Value != uses[0].Value:
				// P1 2.4.6 (F15): all restrictions apply, and one text cannot be made from two
				// sources
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
			// J12: a missing required part prohibits
			if _, err := t.include(r, d); err != nil && !yield(Lack{r.Field, r, err}) {
				return
			}
		}
		if isSnippet(d.Usage) && (t.page == nil || t.page.MIME() != "") {
			limits := t.limits(d)
			// P1 2.5.5.4 (J04): the required extracts must fit the length limit
			if ex := t.extracts(d, &limits); len(ex) > 0 {
				if _, ok := snippet.Build("", snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords,
					Extracts: ex}); !ok {
					yield(Lack{d.Holder(t.facts, isLimited), nil, ErrTooLong})
				}
			}
		}
	}
}

// usable returns an error if the substitute r cannot be used for d, otherwise nil. If the page
// comes from storage, only data that was stored for the usage of d is accepted. If the usage needs
// text, a substitute without text is refused.
func (t *Terms) usable(r *acap.Required, d acap.Decision) error {
	textual := d.Usage == acap.Index || isSnippet(d.Usage)
	switch {
	case t.kept != nil && (d.Usage == acap.PresentThumbnail || d.Usage == acap.PresentOldThumbnail):
		return t.checkPictured(r)
	case r.IsText, t.namesPage(r):
		return nil
	case r.Locator != "" && t.page != nil:
		if !t.page.HTML() { // P1 2.5.3.2 (I08): an element can be extracted only from an HTML page
			return errors.New("the resource is not an HTML page")
		}
		if _, found := t.page.Extract(r.Locator, page.Cut{}); !found { // P1 2.5.3.2 (I01): the selector finds nothing
			return ErrNoPart
		}
		text, _ := t.page.Extract(r.Locator, t.usableParts(d, &acap.Limits{}))
		if snippet.Plain(text) == "" && (textual || d.Usage == acap.PresentLink) {
			return errNoText
		}
		return nil
	case t.kept == nil:
		pg, err := t.fetchOther(r.URL)
		if err == nil && textual && pg.Text(page.Cut{}) == "" {
			return errNoText
		}
		return err
	case !t.kept.Uses(r.Value, d.Usage):
		return errNotKept
	case r.URL != "":
		return t.checkUsable(r.URL)
	}
	return nil
}

// fetchOther fetches another resource. The policies of its address and of every redirect must
// permit crawl (I02, I03), and so must the statements of the resource itself (X30). A
// must-use-resource for the other resource is ignored.
func (t *Terms) fetchOther(rawurl string) (*page.Page, error) {
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

// fetch fetches another resource. failed reports that the error is temporary and is no proof that
// the resource is gone.
func (t *Terms) fetch(rawurl string) (pg *page.Page, failed bool, err error) {
	if t.sources.Fetcher == nil || t.sources.Policies == nil {
		return nil, false, errors.New("it is not available")
	}
	if pg, err = t.sources.Fetcher.Fetch(t.ctx, rawurl); err != nil {
		return nil, errors.Is(err, ErrNoAnswer), err
	}
	if last := pg.Last(); !last.OK() {
		return nil, later(last.Status), fmt.Errorf("it answers with status %d", last.Status)
	}
	d, err := t.decideCrawl(pg.URL(), pg.Own())
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
		// the policy may have changed since the resource was fetched for another page
		if err := t.crawlable(hop.URL); err != nil {
			return nil, t.unread, err
		}
	}
	return pg, false, nil
}

// later reports whether an HTTP status means that the resource may be available later.
func later(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests ||
		status == http.StatusRequestTimeout
}

// takenDown returns an error if the publisher of another resource requests its take-down (P04). If
// the policy cannot be read, takenDown returns nil, because the gate has already permitted the
// fetch.
func (t *Terms) takenDown(rawurl string) error {
	if TakenDown(t.ctx, t.sources.Policies, rawurl) != nil {
		return errors.New("its publisher requested that it be taken down")
	}
	return nil
}

// longestPart is the greatest length, in bytes, of the text of a part that must be shown. A longer
// text could not be shown whole next to a result.
const longestPart = 1 << 10

// mostParts is the greatest number of parts that must be shown with one presentation.
const mostParts = 32

// include returns, as plain text, a part that must be shown with or in the presentation d.
func (t *Terms) include(r *acap.Required, d acap.Decision) (snippet.Include, error) {
	in, err := t.requiredPart(r, d)
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

// requiredPart returns the part that r requires, as written in its source: the page, stored data or
// another resource.
func (t *Terms) requiredPart(r *acap.Required, d acap.Decision) (in snippet.Include, err error) {
	switch {
	case r.IsText: // X08: a text is shown as text, even if the policy requires a link
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

// keptPart returns a part from stored data.
func (t *Terms) keptPart(r *acap.Required, d acap.Decision) (snippet.Include, error) {
	stored, ok := t.kept.Parts[r.Value]
	switch {
	case !ok:
		return snippet.Include{Role: r.Role}, errNotKept
	case r.URL != "":
		return stored, t.checkUsable(r.URL)
	case !slices.Contains(t.kept.Clear, r.Value) && t.cuts(d):
		return withoutText(stored)
	}
	return stored, nil
}

// linkPart returns the link that an element of the page contains.
func (t *Terms) linkPart(r *acap.Required, d acap.Decision) (snippet.Include, error) {
	href, text, found := t.page.Link(r.Locator)
	if !found || href == "" && text == "" {
		return snippet.Include{Role: r.Role}, ErrNoPart
	}
	in := snippet.Include{Role: r.Role, Href: href, Text: text}
	if t.hides(r, d) {
		return withoutText(in)
	}
	return in, nil
}

// elementPart returns the text of an element of the page. A text that may not be shown whole is an
// error (J12).
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

// otherPart returns the text of another resource that must be included.
func (t *Terms) otherPart(r *acap.Required) (snippet.Include, error) {
	in := snippet.Include{Role: r.Role}
	pg, err := t.fetchOther(r.URL)
	if err != nil {
		return in, err
	}
	in.Href, in.Text = r.URL, pg.Text(page.Cut{})
	if r.Role == "extract" && in.Text == "" {
		return in, errors.New("it holds no text")
	}
	return in, nil
}

// hides reports whether d requires to leave out some text of the element that r names.
func (t *Terms) hides(r *acap.Required, d acap.Decision) bool {
	whole, _ := t.page.Extract(r.Locator, page.Cut{})
	shown, _ := t.page.Extract(r.Locator, t.usableParts(d, &acap.Limits{}))
	return shown != whole
}

// cuts reports whether d requires to leave out any part of the page.
func (t *Terms) cuts(d acap.Decision) bool { return len(t.Aside(d.Usage)) > 0 }

// withoutText returns a part without its text, because the text may not be shown. The address of a
// link stays. A part without an address is an error.
func withoutText(in snippet.Include) (snippet.Include, error) {
	if in.Text = ""; in.Href == "" {
		return in, errHidden
	}
	return in, nil
}

// crawlable returns an error if the policy does not permit to crawl the target of a link. The
// target need not exist (X08).
func (t *Terms) crawlable(rawurl string) error {
	u, err := url.Parse(rawurl)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not a link to a web page", rawurl)
	}
	if t.sources.Policies == nil {
		return errors.New("the policy of its target is not available")
	}
	d, err := t.decideCrawl(u, acap.Own{})
	if err != nil {
		return err
	}
	return d.Err(rawurl)
}

// checkUsable returns an error if data made from the resource at rawurl may not be used now. The
// reason is that the resource may no longer be crawled (I02), or that its publisher requests its
// take-down.
func (t *Terms) checkUsable(rawurl string) error {
	if err := t.crawlable(rawurl); err != nil {
		return err
	}
	return t.takenDown(rawurl)
}

// CheckUsable returns an error if today's policies prohibit using anything that was made from the
// resource at rawurl; otherwise nil.
func CheckUsable(ctx context.Context, policies Policies, rawurl string) error {
	return (&Terms{ctx: ctx, sources: Sources{Policies: policies}}).checkUsable(rawurl)
}

// extracts returns the texts that a snippet made under d must contain unchanged (X06). It adds the
// length limits of the elements with these texts to l.
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
