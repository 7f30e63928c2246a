package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// ToConventional translates what the ACAP records of a robots.txt say about crawling into
// conventional records (RFC 9309). Remarks report what cannot be translated; if a response header
// can say the same for a single page, the remark contains this header. The result permits nothing
// that was prohibited, with one exception: spellings of a path in another letter case, about which
// there is one notice. ToConventional does not follow references to other files.
func ToConventional(src []byte, o Options) (*Conversion, error) {
	c, err := newToConventional(src, o)
	if err != nil {
		return nil, err
	}
	out := &Conversion{}
	if out.Robots, err = c.assemble(c.group); err != nil {
		return nil, err
	}
	c.remarkOnCase()
	c.remarkOnLosses()
	c.remarkOnLines()
	out.Remarks = c.remarks
	out.Remarks = together(append(out.Remarks, c.prove(out)...))
	return out, nil
}

// newToConventional parses a robots.txt with ACAP records. It adds remarks about names of crawlers
// that conventional records cannot contain.
func newToConventional(src []byte, o Options) (*toConventional, error) {
	f := acap.Parse(convertedSite+"/robots.txt", src)
	switch {
	case len(src) > acap.MaxSize:
		return nil, ErrTooLarge
	case !slices.ContainsFunc(f.Lines(), acap.SpeaksACAP):
		return nil, ErrNoACAP
	}
	c := &toConventional{file: f, options: o, statements: f.Statements(), voices: voicesOf(f),
		other: unnamed(f.Crawlers())}
	if len(f.Crawlers())*len(c.statements) > maxPairs/2 {
		return nil, ErrTooLarge
	}
	for _, finding := range f.Findings {
		if finding.Code == "within-conventional" {
			c.strayed = append(c.strayed, finding.Line)
		}
	}
	for _, name := range f.Crawlers() {
		token, _, _ := strings.Cut(name, "/") // P1 2.3.1 (C05): a version after a crawler name is not part of the name
		if !isToken(token) {
			c.remarks = append(c.remarks, Remark{Code: "crawler-name", Severity: acap.Warning, Crawlers: []string{name},
				Message: fmt.Sprintf("%q is no product token: no crawler that reads conventional records can have "+
					"that name, and its record is left out", name)})
			continue
		}
		if !slices.ContainsFunc(c.names, func(n string) bool { return strings.EqualFold(n, token) }) {
			c.names = append(c.names, token)
		}
	}
	return c, nil
}

// assemble returns a robots.txt with one group for each different text that write returns for a
// crawler, and the Sitemap lines of the file. Crawlers with the text of the crawler that no record
// names get no group.
func (c *toConventional) assemble(write func(name string) (string, error)) (string, error) {
	sorted := map[string][]string{}
	for _, name := range c.names {
		g, err := write(name)
		if err != nil {
			return "", err
		}
		sorted[g] = append(sorted[g], name)
	}
	rest, err := write(c.other)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range c.names { // the crawlers in the order of the file
		for g, have := range sorted {
			if have[0] != name || g == rest {
				continue
			}
			for _, n := range have {
				fmt.Fprintf(&b, "User-agent: %s\n", n)
			}
			b.WriteString(g + "\n")
		}
	}
	b.WriteString("User-agent: *\n" + rest)
	for i, s := range c.file.Sitemaps {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Sitemap: %s\n", s)
	}
	return b.String(), nil
}

// isToken reports whether a name is a valid product token for a User-agent line.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' ||
			r == '.')
	})
}

// toConventional is the state of a conversion to conventional records.
type toConventional struct {
	file       *acap.File
	options    Options
	statements []acap.Statement
	voices     []*voice
	names      []string // the crawlers that the records name
	other      string   // the name of a crawler that no record names
	strayed    []int    // the line numbers of ACAP fields within conventional records
	remarks    []Remark
	spellings  []spelling
	patterns   []string
}

// group returns the rules of the group for a crawler.
func (c *toConventional) group(name string) (string, error) {
	s := settling{reads: conventionalPair, spelt: true, terms: c.terms(name)}
	s.wins = func(a, d term, path string) bool { return permitsOver(s.terms, a, d, path) }
	names := []string{c.who(name)}
	p := c.file.Policy(acap.Crawler{Names: []string{name}})
	if c.unread(p, names) {
		return "Disallow: /\n", nil
	}
	if err := s.settle(); err != nil {
		return "", err
	}
	for _, l := range s.lost {
		c.remarks = append(c.remarks, l.remark(&s, names, "a conventional record", "the conventional rules prohibit"))
	}
	var b strings.Builder
	items := needed(&s)
	items = append(items, c.otherSpellings(items, s.terms)...)
	for _, it := range items {
		word := "Disallow"
		if it.allow {
			word = "Allow"
		}
		fmt.Fprintf(&b, "%s: %s\n", word, it.pattern)
		c.patterns = append(c.patterns, it.pattern)
	}
	for _, t := range s.terms {
		c.patterns = append(c.patterns, t.pattern)
	}
	if len(items) == 0 {
		b.WriteString("Disallow:\n")
	}
	if delay := p.CrawlDelay().Seconds(); delay > 0 {
		fmt.Fprintf(&b, "Crawl-delay: %s\n", strconv.FormatFloat(delay, 'f', -1, 64))
	}
	c.noteCase(names, items, s.terms, b.String())
	return b.String(), nil
}

// unread reports whether a policy permits nothing because a file could not be read, and adds a
// remark about it for the crawlers names.
func (c *toConventional) unread(p *acap.Policy, names []string) bool {
	root, _, _ := resourceAt("/")
	d := p.Decide(acap.Crawl, root)
	if d.Reason != acap.Unavailable {
		return false
	}
	r := Remark{Code: "not-read", Severity: acap.Warning, Crawlers: names, Paths: []string{"/"},
		Message: "the crawler is shut out, since " + d.Note}
	if d.Because != nil {
		r.Line = d.Because.Line
	}
	c.remarks = append(c.remarks, r)
	return true
}

// who returns the crawler's name in the form for a remark.
func (c *toConventional) who(name string) string {
	if name == c.other {
		return "*"
	}
	return name
}

// The layers of rules for a crawler: the conventional records, and the ACAP records.
const (
	layerACAP = iota
	layerConventional
)

// terms returns the rules for a crawler: the ACAP fields about crawl, and the conventional rules
// unless they are ignored.
func (c *toConventional) terms(name string) []term {
	var out []term
	for _, s := range c.statements {
		head, reached := c.head(s, name)
		if !reached {
			continue
		}
		field := ""
		switch {
		case slices.Contains(s.Usages, acap.Crawl) && s.Allow:
			field = "ACAP-allow-crawl: "
		case slices.Contains(s.Usages, acap.Crawl):
			field = "ACAP-disallow-crawl: "
		// P1 2.5.6 (F19): disallow-other prohibits crawl if no field is about crawl; P1 2.4.3
		// (L05): an allow-other that cannot be interpreted does not prohibit crawl
		case slices.Contains(s.Usages, acap.Other) && !s.Allow && !s.Beyond:
			field = "ACAP-disallow-other: "
		default:
			continue
		}
		for _, p := range s.Patterns {
			out = append(out, term{allow: s.Allow, pattern: p, line: s.Field.Line, head: head, field: field,
				layer: layerACAP})
		}
	}
	if c.file.IgnoreConventional() {
		return out
	}
	said := len(out)
	for _, v := range c.voices {
		if !slices.ContainsFunc(v.names, func(n string) bool { return strings.EqualFold(n, name) }) {
			continue
		}
		return c.conventional(out, said, v, "User-agent: "+crawlerAsked+"\n")
	}
	for _, v := range c.voices {
		if v.names[0] == "*" {
			return c.conventional(out, said, v, "User-agent: *\n")
		}
	}
	return out
}

// head returns the lines above a statement, rewritten for a crawler named crawlerAsked. reached
// reports whether the statement applies to the crawler with the given name.
func (c *toConventional) head(s acap.Statement, name string) (head string, reached bool) {
	switch {
	case slices.ContainsFunc(s.Crawlers, func(n string) bool {
		token, _, _ := strings.Cut(n, "/") // P1 2.3.1 (C05): a version after a crawler name is not part of the name
		return strings.EqualFold(n, name) || strings.EqualFold(token, name)
	}):
		head = "ACAP-crawler: " + crawlerAsked + "\n"
	// P1 2.3 (A13): a prohibition before any record is for all crawlers
	case slices.Contains(s.Crawlers, "*"), s.Crawlers == nil && !s.Allow && !slices.Contains(c.strayed, s.Field.Line):
		head = "ACAP-crawler: *\n"
	default:
		return "", false
	}
	if len(s.Purposes) > 0 {
		if s.Allow { // P1 2.3.3 (C15): permissions for a purpose do not count, because this crawler declares no purpose
			return "", false
		}
		head += "ACAP-usage-purpose: any\n"
	}
	return head, true
}

// conventional adds the rules of a voice to out. It leaves out rules that an ACAP field cancels (P1
// 2.10.2). The ACAP fields are the first terms in out; said is their number.
func (c *toConventional) conventional(out []term, said int, v *voice, head string) []term {
	for _, r := range v.rules {
		t := term{allow: r.Allow, pattern: r.Pattern, line: r.Field.Line, head: head, field: "Disallow: ",
			layer: layerConventional, cased: true}
		if r.Allow {
			t.field = "Allow: "
		}
		text := t.head + t.field + t.pattern + "\n"
		contrary := false
		for _, s := range out[:said] {
			if s.pattern == r.Pattern {
				text += s.head + s.field + s.pattern + "\n"
				contrary = contrary || s.allow != r.Allow
			}
		}
		if contrary && !r.Allow {
			if all := examplesOf(r.Pattern); len(all) > 0 && asks(text, all[0]) {
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

// asks reports whether a robots.txt permits a crawler to crawl path, in the letter case of path.
// text is the content of robots.txt.
func asks(text, path string) bool {
	r, _, _ := resourceAt(path)
	return rulingOf(parsed(text), "", crawlerAsked)(acap.Crawl, r)
}

// permitsOver reports whether the permission a wins against the prohibition d. If both are in the
// same layer, package acap decides. If they are in different layers, both layers must permit a path
// (P1 2.10.2, O05). So the layer of d must contain another permission that wins against d and
// covers the pattern of a.
func permitsOver(terms []term, a, d term, path string) bool {
	if a.layer == d.layer {
		return inOneLayer(a, d, path)
	}
	return slices.ContainsFunc(terms, func(b term) bool {
		covers := within
		if b.cased {
			covers = withinSpelt
		}
		return b.layer == d.layer && b.allow && covers(a.pattern, b.pattern) && inOneLayer(b, d, path)
	})
}

func inOneLayer(a, d term, path string) bool {
	if a.layer == layerConventional {
		return asks(fmt.Sprintf("User-agent: *\nAllow: %s\nDisallow: %s\n", a.pattern, d.pattern), path)
	}
	return asked(a.head+a.field+a.pattern+"\n"+d.head+d.field+d.pattern+"\n", path)
}

// needed drops items without effect. These are prohibitions with the same pattern as a permission,
// because Allow wins between equal rules (REP 1, O10); permissions that win against no prohibition,
// because everything else is permitted anyway; and, if there are no permissions, prohibitions that
// other prohibitions cover.
func needed(s *settling) []item {
	kept := slices.DeleteFunc(slices.Clone(s.items), func(d item) bool {
		return !d.allow && slices.ContainsFunc(s.items, func(a item) bool { return a.allow && a.pattern == d.pattern })
	})
	items := slices.DeleteFunc(slices.Clone(kept), func(a item) bool {
		return a.allow && !slices.ContainsFunc(kept, func(d item) bool {
			if d.allow || a.apartFrom(d) {
				return false
			}
			both, ok := s.common(a, d)
			return !ok || len(both) > 0 && s.doesWin(a, d, both[0])
		})
	})
	if slices.ContainsFunc(items, func(it item) bool { return it.allow }) {
		return items
	}
	all := slices.Clone(items)
	return slices.DeleteFunc(items, func(d item) bool {
		return slices.ContainsFunc(all, func(o item) bool {
			return o.pattern != d.pattern &&
				s.within(d.pattern, o.pattern)
		})
	})
}

// prove compares the decisions about crawling before and after the conversion. It leaves out
// differences in letter case, which remarkOnCase reports.
func (c *toConventional) prove(out *Conversion) []Remark {
	var names []string
	for _, name := range c.file.Crawlers() {
		if token, _, _ := strings.Cut(name, "/"); isToken(token) {
			names = append(names, token)
		}
	}
	p := newProof(slices.DeleteFunc(c.patterns, func(s string) bool { return s == "" }), names, maxProved)
	written := c.written()
	after := parsed(out.Robots)
	for _, name := range p.names {
		was, is := c.file.Policy(acap.Crawler{Names: []string{name}}), rulingOf(after, "", name)
		for _, at := range p.paths {
			before, now := was.Decide(acap.Crawl, at.resource), is(acap.Crawl, at.resource)
			if before.Allowed == now || !now && (known(out.Remarks, c.who(name), at.path) ||
				c.spelledOtherwise(c.who(name), at.path)) {
				continue
			}
			if f := before.Because; f != nil && slices.ContainsFunc(written[f.Line], at.spelledOtherwise) {
				continue
			}
			p.differs(name, acap.Crawl, at.path, now, "the converted file")
		}
	}
	return p.remark
}

// written returns the patterns of the ACAP fields, by line number.
func (c *toConventional) written() map[int][]string {
	out := map[int][]string{}
	for _, s := range c.statements {
		out[s.Field.Line] = append(out[s.Field.Line], s.Patterns...)
	}
	return out
}
