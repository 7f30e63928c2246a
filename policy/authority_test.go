package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// RFC 9309 2.3 (O12): an origin is scheme, host and port, so another port has its own robots.txt.
func TestOriginIsSchemeHostPort(t *testing.T) {
	one, two := newSite(t), newSite(t)
	one.Text("/robots.txt", "User-agent: *", "Disallow: /")
	two.Text("/robots.txt", "User-agent: *", "Disallow:")
	a := authority(t, NewMemory(), Options{})
	expect(t, origin(t, a, one.at("/x")), acap.Crawl, one.at("/x"), false)
	expect(t, origin(t, a, two.at("/x")), acap.Crawl, two.at("/x"), true)
	keys, err := a.Origins()
	want := []string{one.URL, two.URL}
	slices.Sort(want)
	if err != nil || !slices.Equal(keys, want) {
		t.Errorf("%q, %v", keys, err)
	}
}

func TestSingleFlight(t *testing.T) {
	s := newSite(t)
	release := make(chan struct{})
	s.Handle("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = io.WriteString(w, "ACAP-crawler: *\nACAP-permissions-reference: /s.txt\n")
	})
	s.Text("/s.txt", "ACAP-crawler: *", "ACAP-disallow-crawl: /closed/")
	a := authority(t, NewMemory(), Options{})
	const many = 40
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() {
			o, err := a.Origin(t.Context(), s.at("/x"))
			if err != nil || o.Status != Read || allows(o, acap.Crawl, s.at("/closed/x")) {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	for waiters(a, s.URL) < many {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	s.asked("/robots.txt", 1)
	s.asked("/s.txt", 1)
}

func waiters(a *Authority, key string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.flights[key]; f != nil {
		return f.waiters
	}
	return 0
}

func TestGivingUp(t *testing.T) {
	s := newSite(t)
	reached, release := make(chan struct{}, 2), make(chan struct{})
	s.Handle("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		select {
		case <-release:
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /closed\n")
		case <-r.Context().Done():
		}
	})
	a := authority(t, NewMemory(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() { _, err := a.Origin(ctx, s.at("/")); errs <- err }()
	<-reached
	go func() { _, err := a.Origin(t.Context(), s.at("/")); errs <- err }()
	for waiters(a, s.URL) < 2 {
		runtime.Gosched()
	}
	cancel() // one caller stops waiting; the other caller must still get the answer
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-errs; err != nil {
		t.Error(err)
	}
	s.asked("/robots.txt", 1)
}

func TestAllGivingUpIsNoFailure(t *testing.T) {
	s := newSite(t)
	reached, gone := make(chan struct{}), make(chan struct{})
	s.Handle("/robots.txt", func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
		close(gone)
	})
	store := NewMemory()
	a := authority(t, store, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() { _, err := a.Origin(ctx, s.at("/")); errs <- err }()
	<-reached
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-gone // waits until the request is cancelled
	if _, known, _ := store.Load(s.URL); known {
		t.Error("an attempt that was broken off is kept")
	}
	s.Text("/robots.txt", "User-agent: *", "Disallow: /closed")
	expect(t, origin(t, a, s.at("/")), acap.Crawl, s.at("/open"), true)
}

func TestCloseEndsFlights(t *testing.T) {
	s := newSite(t)
	reached := make(chan struct{})
	s.Handle("/robots.txt", func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	})
	a := New(fetcher(t), tester, NewMemory(), Options{})
	errs := make(chan error)
	go func() { _, err := a.Origin(context.Background(), s.at("/")); errs <- err }()
	<-reached
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := <-errs; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := a.Policy(t.Context(), s.at("/")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestHeldMakesNoRequest(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "ACAP-crawler: *", "ACAP-disallow-index: /private/")
	c := newClock()
	a := authority(t, NewMemory(), Options{Now: c.now})
	if _, known := a.Held(s.at("/")); known {
		t.Error("an origin never asked for is held")
	}
	s.asked("/robots.txt", 0)
	origin(t, a, s.at("/"))
	c.pass(1000 * time.Hour)
	for range 2 {
		o, known := a.Held(s.at("/"))
		if !known || o.Status != Read {
			t.Fatalf("%+v, %v", o, known)
		}
		expect(t, o, acap.Index, s.at("/private/x"), false)
		expect(t, o, acap.Index, s.at("/x"), true)
	}
	s.asked("/robots.txt", 1)
}

// RFC 9309 2.3.1.4 (X63): if robots.txt becomes unreachable, nothing may be crawled, but the last
// version still decides about stored pages.
func TestUnreachableLater(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "ACAP-crawler: *", "ACAP-disallow-index: /private/")
	c := newClock()
	a := authority(t, NewMemory(), Options{Now: c.now})
	origin(t, a, s.at("/"))
	s.Status("/robots.txt", 503)
	c.pass(25 * time.Hour)
	o := origin(t, a, s.at("/"))
	if o.Status != Unreachable || o.HTTP != 503 || o.Why == "" {
		t.Errorf("%+v", o)
	}
	for _, usage := range acap.Usages() {
		expect(t, o, usage, s.at("/x"), false)
	}
	held, known := a.Held(s.at("/"))
	if !known || held.Status != Unreachable || held.HTTP != 503 || held.Robots == nil {
		t.Fatalf("%+v, %v", held, known)
	}
	expect(t, held, acap.Index, s.at("/x"), true)
	expect(t, held, acap.Index, s.at("/private/x"), false)

	s.Text("/robots.txt", "ACAP-crawler: *", "ACAP-disallow-index: /")
	c.pass(MinAge)
	origin(t, a, s.at("/"))
	held, _ = a.Held(s.at("/"))
	if held.Status != Read {
		t.Errorf("%+v", held)
	}
	expect(t, held, acap.Index, s.at("/x"), false)
	s.asked("/robots.txt", 3)
}

// RFC 9309 2.3.1.4 (X63): if robots.txt was never read and is unreachable, everything is
// prohibited.
func TestNeverReadHoldsNothing(t *testing.T) {
	s := newSite(t)
	s.Status("/robots.txt", 500)
	a := authority(t, NewMemory(), Options{})
	origin(t, a, s.at("/"))
	o, known := a.Held(s.at("/"))
	if !known || o.Status != Unreachable || o.Robots != nil {
		t.Fatalf("%+v, %v", o, known)
	}
	for _, usage := range acap.Usages() {
		expect(t, o, usage, s.at("/x"), false)
	}
}

func TestRefresh(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "ACAP-crawler: *", "ACAP-permissions-reference: /s.txt")
	s.Text("/s.txt", "ACAP-crawler: *")
	a := authority(t, NewMemory(), Options{})
	expect(t, origin(t, a, s.at("/")), acap.Index, s.at("/x"), true)
	s.Text("/s.txt", "ACAP-crawler: *", "ACAP-disallow-index: /")
	expect(t, origin(t, a, s.at("/")), acap.Index, s.at("/x"), true)
	o, err := a.Refresh(t.Context(), s.at("/"))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, o, acap.Index, s.at("/x"), false)
	expect(t, origin(t, a, s.at("/")), acap.Index, s.at("/x"), false)
	s.asked("/robots.txt", 2)
	s.asked("/s.txt", 2)
}

func TestForAnotherCrawler(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "ACAP-crawler: testbot", "ACAP-permissions-reference: /ours.txt",
		"ACAP-crawler: otherbot", "ACAP-permissions-reference: /theirs.txt")
	s.Text("/ours.txt", "ACAP-crawler: *", "ACAP-disallow-crawl: /a")
	s.Text("/theirs.txt", "ACAP-crawler: *", "ACAP-disallow-crawl: /b")
	a := authority(t, NewMemory(), Options{})
	other := a.For(acap.Crawler{Names: []string{"otherbot"}})
	expect(t, origin(t, a, s.at("/")), acap.Crawl, s.at("/a"), false)
	s.asked("/theirs.txt", 0) // the referenced file is only for the other crawler, so it is not requested
	held, known := other.Held(s.at("/"))
	if !known {
		t.Fatal("not held")
	}
	// P1 2.3.2 (D07): the file that robots.txt refers to was not read yet, so everything is
	// prohibited
	expect(t, held, acap.Crawl, s.at("/a"), false)

	expect(t, origin(t, other, s.at("/")), acap.Crawl, s.at("/b"), false)
	expect(t, origin(t, other, s.at("/")), acap.Crawl, s.at("/a"), true)
	held, _ = other.Held(s.at("/"))
	expect(t, held, acap.Crawl, s.at("/a"), true)
	held, _ = a.Held(s.at("/"))
	expect(t, held, acap.Crawl, s.at("/a"), false)
	expect(t, held, acap.Crawl, s.at("/b"), true)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	expect(t, origin(t, a, s.at("/")), acap.Crawl, s.at("/b"), true)
	for _, path := range []string{"/robots.txt", "/ours.txt", "/theirs.txt"} {
		s.asked(path, 1)
	}
	if vs, err := a.History(s.at("/")); err != nil || len(vs) != 1 || len(vs[0].References) != 2 {
		t.Errorf("%+v, %v", vs, err)
	}
}

// broken is a store that cannot be read or written. load and save are the errors that its methods
// return.
type broken struct {
	Store
	load, save error
}

func (b broken) Load(key string) (Record, bool, error) {
	if b.load != nil {
		return Record{}, false, b.load
	}
	return b.Store.Load(key)
}

func (b broken) Save(key string, r Record) error {
	if b.save != nil {
		return b.save
	}
	return b.Store.Save(key, r)
}

func TestStoreFailureFailsClosed(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "User-agent: *", "Disallow:")
	full := errors.New("no space left")
	a := authority(t, broken{Store: NewMemory(), save: full}, Options{})
	if _, err := a.Policy(t.Context(), s.at("/")); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	damaged := errors.New("damaged")
	a = authority(t, broken{Store: NewMemory(), load: damaged}, Options{})
	if _, err := a.Policy(t.Context(), s.at("/")); !errors.Is(err, damaged) {
		t.Errorf("got %v", err)
	}
	o, known := a.Held(s.at("/"))
	if !known || o.Why == "" {
		t.Fatalf("%+v, %v", o, known)
	}
	expect(t, o, acap.PresentLink, s.at("/"), false)
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache()
	for i := range 2 * maxCells {
		c.add(fmt.Sprint("http://h", i), "x", &Origin{size: 1}, func(*view) {})
	}
	if len(c.cells) != maxCells || c.order.Len() != maxCells || c.bytes != maxCells {
		t.Errorf("%d cells, %d bytes", len(c.cells), c.bytes)
	}
	c.add("http://big", "x", &Origin{size: maxBytes}, func(v *view) { v.now = &Origin{} })
	if len(c.cells) != 1 || c.view("http://big", "x").now == nil {
		t.Errorf("%d cells, want only the large one", len(c.cells))
	}
	for i := range 3 * maxViews {
		c.add("http://big", fmt.Sprint(i), &Origin{}, func(*view) {})
	}
	if n := len(c.cells["http://big"].Value.(*cell).views); n > maxViews {
		t.Errorf("%d views", n)
	}
}

type panicking struct{}

func (panicking) Fetch(context.Context, string, http.Header) (Response, error) { panic("sixteen bits") }

// If reading an origin causes a panic, the origin is unreachable and nothing is permitted.
func TestDefectFailsClosed(t *testing.T) {
	var reported *defect.Error
	a := New(panicking{}, acap.Crawler{Names: []string{"searchbot"}}, NewMemory(),
		Options{Defect: func(e *defect.Error) { reported = e }})
	t.Cleanup(func() { a.Close() })
	u, _ := url.Parse("http://example.com/a.html")
	o := origin(t, a, u)
	if o.Status != Unreachable || !strings.Contains(o.Why, "sixteen bits") || reported == nil {
		t.Errorf("%+v", o)
	}
	expect(t, o, acap.Crawl, u, false)
}
