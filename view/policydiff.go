package view

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/check"
	"github.com/acapcrawl/acapcrawl/display"
)

// Limits on the work for one comparison of two versions, whose texts may be hostile.
const (
	mostQuestions = 200_000         // decisions that are compared
	compareWithin = 3 * time.Second // time for the comparison of decisions
	mostDiffers   = 200             // differences that are shown
	mostLines     = 3000            // lines of one file that are compared or shown
	memoised      = 128             // results that are kept
)

// PolicyChange is what differs between a version of a policy and the version before.
type PolicyChange struct {
	Lines   []DiffLine   `json:"lines"`             // of robots.txt; unchanged lines only next to changed ones
	Differs []PolicyDiff `json:"differences"`       // decisions, requests, references and delays that changed
	Left    []string     `json:"notes,omitempty"`   // sentences that say what was not compared
	Cut     bool         `json:"cut,omitempty"`     // there are more differences
	Partial bool         `json:"partial,omitempty"` // the decisions were not compared
}

// PolicyDiff is one change in what a policy means.
type PolicyDiff struct {
	Crawler string `json:"crawler"` // "*": any crawler that is not named
	What    string `json:"what"`    // a usage, or take-down, re-crawl, reference or crawl-delay
	Address string `json:"address,omitempty"`
	Others  int    `json:"others,omitempty"` // number of further addresses with the same difference
	Before  string `json:"before"`
	After   string `json:"after"`
}

// DiffLine is a line of one or both texts.
type DiffLine struct {
	Mark string `json:"mark"` // "+": only in the new text, "-": only in the old one, " ": in both, "…": left out
	Text string `json:"text"`
}

// comparer compares versions of policies, one at a time, and keeps results: versions do not change.
// It may be used concurrently.
type comparer struct {
	turn sync.Mutex // held while a result is made
	mu   sync.Mutex
	done map[string]any
}

// once returns the kept result for a key, or makes it. make must not call once.
func once[T any](c *comparer, key string, make func() (T, error)) (T, error) {
	if kept, ok := c.kept(key).(T); ok {
		return kept, nil
	}
	c.turn.Lock()
	defer c.turn.Unlock()
	if kept, ok := c.kept(key).(T); ok {
		return kept, nil
	}
	out, err := make()
	if err != nil {
		return out, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil || len(c.done) >= memoised {
		c.done = map[string]any{}
	}
	c.done[key] = out
	return out, nil
}

func (c *comparer) kept(key string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done[key]
}

// compare returns what changed in the policy of an origin from one version to the next.
func (c *comparer) compare(ctx context.Context, origin string, before, after SiteVersion, now time.Time,
	vocabularies []acap.Vocabulary) (*PolicyChange, error) {
	key := fmt.Sprintf("%s %d %d", origin, before.Since.UnixNano(), after.Since.UnixNano())
	return once(c, key, func() (*PolicyChange, error) {
		ctx, cancel := context.WithTimeout(ctx, compareWithin)
		defer cancel()
		a := check.NewStored(origin, before.Version, vocabularies)
		b := check.NewStored(origin, after.Version, vocabularies)
		out := &PolicyChange{Lines: diffLines(a.File.Lines(), b.File.Lines())}
		err := out.decisions(ctx, a, b, now)
		if err != nil && ctx.Err() == context.DeadlineExceeded {
			out.Partial, err = true, nil
		}
		return out, err
	})
}

// decisions adds the decisions and other statements that differ.
func (p *PolicyChange) decisions(ctx context.Context, a, b *check.Document, now time.Time) error {
	base, err := url.Parse(b.File.URL)
	if err != nil {
		return err
	}
	ask := check.Questions(base, a, b).AtMost(mostQuestions)
	preferences := ask.Preferences(nil, a, b).AtMost(mostQuestions)
	found, err := check.CompareVersions(ctx, a, b, now, ask, preferences)
	for _, f := range found.Decisions {
		p.add(PolicyDiff{Crawler: crawlerName(f.Crawler), What: string(f.Usage), Address: f.Addresses[0].URL.String(),
			Others: len(f.Addresses) - 1, Before: verdict(f.A), After: verdict(f.B)})
	}
	for _, c := range found.Changes {
		p.add(PolicyDiff{Crawler: crawlerName(c.Crawler), What: c.What, Address: c.URL, Before: c.Before,
			After: c.After})
	}
	for _, c := range found.Contrasts {
		p.add(PolicyDiff{Crawler: crawlerName(c.Crawler), What: string(c.Usage) + " (" + c.Vocabulary + ")",
			Address: c.Addresses[0].URL.String(), Others: len(c.Addresses) - 1, Before: said(c.Said[0]),
			After: said(c.Said[1])})
	}
	if err == nil {
		p.Left = slices.Concat(ask.Left, found.Left, preferences.Left)
	}
	return err
}

func (p *PolicyChange) add(d PolicyDiff) {
	if len(p.Differs) == mostDiffers {
		p.Cut = true
		return
	}
	d.Crawler, d.Before, d.After = display.Line(d.Crawler), display.Line(d.Before), display.Line(d.After)
	p.Differs = append(p.Differs, d)
}

func crawlerName(c acap.Crawler) string {
	if len(c.Names) == 0 {
		return "*"
	}
	return c.Names[0]
}

// verdict returns an answer in words, with the line that decided.
func verdict(a check.Answer) string {
	word := "prohibited"
	switch {
	case a.Allowed && a.Limits.Empty():
		word = "permitted"
	case a.Allowed:
		word = "permitted with limits"
	}
	if a.Because == nil {
		return word + ", no line says so"
	}
	return fmt.Sprintf("%s, line %d: %s", word, a.Because.Line, a.Because.Text)
}

func said(s acap.Said) string {
	word := s.Verdict.String()
	if s.Verdict == acap.Unknown {
		word = "nothing said"
	}
	if s.Because == nil {
		return word
	}
	return fmt.Sprintf("%s, line %d: %s", word, s.Because.Line, s.Because.Text)
}

// around is the number of unchanged lines that are shown next to a changed line.
const around = 3

// diffLines compares two texts line by line. Unchanged lines far from a change are left out.
func diffLines(a, b []string) []DiffLine {
	a, b = a[:min(len(a), mostLines)], b[:min(len(b), mostLines)]
	var all []DiffLine
	take := func(mark string, from *[]string, n int) {
		for _, line := range (*from)[:n] {
			all = append(all, DiffLine{mark, display.Line(line)})
		}
		*from = (*from)[n:]
	}
	for _, e := range diff(a, b) {
		take(" ", &a, e.same)
		b = b[e.same:]
		take("-", &a, e.removed)
		take("+", &b, e.added)
	}
	return shortenDiff(all)
}

// shortenDiff replaces unchanged lines far from a change by one line with the mark "…".
func shortenDiff(all []DiffLine) (out []DiffLine) {
	near := make([]bool, len(all))
	for i, line := range all {
		if line.Mark == " " {
			continue
		}
		for k := max(0, i-around); k <= min(len(all)-1, i+around); k++ {
			near[k] = true
		}
	}
	for i, line := range all {
		switch {
		case near[i]:
			out = append(out, line)
		case i > 0 && !near[i-1]:
		default:
			out = append(out, DiffLine{Mark: "…"})
		}
	}
	return slices.Clip(out)
}

// Changed returns the number of lines that were added and removed.
func (p *PolicyChange) Changed() (text string) {
	added, removed := 0, 0
	for _, line := range p.Lines {
		switch line.Mark {
		case "+":
			added++
		case "-":
			removed++
		}
	}
	return strings.Join([]string{count(added, "line") + " added", count(removed, "line") + " removed"}, ", ")
}
