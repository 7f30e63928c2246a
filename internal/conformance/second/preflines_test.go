package second

import (
	"net/url"
	"slices"
)

// preferenceGroup is what the group of robots.txt for this crawler contains of newer vocabularies.
type preferenceGroup struct {
	usage, signals, licences []line
	url                      *url.URL // of robots.txt
}

// preferenceGroup reads the lines of newer vocabularies for this crawler. In contrast to Allow and
// Disallow, these lines also end a list of user agents. The groups for this crawler count,
// otherwise those for the asterisk.
func (e *engine) preferenceGroup(u *url.URL) preferenceGroup {
	r := e.q.robots(u)
	if r.status != "read" {
		return preferenceGroup{}
	}
	ours, all, before := preferenceGroup{}, preferenceGroup{}, []line{}
	named, open := false, false
	var agents []string
	for _, l := range readLines(r.body) {
		switch l.name {
		case "user-agent":
			if !open {
				agents, open = nil, true
			}
			agents = append(agents, l.value)
			named = named || namesUs(l.value, e.tokens)
			continue
		case "allow", "disallow":
			open = false
			continue
		case "content-usage", "content-signal", "content-signals", "license":
			open = false
		default:
			continue
		}
		if agents == nil {
			if l.name == "license" { // such a line counts for each group without a License
				before = append(before, l)
			}
			continue
		}
		if slices.ContainsFunc(agents, func(a string) bool { return namesUs(a, e.tokens) }) {
			ours.add(l)
		}
		if slices.Contains(agents, "*") {
			all.add(l)
		}
	}
	out := all
	if named {
		out = ours
	}
	if out.licences == nil {
		out.licences = before
	}
	out.url = root(u, "/robots.txt")
	return out
}

func (g *preferenceGroup) add(l line) {
	switch l.name {
	case "content-usage":
		g.usage = append(g.usage, l)
	case "license":
		g.licences = append(g.licences, l)
	default:
		g.signals = append(g.signals, l)
	}
}

// at returns the place of a line of robots.txt.
func (g preferenceGroup) at(l line) because {
	return because{Source: "robots.txt", URL: g.url.String(), Line: l.number}
}

// headerAt returns the place of the value with the index i of a header.
func (p *page) headerAt(i int) because {
	return because{Source: "header", URL: p.url.String(), Line: i + 1}
}
