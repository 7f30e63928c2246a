package check

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Change is a line that appeared or disappeared between two versions of a document, and that is
// neither a permission nor a prohibition.
type Change struct {
	Crawler       acap.Crawler
	What          string      // the kind of line: "take-down", "re-crawl", "reference" or "crawl-delay"
	URL           string      // the resource or file that the line names; "" for a crawl-delay
	Before, After string      // the value in each version; "" if that version has none
	Was, Is       *acap.Field // the line in each version; nil if that version has none, and for a crawl-delay
}

// maxChanges is the maximum number of changes that are reported, a limit for hostile files.
const maxChanges = 20_000

// Revision is what differs between two versions of a document.
type Revision struct {
	Decisions []Difference
	Changes   []Change
	Contrasts []Contrast // usages about which a newer vocabulary says something else
	Left      []string   // sentences that say which changes were not compared because of a limit
}

// CompareVersions compares two versions of a document at the time now. preferences are the questions
// about newer vocabularies (see Ask.Preferences). If ctx ends, CompareVersions returns its error, and
// what it found until then.
func CompareVersions(ctx context.Context, before, after *Document, now time.Time, ask, preferences Ask) (r Revision,
	err error) {
	if r.Decisions, err = Compare(ctx, before.ACAP(now), after.ACAP(now), ask); err != nil {
		return r, err
	}
	r.Changes, r.Left = changes(before, after, ask.Crawlers)
	r.Contrasts, err = restated(ctx, before, after, preferences)
	return r, err
}

// changes returns, for each crawler, the action requests and references that appeared or
// disappeared, and a changed Crawl-delay. If there are more changes than the limit, left contains a
// sentence that says so.
func changes(before, after *Document, crawlers []acap.Crawler) (out []Change, left []string) {
	for i, c := range crawlers {
		a, b := before.facts(c), after.facts(c)
		was, is := byKey(a), byKey(b)
		seen := map[factKey]bool{}
		for _, f := range slices.Concat(a, b) {
			if seen[f.factKey] {
				continue
			}
			seen[f.factKey] = true
			x, y := was[f.factKey], is[f.factKey]
			if x.says == y.says {
				continue
			}
			if len(out) == maxChanges {
				return out, []string{fmt.Sprintf("requests, references and delays were compared for %d of %d "+
					"crawlers, since more than %d of them changed", i+1, len(crawlers), maxChanges)}
			}
			out = append(out, Change{Crawler: c, What: f.what, URL: f.url, Before: x.says, After: y.says, Was: x.field,
				Is: y.field})
		}
	}
	return out, nil
}

// fact is something that a document says to a crawler and that is neither a permission nor a
// prohibition.
type fact struct {
	factKey
	says  string
	field *acap.Field
}

type factKey struct{ what, url string }

// byKey returns the facts by their keys. Of several facts with the same key it keeps the first.
func byKey(facts []fact) map[factKey]fact {
	out := make(map[factKey]fact, len(facts))
	for _, f := range facts {
		if _, known := out[f.factKey]; !known {
			out[f.factKey] = f
		}
	}
	return out
}

func (d *Document) facts(c acap.Crawler) (out []fact) {
	p := d.File.Policy(c, d.References(c)...)
	if delay := p.CrawlDelay(); delay > 0 {
		out = append(out, fact{factKey: factKey{what: "crawl-delay"}, says: delay.Round(time.Millisecond).String()})
	}
	for _, r := range d.References(c) {
		says := "read"
		if r.File == nil {
			says = "not read"
		}
		out = append(out, fact{factKey{"reference", r.URL}, says, r.Field})
	}
	for _, a := range p.Actions() {
		says := "executed"
		if !a.Execute {
			says = fmt.Sprintf("not executed: %s", a.Why)
		}
		out = append(out, fact{factKey{a.Action, a.URL}, says, a.Field})
	}
	return out
}
