package check

import (
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// causes finds the reason why the library temoto/robotstxt decides differently from RFC 9309.
type causes struct {
	groups  []acap.Group // the groups of the file without its ACAP lines
	lines   []string
	crawler acap.Crawler
}

// The known reasons why temoto/robotstxt decides differently.
const (
	readsNoACAP = "it reads no ACAP"
	withinACAP  = "it reads a word within an ACAP line as a rule"
	withinLine  = "it reads the line as a rule, which RFC 9309 does not"
	byVersion   = "it compares the first word of a User-agent value, including the version, with the " +
		"beginning of the crawler's name"
	passesOver   = "it ignores a group without rules"
	byPrefix     = "it applies a group to every crawler whose name begins with the name of the group"
	voidRule     = "it ignores a rule that consists only of *"
	unanchored   = "it looks for a rule with * or $ anywhere in the address, not at its beginning"
	byEncoding   = "it compares percent-encoding as it is written"
	byExpression = "it measures a rule with * or $ as a regular expression, in which a dot or a " +
		"question mark counts twice"
	firstOfLength = "of rules of the same length it applies the first, but RFC 9309 applies Allow"
	ownWay        = "it reads the line in its own way"
)

// of returns the reason why the answer a of temoto/robotstxt differs from the answer rfc of RFC
// 9309.
func (c *causes) of(a, rfc Answer, at Address) string {
	if a.Allowed == rfc.Allowed {
		return readsNoACAP
	}
	theirs, named := c.rule(a.Because)
	ours, _ := c.rule(rfc.Because)
	switch {
	case a.Because != nil && c.isACAP(a.Because.Line):
		return withinACAP
	case a.Because != nil && theirs == nil:
		return withinLine
	case c.versioned() && (theirs == nil || !named):
		return byVersion
	case theirs != nil && !named:
		return c.byGroup()
	case theirs == nil:
		return byMissing(ours, at)
	case !acap.NewGlob(theirs.Pattern).Matches(normal(at)):
		if strings.ContainsAny(theirs.Pattern, "*$") {
			return unanchored
		}
		return byEncoding
	}
	return byLength(theirs, ours)
}

// byGroup returns the reason why temoto/robotstxt uses a rule of a group that does not apply to the
// crawler.
func (c *causes) byGroup() string {
	if slices.ContainsFunc(c.groups, func(g acap.Group) bool { return c.names(g) && len(g.Rules) == 0 }) {
		return passesOver
	}
	return byPrefix
}

// byMissing returns the reason why temoto/robotstxt finds no rule although, by RFC 9309, the rule
// in ours applies.
func byMissing(ours *acap.Rule, at Address) string {
	switch {
	case ours == nil:
		return ownWay
	case strings.Trim(ours.Pattern, "*") == "":
		return voidRule
	case strings.Contains(ours.Field.Text+at.URL.RequestURI(), "%"):
		return byEncoding
	}
	return ownWay
}

// byLength returns the reason why temoto/robotstxt prefers the rule in theirs, although RFC 9309
// prefers the rule in ours.
func byLength(theirs, ours *acap.Rule) string {
	switch {
	case ours == nil:
		return ownWay
	case len(theirs.Pattern) == len(ours.Pattern):
		return firstOfLength
	case strings.ContainsAny(theirs.Pattern+ours.Pattern, "*$"):
		return byExpression
	}
	return ownWay
}

// normal returns the path of an address in the form in which it is compared with rules.
func normal(at Address) string {
	_, path, _ := strings.Cut(at.resource.URL, "://")
	return path[max(strings.IndexByte(path, '/'), 0):]
}

// rule returns the rule at the line of the field f, and reports whether its group applies to the
// crawler (RFC 9309 2.2.1).
func (c *causes) rule(f *acap.Field) (found *acap.Rule, governs bool) {
	if f == nil {
		return nil, false
	}
	byName := slices.ContainsFunc(c.groups, c.names)
	for _, g := range c.groups {
		for i := range g.Rules {
			if g.Rules[i].Field.Line == f.Line {
				return &g.Rules[i], byName && c.names(g) || !byName && slices.Contains(g.Agents, "*")
			}
		}
	}
	return nil, false
}

func (c *causes) names(g acap.Group) bool {
	return len(c.crawler.Names) > 0 && slices.ContainsFunc(g.Agents, func(a string) bool {
		return strings.EqualFold(a,
			c.crawler.Names[0])
	})
}

// versioned reports whether a User-agent value begins with the name of the crawler followed by
// something else, such as a version.
func (c *causes) versioned() bool {
	if len(c.crawler.Names) == 0 {
		return false
	}
	name := strings.ToLower(c.crawler.Names[0])
	return slices.ContainsFunc(c.lines, func(line string) bool {
		key, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(line)), ":")
		words := strings.Fields(value)
		if len(words) == 0 || key != "user-agent" && key != "useragent" {
			return false
		}
		rest, is := strings.CutPrefix(words[0], name)
		return is && strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == rest && rest != ""
	})
}

func (c *causes) isACAP(line int) bool {
	return line <= len(c.lines) && acap.SpeaksACAP(c.lines[line-1])
}
