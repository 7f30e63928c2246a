package archive

import (
	"context"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// The record of a subresource is still stored after reopening. Erasing the subresource removes the
// record. When the waiting pages are decided, the list of waiting pages becomes empty.
func TestRequiredParts(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	a := open(t, dir, Options{})
	const credit, page, other = "http://a.example/credit", "http://a.example/1", "http://a.example/11"
	known := func(address string, want Part) {
		t.Helper()
		if got, err := a.Part(address); err != nil || got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
		clean(t, a)
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	waits := func(want ...string) {
		t.Helper()
		answer, change, err := a.Awaiting(credit)
		for i, url := range change {
			change[i] = "change " + url
		}
		if got := append(answer, change...); err != nil || !slices.Equal(got, want) {
			t.Errorf("wait %q, %v", got, err)
		}
	}
	awaits := func(url string, want ...string) {
		t.Helper()
		if got, err := a.Awaits(url); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s awaits %q, %v", url, got, err)
		}
	}
	known(credit, Part{})
	had := Part{Fetched: noon, Digest: "x", ETag: `"1"`, Pending: Everybody}
	ok(a.SetPart(ctx, credit, had))
	ok(a.SetPart(ctx, other, Part{Fetched: noon, Why: "gone"}))
	ok(a.Await(ctx, credit, ForAnswer, page, other))
	ok(a.Await(ctx, credit+"s", ForChange, page))
	ok(a.Await(ctx, credit, ForChange, other))
	waits(page, "change "+other)
	ok(a.Await(ctx, credit, ForAnswer, other))
	waits(page, other)
	ok(a.Awaited(ctx, credit, other))
	waits(page)
	awaits(page, credit, credit+"s")
	awaits(other)
	ok(a.Close())

	a = open(t, dir, Options{})
	known(credit, had)
	waits(page)
	if got, err := a.PendingParts(); err != nil || !slices.Equal(got, []string{credit}) {
		t.Errorf("pending %q, %v", got, err)
	}
	put(t, a, deposit(credit, "by"))
	if r, err := a.Receipt(credit); err != nil || len(r.Left) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err := a.Erase(ctx, Tombstone{URL: credit, Why: "asked"})
	ok(err)
	known(credit, Part{})
	if r, err := a.Receipt(credit); err != nil || len(r.Left) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	ok(a.SetPart(ctx, other, Part{}))
	known(other, Part{})
	ok(a.SetPart(ctx, "", had)) // an invalid URL is ignored, because it is never requested
	ok(a.Await(ctx, "\xff", ForAnswer, page))
	known("", Part{})
}

// If a page was decided with an outdated answer of a subresource, the page waits for the next
// answer, even if the page also waits for other subresources.
func TestAwaitAfter(t *testing.T) {
	a, ctx := open(t, t.TempDir(), Options{}), context.Background()
	const credit, page = "http://a.example/credit", "http://a.example/1"
	was, is := Part{Fetched: noon, Digest: "x"}, Part{Fetched: noon.Add(1), Digest: "y"}
	if err := a.SetPart(ctx, credit, is, page); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by             Part
		wait           Wait
		late           bool
		answer, change int
	}{
		"judged by what it gives":     {is, 0, false, 0, 0},
		"nothing was made of it":      {is, ForChange, false, 0, 1},
		"judged by what it gave":      {was, 0, true, 1, 0},
		"nothing was made of that":    {was, ForChange, true, 1, 0},
		"the same was had before":     {Part{Fetched: noon, Digest: "y"}, 0, false, 0, 0},
		"it gives something else now": {Part{Fetched: noon.Add(2), Digest: "z"}, 0, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			late, err := a.AwaitAfter(ctx, credit, c.by, c.wait, page)
			answer, change, failed := a.Awaiting(credit)
			if err != nil || failed != nil || late != c.late || len(answer) != c.answer || len(change) != c.change {
				t.Errorf("late %v, %v; wait %q, %q, %v", late, err, answer, change, failed)
			}
			clean(t, a)
		})
	}
}

func TestRepairParts(t *testing.T) {
	for name, spoil := range map[string]func(tx *bolt.Tx) error{
		"a record": func(tx *bolt.Tx) error {
			return tx.Bucket(bParts).Put([]byte("http://a.example/x"),
				[]byte("?"))
		},
		"what waits": func(tx *bolt.Tx) error { return tx.Bucket(bAwaited).Put([]byte("http://a.example/x"), nil) },
		"one-sided": func(tx *bolt.Tx) error {
			return tx.Bucket(bAwaited).Put([]byte("http://a.example/x\x00http://a.example/y"), nil)
		},
		"for none": func(tx *bolt.Tx) error {
			return tx.Bucket(bAwaits).Put([]byte("http://a.example/x\x00http://a.example/y"), nil)
		},
		"for no URL": func(tx *bolt.Tx) error { return tx.Bucket(bAwaited).Put([]byte("\x00http://a.example/x"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, t.TempDir(), Options{})
			if err := a.do(context.Background(), 0, func(t *txn) error { return spoil(t.tx.Tx) }); err != nil {
				t.Fatal(err)
			}
			problems, err := a.Verify(context.Background(), VerifyOptions{})
			if err != nil || len(problems) != 1 || !problems[0].Repairable {
				t.Errorf("found %v, %v", problems, err)
			}
			if left, err := a.Repair(context.Background(), nil); err != nil || left != nil {
				t.Errorf("left %v, %v", left, err)
			}
			clean(t, a)
		})
	}
}
