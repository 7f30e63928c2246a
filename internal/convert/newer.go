package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// The newer vocabularies that To and From translate.
const (
	AIPREF        = "aipref"
	ContentSignal = "content-signal"
	TDMRep        = "tdmrep"
	RSL           = "rsl"
)

// Vocabularies returns the names of the newer vocabularies that To and From translate.
func Vocabularies() []string { return []string{AIPREF, ContentSignal, TDMRep, RSL} }

// Errors for files that cannot be converted to or from a newer vocabulary.
var (
	ErrSpeaksAlready = errors.New("the file has statements in this vocabulary already")
	ErrSaysNothing   = errors.New("the file has no statements in this vocabulary to convert")
)

// Stated returns the newer vocabularies in which lines of a robots.txt make statements, in
// alphabetical order. It leaves out License lines, which only name a document.
func Stated(src []byte) (list []string) {
	for _, line := range parsed(string(src[:min(len(src), acap.MaxSize)])).Lines() {
		if v := vocabularyOf(line); v != "" && v != RSL && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

// vocabularyOf returns the newer vocabulary to which a line of a robots.txt belongs, or "".
func vocabularyOf(line string) string {
	name, _, ok := strings.Cut(line, ":")
	if !ok {
		return ""
	}
	return map[string]string{"content-usage": AIPREF, "content-signal": ContentSignal,
		"content-signals": ContentSignal, "license": RSL}[strings.ToLower(strings.TrimFunc(name, acap.Blank))]
}

// To translates the ACAP records of a robots.txt, with its conventional records, into a newer
// vocabulary: into a robots.txt without ACAP for AIPREF and ContentSignal, a tdmrep.json for
// TDMRep, a licence document for RSL. Remarks list what is lost, and where the result restricts
// more. The result never permits what the file prohibits; what the vocabulary cannot say is not
// said. To compares both on examples of all patterns. It does not follow references to other files.
func To(vocabulary string, src []byte, o Options) (*Conversion, error) {
	d := dialectOf(vocabulary)
	if d == nil {
		return nil, fmt.Errorf("there is no vocabulary %q", vocabulary)
	}
	c, err := newToConventional(src, o)
	switch {
	case err != nil:
		return nil, err
	case slices.ContainsFunc(c.file.Lines(), func(line string) bool { return vocabularyOf(line) == vocabulary }):
		return nil, ErrSpeaksAlready
	}
	t := newTranslation(d, o)
	t.folds, t.other, t.robots = true, c.other, d.agents
	out := &Conversion{}
	if d.agents {
		out.Robots, err = c.assemble(func(name string) (string, error) { return t.group(c, name) })
	} else {
		err = t.file(c, out)
	}
	if err != nil {
		return nil, err
	}
	t.loseStatements(c)
	t.remarkOnSilence()
	if d.agents {
		c.remarkOnCase()
		c.remarkOnLines()
		t.remarkOnOthers(c.file)
		out.Remarks = c.remarks
		c.remarks = append(c.remarks, c.prove(out)...)
	}
	t.remarkOnCase()
	p := t.proof(c.names, c.allPatterns())
	out.Remarks = together(append(c.remarks, t.remarks...))
	was := func(name string) decider { return c.policyFor(name).Decide }
	out.Remarks = append(inOrder(out.Remarks), p.compare(t, out, was)...)
	return out, nil
}

// inOrder sorts remarks by lines. Remarks about the whole file come last.
func inOrder(remarks []Remark) []Remark {
	slices.SortStableFunc(remarks, func(a, b Remark) int {
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line - a.Line
		}
		return a.Line - b.Line
	})
	return remarks
}

// remarkOnSilence adds a remark if the result says nothing.
func (t *translation) remarkOnSilence() {
	if !t.speaks {
		t.remarks = append(t.remarks, Remark{Code: "nothing-to-say", Severity: acap.Notice,
			Message: fmt.Sprintf("the file prohibits nothing that %s can prohibit", t.name)})
	}
}

// remarkOnOthers adds remarks about lines of other newer vocabularies, which the new robots.txt
// does not contain.
func (t *translation) remarkOnOthers(f *acap.File) {
	for i, line := range f.Lines() {
		if vocabularyOf(line) != "" {
			t.remarks = append(t.remarks, Remark{Code: "left-out", Severity: acap.Warning, Line: i + 1,
				Message: fmt.Sprintf("the line is left out; add it to the result: %s", strings.TrimSpace(line))})
		}
	}
}

// patternsFor returns the patterns of the statements of an ACAP file that address a crawler.
func (c *toConventional) patternsFor(name string) (list []said) {
	for _, s := range c.statements {
		if _, reached := c.head(s, name); !reached {
			continue
		}
		for _, p := range paths(s) {
			list = append(list, said{p, kindsOf(s)})
		}
	}
	return list
}

// kindsOf returns the kinds of a statement: for each of its usages, a prohibition, a permission, or a
// permission with qualifiers.
func kindsOf(s acap.Statement) (kinds uint64) {
	kind := 0
	switch {
	case s.Allow && len(s.Qualifiers) > 0:
		kind = 2
	case s.Allow:
		kind = 1
	}
	for i, u := range acap.Usages() {
		if slices.Contains(s.Usages, u) {
			kinds |= 1 << (3*i + kind)
		}
	}
	return kinds
}

func (c *toConventional) policyFor(name string) *acap.Policy {
	return c.file.Policy(acap.Crawler{Names: []string{name}})
}

// allPatterns returns the patterns of all statements.
func (c *toConventional) allPatterns() (list []string) {
	for _, s := range c.statements {
		list = append(list, paths(s)...)
	}
	return list
}

// gridFor returns the cells of an ACAP file for a crawler.
func (t *translation) gridFor(c *toConventional, name string) (*grid, error) {
	return t.newGrid(c.patternsFor(name), c.policyFor(name).Decide)
}

// group returns the conventional rules for a crawler, and statements of the target. AIPREF says
// nothing about paths that Disallow excludes (draft-ietf-aipref-attach-05, 3.1), so the statements
// are made and compared as if there were no rules.
func (t *translation) group(c *toConventional, name string) (string, error) {
	rules, err := c.group(name)
	if err != nil {
		return "", err
	}
	g, err := t.gridFor(c, name)
	if err != nil {
		return "", err
	}
	r, err := t.settle(g, name, []line{{"User-agent: *", nil, -1}})
	if err != nil {
		return "", err
	}
	t.remarkOn(r)
	body := rules + textOf(r.lines[1:])
	t.excluded = t.excluded || t.alone && r.excludes(t.policy("User-agent: *\n"+body, name), t.usages)
	return body, nil
}

// excludes reports whether a policy does not prohibit what the result prohibits.
func (r *result) excludes(p *acap.Policy, usages []acap.Usage) bool {
	return slices.ContainsFunc(r.grid.cells, func(c *cell) bool {
		return slices.ContainsFunc(c.samples, func(s sample) bool {
			return slices.ContainsFunc(usages, func(u acap.Usage) bool {
				return u != acap.Crawl && !r.policy.Decide(u, s.resource).Allowed && p.Decide(u, s.resource).Allowed
			})
		})
	})
}

// file writes the file of a vocabulary that addresses no crawlers: what is for any crawler.
func (t *translation) file(c *toConventional, out *Conversion) error {
	g, err := t.gridFor(c, c.other)
	if err != nil {
		return err
	}
	r, err := t.settle(g, c.other, nil)
	if err != nil {
		return err
	}
	text := textOf(r.lines)
	if t.dialect.name == rslName {
		out.License = text
	} else {
		out.TDMRep = text
	}
	for _, name := range append([]string{c.other}, c.names...) {
		one := &result{name: name, grid: g, lines: r.lines, policy: t.policy(text, name)}
		if name != c.other {
			if one.grid, err = t.gridFor(c, name); err != nil {
				return err
			}
			if _, err = one.grid.extend(one.policy); err != nil {
				return err
			}
			if t.cells += len(one.grid.cells); t.cells > maxAllCells {
				return ErrTooLarge
			}
		}
		c.unread(c.policyFor(name), []string{c.who(name)})
		t.remarkOn(one)
	}
	return nil
}

// remarkOn adds remarks about the differences between source and target for one crawler.
func (t *translation) remarkOn(r *result) {
	var unsaidAll []*difference
	for _, d := range t.differences(r) {
		if d.kind == unsaid {
			unsaidAll = append(unsaidAll, d)
			continue
		}
		t.remarks = append(t.remarks, t.remark(d, t.who(r.name)))
	}
	if len(unsaidAll) > 0 {
		t.remarks = append(t.remarks, t.remark(joined(unsaidAll), t.who(r.name)))
	}
	t.noteCase(r)
}

// loseStatements adds remarks about what no newer vocabulary can express: qualifiers, purposes and
// requests.
func (t *translation) loseStatements(c *toConventional) {
	for _, s := range c.statements {
		if slices.Contains(c.strayed, s.Field.Line) {
			continue
		}
		c.remarkOnPurposes(s, t.name+" has")
		if len(s.Qualifiers) > 0 {
			c.remarks = append(c.remarks, Remark{Code: "lost", Severity: acap.Warning, Line: s.Field.Line,
				Crawlers: s.Crawlers, Paths: paths(s), Message: fmt.Sprintf("of %s, %s has no words for %s",
					s.Field.Text, t.name, strings.Join(s.Qualifiers, " "))})
		}
	}
	c.remarkOnRequests(t.name + " has")
	if t.excluded {
		t.remarks = append(t.remarks, Remark{Code: "not-crawled", Severity: acap.Notice,
			Message: "AIPREF says nothing about paths that Disallow excludes"})
	}
}
