package arrivals

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// limit ends a test that hangs.
const limit = time.Minute

// delay is so long that a client which makes no pause is too early on a busy machine, too.
const delay = 150 * time.Millisecond

func start(t *testing.T, o Options) *Web {
	t.Helper()
	w, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func all() Options {
	return Options{Hosts: 20, Pages: 5, Seed: 1, CrawlDelay: time.Second, RetryAfter: time.Second,
		Slow: 2 * delay, Redirects: true, Credits: true, Markup: 1000}
}

func TestPoliteClient(t *testing.T) {
	t.Parallel()
	w := start(t, all())
	crawl(t, w, delay, none)
	r := w.Judge(delay)
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if want := len(w.Pages()) + len(w.credits()) + len(w.Hosts()); r.Requests < want || r.Pairs == 0 ||
		r.Shortest < delay-Tolerance {
		t.Errorf("%+v", r)
	}
	paused := 0
	for _, q := range w.Requests() {
		if q.retryAfter > 0 {
			paused++
		}
		if q.Client == "" || q.Agent == "" || q.Status == 0 || q.End.Before(q.Start) {
			t.Errorf("%+v", q)
		}
	}
	if paused != 4 {
		t.Errorf("%d answers demand a pause", paused)
	}
}

func TestImpoliteClients(t *testing.T) {
	t.Parallel()
	for f, want := range map[fault]Kind{noDelay: Gap, noCrawlDelay: Gap, noRetryAfter: RetryAfter,
		overlaps: Overlap, trespasses: Forbid, blind: Unread, twice: "", lazy: ""} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			o := all()
			if f != noCrawlDelay { // it takes seconds
				o.CrawlDelay = 0
			}
			if f != noRetryAfter {
				o.RetryAfter = 0
			}
			if f == overlaps {
				o.Slow = 10 * delay
			}
			w := start(t, o)
			crawl(t, w, delay, f)
			r := w.Judge(delay)
			if want != "" && !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Kind == want }) {
				t.Errorf("no %s is reported: %s", want, r)
			}
			if pages := len(w.Pages()); f == twice && len(r.Repeated) != pages {
				t.Errorf("%d of %d pages are repeated", len(r.Repeated), pages)
			}
			if f == lazy && len(r.Missing) != len(w.Pages())+len(w.credits())-o.Pages {
				t.Errorf("%d pages are missing", len(r.Missing))
			}
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), string(want)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// All hosts of the acceptance start, and each answers at its own address.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	if len(w.Hosts()) != 300 || len(w.Pages()) != 3000 {
		t.Fatalf("%d hosts, %d pages", len(w.Hosts()), len(w.Pages()))
	}
	for _, i := range []int{0, 249, 250, 299} {
		text := get(t, w.url(i, "/"))
		if want := fmt.Sprintf("Page 0 of host %d<", i); !strings.Contains(text, want) {
			t.Errorf("host %d answers %s", i, text)
		}
	}
	if got := w.Requests(); len(got) != 4 || got[3].URL() != w.url(299, "/") {
		t.Errorf("the log is %v", got)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The same seed makes the same links, another seed others.
func TestSeed(t *testing.T) {
	t.Parallel()
	text := func(seed uint64) string {
		w := newWeb(Options{Hosts: 30, Pages: 10, Seed: seed}, "80")
		var all []string
		for i := range w.hosts {
			for k := range w.o.Pages {
				all = append(all, w.links(i, k)...)
			}
		}
		return strings.Join(all, "\n")
	}
	if one := text(1); one != text(1) || one == text(2) {
		t.Error("links do not depend on the seed, or on more than the seed")
	}
}

// A client that closes its connection ends its request.
func TestAborted(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Hosts: 5, Slow: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	conn, err := net.Dial("tcp", w.Hosts()[slow])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /page/1 HTTP/1.1\r\nHost: h\r\n\r\n")
	if err := w.Await(ctx, 1, func(q Request) bool { return q.End.IsZero() }); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := w.Await(ctx, 1, func(q Request) bool { return !q.End.IsZero() }); err != nil {
		t.Fatal(err)
	}
	if q := w.Requests()[0]; q.Whole {
		t.Errorf("%+v", q)
	}
	if r := w.Judge(0); !slices.Contains(r.Missing, w.url(slow, "/page/1")) {
		t.Error("the page is not missing")
	}
}

func TestMarkup(t *testing.T) {
	t.Parallel()
	w := newWeb(Options{Hosts: 1, Pages: 1, Markup: 1 << 20}, "80")
	if text := w.page("A", nil); len(text) < 1<<20 || len(text) > 1<<20+1<<14 {
		t.Errorf("the page has %d bytes", len(text))
	}
}
