package crawler

import (
	"context"
	"io"
	"log"
	"maps"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/faults"
	"github.com/acapcrawl/acapcrawl/page"
)

// maxFault is the limit of a body in these tests, in bytes.
const maxFault = 1 << 20

// newFaults starts the hostile server and a crawl with a limit for bodies.
func newFaults(t *testing.T) (*faults.Server, *crawl) {
	t.Helper()
	s, err := faults.Start()
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	c := newCrawl(t)
	c.gate.MaxBody = maxFault
	c.o.Concurrency = 8
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		for _, h := range p.Hops() {
			if len(h.Wire) > maxFault || len(h.Body) > maxFault {
				t.Errorf("%s: %d bytes as sent, %d decoded", h.URL, len(h.Wire), len(h.Body))
			}
		}
		return Receipt{Links: p.Links(page.Cut{}), Stored: true}, nil
	}
	return s, c
}

// Every address that the hostile server links to has one outcome and is not requested more often
// than allowed.
func TestFaults(t *testing.T) {
	for name, path := range map[string]string{"quick": "/", "slow": "/slow"} {
		t.Run(name, func(t *testing.T) {
			s, c := newFaults(t)
			slow := name == "slow"
			c.gate.Timeout = time.Minute
			c.o.Recrawl.Min = time.Hour // otherwise each run would retry what failed in the run before
			if slow {
				c.gate.Timeout = time.Second
			}
			sum := c.run(t, context.Background(), s.URL+path)
			// a host that fails five times in a row is paused for an hour, unless the run names an
			// address of the host as a seed again
			for skips := c.skips; sum.Queued > 0; {
				_, err := c.frontier.AddSeeds(s.URL + path)
				must(t, err)
				more := c.run(t, context.Background())
				if more.Errors == 0 && more.Queued > 0 && more.Requests == 0 {
					t.Fatalf("nothing moves: %+v", more)
				}
				sum.Fetched, sum.Errors, sum.Queued = sum.Fetched+more.Fetched, sum.Errors+more.Errors, more.Queued
				maps.Copy(skips, c.skips)
				c.skips = skips
			}
			fetched, failed := 1, 0
			for _, f := range s.Faults() {
				if f.Slow != slow {
					continue
				}
				r, found, err := c.frontier.Get(s.URL + f.Path)
				must(t, err)
				state, times := Fetched, 1
				switch f.End {
				case faults.Broken, faults.Part:
					state = Failed
				case faults.Silent, faults.Later:
					state, times = Failed, maxTries
				}
				if strings.HasPrefix(f.Path, "/loop-") { // two addresses that redirect to each other
					times = 2
				}
				if !found || r.State != state || (state == Failed) != (r.Why != "") ||
					(state == Failed) != (c.skips[r.URL].Why == r.Why && r.Why != "") {
					t.Errorf("%s is %q (%s), want %s", f.Path, r.State, r.Why, state)
				}
				// With a short time limit a request may fail on a busy machine before it reaches
				// the server; then it is retried.
				if n := s.Asked(f.Path); n != times && !slow || n > maxTries {
					t.Errorf("%s was asked for %d times, want %d", f.Path, n, times)
				}
				if state == Failed {
					failed++
					if c.handler.times[r.URL] != 0 {
						t.Errorf("%s was received", f.Path)
					}
					continue
				}
				fetched++
				if p := c.handler.pages[r.URL]; !f.Redirect && (p == nil || c.handler.times[r.URL] != 1 ||
					p.Last().Truncated != (f.End == faults.Cut)) {
					t.Errorf("%s was received %d times", f.Path, c.handler.times[r.URL])
				}
			}
			if sum.Fetched != fetched || sum.Errors != failed || sum.Queued != 0 || sum.Interrupted ||
				sum.Refused.Crawl != 0 {
				t.Errorf("summary %+v, want %d fetched and %d errors", sum, fetched, failed)
			}
			if !slow && (s.Asked("/chain/xxxxxxxxxx") != 1 || s.Asked("/chain/xxxxxxxxxxx") != 0) {
				t.Error("a chain of redirects was not cut after ten")
			}
			if s.Cookie() {
				t.Error("a cookie was sent back")
			}
		})
	}
}

// TestFaultsOfConnections checks how a visit ends after an error of DNS, of a TCP connection or of
// TLS.
func TestFaultsOfConnections(t *testing.T) {
	s, c := newFaults(t)
	plain := newSite(t)
	secure := httptest.NewUnstartedServer(plain)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())

	c.o.Scope = ScopeAny
	seeds := map[string]State{
		"http://" + strings.Repeat("x", 64) + ".invalid/": Failed, // too long for a DNS name
		"http://" + l.Addr().String() + "/":               Failed, // no server listens
		secure.URL + "/":                                  Failed, // the certificate is not trusted
		// the server closes the connection at the start of TLS
		"https" + strings.TrimPrefix(s.URL, "http") + "/":      Failed,
		"https" + strings.TrimPrefix(plain.URL, "http") + "/":  Failed,  // the server answers without TLS
		"http" + strings.TrimPrefix(secure.URL, "https") + "/": Fetched, // the server answers 400 to HTTP without TLS
	}
	sum := c.run(t, context.Background(), slices.Collect(maps.Keys(seeds))...)
	for address, want := range seeds {
		r, _, err := c.frontier.Get(address)
		must(t, err)
		if r.State != want || (want == Failed) != (r.Why != "" && r.Status == 0) {
			t.Errorf("%s is %+v", address, r)
		}
	}
	if sum.Fetched != 1 || sum.Errors != len(seeds)-1 || sum.Queued != 0 {
		t.Errorf("summary %+v", sum)
	}
}
