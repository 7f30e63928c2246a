package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(child(mode))
	}
	downPause = 0
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// open opens an archive. When the test ends, it verifies and closes the archive, and bbolt checks
// the file.
func open(t testing.TB, dir string, o Options) *Archive {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return noon }
	}
	a, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, a) })
	return a
}

func shut(t testing.TB, a *Archive) {
	t.Helper()
	select {
	case <-a.stopped:
		return
	default:
	}
	clean(t, a)
	if err := a.Close(); err != nil {
		t.Error("close:", err)
	}
	db, err := bolt.Open(filepath.Join(a.dir, "archive.db"), 0o600,
		&bolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Error("bbolt:", err)
		}
		return nil
	})
}

func clean(t testing.TB, a *Archive) {
	t.Helper()
	problems, err := a.Verify(context.Background(), VerifyOptions{})
	if err != nil {
		t.Error("verify:", err)
	}
	for _, p := range problems {
		t.Error("verify:", p)
	}
}

func deposit(url, text string) Deposit {
	return Deposit{Resource: Resource{URL: url, Status: 200, MIME: "text/html",
		Kept: kept.Page{Title: "Title of " + text}}, Fetched: noon,
		Body: []byte("<p>" + text), Header: http.Header{"Content-Type": {"text/html"}}}
}

func put(t testing.TB, a *Archive, d Deposit) Capture {
	t.Helper()
	c, err := a.Receive(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func resource(t testing.TB, a *Archive, url string) Resource {
	t.Helper()
	r, known, err := a.Resource(url)
	if err != nil || !known {
		t.Fatalf("resource %s: known %v, %v", url, known, err)
	}
	return r
}

func hasBody(t testing.TB, a *Archive, id uint64, want string) {
	t.Helper()
	if got, err := a.Body(id); err != nil || string(got) != want {
		t.Errorf("body %d: %.60q, %v; want %.60q", id, got, err, want)
	}
}

func stats(t testing.TB, a *Archive) Stats {
	t.Helper()
	s, err := a.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	d := Deposit{
		Resource: Resource{URL: "http://example.com/a", Status: 203, MIME: "text/plain",
			Kept:     kept.Page{Title: "Ein Titel", Index: "kurz"},
			Language: "de", ETag: `"x"`, LastModified: "Mon, 05 Jan 2026 11:00:00 GMT",
			Own: acap.Own{URL: "http://example.com/a",
				Tags:  []acap.Tag{{Source: acap.Meta, Name: "robots", Content: "noindex", Line: 3, Column: 5}},
				Marks: []acap.Mark{{Token: "acap:disallow-index", Line: 9, Column: 2, Place: acap.OnHead}}}},
		Fetched: noon.In(time.FixedZone("x", 3600)), Body: []byte(strings.Repeat("wire bytes\x00\xff", 500)),
		Truncated: true, Cut: true,
		Header:  http.Header{"Server": {"caf\xe9"}, "Set-Cookie": {"a=1", "b=2"}},
		Address: netip.MustParseAddr("2001:db8::1"),
		Sent:    []byte("GET /a HTTP/1.1\r\nHost: example.com\r\n\r\n"),
		Head:    []byte("HTTP/1.1 203 Maybe\r\nserver:caf\xe9\r\n\r\n"),
		Hops: []Via{{URL: "http://example.com/old", Method: "GET", Proto: "HTTP/1.1", Status: 301, Start: noon,
			Took:   time.Second,
			Header: http.Header{"Location": {"/a"}}, Sent: []byte("GET /old HTTP/1.1\n\n"),
			Head: []byte("HTTP/1.1 301 \n\n")}},
		Policy:  PolicyVersion{Origin: "http://example.com", Since: noon.In(time.FixedZone("y", -3600))},
		Decided: map[acap.Usage]string{acap.Preserve: "http://example.com/robots.txt:4: ACAP-allow-preserve: /"},
		Aliases: []string{"http://example.com/old", "http://example.com/a"}, Index: true,
	}
	got := put(t, a, d)
	shut(t, a)
	a = open(t, dir, Options{})

	want := Capture{ID: 1, URL: d.Resource.URL, Version: 1, Fetched: noon, Status: 203, MIME: "text/plain",
		Digest: got.Digest,
		Bytes:  int64(len(d.Body)), Payload: got.Digest, Truncated: true, Cut: true, Current: true, Address: d.Address,
		Header: d.Header, Sent: d.Sent, Head: d.Head,
		Hops: d.Hops, Policy: PolicyVersion{Origin: "http://example.com", Since: noon}, Own: d.Resource.Own,
		Decided: d.Decided}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Receive gave\n%+v, want\n%+v", got, want)
	}
	if read, err := a.Capture(1); err != nil || !reflect.DeepEqual(read, want) {
		t.Errorf("Capture gave\n%+v, %v, want\n%+v", read, err, want)
	}
	hasBody(t, a, 1, string(d.Body))
	res := d.Resource
	res.FirstCrawled, res.FirstIndexed, res.FirstPreserved, res.LastCrawled = noon, noon, noon, noon
	res.Indexed, res.Versions, res.Current = true, 1, 1
	if r := resource(t, a, d.Resource.URL); !reflect.DeepEqual(r, res) {
		t.Errorf("resource\n%+v, want\n%+v", r, res)
	}
	if final, err := a.Resolve("http://example.com/old"); err != nil || final != d.Resource.URL {
		t.Errorf("resolve: %s, %v", final, err)
	}
	if s := stats(t, a); s.Captures != 1 || s.Bytes != int64(len(d.Body)) || s.Stored >= s.Raw || s.Aliases != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestBodies(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(i*i*31>>3 ^ i>>1)
	}
	for i, body := range []string{"", "x", string(noise), strings.Repeat("z", 3<<20)} {
		d := deposit(fmt.Sprintf("http://example.com/%d", i), "")
		d.Body = []byte(body)
		hasBody(t, a, put(t, a, d).ID, body)
	}
	d := deposit("http://example.com/unkept", "")
	d.Body = nil
	if c := put(t, a, d); c.ID != 0 {
		t.Errorf("a deposit without a body made capture %d", c.ID)
	}
	if r := resource(t, a, d.Resource.URL); !r.FirstPreserved.IsZero() || !r.FirstCrawled.Equal(noon) ||
		r.Kept.Title == "" {
		t.Errorf("resource %+v", r)
	}
	if _, err := a.Body(99); !errors.Is(err, ErrNotHeld) {
		t.Error("body of nothing:", err)
	}
}

func TestVersions(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	const url = "http://example.com/v"
	for i := range 3 {
		d := deposit(url, fmt.Sprint("version ", i+1))
		d.Fetched = noon.Add(time.Duration(i) * time.Hour)
		put(t, a, d)
	}
	put(t, a, deposit(url+"/deeper", "another"))
	list, err := a.Captures(url)
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for i, c := range list {
		if c.Version != i+1 || c.Current != (i == 2) {
			t.Errorf("version %d: %+v", i+1, c)
		}
	}
	d := deposit(url, "not to be kept")
	d.Body = nil
	put(t, a, d)
	if list, _ = a.Captures(url); len(list) != 3 || list[2].Current {
		t.Errorf("after a crawl that kept nothing: %+v", list)
	}
	d = deposit(url, "replaces")
	d.Replace = true
	c := put(t, a, d)
	if list, _ = a.Captures(url); len(list) != 1 || list[0].ID != c.ID || c.Version != 4 || !list[0].Current {
		t.Errorf("after replacement: %+v", list)
	}
	if s := stats(t, a); s.Captures != 2 || s.Bodies != 2 {
		t.Errorf("stats %+v", s)
	}
}

// Dates such as the first crawl are set once. Later deposits do not change them (H11: time limits
// keep their start).
func TestFirstDates(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	ctx := context.Background()
	const url = "http://example.com/d"
	d := deposit(url, "one")
	d.Resource.FirstCrawled = noon.Add(-time.Hour)
	put(t, a, d)
	later := noon.Add(48 * time.Hour)
	err := a.Update(ctx, url, func(r *Resource) {
		r.URL, r.Versions, r.Current = "http://elsewhere.example/", 77, 88
		r.FirstCrawled, r.FirstPreserved, r.FirstPresented, r.Status = later, time.Time{}, later, 304
	})
	if err != nil {
		t.Fatal(err)
	}
	d = deposit(url, "two")
	d.Fetched, d.Index, d.Resource.FirstPresented = later.Add(time.Hour), true, later.Add(time.Minute)
	put(t, a, d)
	r := resource(t, a, url)
	if !r.FirstCrawled.Equal(noon.Add(-time.Hour)) || !r.FirstPreserved.Equal(noon) || !r.FirstPresented.Equal(later) ||
		!r.FirstIndexed.Equal(d.Fetched) || !r.LastCrawled.Equal(d.Fetched) || r.Versions != 2 || r.URL != url {
		t.Errorf("%+v", r)
	}
	if err := a.Update(ctx, "http://example.com/new", func(r *Resource) { r.Status = 404 }); err != nil {
		t.Fatal(err)
	}
	if r := resource(t, a, "http://example.com/new"); r.Status != 404 {
		t.Errorf("%+v", r)
	}
}

func TestIterate(t *testing.T) {
	t.Parallel()
	a := open(t, t.TempDir(), Options{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 80 {
				d := deposit(fmt.Sprintf("http://h%d.example/%03d", w, i), fmt.Sprint(i))
				if _, err := a.Receive(context.Background(), d); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var urls []string
	err := a.Each(func(r Resource) error {
		urls = append(urls, r.URL)
		// write to the archive during the iteration
		return a.Update(context.Background(), r.URL, func(r *Resource) { r.Kept.Index = "seen" })
	})
	if err != nil || len(urls) != 640 || !slices.IsSorted(urls) {
		t.Fatalf("%d URLs, %v", len(urls), err)
	}
	n := 0
	if err := a.EachUnder("http://h3.example/", func(r Resource) error {
		if n++; r.Kept.Index != "seen" || !strings.HasPrefix(r.URL, "http://h3.example/") {
			t.Errorf("%+v", r)
		}
		return nil
	}); err != nil || n != 80 {
		t.Error(n, err)
	}
	var last uint64
	n = 0
	if err := a.EachCapture(func(c Capture) error {
		if n++; c.ID <= last || !c.Current {
			t.Errorf("%+v after %d", c, last)
		}
		last = c.ID
		return nil
	}); err != nil || n != 640 {
		t.Error(n, err)
	}
	stop := errors.New("stop")
	if err := a.EachCapture(func(Capture) error { return stop }); err != stop {
		t.Error(err)
	}
}

func TestAliases(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	at := func(url string, aliases ...string) {
		d := deposit("http://example.com/"+url, url)
		for _, alias := range aliases {
			d.Aliases = append(d.Aliases, "http://example.com/"+alias)
		}
		put(t, a, d)
	}
	leads := func(from, to string) {
		t.Helper()
		if got, err := a.Resolve("http://example.com/" + from); err != nil || got != "http://example.com/"+to {
			t.Errorf("%s leads to %s, %v; want %s", from, got, err, to)
		}
	}
	at("b", "a", "a2")
	leads("a", "b")
	at("c", "b") // now b redirects too
	leads("a", "c")
	at("a", "c") // now the redirects form a circle
	leads("c", "a")
	leads("b", "a")
	leads("a", "a")
	at("b") // b no longer redirects
	leads("a2", "b")
	if n, err := a.Erase(context.Background(), Tombstone{URL: "http://example.com/b", Why: "asked"}); err != nil ||
		n != 2 {
		t.Error(n, err)
	}
	leads("a2", "a2")
	leads("c", "a")
}

func TestIntents(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	want := func(urls ...string) {
		t.Helper()
		if got, err := a.Intents(); err != nil || !slices.Equal(got, urls) {
			t.Errorf("intents %v, %v; want %v", got, err, urls)
		}
	}
	d := deposit("http://example.com/1", "one")
	put(t, a, d)
	want()
	d.Index = true
	put(t, a, d)
	e := deposit("http://example.com/2", "two")
	e.Index = true
	put(t, a, e)
	put(t, a, d) // deposit again before Done was called for the first deposit
	a.Done(d.Resource.URL)
	want(d.Resource.URL, e.Resource.URL)
	a.Done(d.Resource.URL)
	want(e.Resource.URL)
	shut(t, a)

	a = open(t, dir, Options{})
	want(e.Resource.URL) // the intent remains, as after a crash
	a.Done(e.Resource.URL, "http://example.com/never")
	want()
	put(t, a, e)
	want(e.Resource.URL) // a new deposit logs a new intent
	a.Done(e.Resource.URL)
	if _, err := a.Erase(context.Background(), Tombstone{URL: d.Resource.URL, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	want(d.Resource.URL)
	a.Done(d.Resource.URL)
	if err := a.Update(context.Background(), e.Resource.URL, func(r *Resource) { r.Indexed = false }); err != nil {
		t.Fatal(err)
	}
	want(e.Resource.URL)
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{})
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	c := put(t, a, deposit("http://example.com/", "x"))
	shut(t, a)
	ctx := context.Background()
	_, e1 := a.Receive(ctx, deposit("http://example.com/", "x"))
	_, e2 := a.Body(c.ID)
	_, e3 := a.Erase(ctx, Tombstone{URL: "http://example.com/"})
	_, e4 := a.Verify(ctx, VerifyOptions{})
	for i, err := range []error{e1, e2, e3, e4} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error("second close:", err)
	}
}

func TestWrongDeposits(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	for _, url := range []string{"", "http://example.com/\x00", "http://example.com/\xff", "http://example.com/" +
		strings.Repeat("a", 20000)} {
		if _, err := a.Receive(context.Background(), deposit(url, "x")); err == nil {
			t.Errorf("%.40q was taken", url)
		}
	}
	d := deposit("http://example.com/", "x")
	d.Fetched = time.Time{}
	if _, err := a.Receive(context.Background(), d); err == nil {
		t.Error("a deposit without its time was taken")
	}
	put(t, a, deposit("http://example.com/"+strings.Repeat("a", 16000), "x"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := a.Receive(ctx, deposit("http://example.com/late", "x")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, known, _ := a.Resource("http://example.com/late"); known {
		t.Error("a cancelled deposit was kept")
	}
}

func TestConcurrent(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	ctx := context.Background()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 60 {
				url := fmt.Sprintf("http://example.com/%d", i%10)
				c, err := a.Receive(ctx, deposit(url, fmt.Sprint(i%7)))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := a.Body(c.ID)
				if err != nil && !errors.Is(err, ErrNotHeld) || err == nil &&
					!bytes.Equal(body, []byte("<p>"+fmt.Sprint(i%7))) {
					t.Errorf("%q, %v", body, err)
				}
				switch {
				case w == 0 && i%5 == 0:
					_, err = a.Erase(ctx, Tombstone{URL: url, Why: "asked"})
				case w == 1 && i%3 == 0:
					if err = a.EraseCapture(ctx, c.ID, Tombstone{Why: "expired"}); errors.Is(err, ErrNotHeld) {
						err = nil
					}
				case w == 2:
					err = a.EachCapture(func(Capture) error { return nil })
				case w == 3 && i%10 == 0:
					clean(t, a)
				}
				if err != nil && !errors.Is(err, ErrNotHeld) {
					t.Error(err)
				}
				a.Done(url)
			}
		})
	}
	wg.Wait()
}

func TestUpdateAll(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	ctx, known := context.Background(), func() (list []string) {
		for r := range 3 {
			if _, is, err := a.Resource(fmt.Sprint("http://example.com/", r)); is || err != nil {
				list = append(list, fmt.Sprint(r, err))
			}
		}
		return list
	}
	urls := []string{"http://example.com/0", "http://example.com/1", ""}
	status := func(r *Resource) { r.Status = 404 }
	if err := a.UpdateAll(ctx, urls, status); err == nil || known() != nil {
		t.Error(err, known())
	}
	if err := a.UpdateAll(ctx, urls[:2], status); err != nil || len(known()) != 2 {
		t.Error(err, known())
	}
	if err := a.UpdateAll(ctx, nil, status); err != nil {
		t.Error(err)
	}
}

// Lead records a redirect to a known page without making a new version (X66).
func TestLead(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	ctx := context.Background()
	d := Deposit{Resource: Resource{URL: "http://example.com/new", Status: 200},
		Fetched: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Body: []byte("the mill")}
	if _, err := a.Receive(ctx, d); err != nil {
		t.Fatal(err)
	}
	if err := a.Lead(ctx, []string{"http://example.com/old"}, "http://example.com/new"); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Resolve("http://example.com/old"); got != "http://example.com/new" || err != nil {
		t.Errorf("it leads to %s, %v", got, err)
	}
	if err := a.Lead(ctx, []string{"http://example.com/lost"}, "http://example.com/unknown"); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Resolve("http://example.com/lost"); got != "http://example.com/lost" || err != nil {
		t.Errorf("it leads to %s, %v", got, err)
	}
	lead := func(to string, from ...string) {
		t.Helper()
		for i := range from {
			from[i] = "http://example.com/" + from[i]
		}
		if err := a.Lead(ctx, from, "http://example.com/"+to); err != nil {
			t.Fatal(err)
		}
	}
	way := func(want ...string) {
		t.Helper()
		for i := range want {
			want[i] = "http://example.com/" + want[i]
		}
		if got, err := a.Way(want[0]); !slices.Equal(got, want) || err != nil {
			t.Errorf("the way is %v, %v; want %v", got, err, want)
		}
	}
	lead("old", "far") // far redirects to old, which is an alias of a page
	way("far", "old", "new")
	lead("far", "old") // two URLs that redirect to each other
	way("far", "old", "new")
	lead("old", "far", "old") // an alias that finally redirects to itself
	way("far", "old", "new")
	if list, err := a.Captures("http://example.com/new"); len(list) != 1 || err != nil {
		t.Errorf("%d captures, %v", len(list), err)
	}
	clean(t, a)
}

// The number of aliases that are followed is limited. If the chain from a URL is longer, Resolve
// returns an error and not a wrong URL.
func TestLongestWay(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	at := func(i int) string { return fmt.Sprint("http://example.com/", i) }
	const last = longestWay + 1
	if _, err := a.Receive(context.Background(), Deposit{Resource: Resource{URL: at(last)}, Fetched: time.Now(),
		Body:    []byte("here"),
		Aliases: []string{at(0)}}); err != nil {
		t.Fatal(err)
	}
	way := make([]string, 0, last+1)
	for i := range last + 1 {
		way = append(way, at(i))
	}
	if err := a.do(context.Background(), 0,
		func(tx *txn) error { return tx.putAliases(at(last), way[:last]) }); err != nil {
		t.Fatal(err)
	}
	for from, end := range map[int]string{0: "", 1: at(last), last: at(last)} {
		switch got, err := a.Resolve(at(from)); {
		case end == "" && (!errors.Is(err, errWay) || errors.Is(err, ErrCorrupt) ||
			!strings.Contains(err.Error(), at(from))):
			t.Errorf("from %d: %s, %v", from, got, err)
		case end != "" && (got != end || err != nil):
			t.Errorf("from %d: %s, %v", from, got, err)
		}
	}
}

// If several redirects follow each other, each URL redirects to the next one. If one of these URLs
// is erased, the URLs that redirect to it lose their target too (X66).
func TestWay(t *testing.T) {
	ctx, at := context.Background(), func(s string) (list []string) {
		for path := range strings.FieldsSeq(s) {
			list = append(list, "http://example.com/"+path)
		}
		return list
	}
	a := open(t, t.TempDir(), Options{})
	for i, leads := range []string{"1 2 3", "x 2 3", "back 1 back 3", "self self 3", "page 4"} {
		way := at(leads)
		last := len(way) - 1
		d := Deposit{Resource: Resource{URL: way[last]}, Fetched: time.Date(2026, 3, 1, i, 0, 0, 0, time.UTC),
			Body: []byte(leads), Aliases: way[:last]}
		if _, err := a.Receive(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want ...string) {
		t.Helper()
		for _, w := range want {
			way := at(w)
			if got, err := a.Way(way[0]); err != nil || !slices.Equal(got, way) {
				t.Errorf("%s: %v, %v", when, got, err)
			}
		}
	}
	check("received", "1 back 3", "2 3", "x 2 3", "back 3", "self 3", "3", "page 4")
	if n, err := a.Erase(ctx, Tombstone{URL: at("2")[0], Why: "asked"}); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	check("2 is erased", "1 back 3", "2", "x", "self 3")
	for i := range 100 { // a page can move to a new URL any number of times
		from, to := fmt.Sprint("http://example.com/", 3+i), fmt.Sprint("http://example.com/", 4+i)
		d := Deposit{Resource: Resource{URL: to}, Fetched: time.Date(2026, 3, 2, 0, i, 0, 0, time.UTC),
			Body: []byte(to), Aliases: []string{from}}
		if _, err := a.Receive(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := a.Way("http://example.com/1"); err != nil || len(got) != 103 ||
		got[102] != "http://example.com/103" {
		t.Errorf("%d, %v", len(got), err)
	}
	if problems, err := a.Verify(ctx, VerifyOptions{}); len(problems) > 0 || err != nil {
		t.Error(problems, err)
	}
}

// A take-down also erases captures of redirects to the page (X66). Another erasure leaves them, and redirects to other
// pages stay in any case.
func TestEraseRedirects(t *testing.T) {
	for _, asked := range []bool{true, false} {
		a := open(t, t.TempDir(), Options{})
		ctx := context.Background()
		day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		for i, to := range []string{"/elsewhere", "/new", "http://EXAMPLE.com:80/x/../new"} {
			d := Deposit{Resource: Resource{URL: "http://example.com/old", Status: 301}, Fetched: day.AddDate(0, 0, i),
				Header: http.Header{"Location": {to}}, Body: []byte{}}
			if _, err := a.Receive(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
		page := Deposit{Resource: Resource{URL: "http://example.com/new", Status: 200},
			Fetched: day, Body: []byte("the mill")}
		if _, err := a.Receive(ctx, page); err != nil {
			t.Fatal(err)
		}
		if err := a.Lead(ctx, []string{"http://example.com/old"}, "http://example.com/new"); err != nil {
			t.Fatal(err)
		}
		n, err := a.Erase(ctx, Tombstone{URL: "http://example.com/new", Asked: asked})
		if n != 1 || err != nil {
			t.Errorf("asked %t: %d copies, %v", asked, n, err)
		}
		list, err := a.Captures("http://example.com/old")
		want := 3
		if asked {
			want = 1
		}
		if len(list) != want || err != nil || list[0].Header.Get("Location") != "/elsewhere" {
			t.Errorf("asked %t: %d redirects are left, %v", asked, len(list), err)
		}
	}
}

// TestTombstoneReasons checks that a text of the operator does not make an erasure pass as one of the publisher.
func TestTombstoneReasons(t *testing.T) {
	for _, test := range []struct {
		stone                Tombstone
		takenDown, forgotten bool
	}{
		{Tombstone{Reason: ReasonTakenDown, Asked: true}, true, false},
		{Tombstone{Asked: true}, true, false}, // of an old archive
		{Tombstone{Reason: ReasonForgotten, Why: "taken down at the publisher's request"}, false, true},
		{Tombstone{Reason: ReasonDerived, Asked: true}, false, false},
		{Tombstone{Why: "taken down at the publisher's request"}, false, false},
	} {
		if s := test.stone; s.TakenDown() != test.takenDown || s.Forgotten() != test.forgotten {
			t.Errorf("%+v: %v, %v", s, s.TakenDown(), s.Forgotten())
		}
	}
}
