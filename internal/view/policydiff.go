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
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// Limits on the work for one comparison of two versions, whose texts may be hostile.
const (
	mostQuestions = 200_000         // decisions that are compared
	compareWithin = 3 * time.Second // time for the comparison of decisions
	mostLines     = 3000            // lines of one file that are compared or shown
	memoised      = 128             // results that are kept
)

// PolicyChange is what differs between a version of a policy and the version before.
type PolicyChange struct {
	Lines    []DiffLine // of robots.txt; unchanged lines only next to changed ones
	Compared *compared  // decisions, requests, references and delays that changed
}

// DiffLine is a line of one or both texts.
type DiffLine struct {
	Mark string // "+": only in the new text, "-": only in the old one, " ": in both, "…": left out
	Text string
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
		found, err := compareVersions(ctx, a, b, now)
		return &PolicyChange{diffLines(a.File.Lines(), b.File.Lines()), found}, err
	})
}

// compareVersions returns the decisions and other statements that differ between two versions.
func compareVersions(ctx context.Context, a, b *check.Document, now time.Time) (*compared, error) {
	base, err := url.Parse(b.File.URL)
	if err != nil {
		return nil, err
	}
	ask := check.Questions(base, a, b).AtMost(mostQuestions)
	preferences := ask.Preferences(nil, a, b).AtMost(mostQuestions)
	c := &compared{First: "Before", Second: "After", Refused: "No longer allowed", Allowed: "Newly allowed",
		Notes: slices.Concat(ask.Left, preferences.Left)}
	err = c.fill(ctx, a, b, now, ask, preferences)
	if ctx.Err() == context.DeadlineExceeded {
		return &compared{Stopped: true}, nil
	}
	return c, err
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
