package acap

import (
	"net/url"
	"strings"
)

// own is what a page says of itself to the crawler.
type own struct {
	by         [kinds][]*statement
	prohibited [kinds]*Field // conventional prohibitions by usage: nothing lifts them (N12, N19)
	caps       *restraint
	bars       [kinds]*bar // from elements, for the page as a whole (N27, N28, N07)
	discard    *Decision   // the page's own statements end in crawl prohibited (X01)
	marks      map[string][]*statement
}

// bar prohibits a usage for the whole page whatever else is said.
type bar struct {
	field  *Field
	reason Reason
}

// Narrow lets a page's own statements meet the policy of its origin. Without any, p itself is returned. Reading them is pointless
// where the origin prohibits crawl: such a page was not lawfully fetched (X02).
func (p *Policy) Narrow(page Own) *Policy {
	if p == nil || p.refusal != nil || len(page.Tags) == 0 && len(page.Marks) == 0 {
		return p
	}
	if p.byPurpose != nil {
		q := *p
		q.byPurpose = nil
		for _, one := range p.byPurpose {
			q.byPurpose = append(q.byPurpose, one.Narrow(page))
		}
		q.findings = q.byPurpose[0].findings
		return &q
	}
	q := *p
	q.findings = append([]Finding(nil), p.findings...)
	n := &narrowing{policy: &q, own: &own{marks: map[string][]*statement{}}}
	n.expander = expander{crawler: &q.crawler, file: p.file, findings: &q.findings, page: &Field{}}
	u, err := url.Parse(page.URL)
	if err == nil {
		n.expander.base, n.expander.located = u, NewResource(u).URL
	}
	n.read(page)
	q.own = n.own
	if d := q.settle(kCrawl, NewResource(u)); !d.Allowed && d.Because != nil && d.Because.Source == Meta { // M06, N26, X01
		n.own.discard = &d
	}
	if b := n.own.bars[kCrawl]; b != nil && n.own.discard == nil {
		n.own.discard = &Decision{Reason: b.reason, Because: b.field}
	}
	return &q
}

// narrowing reads the raw statements of one page.
type narrowing struct {
	policy   *Policy
	own      *own
	expander expander
	url      string
}

func (n *narrowing) read(page Own) {
	n.url = page.URL
	var v version
	for i := range page.Tags { // B12: in two passes, the order of tags says nothing
		t := &page.Tags[i]
		if t.Source != Meta {
			continue
		}
		addressed, _, _ := n.addressee(t.Name)
		if tokens := strings.Fields(uncurl(t.Content)); addressed && isVersionTag(tokens) {
			field := n.field(t)
			w := readVersion(tokens[2])
			if w.state == unclear {
				n.expander.report(field, "malformed-version", Error, "write ACAP version 1.1", "%q is not a version number n.m", tokens[2])
			}
			v = v.with(w)
		}
	}
	n.expander.version = v
	for i := range page.Tags {
		t := &page.Tags[i]
		if t.Source == Header {
			n.header(t)
		} else {
			n.meta(t)
		}
	}
	for i := range page.Marks {
		n.mark(&page.Marks[i])
	}
}

func (n *narrowing) field(t *Tag) *Field {
	text := strings.Join(strings.Fields(t.Content), " ")
	if t.Source == Header {
		text = t.Name + ": " + text
	}
	return &Field{Source: t.Source, URL: n.url, Line: t.Line, Column: t.Column, Text: text}
}

// addressee says whether a META name addresses the crawler, whether by name, and whether it is a list (N01, X20, C05).
func (n *narrowing) addressee(name string) (addressed, named, list bool) {
	name = strings.TrimSpace(uncurl(name))
	items := strings.Split(name, ",")
	for _, it := range items {
		it = strings.TrimSpace(it)
		switch {
		case strings.EqualFold(it, "robots"):
			addressed = true
		case n.expander.crawler.addresses(it):
			addressed, named = true, true
		}
	}
	return addressed, named, len(items) > 1
}

// uncurl strips typographic quotation marks around a value without blanks (N14).
func uncurl(s string) string {
	t := strings.Trim(s, "\u201c\u201d\u201e")
	if strings.ContainsAny(t, " \t\r\n") {
		return s
	}
	return t
}

// isVersionTag: ACAP version needs a number; before a statement "version" is a purpose (B13).
func isVersionTag(tokens []string) bool {
	return len(tokens) >= 3 && strings.EqualFold(tokens[0], "ACAP") && strings.EqualFold(tokens[1], "version") && !isStatement(tokens[2])
}

func isStatement(token string) bool {
	t := strings.ToLower(token)
	return strings.HasPrefix(t, "allow-") || strings.HasPrefix(t, "disallow-")
}

// meta reads one META tag: an ACAP statement, or conventional rules.
func (n *narrowing) meta(t *Tag) {
	addressed, named, list := n.addressee(t.Name)
	if !addressed {
		return
	}
	field := n.field(t)
	content := uncurl(t.Content)
	if content == t.Content && strings.ContainsAny(t.Content, "\u201c\u201d") {
		n.expander.report(field, "typographic-quotes", Error, "use straight quotation marks", "typographic quotation marks are part of the value")
	}
	tokens := strings.Fields(content)
	if len(tokens) > 0 && strings.EqualFold(tokens[0], "ACAP") {
		if !isVersionTag(tokens) {
			n.statement(field, tokens[1:], named, list)
		}
		return
	}
	if i := indexFold(content, "ACAP "); i >= 0 { // X19: both dialects in one value; prohibitions of both are honoured
		n.expander.report(field, "mixed-dialects", Error, "write a META tag for each", "ACAP statements and conventional rules stand in one tag: only their prohibitions count")
		n.statement(field, strings.Fields(strings.ReplaceAll(content[i+5:], ",", " ")), named, true)
		content = content[:i]
	}
	n.rules(field, content, ByMeta)
}

func indexFold(s, what string) int { return strings.Index(strings.ToUpper(s), what) }

// statement reads the tokens behind "ACAP" (P2 3). Every allow- or disallow- token is a statement of its own where it
// prohibits; a permission followed by anything but qualifiers is not understood (N15, X17).
func (n *narrowing) statement(field *Field, tokens []string, named, prohibitionsOnly bool) {
	x := &n.expander
	first := 0
	for first < len(tokens) && !isStatement(tokens[first]) {
		first++
	}
	if first == len(tokens) {
		x.report(field, "unknown-statement", Error, "write ACAP allow-… or ACAP disallow-…", "the tag makes no ACAP statement")
		n.conventionalTokens(field, tokens)
		return
	}
	sub := (*subRecord)(nil)
	if first > 0 { // P2 2.2.2
		sub = &subRecord{}
		for _, t := range tokens[:first] {
			sub.purposes = append(sub.purposes, newPurpose(strings.TrimSuffix(t, ",")))
		}
		if first > 1 {
			x.report(field, "several-purposes", Warning, "write a META tag for each purpose", "the statement names more than one purpose")
		}
	}
	for i := first; i < len(tokens); i++ {
		token := strings.ToLower(strings.TrimSuffix(tokens[i], ","))
		if !isStatement(token) {
			continue
		}
		e := &entry{field: field, sub: sub}
		e.usage, e.allow = strings.CutPrefix(token, "allow-")
		if !e.allow {
			e.usage = strings.TrimPrefix(token, "disallow-")
			n.conventionalTokens(field, tokens[i+1:])
		}
		e.usage, e.local = localName(e.usage)
		if e.allow {
			if i > first || prohibitionsOnly { // N15, X20: a further permission is dropped
				x.report(field, "stray-permission", Error, "write a META tag for each statement", "the permission %q does not count", token)
				continue
			}
			e.tokens = joinQualifiers(tokens[i+1:], 0)
			if strings.HasSuffix(tokens[i], ",") {
				e.suspect = true
			}
			if Usage(e.usage).kind() == noKind && !e.local && hasStatement(e.tokens) { // N16
				e.tokens = nil
			}
			n.conventionalTokens(field, tokens[i+1:])
		}
		n.take(e, named)
	}
}

func hasStatement(tokens []string) bool {
	for _, t := range tokens {
		if isStatement(t) {
			return true
		}
	}
	return false
}

// conventionalTokens honours conventional prohibitions that stray into an ACAP statement (N15, X19).
func (n *narrowing) conventionalTokens(field *Field, tokens []string) {
	for _, t := range tokens {
		if !strings.Contains(t, "=") {
			n.rules(field, strings.Trim(t, ","), ByMeta)
		}
	}
}

// take adds a page statement that reaches the crawler and its purposes.
func (n *narrowing) take(e *entry, named bool) {
	for _, s := range n.expander.expand(e) {
		if !e.sub.reaches(s.allow, n.expander.crawler) {
			continue
		}
		s.named, s.purpose = named, e.sub != nil
		n.own.by[s.kind] = append(n.own.by[s.kind], s)
	}
}

// meet lets the page's statements of one usage meet the prevailing ones of the origin. A page permission takes the place of an
// origin's statement only if it is at least as specific in addressee and purpose; beside a more specific one both must permit
// (N02, N03, X15, X16). A page prohibition stands.
func (o *own) meet(k kind, origin verdict) verdict {
	var ranks [4]bool
	for _, s := range o.by[k] {
		ranks[s.rank()] = ranks[s.rank()] || !s.beyond
	}
	var out verdict
	for _, s := range o.by[k] {
		if !s.beyond && !overridden(s.rank(), ranks) { // N01, N17
			out.add(s)
		}
	}
	if out.n == 0 || out.prohibition() != nil {
		if out.n == 0 {
			return origin
		}
		return out
	}
	own := out
	var standing verdict // prohibitions of the origin that the page may not lift
	for i := range origin.n {
		s := origin.at(i)
		replaced := false
		for j := range own.n {
			m := own.at(j)
			replaced = replaced || m.rank()&s.rank() == s.rank()
		}
		switch {
		case replaced:
		case s.allow:
			out.add(s)
		default:
			standing.add(s)
		}
	}
	if standing.n > 0 {
		return standing
	}
	return out
}

// barred answers for what the page's elements, or its own prohibition of crawl, settle for the whole page.
func (o *own) barred(k kind) (Decision, bool) {
	if o.discard != nil { // X01
		return *o.discard, true
	}
	if b := o.bars[k]; b != nil {
		return Decision{Reason: b.reason, Because: b.field}, true
	}
	return Decision{}, false
}

// restrain adds the conventional rules of META and headers: they only restrict (N12, N19).
func (o *own) restrain(d Decision, k kind) Decision {
	if !d.Allowed {
		return d
	}
	if f := o.prohibited[k]; f != nil {
		reason := ByMeta
		if f.Source == Header {
			reason = ByHeader
		}
		return Decision{Usage: d.Usage, Reason: reason, Because: f}
	}
	d.fields.caps = o.caps
	return d
}
