package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/terms"
)

// TestResourcesAreFetchedOnce checks that concurrent callers share one request for a resource, but
// do not share the returned page.
func TestResourcesAreFetchedOnce(t *testing.T) {
	var asked atomic.Int32
	release := make(chan struct{})
	p := &Resources{now: time.Now, known: map[string]*resource{},
		get: func(context.Context, string, http.Header, Permit) (*gate.Trace, error) {
			asked.Add(1)
			<-release
			return traced(200, "", "body"), nil
		}}
	var wg sync.WaitGroup
	seen := make(chan any, 50)
	for range 50 {
		wg.Go(func() {
			pg, err := p.Fetch(context.Background(), "http://a.example/s")
			if err != nil || string(pg.Last().Body) != "body" {
				t.Error(err)
			}
			seen <- pg
		})
	}
	close(release)
	wg.Wait()
	one, two := <-seen, <-seen
	if asked.Load() != 1 || one == two {
		t.Errorf("asked %d times, shared %v", asked.Load(), one == two)
	}
}

// TestVisitPermitted checks that a caller gets nothing from an address that it may not request, whether it is the
// first one or gets the response from the cache, and that its refusal is not the result of others.
func TestVisitPermitted(t *testing.T) {
	const from, to = "http://a.example/s", "http://a.example/t"
	var asked []string
	p := &Resources{now: time.Now, known: map[string]*resource{},
		get: func(_ context.Context, _ string, _ http.Header, permit Permit) (*gate.Trace, error) {
			out := &gate.Trace{}
			for _, address := range []string{from, to} {
				u, _ := url.Parse(address)
				if permit != nil && permit(u) != nil {
					return out, permit(u)
				}
				asked = append(asked, address)
				out.Hops = append(out.Hops, gate.Hop{URL: address, Status: 200, Header: http.Header{}})
			}
			return out, nil
		}}
	errNo := errors.New("no")
	refuse := func(u *url.URL) error {
		if u.Path == "/t" {
			return errNo
		}
		return nil
	}
	if _, err := p.VisitPermitted(t.Context(), from, refuse); !errors.Is(err, errNo) || len(asked) != 1 {
		t.Errorf("%v, requests for %q", err, asked)
	}
	if tr, err := p.Visit(t.Context(), from, nil); err != nil || len(tr.Hops) != 2 || len(asked) != 3 {
		t.Errorf("%v, requests for %q", err, asked)
	}
	if tr, err := p.VisitPermitted(t.Context(), from, refuse); !errors.Is(err, errNo) || len(tr.Hops) != 0 {
		t.Errorf("from the cache: %v", err)
	}
	if _, err := p.VisitPermitted(t.Context(), from, func(*url.URL) error { return nil }); err != nil ||
		len(asked) != 3 {
		t.Errorf("%v, requests for %q", err, asked)
	}
}

func TestAgeOfResources(t *testing.T) {
	refused := &gate.Refusal{URL: "http://a.example/s",
		Decision: acap.Decision{Usage: acap.Crawl, Reason: acap.ByProhibition}}
	unread := &gate.Refusal{URL: "http://a.example/s",
		Decision: acap.Decision{Usage: acap.Crawl, Reason: acap.Unavailable}}
	for name, c := range map[string]struct {
		status  int
		control string
		err     error
		age     time.Duration
		fails   bool // the response is a failure that says nothing about the resource itself
	}{
		"it says nothing":       {200, "", nil, time.Hour, false},
		"gone":                  {404, "", nil, time.Hour, false},
		"a minute":              {200, "public, Max-Age=60", nil, time.Minute, false},
		"a year":                {200, "max-age=31536000", nil, time.Hour, false},
		"not at all":            {200, "max-age=60, no-store", nil, 0, false},
		"what cannot be read":   {200, "max-age=soon", nil, time.Hour, false},
		"the server fails":      {503, "max-age=600", nil, time.Second, false},
		"no answer":             {0, "", io.ErrUnexpectedEOF, time.Second, true},
		"refused":               {0, "", refused, time.Second, false},
		"robots.txt is unknown": {0, "", unread, time.Second, true},
	} {
		now, asked := time.Unix(1e9, 0), 0
		p := &Resources{now: func() time.Time { return now }, known: map[string]*resource{},
			get: func(context.Context, string, http.Header, Permit) (*gate.Trace, error) {
				asked++
				if c.err != nil {
					return nil, c.err
				}
				return traced(c.status, c.control, ""), nil
			}}
		ask := func(want int) {
			if _, err := p.Fetch(context.Background(), "http://a.example/s"); errors.Is(err,
				terms.ErrNoAnswer) != c.fails || !errors.Is(err, c.err) || asked != want {
				t.Errorf("%s: %v, asked %d times, want %d", name, err, asked, want)
			}
		}
		ask(1)
		if c.age > 0 {
			now = now.Add(c.age - 1)
			ask(1)
			now = now.Add(1)
		}
		ask(2)
	}
}

// TestResourcesAreForgotten checks two things. If the context of one caller ends, the request
// continues for other callers. The size of the cache is limited.
func TestResourcesAreForgotten(t *testing.T) {
	first := true
	p := &Resources{now: time.Now, known: map[string]*resource{},
		get: func(ctx context.Context, _ string, _ http.Header, _ Permit) (*gate.Trace, error) {
			if first {
				first = false
				return nil, context.Canceled
			}
			return traced(200, "", strings.Repeat("x", 8<<20)), nil
		}}
	if _, err := p.Fetch(context.Background(), "http://a.example/"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := p.Fetch(context.Background(), "http://a.example/"); err != nil {
		t.Error("somebody else:", err)
	}
	for i := range 20 {
		if _, err := p.Fetch(context.Background(), fmt.Sprintf("http://a.example/%d", i)); err != nil {
			t.Fatal(err)
		}
		if p.bytes > maxResourceBytes {
			t.Fatalf("%d bytes are remembered", p.bytes)
		}
	}
	sum := 0
	for _, one := range p.known {
		sum += one.bytes
	}
	if sum != p.bytes || sum == 0 {
		t.Errorf("%d bytes, counted %d", sum, p.bytes)
	}
}

// TestUnmodifiedResources checks that only a conditional request returns status 304.
func TestUnmodifiedResources(t *testing.T) {
	condition := http.Header{"If-None-Match": {`"1"`}}
	p := &Resources{now: time.Now, known: map[string]*resource{},
		get: func(_ context.Context, _ string, h http.Header, _ Permit) (*gate.Trace, error) {
			if h != nil {
				return traced(304, "", ""), nil
			}
			return traced(200, "", "body"), nil
		}}
	status := func() int {
		t.Helper()
		tr, err := p.Visit(context.Background(), "http://a.example/s", condition)
		if err != nil {
			t.Fatal(err)
		}
		return tr.Hops[0].Status
	}
	if got := status(); got != 304 {
		t.Errorf("answered %d", got)
	}
	if pg, err := p.Fetch(context.Background(), "http://a.example/s"); err != nil || pg.Last().Status != 200 {
		t.Errorf("%+v, %v", pg.Last(), err)
	}
	if got := status(); got != 200 { // the response comes from the cache
		t.Errorf("answered %d", got)
	}
}

func traced(status int, control, body string) *gate.Trace {
	h := http.Header{}
	if control != "" {
		h.Set("Cache-Control", control)
	}
	return &gate.Trace{Hops: []gate.Hop{{URL: "http://a.example/s", Method: "GET", Status: status, Header: h,
		Body: []byte(body)}}}
}
