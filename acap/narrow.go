package acap

import (
	"maps"
	"net/url"
	"slices"
)

// own holds the statements of a page that address the crawler.
type own struct {
	by         [kinds][]*statement
	beyond     []*statement // prohibitions that replace permissions of "other" (P1 2.4.3, L05)
	statements int          // total number of statements
	// prohibitions on elements that apply to the whole page (P2 2.2.5, N27, N28; P2 2.2.6, N07)
	bars    [kinds]*Decision
	newer   *Decision // set if a statement on an element prohibits the newer usages for the whole page
	discard *Decision // set if the page's own statements prohibit crawl (P2 2.2.9.1, X01: the page is not used at all)
	marks   map[string][]*statement
}

// Narrow returns the policy for one page of the origin. Narrow combines the statements of the page
// with the statements of the origin. It returns p itself if the page makes no statements. Do not
// call it if the origin prohibits the usage crawl: then the page was not lawfully fetched (P1
// 2.5.1, X02).
func (p *Policy) Narrow(page Own) *Policy { return p.narrow(page, false) }

// narrow does the work of Narrow. If muted is true, it reports no findings.
func (p *Policy) narrow(page Own, muted bool) *Policy {
	switch after := page.Scripted; {
	case p == nil || p.refusal != nil:
		return p
	case p.byPurpose != nil:
		return p.narrowEach(page)
	case p.stages != nil:
		return p.staged(p.stages[0].narrow(page, muted), p.stages[1].narrow(page, true))
	case after != nil:
		return p.staged(p.narrowTo(page, muted, false), p.narrowTo(*after, muted, true))
	}
	return p.narrowTo(page, muted, false)
}

// narrowTo returns p, which is for one purpose, narrowed to the page as sent, or, if scripted is true, to
// the page after its scripts ran.
func (p *Policy) narrowTo(page Own, muted, scripted bool) *Policy {
	silent := len(page.Tags) == 0 && len(page.Marks) == 0 && len(page.Licences) == 0 && page.Unread == ""
	if silent && page.Plus == nil {
		return p
	}
	p = p.licensed(page.Plus)
	if silent && page.Plus.DataMining == nil {
		return p
	}
	q := *p
	n := &narrowing{own: &own{marks: map[string][]*statement{}}, url: page.URL, scripted: scripted}
	n.expander = expander{crawler: &q.crawler, file: p.file, page: true, seq: pageSeq}
	n.muted = muted
	u, err := url.Parse(page.URL)
	if err == nil {
		n.base, n.located = u, NewResource(u).URL
	}
	n.read(page)
	q.own = n.own
	q.readPage(&Page{Own: page, Rules: n.tagRules, narrowing: n})
	q.spoken = map[string]bool{}
	for token, statements := range n.own.marks {
		if len(statements) > 0 {
			q.spoken[token] = true
		}
	}
	q.findings = append(slices.Clone(p.findings), n.findings...)
	if n.own.discard == nil {
		n.own.discard = q.selfDiscarding(NewResource(u))
	}
	return &q
}

// narrowEach narrows the policy of each purpose to the page.
func (p *Policy) narrowEach(page Own) *Policy {
	q := *p
	q.byPurpose = nil
	q.spoken = map[string]bool{}
	for i, one := range p.byPurpose {
		// only the first policy reports findings, because findings are the same for all purposes
		narrowed := one.narrow(page, i > 0)
		q.byPurpose = append(q.byPurpose, narrowed)
		maps.Copy(q.spoken, narrowed.spoken)
	}
	q.findings = q.byPurpose[0].findings
	return &q
}

// selfDiscarding returns the decision by which a page prohibits its own crawling, or nil if it does
// not. Such a page is not used at all (P2 2.2.9.1, M06; P2 2.2.8, N26; P2 2.2.9.1, X01).
func (p *Policy) selfDiscarding(r Resource) *Decision {
	d := &Decision{}
	p.decideByFields(kCrawl, &r, d)
	// P2 2.2.9.1 (X01): the page had to be fetched to read this prohibition
	if !d.Allowed && d.Because != nil && d.Because.Source == Meta {
		return d
	}
	return p.own.bars[kCrawl]
}

// pageSeq is the position of a page's first statement in the order of appearance: the statements of
// a page come after all others.
const pageSeq = 1 << 30

// maxOwn limits the work on a hostile page. A page with more statements, or with more words in the
// META tags that address the crawler, is treated as a page that may not be crawled.
const maxOwn = 10_000

// narrowing reads the raw statements of one page.
type narrowing struct {
	expander
	own      *own
	url      string
	scripted bool // the statements are those that the page makes after its scripts ran
	// how many bytes of each robots header have been read (RTAG 3.1.1, X25)
	spent map[string]int
	said  map[string][]*statement // statements in META tags about elements, by the id of the element (PILOT 1.3.1)
	// a statement on an element prohibits "other" for the whole page; the first of these statements
	// is enough (P1 2.5.6, F19)
	other bool
	words int // number of words so far in META tags that address the crawler

	tagRules []TagRule // conventional rules that address the crawler
}

// addStatements adds the statements of the entry e that address the crawler and its purposes. If
// the list of is nil, the statements are about the whole page, otherwise about the elements whose
// ids are in the list.
func (n *narrowing) addStatements(e *entry, named bool, to *audience, of []string) {
	for _, s := range n.expand(e) {
		if !to.serves(s.allow) {
			continue
		}
		s.named, s.purpose = named, e.sub != nil
		if of == nil {
			n.add(s)
		} else {
			n.addFragment(of, s)
		}
	}
}

// counted adds one to the number of statements of the page, and reports whether the number is at
// most maxOwn.
func (n *narrowing) counted(field *Field) bool {
	if n.own.statements++; n.own.statements > maxOwn {
		n.tooComplex(field)
		return false
	}
	return true
}

func (n *narrowing) tooComplex(field *Field) {
	if n.own.discard == nil {
		n.report(field, "too-complex", Error, "make fewer statements",
			"the page makes too many statements: nothing is permitted")
		n.own.discard = &Decision{Reason: ByConflict, Because: field,
			Note: "the page makes too many statements to be judged"}
	}
}

// add adds a statement about the page as a whole.
func (n *narrowing) add(s *statement) {
	if !n.counted(s.field) {
		return
	}
	if s.beyond {
		n.own.beyond = append(n.own.beyond, s)
		return
	}
	n.own.by[s.kind] = append(n.own.by[s.kind], s)
}

// combine merges the page's statements of the usage type k with those of the origin that are in
// force. A permission of the page replaces a statement of the origin only if its addressee and its
// purpose are at least as specific; otherwise both must permit (P2 2.2.8, N02, N03, X15, X16). A
// prohibition of the origin that covers everything is replaced only by a statement with a more
// specific addressee or purpose (P1 2.4.6, X35). A prohibition of the page replaces only
// permissions. The prohibitions of robots.txt remain in force, because a permission of a type based
// on "present" may win against one prohibition and not against another (P1 2.5.5, F17, X82).
func (o *own) combine(k kind, origin statementSet, rec *recorder) statementSet {
	var present ranks
	for _, s := range o.by[k] {
		present[s.rank()] = true
	}
	var out statementSet
	for _, s := range o.by[k] {
		// P2 2.2.1 (N01, N17): an ACAP tag for a named crawler or for the crawler's purpose
		// overrides a general ACAP tag; conventional tags are all obeyed
		if !present.override(s.rank()) {
			out.add(s)
		}
	}
	rec.outrankRest(o.by[k], &out)
	denied := out.prohibition() != nil
	var standing statementSet // prohibitions of the origin that the page may not replace
	for i := range origin.n {
		s := origin.at(i)
		yields := !s.all && present[s.rank()] || present.override(s.rank())
		switch {
		case !s.allow && (denied || !yields):
			standing.add(s)
		case s.allow && !denied && !yields:
			out.add(s)
		default:
			rec.giveWay(s, &out)
		}
	}
	switch {
	case denied:
		out.merge(&standing)
		return out
	case standing.n > 0:
		rec.conflict(&out, standing.prohibition())
		return standing
	}
	return out
}

// permissions does the same as combine, but only with those statements of the page that were
// written as permissions.
func (o *own) permissions(k kind, origin statementSet) statementSet {
	alone := own{}
	for _, s := range o.by[k] {
		if s.written() {
			alone.by[k] = append(alone.by[k], s)
		}
	}
	return alone.combine(k, origin, nil)
}
