package preference

import (
	"regexp"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/acapcrawl/acapcrawl/acap"
)

// aipref is the vocabulary of the drafts draft-ietf-aipref-vocab-08 (the labels and their values)
// and draft-ietf-aipref-attach-05 (Content-Usage in robots.txt and in headers).
type aipref struct{}

const contentUsage = "content-usage"

// lineNames are the names of lines in robots.txt that belong to preferences. Lines of all these
// names end a run of User-agent lines.
func lineNames() []string { return []string{contentUsage, contentSignal, contentSignals, license} }

// license is the name of the line that names a licence.
const license = "license"

// linesOf returns the lines of robots.txt with the given names for the crawler, and those before
// any User-agent line, which have no effect and are reported.
func linesOf(s *acap.Site, names ...string) (ours []acap.Line) {
	all, before := s.Lines(lineNames()...)
	for _, l := range all {
		if contains(names, l.Name) {
			ours = append(ours, l)
		}
	}
	for _, l := range before {
		if contains(names, l.Name) {
			reportOrphan(l, s.Report)
		}
	}
	return ours
}

// reportOrphan reports a line before any User-agent line.
func reportOrphan(l acap.Line, report reporting) {
	report(l.Field, "orphan-field", acap.Error, "put it below a User-agent line",
		"the line is before any User-agent line and is ignored")
}

func contains(list []string, s string) bool {
	for _, t := range list {
		if s == t {
			return true
		}
	}
	return false
}

// labels maps the labels of AIPREF to usages (vocab 4).
func labels(label string) []acap.Usage {
	switch label {
	case "train-ai":
		return []acap.Usage{acap.TrainAI}
	case "ai-use":
		return []acap.Usage{acap.AIUse}
	case "search":
		return search()
	}
	return nil
}

// retired maps labels of earlier drafts to the draft that dropped them.
func retired(label string) string {
	draft := map[string]string{"tdm": "02", "ai": "02", "genai": "02", "inference": "02", "all": "03",
		"train-genai": "04", "bots": "05", "ai-output": "05"}[label]
	if draft == "" {
		return ""
	}
	return "draft-ietf-aipref-vocab-" + draft
}

// Name implements acap.Vocabulary.
func (aipref) Name() string { return "aipref" }

// Key implements acap.Vocabulary.
func (v aipref) Key() string { return v.Name() }

// Files implements acap.Vocabulary.
func (aipref) Files(*acap.Site) []acap.Needed { return nil }

// usageRules are the Content-Usage lines of a site.
type usageRules struct {
	paths   *acap.Paths
	byPath  []opinions // the statement of each path
	general opinions   // the statements without a path
	site    *acap.Site
}

// Site reads the Content-Usage lines of the groups for the crawler (attach 3).
func (aipref) Site(s *acap.Site) acap.Preferences {
	lines := linesOf(s, contentUsage)
	if len(lines) == 0 {
		return nil
	}
	rules := &usageRules{general: opinions{}, site: s}
	var patterns []string
	for _, l := range lines {
		pattern, said := readUsageLine(l, s.Strict(), s.Report)
		if pattern == "" {
			rules.general.addAll(said)
			continue
		}
		patterns, rules.byPath = append(patterns, pattern), append(rules.byPath, said)
	}
	rules.paths = acap.NewPaths(patterns)
	return rules
}

// readUsageLine reads a Content-Usage line of robots.txt: the path, "" if it has none, and what it
// says (attach 3). A path alone says that nothing is known about its resources.
func readUsageLine(l acap.Line, strict bool, report reporting) (pattern string, said opinions) {
	statement := l.Value
	if strings.HasPrefix(l.Value, "/") {
		pattern, statement = l.Value, ""
		if i := strings.IndexAny(l.Value, " \t"); i >= 0 {
			pattern, statement = l.Value[:i], strings.Trim(l.Value[i:], " \t")
		}
	}
	said = opinions{}
	if l.Value == "" {
		report(l.Field, "empty-preference", acap.Notice, "write a preference, as in train-ai=n",
			"the line has no value and says nothing")
	}
	readUsage([]string{statement}, strict, func(int) *acap.Field { return l.Field }, report, said)
	return pattern, said
}

// Usages implements acap.Preferences.
func (rs *usageRules) Usages() []acap.Usage {
	all := opinions{}
	all.addAll(rs.general)
	for _, said := range rs.byPath {
		all.addAll(said)
	}
	return all.Usages()
}

// Opinion returns the verdict of the statement with the longest path that matches r, or of those
// without a path if none matches. It inherits nothing from shorter paths, and several statements of
// the longest path are combined (attach 3.2). A path that Disallow excludes carries no preference
// (attach 3.1).
func (rs *usageRules) Opinion(u acap.Usage, r acap.Resource) (o acap.Opinion) {
	if rs.site.Disallows(r) {
		return acap.Opinion{}
	}
	best := rs.paths.Longest(&r)
	if best == nil {
		return rs.general[u]
	}
	for _, i := range best {
		if p := rs.byPath[i][u]; p.Verdict > o.Verdict {
			o = p
		}
	}
	return o
}

// Page adds the header Content-Usage of the response (attach 2). Its lines are one dictionary.
func (aipref) Page(p *acap.Page, site acap.Preferences) acap.Preferences {
	reportMeta(p, contentUsage)
	tags := headers(p, contentUsage)
	if len(tags) == 0 {
		return site
	}
	fields, lines := make([]*acap.Field, len(tags)), make([]string, len(tags))
	for i, t := range tags {
		fields[i], lines[i] = p.Field(t), t.Content
	}
	said := opinions{}
	readUsage(lines, p.Strict(), func(i int) *acap.Field { return fields[i] }, p.Report, said)
	return join(site, said)
}

// reporting adds a finding about a field.
type reporting func(f *acap.Field, code string, severity acap.Severity, hint, message string)

// readUsage reads lines that form one dictionary (vocab 6, RFC 9651 3.2), and adds what they say to
// said. field returns the field of line i. A dictionary that does not parse says nothing, but if
// strict is true, its recognisable members with the value n prohibit.
func readUsage(lines []string, strict bool, field func(i int) *acap.Field, report reporting, said opinions) {
	dictionary, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		at := malformedLine(lines)
		otherwise := "write label=y or label=n, separated by commas, as in train-ai=n, search=y"
		so := "it says nothing"
		if len(lines) > 1 {
			so = "no line says anything, because all lines are one dictionary"
		}
		if word, _, _ := strings.Cut(lines[at], " "); strings.ContainsAny(word, "/*") {
			otherwise = "begin the path with a slash, as in /news/ train-ai=n"
		}
		report(field(at).At(lines[at]), "malformed-preference", acap.Error, hintFor(aipref{}, lines[at], otherwise),
			"the value is not a dictionary of RFC 9651, so "+so+": "+err.Error())
		if strict {
			salvage(lines, field, said)
		}
		return
	}
	counts := map[string]usageMember{} // the member of each label that counts: the last (RFC 9651 3.2)
	members := usageMembers(lines)
	for _, m := range members {
		counts[m.label] = m
	}
	for _, m := range members {
		if last := counts[m.label]; labels(m.label) != nil && last != m {
			reportRepeated(field(m.line).At(m.text), m, last, report)
		}
	}
	for _, label := range dictionary.Names() {
		member, _ := dictionary.Get(label)
		m := counts[label]
		f := field(m.line)
		at, value, usages := f.At(m.text), valueOf(member), labels(label)
		switch {
		case usages == nil:
			reportLabel(f.At(label), label, value, report)
		case value == "y":
			said.add(verdict(acap.Permits, f), usages...)
		case value == "n":
			said.add(verdict(acap.Prohibits, f), usages...)
		case value == "yes" || value == "no":
			report(at, "other-vocabulary", acap.Warning, hintFor(aipref{}, m.text, ""),
				value+" is a value of Content-Signal: in Content-Usage it says nothing")
		default:
			report(at, "unknown-preference", acap.Warning, hintFor(aipref{}, m.text,
				"write "+label+"=y or "+label+"=n"), "the value of "+label+" is neither y nor n, so it says nothing")
		}
		if p := parameterLabel(member); usages != nil && p != "" {
			report(at, "label-as-parameter", acap.Warning, hintFor(aipref{}, m.text, "separate members by commas"),
				p+" follows a semicolon, so it is a parameter of "+label+" and says nothing")
		}
	}
}

// reportRepeated reports a member of a dictionary that a later one with the same label replaces.
func reportRepeated(at *acap.Field, m, last usageMember, report reporting) {
	if strings.TrimSpace(m.text) == strings.TrimSpace(last.text) {
		report(at, "repeated-preference", acap.Notice, "keep one of them", m.label+" is in the dictionary twice")
		return
	}
	report(at, "contradictory-preference", acap.Warning, "keep one of them",
		"the dictionary has "+m.label+" twice, and the last counts: "+last.text)
}

// parameterLabel returns a label of AIPREF among the parameters of a member, or "".
func parameterLabel(m httpsfv.Member) string {
	item, ok := m.(httpsfv.Item)
	if !ok || item.Params == nil {
		return ""
	}
	for _, name := range item.Params.Names() {
		if labels(name) != nil {
			return name
		}
	}
	return ""
}

// reportLabel reports a label that AIPREF does not have, or no longer has.
func reportLabel(at *acap.Field, label, value string, report reporting) {
	other := map[string]string{"ai-train": "train-ai", "ai-input": "ai-use"}[label]
	switch draft := retired(label); {
	case draft != "":
		report(at, "retired-label", acap.Warning, "use train-ai, ai-use and search",
			draft+" dropped the label "+label+": it says nothing")
	case other != "":
		report(at, "other-vocabulary", acap.Warning, "use the label "+other+", or write it in a Content-Signal line",
			label+" is a key of Content-Signal: in Content-Usage it says nothing")
	case label == "use":
		report(at, "other-vocabulary", acap.Warning, "write it in a Content-Signal line",
			"use is a key of Content-Signal: in Content-Usage it says nothing")
	default:
		report(at, "unknown-label", acap.Notice, meant(label, "use train-ai, ai-use and search", "train-ai", "ai-use",
			"search"), "the label "+label+" is unknown and says nothing")
	}
}

// meant returns a hint that names the word most similar to s, or otherwise if none is similar.
func meant(s, otherwise string, known ...string) string {
	if best := acap.Nearest(strings.ToLower(s), known); best != "" {
		return "did you mean " + best + "?"
	}
	return otherwise
}

// valueOf returns the token that is the value of a dictionary's member, or "".
func valueOf(m httpsfv.Member) string {
	if item, ok := m.(httpsfv.Item); ok {
		if token, ok := item.Value.(httpsfv.Token); ok {
			return string(token)
		}
	}
	return ""
}

// malformedLine returns the index of the first line that is no dictionary by itself, or 0.
func malformedLine(lines []string) int {
	for i, l := range lines {
		if _, err := httpsfv.UnmarshalDictionary([]string{l}); err != nil {
			return i
		}
	}
	return 0
}

// usageMember is a member of a dictionary as it is written.
type usageMember struct {
	label, text string
	line        int // the index of the line that contains its beginning
}

// usageMembers returns the members of a dictionary that parses, in order. It reads each line once.
func usageMembers(lines []string) (list []usageMember) {
	quoted, display := false, false // inside a string; the string is a display string, which has no escapes
	for n, l := range lines {
		from := 0
		add := func(to int) {
			text := strings.Trim(l[from:to], " \t")
			label, _, _ := strings.Cut(text, ";")
			label, _, _ = strings.Cut(label, "=")
			list = append(list, usageMember{label, text, n})
			from = to + 1
		}
		for i := 0; i < len(l); i++ {
			switch c := l[i]; {
			case c == '\\' && !display:
				i++
			case c == '"':
				quoted, display = !quoted, i > 0 && l[i-1] == '%'
			case c == ',' && !quoted:
				add(i)
			}
		}
		add(len(l))
	}
	return list
}

// aroundEquals matches an equals sign with blanks, which RFC 9651 does not allow.
var aroundEquals = regexp.MustCompile(`[ \t]*=[ \t]*`)

// salvage adds the prohibitions that can be recognised in a malformed dictionary.
func salvage(lines []string, field func(i int) *acap.Field, said opinions) {
	for i, l := range lines {
		l = strings.ToLower(aroundEquals.ReplaceAllString(l, "="))
		words := strings.FieldsFunc(l, func(r rune) bool { return strings.ContainsRune(",; \t", r) })
		for _, word := range words {
			if label, ok := strings.CutSuffix(word, "=n"); ok {
				said.add(verdict(acap.Prohibits, field(i)), labels(label)...)
			}
		}
	}
}
