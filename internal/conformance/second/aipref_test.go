package second

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/dunglas/httpsfv"
)

// labels returns the usages that a label of Content-Usage is about.
func labels() map[string][]string {
	return map[string][]string{"train-ai": {"train-ai"}, "ai-use": {"ai-use"}, "search": searching()}
}

// aipref reads the lines Content-Usage of robots.txt and the header.
func (e *engine) aipref(v views, u *url.URL, g preferenceGroup, p *page) {
	if g.url != nil && e.conventionallyAllowed(u) { // a disallowed path carries no preference
		longest := -1
		for _, l := range g.usage {
			if path, _ := pathAndRest(l.value); matches(path, matchString(u)) {
				longest = max(longest, len(path))
			}
		}
		for _, l := range g.usage { // lines with paths of equal length are combined restrictively
			if path, dictionary := pathAndRest(l.value); matches(path, matchString(u)) && len(path) == longest {
				for label, s := range e.dictionary([]string{dictionary}) {
					v.add(opinion{stance: s, because: []because{g.at(l)}}, labels()[label]...)
				}
			}
		}
	}
	if p == nil {
		return
	}
	values := p.header["Content-Usage"]
	for label, s := range e.dictionary(values) {
		var lines []because
		for i, value := range values {
			if strings.Contains(strings.ToLower(value), label) {
				lines = append(lines, p.headerAt(i))
			}
		}
		v.add(opinion{stance: s, because: lines}, labels()[label]...)
	}
}

// conventionallyAllowed reports whether the rules of RFC 9309 that are in force allow to request u.
func (e *engine) conventionallyAllowed(u *url.URL) bool {
	s := e.subject(u, e.purposes()[0], nil)
	allowed, _ := conventional(s.origin.rules, s.origin.named, s.policy.path, s.policy.of(s.origin.statements, "crawl"))
	return allowed
}

// pathAndRest splits the value of a Content-Usage line. A value that does not begin with a slash has
// no path.
func pathAndRest(value string) (path, rest string) {
	if !strings.HasPrefix(value, "/") {
		return "", value
	}
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		return normalPath(value[:i]), strings.Trim(value[i:], " \t")
	}
	return normalPath(value), ""
}

var salvaged = regexp.MustCompile(`(?i)(?:^|[\s,;])(train-ai|ai-use|search)\s*=\s*n(?:$|[\s,;])`)

// dictionary returns what the field lines of one dictionary of RFC 9651 say of each label. If it
// does not parse, it says nothing. Strict reading obeys the prohibitions that are recognisable.
func (e *engine) dictionary(lines []string) map[string]stance {
	var full []string
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			full = append(full, l)
		}
	}
	out := map[string]stance{}
	d, err := httpsfv.UnmarshalDictionary(full)
	if err != nil {
		if e.ability.strict {
			// every comma is doubled, because a match includes the separators on both sides
			s := strings.NewReplacer(",", ",,", " ", "  ", ";", ";;").Replace(strings.Join(full, ","))
			for _, m := range salvaged.FindAllStringSubmatch(s, -1) {
				out[strings.ToLower(m[1])] = prohibit
			}
		}
		return out
	}
	for label := range labels() {
		member, ok := d.Get(label)
		item, isItem := member.(httpsfv.Item)
		if !ok || !isItem {
			continue
		}
		switch item.Value {
		case httpsfv.Token("n"):
			out[label] = prohibit
		case httpsfv.Token("y"):
			out[label] = permit
		}
	}
	return out
}
