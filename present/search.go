package present

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Query is what a reader searches for.
type Query struct {
	Text        string
	Skip, Limit int  // results
	Why         bool // tell of what is left out, and why: for who runs this service, not for readers
}

// Found is what a reader sees of an answer.
type Found struct {
	Results []Result
	Count   int  // of results that may be shown, those skipped among them
	More    bool // there may be more than Count
}

// Result is one page found, as it may be shown.
type Result struct {
	URL        string           `json:"url"`
	Link       bool             `json:"link"`           // the address may be shown as a link; else as plain text (X61)
	Href       string           `json:"href,omitempty"` // the link must lead here instead (P1 2.5.5.3)
	Title      string           `json:"title,omitempty"`
	TitleMarks [][2]int         `json:"title_marks,omitempty"` // as the marks of the snippet
	Snippet    *snippet.Snippet `json:"snippet,omitempty"`
	// credits and links that must stand beside it and are not with the snippet
	Include []snippet.Include `json:"include,omitempty"`
	// addresses of pages of which the same would be shown, as far as they may be shown as links
	Also      []string  `json:"also,omitempty"`
	Thumbnail *Size     `json:"thumbnail,omitempty"` // one may be shown
	Fetched   time.Time `json:"fetched,omitzero"`
	LeftOut   []LeftOut `json:"left_out,omitempty"` // where the query asks why
}

// Shown tells whether anything of the page may be shown. All else are only told of to who asks why.
func (r Result) Shown() bool { return r.Link || r.Snippet != nil }

// LeftOut tells in a sentence why a page is not shown in some way.
type LeftOut struct {
	Usage  acap.Usage  `json:"usage"`
	Reason acap.Reason `json:"reason"`
	Why    string      `json:"why"` // the sentence
	Clause string      `json:"-"`   // of it, the one that names what decided
}

const (
	beyond = 1000 // hits that are looked at behind the last result, to count them
	costly = 20   // as many hits as one of which the copy must be read
	twins  = 8    // pages of the same text that are compared with another

	looks    = 200_000 // hits that are looked at in all
	mostAlso = 10      // addresses that are named beside a result
	mostWhy  = 100     // pages left out that are told of, or as many as results are asked for
)

// Search gives the results of q, best first. Pages that may no longer be indexed or shown are
// passed over (F25), and of pages of which the same would be shown the first stands for all.
func (p *Presenter) Search(ctx context.Context, q Query, who Reader) (Found, error) {
	s := search{Presenter: p, query: q, who: who, wanted: map[string]snippet.Wanted{}, alike: map[string][]*candidate{}}
	if q.Limit <= 0 {
		return s.found, nil
	}
	for address, err := range p.library.Search(ctx, q.Text) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Found{}, err
		}
		if more, err := s.take(ctx, address); err != nil {
			return Found{}, err
		} else if !more {
			break
		}
	}
	var shown []string
	for _, r := range s.found.Results {
		if r.Shown() {
			shown = append(append(shown, r.URL), r.Also...)
		}
	}
	if err := p.shown(ctx, shown...); err != nil {
		return Found{}, err
	}
	return s.found, nil
}

// wanted is what query looks for in a page in a language.
func (p *Presenter) wanted(query, language string) snippet.Wanted {
	return snippet.Wanted{Query: query, Match: p.library.Matcher(query, language), Length: p.Length,
		Room: new(snippet.Room)}
}

// languageOf is the language by whose rules the words of r were put into the index; of what is held
// without a copy, where pg is nil, as far as it is certain.
func languageOf(r archive.Resource, pg *page.Page) string {
	if r.Language == "" && pg != nil {
		return pg.LikelyLanguage()
	}
	return r.Language
}

// search is one search under way.
type search struct {
	*Presenter
	query  Query
	wanted map[string]snippet.Wanted // by language: a room remembers words
	who    Reader
	found  Found
	behind int                     // hits looked at behind the last result
	looked int                     // hits looked at
	told   int                     // pages left out that were told of
	alike  map[string][]*candidate // results by terms.Same, those skipped and those counted among them
}

// take looks at the next hit. It reports whether another is wanted.
func (s *search) take(ctx context.Context, address string) (more bool, err error) {
	full := s.found.Count >= s.query.Skip+s.query.Limit
	if !full {
		s.behind = 0
	} else {
		s.behind++
	}
	if s.looked++; s.behind > beyond || s.looked > looks {
		s.found.More = true
		return false, nil
	}
	c, err := s.candidate(ctx, address, s.query.Text, s.who)
	if err != nil {
		return false, err
	}
	skipped := s.found.Count < s.query.Skip
	shows := c.shows()
	if shows && (!skipped && !full || !c.surely()) {
		if shows, err = s.make(ctx, c); err != nil {
			return false, err
		}
	}
	if !shows {
		if !full && !skipped {
			s.explain(address, c)
		}
		return true, nil
	}
	if folded, err := s.foldIntoOther(ctx, c); err != nil || folded {
		return err == nil, err
	}
	if s.found.Count++; !skipped && !full {
		c.at = len(s.found.Results)
		s.found.Results = append(s.found.Results, *c.result)
	}
	return true, nil
}

// explain adds to the results why a page that is left out is left out, if the query asks for it.
func (s *search) explain(address string, c *candidate) {
	if !s.query.Why || c.resource.URL == "" || s.told >= max(mostWhy, s.query.Limit) {
		return
	}
	s.told++
	if c.result == nil {
		c.result = &Result{LeftOut: c.whyNot(Result{})}
	}
	s.found.Results = append(s.found.Results, Result{URL: address, LeftOut: c.result.LeftOut})
}

// foldIntoOther reports whether a result that is there already stands for c, and remembers c for
// the next ones otherwise.
func (s *search) foldIntoOther(ctx context.Context, c *candidate) (bool, error) {
	if c.same == "" {
		return false, nil
	}
	group := s.alike[c.same]
	for _, other := range group {
		if folded, err := s.fold(ctx, other, c); err != nil || folded {
			return folded, err
		}
	}
	if len(group) < twins {
		s.alike[c.same] = append(group, c)
	}
	return false, nil
}

// fold reports whether other, a result, can stand for c: of both the same is shown.
func (s *search) fold(ctx context.Context, other, c *candidate) (bool, error) {
	for _, one := range []*candidate{other, c} {
		if ok, err := s.make(ctx, one); !ok || err != nil {
			return false, err
		}
	}
	if !sameShown(*other.result, *c.result) {
		return false, nil
	}
	if c.result.Link && c.result.Href == "" && other.at >= 0 {
		if also := &s.found.Results[other.at].Also; len(*also) < mostAlso {
			*also = append(*also, c.result.URL)
		}
	}
	return true, nil
}

// sameShown compares all that a reader sees but the address and the time.
func sameShown(a, b Result) bool {
	for _, r := range []*Result{&a, &b} {
		r.URL, r.Fetched, r.Also, r.LeftOut = "", time.Time{}, nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// candidate is a hit that may be a result.
type candidate struct {
	resource archive.Resource
	facts    acap.Facts
	terms    *terms.Terms // without the copy; nil where there is no policy, and once the result is made
	same     string       // terms.Same
	refused  *LeftOut     // why nothing of it may be shown, where that is not for how it is shown
	result   *Result      // once it is made
	at       int          // where the result is in Found; -1: it is not
}

// candidate tells of a hit what can be told without its copy: many may have to be passed over. Its
// resource has no URL where the index has not heard yet that the page is gone.
func (p *Presenter) candidate(ctx context.Context, address, query string, who Reader) (*candidate, error) {
	c := &candidate{at: -1}
	r, known, err := p.library.Page(ctx, address)
	if err != nil || !known || !r.Indexed {
		return c, err
	}
	c.resource, c.facts = r, p.facts(r, who, false)
	t, down, err := p.terms(ctx, r, nil, c.facts)
	switch {
	case err != nil: // no policy, no presentation
		c.refuse(acap.Decision{Usage: acap.Present, Reason: acap.Unavailable, Note: err.Error()})
		return c, ctx.Err()
	case down != nil: // P05
		c.refuse(acap.Decision{Usage: acap.Present, Reason: acap.ByProhibition, Because: down})
	case !t.Findable():
		d := t.Decide(acap.Index)
		if d.Allowed {
			d = d.Refuse(acap.Unfulfillable, "its index entry was made of what may no longer be used")
		}
		c.refuse(d)
	}
	c.terms, c.same = t, t.Same()
	return c, nil
}

func (c *candidate) refuse(d acap.Decision) { c.refused = leftOut(d, c.resource.URL) }

func leftOut(d acap.Decision, address string) *LeftOut {
	return &LeftOut{Usage: d.Usage, Reason: d.Reason, Why: snippet.Plain(d.Err(address).Error()),
		Clause: snippet.Plain(d.Why())}
}

// shows reports whether anything of the page may be shown, as far as that can be told without its
// copy.
func (c *candidate) shows() bool {
	return c.resource.URL != "" && c.refused == nil && (c.terms.May(acap.PresentLink) ||
		c.terms.May(acap.PresentSnippet))
}

// surely reports whether no copy can change that something may be shown.
func (c *candidate) surely() bool {
	d := c.terms.Decide(acap.PresentLink)
	return d.Allowed && len(d.MustUse()) == 0 && len(d.MustInclude()) == 0
}

// make makes the result of c; false where nothing may be shown.
func (s *search) make(ctx context.Context, c *candidate) (ok bool, err error) {
	if c.result != nil {
		return c.result.Shown(), nil
	}
	s.behind, s.looked = s.behind+costly, s.looked+costly
	version, language := 0, c.resource.Language
	if c.resource.Current != 0 {
		pg, n, err := s.page(ctx, c.resource.Current)
		if errors.Is(err, archive.ErrNotHeld) { // erased meanwhile
			c.resource.URL = ""
			return false, nil
		}
		if err != nil {
			return false, err
		}
		t, _, err := s.terms(ctx, c.resource, pg, c.facts)
		if err != nil {
			return false, ctx.Err()
		}
		c.terms, version, language = t, n, languageOf(c.resource, pg)
	}
	if _, known := s.wanted[language]; !known {
		s.wanted[language] = s.Presenter.wanted(s.query.Text, language)
	}
	res, ok := resultOf(c.terms, s.wanted[language])
	res.URL, res.Fetched = c.resource.URL, c.resource.LastCrawled
	if ok {
		if res.Thumbnail, err = s.size(ctx, c.resource, version, c.terms); err != nil {
			return false, err
		}
	}
	if s.query.Why {
		res.LeftOut = c.whyNot(res)
	}
	c.result, c.terms = &res, nil
	return ok, nil
}

// whyNot tells why what is not in res of the page may not be shown.
func (c *candidate) whyNot(res Result) (list []LeftOut) {
	if c.refused != nil {
		return []LeftOut{*c.refused}
	}
	for _, u := range []struct {
		usage acap.Usage
		shown bool
	}{{acap.PresentLink, res.Link}, {acap.PresentSnippet, res.Snippet != nil}, {acap.Present, res.Title != ""}} {
		d := c.terms.Decide(u.usage)
		if part, barred := c.terms.FirstBarred(u.usage); d.Allowed && barred {
			d = part
		}
		if !u.shown && !d.Allowed {
			list = append(list, *leftOut(d, c.resource.URL))
		}
	}
	return list
}

// resultOf is what t lets a reader see of a page found.
func resultOf(t *terms.Terms, wanted snippet.Wanted) (res Result, ok bool) {
	link, ok := t.Link()
	res.Link, res.Href = ok, link.Href
	if s, ok := snippetOf(t, acap.PresentSnippet, wanted); ok {
		s.Include = append([]snippet.Include{}, s.Include...) // an empty list, not null
		res.Snippet = &s
	}
	if !res.Link && res.Snippet == nil { // F25
		return res, false
	}
	var by acap.Usage
	if res.Title = link.Text; !link.Made {
		res.Title, by = t.Title()
	}
	res.Title = snippet.Plain(res.Title)
	if by != "" && marked(t.Decide(by)) {
		res.TitleMarks = wanted.Marks(res.Title)
	}
	var beside []snippet.Include // of the snippet: they are shown with it
	if res.Snippet != nil {
		beside = res.Snippet.Include
	}
	for _, u := range []acap.Usage{acap.PresentLink, by} {
		if u == "" {
			continue
		}
		for _, in := range t.Included(u) {
			if !slices.Contains(beside, in) && !slices.Contains(res.Include, in) {
				res.Include = append(res.Include, in)
			}
		}
	}
	return res, true
}
