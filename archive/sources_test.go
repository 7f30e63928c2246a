package archive

import (
	"context"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func madeOf(t *testing.T, a *Archive, source string) []string {
	t.Helper()
	list, err := a.MadeOf(source)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// MadeOf returns a page as long as the record of the page contains the source.
func TestMadeOf(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	const credit, lead = "http://a.example/credit", "http://b.example/lead"
	with := func(url string, sources ...string) {
		d := deposit(url, url)
		d.Resource.Kept.Of = map[string][]string{"x": sources}
		put(t, a, d)
	}
	check := func(what string, ofCredit, ofLead []string) {
		t.Helper()
		if got := madeOf(t, a, credit); !slices.Equal(got, ofCredit) {
			t.Errorf("%s: of the credit %q", what, got)
		}
		if got := madeOf(t, a, lead); !slices.Equal(got, ofLead) {
			t.Errorf("%s: of the lead %q", what, got)
		}
		clean(t, a)
	}
	const one, two = "http://a.example/1", "http://a.example/2"
	with(one, credit, lead)
	with(two, credit)
	with("http://a.example/11")
	check("received", []string{one, two}, []string{one})
	with(two, lead)
	check("received again", []string{one}, []string{one, two})
	if err := a.Update(context.Background(), one,
		func(r *Resource) { r.Kept.Of = map[string][]string{"x": {lead}} }); err != nil {
		t.Fatal(err)
	}
	check("updated", nil, []string{one, two})
	if err := a.Update(context.Background(), one, func(r *Resource) { r.Kept.Title = "another" }); err != nil {
		t.Fatal(err)
	}
	check("another text", nil, []string{one, two})
	if _, err := a.Erase(context.Background(), Tombstone{URL: two, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	check("erased", nil, []string{one})
}

// If the list of pages by source lacks entries or has wrong entries, Verify finds that and Repair
// corrects the list.
func TestRepairSources(t *testing.T) {
	const source, page = "http://a.example/credit", "http://a.example/1"
	for name, spoil := range map[string]func(b *bolt.Bucket) error{
		"lost":              func(b *bolt.Bucket) error { return b.Delete(pair(source, page)) },
		"of another":        func(b *bolt.Bucket) error { return b.Put(pair("http://a.example/x", page), nil) },
		"a page not known":  func(b *bolt.Bucket) error { return b.Put(pair(source, "http://a.example/2"), nil) },
		"what is no record": func(b *bolt.Bucket) error { return b.Put([]byte("x"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, t.TempDir(), Options{})
			d := deposit(page, "x")
			d.Resource.Kept.Of = map[string][]string{"x": {source}}
			put(t, a, d)
			if err := a.do(context.Background(), 0,
				func(t *txn) error { return spoil(t.tx.Tx.Bucket(bSources)) }); err != nil {
				t.Fatal(err)
			}
			problems, err := a.Verify(context.Background(), VerifyOptions{})
			if err != nil || len(problems) != 1 || !problems[0].Repairable {
				t.Errorf("found %v, %v", problems, err)
			}
			if left, err := a.Repair(context.Background(), nil); err != nil || left != nil {
				t.Errorf("left %v, %v", left, err)
			}
			if got := madeOf(t, a, source); !slices.Equal(got, []string{page}) {
				t.Errorf("%q", got)
			}
		})
	}
}
