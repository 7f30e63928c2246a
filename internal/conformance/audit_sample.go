package conformance

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/policy"
)

// sample chooses the pages of an audit: first the pages that the caller named, then pages with
// statements that apply to no chosen page yet, then pages of all parts of the site in turn.
type sample struct {
	a          *auditor
	origin     string
	candidates []*candidate
	known      map[string]bool
	decided    map[*acap.Field]bool // fields that decide something about a chosen page
	parts      map[string]int       // number of chosen pages by part of the site
	most       int                  // maximum number of candidates to examine
	full       bool                 // there were more candidates than are examined
}

type candidate struct {
	url    *url.URL
	first  bool          // the caller named this page
	crawl  bool          // policy permits the request
	fields []*acap.Field // fields that decide about the page, for any crawler
	part   string
	chosen bool
}

func newSample(a *auditor) sample {
	size := 1
	for _, f := range a.files {
		size += f.Size()
	}
	most := max(minCandidates, min(maxCandidates, maxCompared/(size*len(a.views))))
	return sample{a: a, most: most, origin: a.surface.Origin.Key, known: map[string]bool{},
		decided: map[*acap.Field]bool{}, parts: map[string]int{}}
}

// add adds an address of the site to the candidates. first means that the caller named it.
func (s *sample) add(address string, first bool) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	u.User, u.Fragment, u.RawFragment = nil, "", "" // keep only the parts of the address that a request contains
	key, err := policy.Key(u)
	r := acap.NewResource(u)
	if err != nil || key != s.origin || s.known[r.URL] {
		return
	}
	if len(s.candidates) >= s.most && !first {
		if !s.full {
			s.a.note("more than %d addresses of the site are known: pages were chosen of the first", s.most)
		}
		s.full = true
		return
	}
	s.known[r.URL] = true
	c := &candidate{url: u, first: first, part: partOf(u), crawl: s.a.crawlable(u), fields: s.a.deciding(r)}
	s.candidates = append(s.candidates, c)
}

// deciding returns the fields of the policy files that decide something about r, for any crawler.
func (a *auditor) deciding(r acap.Resource) (list []*acap.Field) {
	for _, v := range a.views {
		for _, u := range a.usages() {
			if d := v.policy.Decide(u, r); d.Because != nil && !slices.Contains(list, a.place(d.Because)) {
				list = append(list, a.place(d.Because))
			}
		}
	}
	return list
}

// place returns the same *Field for equal places in a file. Each view parses referenced files
// again, so that one place otherwise has several fields.
func (a *auditor) place(f *acap.Field) *acap.Field {
	key := fieldPlace{f.URL, f.Line}
	if a.places == nil {
		a.places = map[fieldPlace]*acap.Field{}
	}
	if a.places[key] == nil {
		a.places[key] = f
	}
	return a.places[key]
}

type fieldPlace struct {
	url  string
	line int
}

// partOf returns the part of the site to which an address belongs: its first directory and its file
// type.
func partOf(u *url.URL) string {
	first, _, deeper := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if !deeper {
		first = ""
	}
	query := ""
	if u.RawQuery != "" {
		query = "?"
	}
	return first + "/" + path.Ext(u.Path) + query
}

// next returns a page that may be requested, nil if there is none. It returns the pages that the
// caller named even if policy prohibits the request.
func (s *sample) next() *url.URL {
	return s.choose(func(c *candidate) bool { return c.crawl || c.first }, 0)
}

// choose considers the candidates for which fits returns true. It returns the one with the most
// fields that decide about it and about no chosen page, if there are at least as many such fields
// as least says.
func (s *sample) choose(fits func(*candidate) bool, least int) *url.URL {
	var best *candidate
	most := 0
	for _, c := range s.candidates {
		if c.chosen || !fits(c) {
			continue
		}
		n := s.fresh(c)
		if best == nil || c.first && !best.first || c.first == best.first &&
			(n > most || n == most && s.parts[c.part] < s.parts[best.part]) {
			best, most = c, n
		}
	}
	if best == nil || most < least {
		return nil
	}
	best.chosen = true
	s.parts[best.part]++
	for _, f := range best.fields {
		s.decided[f] = true
	}
	return best.url
}

// passed returns the number of addresses named by the caller that were not chosen.
func (s *sample) passed() (n int) {
	for _, c := range s.candidates {
		if c.first && !c.chosen {
			n++
		}
	}
	return n
}

// fresh returns the number of fields that decide about c and about no chosen page.
func (s *sample) fresh(c *candidate) (n int) {
	for _, f := range c.fields {
		if !s.decided[f] {
			n++
		}
	}
	return n
}

// unasked returns addresses that show, without being requested, the effect of statements that apply
// to no chosen page. It returns known addresses that may not be crawled, and then addresses made
// from the patterns of the statements. It stops when ctx ends.
func (s *sample) unasked(ctx context.Context) (list []*url.URL) {
	for len(list) < maxUnasked/2 {
		u := s.choose(func(c *candidate) bool { return !c.crawl && !c.first }, 1)
		if u == nil {
			break
		}
		list = append(list, u)
	}
	w := witnesses{sample: s, ctx: ctx, list: list, tried: map[string][]*acap.Field{}}
	for _, f := range s.a.files {
		for _, st := range f.Statements() {
			w.find(st.Field, st.Patterns)
		}
		for _, g := range f.Groups() {
			for _, r := range g.Rules {
				w.find(r.Field, []string{r.Pattern})
			}
		}
	}
	if len(w.tried) == w.most {
		s.a.note("some statements apply to no checked address, because the number of addresses is limited")
	}
	return w.list
}

// witnesses collects addresses that show the effect of statements.
type witnesses struct {
	*sample
	ctx   context.Context
	list  []*url.URL
	tried map[string][]*acap.Field // path → the fields that decide about it, for the paths tried so far
}

// find adds an address on which the field f decides, if f decides about no chosen page and one of
// the patterns yields such an address.
func (w *witnesses) find(f *acap.Field, patterns []string) {
	f = w.a.place(f)
	for _, p := range patterns[:min(len(patterns), 4)] {
		if len(w.list) >= maxUnasked || w.decided[f] || w.ctx.Err() != nil {
			return
		}
		for _, example := range acap.Examples(p) {
			u, err := w.a.root.Parse(example)
			if err != nil || u.Host != w.a.root.Host {
				continue
			}
			fields, known := w.tried[example]
			if !known && len(w.tried) == w.most {
				return
			}
			if !known {
				fields = w.a.deciding(acap.NewResource(u))
				w.tried[example] = fields
			}
			if !slices.Contains(fields, f) {
				continue
			}
			for _, f := range fields {
				w.decided[f] = true
			}
			w.list = append(w.list, u)
			break
		}
	}
}
