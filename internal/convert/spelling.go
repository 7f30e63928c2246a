package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// otherSpellings returns additional prohibitions of the same paths, in the letter case in which
// other lines of the file write them, because conventional rules distinguish letter case.
func (c *toConventional) otherSpellings(items []item, terms []term) []item {
	var out []item
	for _, it := range items {
		if it.allow || it.cased || strings.ContainsAny(it.pattern, "*$") {
			continue
		}
		for _, t := range terms {
			n := len(it.pattern)
			if len(t.pattern) < n || t.pattern[:n] == it.pattern || acap.Folded(t.pattern[:n]) != it.folded {
				continue
			}
			added := it
			added.pattern = t.pattern[:n]
			if !slices.ContainsFunc(out, func(o item) bool { return o.pattern == added.pattern }) {
				out = append(out, added)
			}
		}
	}
	return out
}

// noteCase collects paths that an ACAP field covers in another letter case, and that conventional
// rules, which distinguish letter case, do not cover. rules is the text of the group.
func (c *toConventional) noteCase(names []string, items []item, terms []term, rules string) {
	if c.options.AnyCase {
		return
	}
	says := rulingOf(parsed("User-agent: *\n"+rules), "", crawlerAsked)
	for _, it := range items {
		if it.cased || !cased(it.pattern) {
			continue
		}
		other := examplesOf(swapCase(it.pattern))
		i := slices.IndexFunc(other, func(path string) bool {
			at, _, _ := resourceAt(path)
			return says(acap.Crawl, at) != it.allow
		})
		if i >= 0 {
			c.spellings = append(c.spellings, spelling{names, it.pattern, other[i], it.allow, terms[it.from].line})
		}
	}
}

// spelling is an address that an ACAP field covers, but not the conventional rule made from this
// field.
type spelling struct {
	crawlers         []string
	pattern, example string
	allow            bool
	line             int
}

// spelledOtherwise reports whether the ACAP fields for a crawler cover a path only in another
// letter case than the conventional rule.
func (c *toConventional) spelledOtherwise(name, path string) bool {
	return slices.ContainsFunc(c.spellings, func(s spelling) bool {
		return slices.ContainsFunc(s.crawlers, func(n string) bool { return strings.EqualFold(n, name) }) &&
			covers(s.pattern, path)
	})
}

// remarkOnCase adds the remark that conventional rules distinguish letter case: one remark for the
// whole file, with an example.
func (c *toConventional) remarkOnCase() {
	if len(c.spellings) == 0 {
		return
	}
	first := c.spellings[0]
	if i := slices.IndexFunc(c.spellings, func(s spelling) bool { return !s.allow }); i >= 0 {
		first = c.spellings[i]
	}
	r := Remark{Code: "letter-case", Severity: acap.Notice, Line: first.line}
	lines := map[int]bool{}
	for _, s := range c.spellings {
		if lines[s.line] = true; !slices.Contains(r.Paths, s.pattern) {
			r.Paths = append(r.Paths, s.pattern)
		}
		for _, name := range s.crawlers {
			if !slices.Contains(r.Crawlers, name) {
				r.Crawlers = append(r.Crawlers, name)
			}
		}
	}
	delete(lines, first.line)
	r.Also = slices.Sorted(maps.Keys(lines))
	r.Message = fmt.Sprintf(
		"conventional rules distinguish letter case, ACAP does not: %s is no longer %s, if the site "+
			"has it", first.example,
		map[bool]string{true: "permitted", false: "prohibited"}[first.allow])
	switch n := len(r.Paths) - 1; {
	case n == 1:
		r.Message += "; the same applies to other spellings of 1 more pattern"
	case n > 1:
		r.Message += fmt.Sprintf("; the same applies to other spellings of %d more patterns", n)
	}
	c.remarks = append(c.remarks, r)
}
