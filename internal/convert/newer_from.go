package convert

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// From translates statements in a newer vocabulary into ACAP records: the Content-Usage or
// Content-Signal lines of a robots.txt, which stays, a tdmrep.json, or a licence document. Remarks
// list what is lost, and where the result restricts more. ACAP can prohibit the four newer usages
// only together, by disallow-other; so a prohibition of one of them prohibits all four. The result
// never permits what the file prohibits, and what needs an agreement is prohibited. From compares
// both on examples of all patterns.
func From(vocabulary string, src []byte, o Options) (*Conversion, error) {
	if dialectOf(vocabulary) == nil {
		return nil, fmt.Errorf("there is no vocabulary %q", vocabulary)
	}
	if len(src) > acap.MaxSize {
		return nil, ErrTooLarge
	}
	d, fields := acapDialect()
	from := &fromVocabulary{translation: newTranslation(d, o), fields: fields, vocabulary: vocabulary, src: src}
	fields.published = from.published
	if err := from.read(); err != nil {
		return nil, err
	}
	out := &Conversion{}
	if err := from.records(out); err != nil {
		return nil, err
	}
	if len(out.Robots) > acap.MaxSize {
		return nil, fmt.Errorf("the converted file is longer than the %d bytes that crawlers read", acap.MaxSize)
	}
	from.remarkOnCase()
	from.remarkOnSilence()
	from.remarkOnLines()
	if vocabulary == RSL {
		from.remarkOnElements()
	}
	from.remarks = append(from.remarks, from.rules.remarks...)
	out.Remarks = together(from.remarks)
	patterns, _ := from.rules.patternsAndNames()
	p := from.proof(from.names, append(patterns, from.patterns...))
	out.Remarks = append(inOrder(out.Remarks), p.compare(from.translation, out, from.sourceFor)...)
	return out, nil
}

// maxNamedLines is the product of the crawlers that a robots.txt names and of its lines at most.
const maxNamedLines = 400_000

// fromVocabulary is the state of a translation to ACAP.
type fromVocabulary struct {
	*translation
	fields     *fields
	vocabulary string
	src        []byte

	robots   *acap.File
	open     *acap.File // robots without its Allow and Disallow lines
	file     []byte     // the file of the vocabulary; nil if its statements are in robots.txt
	names    []string   // the crawlers that robots.txt names
	patterns []string   // of the statements for all crawlers
	rules    *toACAP    // the translation of the conventional rules
	before   []line     // the target above the records
}

// read reads the source. A source that says nothing is an error.
func (f *fromVocabulary) read() error {
	f.other = unnamed(nil)
	site := f.options.Site
	switch f.vocabulary {
	case TDMRep:
		if site == "" {
			site = convertedSite
		}
		f.robots, f.file = acap.Parse(site+"/robots.txt", nil), f.src
	case RSL:
		if site == "" {
			site = siteOf(f.src)
		}
		f.document = site + "/license.xml"
		f.robots, f.file = acap.Parse(site+"/robots.txt", []byte("License: "+f.document+"\n")), f.src
	default:
		f.robots = parsed(string(f.src))
		lines := f.robots.Lines()
		switch {
		case slices.ContainsFunc(lines, acap.SpeaksACAP):
			return ErrSpeaksACAP
		case !slices.ContainsFunc(lines, func(line string) bool { return vocabularyOf(line) == f.vocabulary }):
			return ErrSaysNothing
		}
		if len(f.robots.Crawlers())*len(lines) > maxNamedLines {
			return ErrTooLarge
		}
		f.fields.rules, f.translation.robots, f.names = true, true, f.robots.Crawlers()
		f.other = unnamed(f.names)
		f.before = []line{{"##ACAP version=1.1", nil, -1}}
		for _, text := range lines {
			f.before = append(f.before, line{text, nil, -1})
		}
		f.before = append(f.before, line{"", nil, -1})
	}
	f.open, f.rules = parsed(withoutRules(f.robots)), &toACAP{file: f.robots, options: f.options}
	f.rules.options.Usages = []acap.Usage{acap.Crawl}
	f.before = append(f.before, line{"ACAP-version: 1.1", nil, -1})
	if err := f.readPatterns(); err != nil {
		return err
	}
	for _, finding := range f.policyFor(f.other).Findings() {
		if finding.Code == "malformed-json" || finding.Code == "unreadable-licence" {
			return fmt.Errorf("line %d: %s", finding.Line, finding.Message)
		}
	}
	return nil
}

// readPatterns stores the patterns of the source.
func (f *fromVocabulary) readPatterns() error {
	c := vocabularyCrawler(f.vocabulary, f.other)
	refs := f.robots.References(c)
	for i := range refs {
		refs[i].Text = f.file
	}
	if f.vocabulary != ContentSignal { // it has no paths
		f.patterns = acap.NewPaths(preference.Patterns(f.robots, refs, maxCells+1)).Patterns()
	}
	if len(f.patterns) > maxCells {
		return ErrTooLarge
	}
	return nil
}

// policyFor returns the policy of the source for a crawler.
func (f *fromVocabulary) policyFor(name string) *acap.Policy {
	return vocabularyPolicy(f.robots, f.vocabulary, name, f.file)
}

// sourceFor returns the decisions of the source for a crawler. AIPREF says nothing about paths that
// Disallow excludes (draft-ietf-aipref-attach-05, 3.1). What it would say there counts: it is in
// force as soon as the Disallow line is removed.
func (f *fromVocabulary) sourceFor(name string) decider {
	policy := f.policyFor(name)
	open := policy
	if f.vocabulary == AIPREF {
		open = vocabularyPolicy(f.open, f.vocabulary, name, nil)
	}
	return func(u acap.Usage, r acap.Resource) acap.Decision {
		if u == acap.Crawl {
			return policy.Decide(u, r)
		}
		return open.Decide(u, r)
	}
}

// withoutRules returns the text of a robots.txt in which each Allow and Disallow line is empty.
func withoutRules(f *acap.File) string {
	lines := f.Lines()
	for _, g := range f.Groups() {
		for _, r := range g.Rules {
			lines[r.Field.Line-1] = "Allow:"
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// records writes the ACAP records, that for any crawler first.
func (f *fromVocabulary) records(out *Conversion) error {
	type record struct {
		names []string
		lines []line
	}
	var written []*record
	above := f.before
	for i, name := range append([]string{f.other}, f.names...) {
		head := line{"ACAP-crawler: " + f.who(name), nil, -1}
		r, err := f.one(name, append(slices.Clip(above), line{"", nil, -1}, head))
		if err != nil {
			return err
		}
		f.remarkOn(r)
		lines := r.lines[len(above)+2:]
		if i == 0 {
			above = f.note(r.lines)
		}
		same := slices.IndexFunc(written, func(w *record) bool {
			return w.names[0] != "*" && textOf(w.lines) == textOf(lines)
		})
		switch {
		case len(lines) == 0:
		case same < 0:
			written = append(written, &record{[]string{f.who(name)}, lines})
		default:
			written[same].names = append(written[same].names, name)
		}
	}
	var b strings.Builder
	b.WriteString(textOf(f.before))
	for _, w := range written {
		b.WriteByte('\n')
		for _, name := range w.names {
			b.WriteString("ACAP-crawler: " + name + "\n")
		}
		b.WriteString(textOf(w.lines))
	}
	out.Robots = b.String()
	return nil
}

// note stores what the record for any crawler says, and returns its lines as lines that do not
// belong to another record.
func (f *fromVocabulary) note(lines []line) []line {
	lines = slices.Clone(lines)
	for i, l := range lines {
		if l.cell != nil {
			f.fields.star[l.of] = f.fields.star[l.of] || l.cell.says[l.of] == prohibit
			f.fields.permits[l.of] = f.fields.permits[l.of] || l.cell.says[l.of] == permit
			lines[i].cell = nil
		}
	}
	return lines
}

// one translates the statements for one crawler. If it must prohibit other usages, it names crawl,
// too (P1 2.5.6, F19): as the conventional rules do.
func (f *fromVocabulary) one(name string, before []line) (*result, error) {
	var list []said
	for _, p := range f.patterns {
		list = append(list, said{pattern: p})
	}
	g, err := f.newGrid(list, f.sourceFor(name))
	if err != nil {
		return nil, err
	}
	if f.fields.rules && f.fields.beyond(g.cells) {
		r, err := f.crawling(name)
		if err != nil {
			return nil, err
		}
		f.rules.records = append(f.rules.records, r)
		var b strings.Builder
		r.fields(&b, acap.Crawl)
		for text := range strings.Lines(b.String()) {
			before = append(before, line{strings.TrimSuffix(text, "\n"), nil, -1})
		}
	}
	return f.settle(g, name, before)
}

// crawling returns the record for a crawler about crawl, made from the conventional rules.
func (f *fromVocabulary) crawling(name string) (*record, error) {
	all := voicesOf(f.robots)
	at := slices.IndexFunc(all, func(v *voice) bool {
		return slices.ContainsFunc(v.names, func(n string) bool { return strings.EqualFold(n, f.who(name)) })
	})
	v := &voice{names: []string{f.who(name)}}
	if at >= 0 {
		v.rules = all[at].rules
	}
	return f.rules.record(v)
}

// remarkOnLines adds remarks about statements that say nothing, and about what all statements of
// the vocabulary say.
func (f *fromVocabulary) remarkOnLines() {
	seen := map[string]bool{}
	for _, name := range append([]string{f.other}, f.names...) {
		for _, finding := range f.policyFor(name).Findings() {
			ours := f.file != nil || finding.Line > 0 && finding.Line < len(f.before) &&
				vocabularyOf(f.before[finding.Line].text) == f.vocabulary // line 1 of the source is f.before[1]
			key := fmt.Sprint(finding.Line, finding.Message)
			if ours && !seen[key] {
				seen[key] = true
				f.remarks = append(f.remarks, Remark{Code: "no-effect", Severity: acap.Notice, Line: finding.Line,
					Message: finding.Message})
			}
		}
	}
	if message := map[string]string{
		AIPREF: "AIPREF permits search only with a link to the page and without generated text: ACAP says " +
			"neither",
		ContentSignal: "Content-Signal also reserves rights (Directive (EU) 2019/790, Article 4): ACAP does not say " +
			"this"}[f.vocabulary]; message != "" && f.speaks {
		f.remarks = append(f.remarks, Remark{Code: "lost", Severity: acap.Notice, Message: message})
	}
	if f.fields.rules && len(f.rules.records) == 0 &&
		slices.ContainsFunc(f.robots.Groups(), func(g acap.Group) bool { return len(g.Rules) > 0 }) {
		f.remarks = append(f.remarks, Remark{Code: "not-converted", Severity: acap.Notice,
			Message: "the Allow and Disallow lines stay, and are not converted"})
	}
}

// siteOf returns the root URL of the first absolute URL in a licence document, or a placeholder.
func siteOf(src []byte) string {
	d := xml.NewDecoder(bytes.NewReader(src))
	for {
		t, err := d.RawToken()
		if err != nil {
			return convertedSite
		}
		if e, ok := t.(xml.StartElement); ok {
			if root := originOf(e); root != "" {
				return root
			}
		}
	}
}

// originOf returns the root URL of the site that an element content names, or "".
func originOf(e xml.StartElement) string {
	for _, a := range e.Attr {
		u, err := url.Parse(strings.TrimSpace(a.Value))
		if e.Name.Local != "content" || a.Name.Local != "url" || err != nil || u.Host == "" {
			continue
		}
		if root, err := address.Origin(u); err == nil {
			return root
		}
	}
	return ""
}

// elsewhere returns the root URL of the site that an element content names, if it is another one
// than that of robots.txt. Licences do not distinguish http and https.
func elsewhere(e xml.StartElement, robots string) string {
	bare := func(s string) string {
		_, rest, _ := strings.Cut(s, "://")
		return rest
	}
	root := originOf(e)
	if root == "" || bare(root)+"/robots.txt" == bare(robots) {
		return ""
	}
	return root
}

// remarkOnElements adds remarks about the elements of a licence document that ACAP cannot express.
func (f *fromVocabulary) remarkOnElements() {
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(f.src, []byte("\ufeff"))))
	for {
		t, err := d.RawToken()
		if err != nil {
			return
		}
		e, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		line, _ := d.InputPos()
		for _, what := range lostElement(e) {
			f.remarks = append(f.remarks, Remark{Code: "lost", Severity: acap.Warning, Line: line,
				Message: "ACAP has no words for " + what})
		}
		if site := elsewhere(e, f.robots.URL); site != "" {
			f.remarks = append(f.remarks, Remark{Code: "left-out", Severity: acap.Warning, Line: line,
				Message: "the content is about another site, " + site})
		}
	}
}

// lostElement describes what ACAP cannot express of an element of RSL.
func lostElement(e xml.StartElement) (list []string) {
	kind := ""
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "type":
			kind = a.Value
		case "server", "encrypted", "lastmod", "max-age":
			list = append(list, fmt.Sprintf("%s=%q of the element %s", a.Name.Local, a.Value, e.Name.Local))
		}
	}
	switch e.Name.Local {
	case "payment", "legal", "reporting":
		list = append(list, strings.TrimSpace("the element "+e.Name.Local+" "+kind))
	case "standard", "custom", "amount", "accepts", "copyright", "terms", "schema", "alternate":
		list = append(list, "the element "+e.Name.Local)
	case "permits", "prohibits":
		if kind == "user" || kind == "geo" {
			list = append(list, fmt.Sprintf("a licence for some (%s of the type %s)", e.Name.Local, kind))
		}
	}
	return list
}
