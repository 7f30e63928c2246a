package second

import (
	"math/rand/v2"
	"testing"
)

// TestNothingChanges checks that changes without meaning change no answer of the main engine.
func TestNothingChanges(t *testing.T) {
	metamorphic(t, makeQuestion, nothing(), func(before, after *answer) string {
		for _, s := range []string{compare("", before.Decisions, after.Decisions), unlike("text", before.Text,
			after.Text),
			unlike("links", before.Links, after.Links)} {
			if s != "" {
				return s
			}
		}
		for _, name := range sortedKeys(before.ByPurpose) {
			if s := compare(" for "+name, before.ByPurpose[name], after.ByPurpose[name]); s != "" {
				return s
			}
		}
		return ""
	})
}

func unlike(name string, before, after any) string {
	if text(before) != text(after) {
		return name + ": " + text(before) + ", " + text(after)
	}
	return ""
}

// TestNoMoreFreedom checks that the answer permits nothing new after a restriction was added. If
// crawl becomes prohibited, nothing else is compared, because the page's statements are not read
// and required parts not checked (X02, X73).
func TestNoMoreFreedom(t *testing.T) {
	metamorphic(t, makeQuestion, restrictions(), func(before, after *answer) string {
		if unread(before.Decisions, after.Decisions) {
			return ""
		}
		if s := freer("", before.Decisions, after.Decisions); s != "" {
			return s
		}
		for _, name := range sortedKeys(before.ByPurpose) {
			if s := freer(" for "+name, before.ByPurpose[name], after.ByPurpose[name]); s != "" {
				return s
			}
		}
		return ""
	})
}

// unread reports whether the crawler reads the page before the change of the question, but not
// after it.
func unread(before, after map[string]decision) bool {
	return !after["crawl"].Allowed && text(before["crawl"]) != text(after["crawl"])
}

func freer(where string, before, after map[string]decision) string {
	if unread(before, after) {
		return ""
	}
	for _, u := range sortedKeys(before) {
		if !before[u].Allowed && after[u].Allowed {
			return u + where + ": " + text(before[u]) + ", then " + text(after[u])
		}
	}
	return ""
}

// metamorphic decides each case with the main engine before and after each change, and fails where
// bad finds an error.
func metamorphic(t *testing.T, makeQuestion func(seed uint64) *question, changes []change, bad func(before,
	after *answer) string) {
	t.Helper()
	shown, asked := 0, map[string]int{}
	for i := range *cases / 10 {
		seed := *first + uint64(i)
		q := makeQuestion(seed)
		for _, c := range changes {
			fault := func(q *question) string {
				after := clone(q)
				if !c.make(after, rand.New(rand.NewPCG(seed, 9))) {
					return ""
				}
				asked[c.name]++
				a, err := ours(q)
				if err != nil {
					return err.Error()
				}
				b, err := ours(after)
				if err != nil {
					return err.Error()
				}
				return bad(a, b)
			}
			s := fault(q)
			if s == "" {
				continue
			}
			if shown++; shown > *most {
				t.Errorf("%s, %s: %s", q.ID, c.name, s)
				continue
			}
			small := shrink(q, func(q *question) bool { return fault(q) != "" })
			after := clone(small)
			c.make(after, rand.New(rand.NewPCG(seed, 9)))
			t.Errorf("%s: %s\nbefore: %s\nafter: %s\n%s", c.name, fault(small), text(small), text(after),
				pretty(after))
		}
	}
	t.Logf("%d cases: %v", *cases/10, asked)
}
