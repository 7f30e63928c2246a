package policy

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a web site on a loopback address.
type site struct {
	*testweb.Pages
	t *testing.T
}

func newSite(t *testing.T) *site { return &site{testweb.NewPages(t), t} }

// asked fails the test unless path was requested want times, with any query.
func (s *site) asked(path string, want int) {
	s.t.Helper()
	n := 0
	for _, r := range s.Requests() {
		if r.Path == path {
			n++
		}
	}
	if n != want {
		s.t.Errorf("%s was requested %d times, want %d", path, n, want)
	}
}

func (s *site) at(path string) *url.URL {
	u, err := url.Parse(s.URL + path)
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// plain is a Fetcher without a gate.
type plain struct{ transport *http.Transport }

func (p plain) Fetch(ctx context.Context, rawurl string, condition http.Header) (Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rawurl, nil)
	if err != nil {
		return Response{}, err
	}
	for name, values := range condition {
		req.Header[name] = values
	}
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Response{URL: rawurl, Status: resp.StatusCode, Header: resp.Header, Body: body, Truncated: err != nil}, nil
}

func fetcher(t *testing.T) Fetcher {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return plain{tr}
}

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

var tester = acap.Crawler{Names: []string{"testbot"}}

func authority(t *testing.T, s Store, o Options) *Authority {
	t.Helper()
	a := New(fetcher(t), tester, s, o)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func origin(t *testing.T, a *Authority, u *url.URL) *Origin {
	t.Helper()
	o, err := a.Origin(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func allows(o *Origin, usage acap.Usage, u *url.URL) bool {
	return o.Policy.Decide(usage, acap.NewResource(u)).Allowed
}

// expect fails the test unless the policy of the origin permits usage of u, or prohibits it if want
// is false.
func expect(t *testing.T, o *Origin, usage acap.Usage, u *url.URL, want bool) {
	t.Helper()
	if d := o.Policy.Decide(usage, acap.NewResource(u)); d.Allowed != want {
		t.Errorf("%s of %s: %v (%s), want %v", usage, u, d.Allowed, d.Why(), want)
	}
}
