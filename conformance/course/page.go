package course

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed page.md
var pageHead string

// Markdown returns docs/site.md: the page that lists the stations and the requirement that each of
// them tests.
func Markdown() string {
	var b strings.Builder
	b.WriteString(pageHead)
	stations := Stations()
	for _, category := range Categories() {
		fmt.Fprintf(&b, "\n### %s\n\n| station | requirement | source | the line that prohibits |\n|---|---|---|---|\n",
			strings.ToUpper(category[:1])+category[1:])
		for _, s := range stations {
			if s.Category != category {
				continue
			}
			says := s.Says
			switch s.Level {
			case Advice:
				says += " (advice)"
			case May:
				says += " (optional)"
			}
			if s.Needs != "" {
				says += "; needs " + string(s.Needs)
			}
			because := ""
			if s.Because != "" {
				because = "`" + strings.ReplaceAll(strings.ReplaceAll(s.Because, "|", `\|`), "\t", " ") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.ID, strings.ReplaceAll(says, "|", `\|`),
				s.Protocol.basis(s.Rests), because)
		}
	}
	b.WriteString("\n## What no server can see\n\nRequests cannot show whether a crawler obeys these rules, so no " +
		"visitor is judged by them:\n\n")
	for _, u := range Unobservable() {
		fmt.Fprintf(&b, "- %s: %s\n", u[0], u[1])
	}
	b.WriteString("\n## The origins\n\n| origin | contents |\n|---|---|\n")
	for _, o := range origins {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.name, o.says)
	}
	return b.String()
}
