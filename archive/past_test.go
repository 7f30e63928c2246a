package archive

import (
	"slices"
	"testing"
	"time"
)

// An imported capture becomes a version, and does not change newer data of its URL.
func TestPast(t *testing.T) {
	const url = "http://example.com/a"
	day := func(n int) time.Time { return noon.AddDate(0, 0, n) }
	past := func(n int, text string) Deposit {
		d := deposit(url, text)
		d.Fetched, d.Past, d.Index = day(n), true, true
		d.Resource.Status = 203
		return d
	}
	clock := day(100)
	a := open(t, t.TempDir(), Options{Now: func() time.Time { return clock }})

	// The URL was unknown: the import becomes the current version, and its discovery date is now.
	c := put(t, a, past(10, "ten"))
	if r := resource(t, a, url); !c.Current || r.Current != c.ID || !r.LastCrawled.Equal(day(10)) ||
		!r.FirstCrawled.Equal(day(10)) ||
		!r.FirstPreserved.Equal(day(10)) || !r.FirstIndexed.Equal(clock) || !r.Indexed {
		t.Errorf("%+v", r)
	}
	a.Done(url)

	// Import older captures after a crawl.
	now := deposit(url, "now")
	now.Fetched, now.Index = day(50), true
	current := put(t, a, now)
	a.Done(url)
	before := resource(t, a, url)
	d := past(20, "twenty")
	d.Index, d.Replace, d.Aliases = false, true, []string{"http://example.com/old"}
	twenty := put(t, a, d)
	if intents, err := a.Intents(); twenty.Current || slices.Contains(intents, url) || err != nil {
		t.Errorf("%+v, intents %q, %v", twenty, intents, err)
	}
	d = past(5, "five")
	d.Resource.FirstPreserved, d.Resource.FirstPresented = day(3), day(60)
	five := put(t, a, d)
	want := before
	want.Versions, want.FirstCrawled, want.FirstPreserved, want.FirstPresented = 4, day(5), day(3), day(60)
	if r := resource(t, a, url); !asKnown(r, want) || r.Current != current.ID {
		t.Errorf("%+v\nwant %+v", r, want)
	}
	list, err := a.Captures(url)
	var order []uint64
	for _, each := range list {
		order = append(order, each.ID)
	}
	if err != nil || !slices.Equal(order, []uint64{five.ID, c.ID, twenty.ID, current.ID}) {
		t.Errorf("%v, %v", order, err)
	}
	// A capture that is newer than the last crawl becomes the current version.
	if c := put(t, a, past(70, "seventy")); !c.Current || resource(t, a, url).Current != c.ID ||
		resource(t, a, url).Status != 203 {
		t.Errorf("%+v", c)
	}
	// import only dates, without a body
	d = past(1, "")
	d.Body, d.Resource.FirstIndexed = nil, day(2)
	put(t, a, d)
	if r := resource(t, a, url); !r.FirstCrawled.Equal(day(1)) || !r.FirstPreserved.Equal(day(3)) ||
		!r.FirstIndexed.Equal(day(2)) || r.Versions != 5 {
		t.Errorf("%+v", r)
	}
}

func asKnown(a, b Resource) bool {
	return a.record(0) == b.record(0) && a.Kept.Title == b.Kept.Title && a.MIME == b.MIME
}
