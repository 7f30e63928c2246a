package second

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
)

var (
	cases = flag.Int("cases", 400,
		"how many random cases the second engine compares; a tenth of them is changed, too")
	first = flag.Uint64("first", 1, "the seed of the first random case")
	most  = flag.Int("most", 5, "how many differences are shrunk and printed")
)

// ours returns the answer of the main engine. It calls that engine in the same way as acapcrawl
// decide.
func ours(q *question) (*answer, error) {
	c, err := conformance.ParseCase([]byte(text(q)))
	if err != nil {
		return nil, err
	}
	got, err := conformance.Decide(context.Background(), c)
	if err != nil {
		return nil, err
	}
	var a answer
	return &a, json.Unmarshal([]byte(text(got)), &a)
}

// difference describes where the two engines differ; "" means that they agree.
func difference(q *question) string {
	mine, err := second(q)
	if err != nil {
		return "the second engine: " + err.Error()
	}
	theirs, err := ours(q)
	if err != nil {
		return "the engine: " + err.Error()
	}
	if s := compare("", theirs.Decisions, mine.Decisions); s != "" {
		return s
	}
	for _, name := range sortedKeys(theirs.ByPurpose) {
		if s := compare(" for "+name, theirs.ByPurpose[name], mine.ByPurpose[name]); s != "" {
			return s
		}
	}
	if s := q.compareReasons(theirs, mine); s != "" {
		return s
	}
	if slices.Contains(q.Want, "policy") && (theirs.Policy == nil || theirs.Policy.Status != mine.Policy.Status) {
		return "policy.status: engine " + text(theirs.Policy) + ", second " + text(mine.Policy)
	}
	if slices.Contains(q.Want, "text") && mine.textModelled && text(theirs.Text) != text(mine.Text) {
		return "text: engine " + text(theirs.Text) + ", second " + text(mine.Text)
	}
	if slices.Contains(q.Want, "links") && mine.linksModelled && text(theirs.Links) != text(mine.Links) {
		return "links: engine " + text(theirs.Links) + ", second " + text(mine.Links)
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// compare compares decisions: whether each usage is allowed, and the limits if both allow it.
func compare(where string, theirs, mine map[string]decision) string {
	for _, u := range sortedKeys(theirs) {
		a, b := theirs[u], mine[u]
		if b.Limits != nil && len(b.Limits.MustUse) > 1 {
			continue // the second engine does not cover two substitutes at once
		}
		if a.Allowed != b.Allowed {
			return fmt.Sprintf("%s%s: engine %s, second %s", u, where, text(a), text(b))
		}
		if s, t := limitText(a.Limits), limitText(b.Limits); a.Allowed && s != t {
			return fmt.Sprintf("%s%s: limits: engine %s, second %s", u, where, s, t)
		}
	}
	return ""
}

// limitText returns limits in a normal form: sorted lists, times in UTC.
func limitText(l *limits) string {
	if l == nil {
		l = &limits{}
	}
	c := *l
	if c.Until != nil {
		t := c.Until.UTC().Truncate(time.Second)
		if t.Year() > 3000 { // X26: huge numbers are clamped, but the reading does not say to which value
			t = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		c.Until = &t
	}
	for _, list := range []*[]string{&c.MustUse, &c.MustInclude, &c.ProhibitedModification, &c.ProhibitedContext,
		&c.RequiredContext, &c.Target, &c.Location, &c.UsageRef} {
		*list = sortedLower(*list)
	}
	return text(c)
}

func sortedLower(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, strings.ToLower(s))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestSecond compares the main engine with the second one on random cases.
func TestSecond(t *testing.T) { compareEngines(t, makeQuestion) }

// compareEngines compares the engines on the questions of many seeds.
func compareEngines(t *testing.T, makeQuestion func(seed uint64) *question) {
	t.Helper()
	shown := 0
	for i := range *cases {
		q := makeQuestion(*first + uint64(i))
		s := difference(q)
		if s == "" {
			continue
		}
		if shown++; shown > *most {
			t.Errorf("%s: %s", q.ID, s)
			continue
		}
		kind := kindOf(s)
		q = shrink(q, func(q *question) bool { return kindOf(difference(q)) == kind })
		t.Errorf("%s\n%s\n%s", difference(q), text(q), pretty(q))
	}
	t.Logf("%d cases, %d differences", *cases, shown)
}

// kindOf returns the part of a difference that must stay the same while shrink makes the question
// smaller: the usage, and which engine allows it.
func kindOf(s string) string {
	kind, _, _ := strings.Cut(s, ",")
	return kind
}

// pretty prints the bodies of a case with line breaks.
func pretty(q *question) string {
	var b strings.Builder
	for _, u := range sortedKeys(q.Web) {
		fmt.Fprintf(&b, "--- %s %v\n%s\n", u, q.Web[u].Header, q.Web[u].Body)
	}
	return b.String()
}
