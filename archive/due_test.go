package archive

import (
	"context"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

const gazer = "gazer"

// listed opens an archive whose list of due pages is complete for gazer.
func listed(t *testing.T, dir string) *Archive {
	t.Helper()
	a := open(t, dir, Options{})
	if err := a.ListAll(context.Background(), gazer); err != nil {
		t.Fatal(err)
	}
	return a
}

// due returns the pages that are due at a time.
func due(t *testing.T, a *Archive, at time.Time) (list []Due) {
	t.Helper()
	if err := a.EachDue("", at, func(d Due) error { list = append(list, d); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

// dueURLs returns the URLs of the pages that are due at a time.
func dueURLs(t *testing.T, a *Archive, at time.Time) (urls []string) {
	t.Helper()
	for _, d := range due(t, a, at) {
		urls = append(urls, d.URL)
	}
	return urls
}

// decide notes that all pages that are due at a time were decided until a later time.
func decide(t *testing.T, a *Archive, at, until time.Time, by ...PolicyVersion) {
	t.Helper()
	for _, d := range due(t, a, at) {
		err := a.SetDecided(context.Background(), Decided{Due: d, For: gazer, Until: until, Policies: by})
		if err != nil {
			t.Fatal(err)
		}
	}
}

const duePage = "http://example.com/a"

// TestChangedIsDue checks that every change of what is held of a page makes the page due.
func TestChangedIsDue(t *testing.T) {
	ctx := context.Background()
	redirect := deposit(duePage, "moved")
	redirect.Resource.Status, redirect.Fetched = 301, noon.Add(time.Hour)
	past := deposit(duePage, "past")
	past.Past, past.Fetched = true, noon.Add(-time.Hour)
	for name, change := range map[string]func(a *Archive, c Capture) error{
		"received again": func(a *Archive, _ Capture) error {
			_, err := a.Receive(ctx, deposit(duePage, "b"))
			return err
		},
		"redirects": func(a *Archive, _ Capture) error {
			_, err := a.Receive(ctx, redirect)
			return err
		},
		"imported": func(a *Archive, _ Capture) error {
			_, err := a.Receive(ctx, past)
			return err
		},
		"confirmed": func(a *Archive, c Capture) error {
			d := deposit(duePage, "a")
			d.Fetched = noon.Add(time.Hour)
			return a.Renew(ctx, c.ID, d, false)
		},
		"updated": func(a *Archive, _ Capture) error {
			return a.Update(ctx, duePage, func(r *Resource) { r.Indexed = !r.Indexed })
		},
		"a copy erased": func(a *Archive, c Capture) error { return a.EraseCapture(ctx, c.ID, Tombstone{}) },
		"erased": func(a *Archive, _ Capture) error {
			_, err := a.Erase(ctx, Tombstone{URL: duePage})
			return err
		},
		"a thumbnail made": func(a *Archive, _ Capture) error {
			return a.SetPicture(ctx, duePage, 1, Picture{Body: []byte("p")})
		},
		"a thumbnail ended": func(a *Archive, _ Capture) error { return a.ErasePicture(ctx, duePage, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			a := listed(t, t.TempDir())
			c := put(t, a, deposit(duePage, "a"))
			if err := a.SetPicture(ctx, duePage, 0, Picture{Body: []byte("p")}); err != nil {
				t.Fatal(err)
			}
			decide(t, a, noon, time.Time{})
			if got := due(t, a, noon.AddDate(9, 0, 0)); got != nil {
				t.Fatalf("due without a change: %+v", got)
			}
			if err := a.Update(ctx, duePage, func(*Resource) {}); err != nil || due(t, a, noon) != nil {
				t.Errorf("due, although nothing has changed, %v", err)
			}
			if err := change(a, c); err != nil {
				t.Fatal(err)
			}
			if got := dueURLs(t, a, noon); !slices.Equal(got, []string{duePage}) {
				t.Errorf("due: %q", got)
			}
		})
	}
}

// TestDue checks when a page is due: at its limit, after a change during the decision, and after a
// change of policy or identity.
func TestDue(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	a := open(t, dir, Options{})
	const other = "http://other.example/a"
	home, away := PolicyVersion{"http://example.com", noon}, PolicyVersion{"http://other.example", noon}
	put(t, a, deposit(duePage, "a"))
	want := func(at time.Time, urls ...string) {
		t.Helper()
		if got := dueURLs(t, a, at); !slices.Equal(got, urls) {
			t.Errorf("due at %v: %q, want %q", at, got, urls)
		}
	}
	want(noon) // without an identity nothing is listed, since everything is due
	if lists, err := a.ListsDue(gazer); lists || err != nil {
		t.Errorf("%v, %v", lists, err)
	}
	if err := a.ListAll(ctx, gazer); err != nil {
		t.Fatal(err)
	}
	want(noon, duePage)
	put(t, a, deposit(other, "a"))
	before := due(t, a, noon)[0]
	if err := a.List(ctx, duePage); err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]Decided{
		"before a change":     {Due: before, For: gazer},
		"for another crawler": {Due: due(t, a, noon)[0], For: "heron"},
		"by an unknown policy": {Due: due(t, a, noon)[0], For: gazer,
			Policies: []PolicyVersion{{Origin: home.Origin}}},
		"a page that is not due":  {Due: Due{URL: duePage, At: noon}, For: gazer},
		"a page that is not held": {Due: Due{URL: duePage + "b"}, For: gazer},
	} {
		if err := a.SetDecided(ctx, d); err != nil {
			t.Fatal(err)
		}
		if got := dueURLs(t, a, noon); !slices.Equal(got, []string{duePage, other}) {
			t.Errorf("%s: due %q", name, got)
		}
	}
	limit := noon.Add(time.Hour + time.Nanosecond)
	decide(t, a, noon, limit, home, away)
	want(limit.Add(-time.Nanosecond))
	want(limit, duePage, other)
	changed := func(v PolicyVersion, wantOthers bool) {
		t.Helper()
		if others, err := a.ListOrigin(ctx, v); err != nil || others != wantOthers {
			t.Errorf("%+v: others %v, %v", v, others, err)
		}
	}
	changed(home, false) // the version is the same
	want(noon)
	home.Since = noon.Add(time.Second)
	changed(home, true)
	want(noon, duePage, other)
	decide(t, a, noon, time.Time{}, away) // by the new policy of one, and the old one of the other
	want(noon)
	changed(PolicyVersion{Origin: home.Origin}, true) // the version is not known
	want(noon, duePage, other)
	decide(t, a, noon, time.Time{}, home)
	want(noon, duePage, other)
	changed(home, true)
	decide(t, a, noon, time.Time{}, home)
	want(noon)
	shut(t, a)
	a = open(t, dir, Options{})
	want(limit, duePage, other)
	if lists, err := a.ListsDue(gazer); !lists || err != nil {
		t.Errorf("%v, %v", lists, err)
	}
}

// TestDueNew checks a page that was decided before it is stored: it is not due before its limit.
func TestDueNew(t *testing.T) {
	home := []PolicyVersion{{"http://example.com", noon}}
	for name, c := range map[string]struct {
		limit *Decided
		now   bool
	}{
		"not decided":         {nil, true},
		"decided":             {&Decided{Due{URL: duePage}, gazer, noon.Add(1), home}, false},
		"for another crawler": {&Decided{Due{URL: duePage}, "heron", noon.Add(1), home}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := listed(t, t.TempDir())
			d := deposit(duePage, "a")
			d.Limit = c.limit
			r, captures := d.Preview()
			put(t, a, d)
			is, _, err := a.Resource(duePage)
			if err != nil || !is.FirstPreserved.Equal(r.FirstPreserved) || !is.FirstCrawled.Equal(r.FirstCrawled) ||
				is.Indexed != r.Indexed || is.Versions != r.Versions || len(captures) != 1 {
				t.Errorf("%+v, and not %+v, %v", is, r, err)
			}
			if got := due(t, a, noon) != nil; got != c.now {
				t.Errorf("due at once: %v", got)
			}
			if got := dueURLs(t, a, noon.Add(1)); !slices.Equal(got, []string{duePage}) {
				t.Errorf("due at its limit: %q", got)
			}
			d.Fetched = noon.Add(time.Hour)
			put(t, a, d) // the page is known now, so the decision is not about what is stored
			if due(t, a, noon) == nil {
				t.Error("not due after it was received again")
			}
		})
	}
}

// TestDueDamaged checks that a repair removes entries of the lists that name no page, and makes
// every page due.
func TestDueDamaged(t *testing.T) {
	a := listed(t, t.TempDir())
	put(t, a, deposit(duePage, "a"))
	decide(t, a, noon, time.Time{})
	err := a.db.Update(func(tx *bolt.Tx) error {
		for _, k := range [][]byte{dueKey(noon, "http://example.com/b"), []byte("x")} {
			if err := tx.Bucket(bDue).Put(k, idKey(1)); err != nil {
				return err
			}
		}
		if err := tx.Bucket(bMeta).Put(kDecided, []byte("?")); err != nil {
			return err
		}
		return tx.Bucket(bLeans).Put(pair("http://example.com", "http://example.com/b"), nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if lists, err := a.ListsDue(gazer); lists || err != nil {
		t.Errorf("%v, %v", lists, err)
	}
	problems, err := a.Verify(context.Background(), VerifyOptions{})
	if err != nil || len(problems) != 4 {
		t.Fatalf("%v, %v", problems, err)
	}
	if left, err := a.Repair(context.Background(), nil); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := a.ListAll(context.Background(), gazer); err != nil {
		t.Fatal(err)
	}
	if got := dueURLs(t, a, noon); !slices.Equal(got, []string{duePage}) {
		t.Errorf("due: %q", got)
	}
}
