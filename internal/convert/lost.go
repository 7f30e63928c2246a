package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// conventionalTag returns the rule of X-Robots-Tag and robots META that prohibits the usage u, and
// perhaps other usages. It returns "" if there is none. REP 2 (N24): noarchive forbids showing
// copies, but not storing them.
func conventionalTag(u acap.Usage) string {
	switch u {
	case acap.Index, acap.Present, acap.PresentLink:
		return "noindex"
	case acap.Follow:
		return "nofollow"
	case acap.Preserve, acap.PresentCurrentCopy, acap.PresentOldCopy:
		return "noarchive"
	case acap.PresentSnippet, acap.PresentOldSnippet:
		return "nosnippet"
	}
	return ""
}

// conventionalLimit returns the conventional rule that limits the usage u at least as strictly as
// the given qualifier of a permission. It returns "" if there is none.
func conventionalLimit(u acap.Usage, qualifier string) string {
	name, value, _ := strings.Cut(strings.ToLower(qualifier), "=")
	switch {
	case name == "time-limit" && u == acap.Index && strings.HasPrefix(value, "until-2"):
		return "unavailable_after: " + strings.TrimPrefix(value, "until-")
	case name == "max-length" && u == acap.PresentSnippet:
		n, _, _ := strings.Cut(value, "-") // a text of n characters never has more than n words
		return "max-snippet:" + n
	}
	return ""
}

// remarkOnLosses adds remarks, field by field, about things that conventional records cannot
// express.
func (c *toConventional) remarkOnLosses() {
	for _, s := range c.statements {
		if slices.Contains(c.strayed, s.Field.Line) || len(s.Usages) == 0 {
			continue
		}
		r := Remark{Code: "lost", Severity: acap.Warning, Line: s.Field.Line, Crawlers: s.Crawlers, Paths: paths(s)}
		c.remarkOnPurposes(s, "conventional records know")
		var rules, without []string
		for _, u := range s.Usages {
			switch {
			case u == acap.Crawl, s.Allow && len(s.Qualifiers) == 0:
			case s.Allow:
				for _, q := range s.Qualifiers {
					rules, without = told(rules, without, conventionalLimit(u, q), string(u)+" "+q)
				}
			default:
				rules, without = told(rules, without, conventionalTag(u), string(u))
			}
		}
		if len(rules) > 0 {
			r.Header = "X-Robots-Tag: " + strings.Join(rules, ", ")
			r.Code, r.Message = "by-header", fmt.Sprintf("%s cannot be said in robots.txt: pages at %s need the "+
				"header %s", s.Field.Text, strings.Join(r.Paths, " "), r.Header)
			if len(s.Crawlers) > 0 && s.Crawlers[0] != "*" {
				r.Message += ", after the name of the crawler"
			}
			c.remarks = append(c.remarks, r)
		}
		if len(without) > 0 {
			r.Code, r.Header, r.Message = "lost", "", fmt.Sprintf("of %s conventional records and headers have no "+
				"words for %s", s.Field.Text, strings.Join(without, ", "))
			c.remarks = append(c.remarks, r)
		}
	}
	c.remarkOnRequests("conventional records have")
}

// remarkOnPurposes adds a remark that the purposes of a statement are lost. language is the target
// with a verb.
func (c *toConventional) remarkOnPurposes(s acap.Statement, language string) {
	if len(s.Purposes) > 0 {
		c.remarks = append(c.remarks, Remark{Code: "lost", Severity: acap.Warning, Line: s.Field.Line,
			Crawlers: s.Crawlers, Paths: paths(s), Message: fmt.Sprintf("%s no purposes: that %s is for %s is lost",
				language, s.Field.Text, strings.Join(s.Purposes, ", "))})
	}
}

// remarkOnRequests adds remarks that action requests are lost. language is the target with a verb.
func (c *toConventional) remarkOnRequests(language string) {
	for i, line := range c.file.Lines() {
		line = strings.TrimFunc(line, acap.Blank)
		if len(line) > 13 && strings.EqualFold(line[:13], "ACAP-request-") {
			c.remarks = append(c.remarks, Remark{Code: "lost", Severity: acap.Warning, Line: i + 1,
				Message: fmt.Sprintf("%s no requests: %s is lost", language, line)})
		}
	}
}

// remarkOnLines adds remarks about lines that are dropped, because they have no effect on a crawler
// that reads ACAP, or because they are not for crawlers.
func (c *toConventional) remarkOnLines() {
	foreign := Remark{Code: "left-out", Severity: acap.Notice}
	lines := c.file.Lines()
	for _, f := range c.file.Findings {
		switch {
		case f.Code == "rule-without-slash", f.Code == "within-conventional",
			f.Code == "orphan-field" && f.Line <= len(lines) && !acap.SpeaksACAP(lines[f.Line-1]):
			c.remarks = append(c.remarks, Remark{Code: "no-effect", Severity: acap.Notice, Line: f.Line,
				Message: "the line is not converted, because " + f.Message})
		case f.Code == "foreign-field" || f.Code == "unknown-line":
			if foreign.Line == 0 {
				foreign.Line, foreign.Message = f.Line, "the line is left out: "+f.Message
			} else {
				foreign.Also = append(foreign.Also, f.Line)
			}
		}
	}
	if n := len(foreign.Also); n > 0 {
		foreign.Message += fmt.Sprintf("; and %d more like it", n)
	}
	if foreign.Line > 0 {
		c.remarks = append(c.remarks, foreign)
	}
	comments := Remark{Code: "left-out", Severity: acap.Notice, Message: "the comments of the file are left out"}
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimLeftFunc(line, acap.Blank), "#") &&
			!strings.HasPrefix(strings.ToLower(line), "##acap version=") {
			if comments.Line == 0 {
				comments.Line = i + 1
			} else {
				comments.Also = append(comments.Also, i+1)
			}
		}
	}
	if comments.Line > 0 {
		c.remarks = append(c.remarks, comments)
	}
}

func told(rules, without []string, rule, what string) ([]string, []string) {
	switch {
	case rule == "":
		without = append(without, what)
	case !slices.Contains(rules, rule):
		rules = append(rules, rule)
	}
	return rules, without
}

// paths returns the resources of a statement as patterns.
func paths(s acap.Statement) []string {
	if slices.Contains(s.Patterns, "") {
		return []string{"/"}
	}
	return slices.Compact(slices.Sorted(slices.Values(s.Patterns)))
}
