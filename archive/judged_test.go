package archive

import (
	"context"
	"testing"
	"time"
)

// TestJudged checks which version of a policy has decided about the pages that are not due.
func TestJudged(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	ctx := context.Background()
	const one, other = "http://one.example", "http://one.example:8080"
	judged := func(origin string, want time.Time) {
		t.Helper()
		var got time.Time
		err := a.EachJudged(func(v PolicyVersion) error {
			if v.Origin == origin {
				got = v.Since
			}
			return nil
		})
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", origin, got, err)
		}
	}
	if err := a.ListAll(ctx, "gazer"); err != nil {
		t.Fatal(err)
	}
	judged(one, time.Time{})
	if _, err := a.ListOrigin(ctx, PolicyVersion{one, noon}); err != nil {
		t.Fatal(err)
	}
	judged(one, time.Time{}) // no page was decided
	d := deposit(one+"/a", "a")
	d.Limit = &Decided{Due: Due{URL: one + "/a"}, For: "gazer", Policies: []PolicyVersion{{one, noon}}}
	put(t, a, d)
	judged(one, noon)
	for _, at := range []time.Time{noon, noon.Add(time.Nanosecond)} { // two versions may differ by a nanosecond
		if _, err := a.ListOrigin(ctx, PolicyVersion{one, at}); err != nil {
			t.Fatal(err)
		}
		judged(one, at)
		judged(other, time.Time{})
	}
	shut(t, a)
	a = open(t, dir, Options{})
	judged(one, noon.Add(time.Nanosecond))
}
