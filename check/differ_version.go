package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Change is what came or went between two versions of a document beside permissions.
type Change struct {
	Crawler       acap.Crawler
	What          string      // "take-down", "re-crawl", "reference" or "crawl-delay"
	URL           string      // of what it is about; "" for a delay
	Before, After string      // "" where there was none
	Was, Is       *acap.Field // nil where there was none, and for a delay
}

// Changes lists for each crawler the action requests and references that came or went, and a delay that changed.
func Changes(before, after *Document, crawlers []acap.Crawler) (out []Change) {
	for _, c := range crawlers {
		a, b := before.facts(c), after.facts(c)
		var list []Change
		for _, f := range append(a, b...) {
			was, is := slices.IndexFunc(a, f.same), slices.IndexFunc(b, f.same)
			ch := Change{Crawler: c, What: f.what, URL: f.url}
			if was >= 0 {
				ch.Before, ch.Was = a[was].says, a[was].field
			}
			if is >= 0 {
				ch.After, ch.Is = b[is].says, b[is].field
			}
			known := slices.ContainsFunc(list, func(o Change) bool { return o.What == ch.What && o.URL == ch.URL })
			if ch.Before != ch.After && !known {
				list = append(list, ch)
			}
		}
		out = append(out, list...)
	}
	return out
}

// fact is what a document says to a crawler beside permissions.
type fact struct {
	what, url, says string
	field           *acap.Field
}

func (f fact) same(g fact) bool { return f.what == g.what && f.url == g.url }

// maxFacts bounds what is compared of a hostile file.
const maxFacts = 2000

func (d *Document) facts(c acap.Crawler) (out []fact) {
	p := d.File.Policy(c, d.References(c)...)
	if delay := p.CrawlDelay(); delay > 0 {
		out = append(out, fact{what: "crawl-delay", says: delay.Round(time.Millisecond).String()})
	}
	for _, r := range d.References(c) {
		says := "read"
		if r.File == nil {
			says = "not read"
		}
		out = append(out, fact{"reference", r.URL, says, r.Field})
	}
	for _, a := range p.Actions() {
		says := "executed"
		if !a.Execute {
			says = fmt.Sprintf("not executed: %s", a.Why)
		}
		out = append(out, fact{a.Action, a.URL, says, a.Field})
	}
	return out[:min(len(out), maxFacts)]
}
