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
		fmt.Fprintf(&b, "\n### %s\n\n| station | requirement | rests on | the line that refuses |\n|---|---|---|---|\n",
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
				says += " (a freedom)"
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
	b.WriteString("\n## What no server can see\n\nNobody is judged by these, and silence about them is no praise:\n\n")
	for _, u := range Unobservable() {
		fmt.Fprintf(&b, "- %s: %s\n", u[0], u[1])
	}
	b.WriteString("\n## The origins\n\n| origin | what is odd about it |\n|---|---|\n")
	for _, o := range origins {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.name, o.says)
	}
	return b.String()
}
