package archive

import (
	"context"
	"testing"
	"time"
)

func TestJudged(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	ctx := context.Background()
	judged := func(origin string, want time.Time) {
		t.Helper()
		if got, err := a.Judged(origin); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", origin, got, err)
		}
	}
	const one, other = "http://one.example", "http://one.example:8080"
	judged(one, time.Time{})
	for _, at := range []time.Time{noon, noon.Add(time.Nanosecond)} { // two versions may differ by a nanosecond
		if err := a.SetJudged(ctx, one, at); err != nil {
			t.Fatal(err)
		}
		judged(one, at)
		judged(other, time.Time{})
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = open(t, dir, Options{})
	judged(one, noon.Add(time.Nanosecond))
	if err := a.SetJudged(ctx, "", noon); err == nil {
		t.Error("no origin was judged")
	}
}
