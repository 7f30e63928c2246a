package gate

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// changingPolicy is a robots.txt that changes while a request waits. Policy always returns the old
// policy, Current returns the new one after the change.
type changingPolicy struct {
	before, after robots
	failed        error // error of Current after the change
	changed       atomic.Bool
}

func (p *changingPolicy) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	return p.before.Policy(ctx, u)
}

func (p *changingPolicy) Current(u *url.URL) (*acap.Policy, error) {
	if !p.changed.Load() {
		return p.before.Current(u)
	}
	if p.failed != nil {
		return nil, p.failed
	}
	return p.after.Current(u)
}

// A change of the policy is obeyed even while a request waits for its host or its connection. REP 1
// (F23): a policy file may always be requested.
func TestDecidedAgainWhenSent(t *testing.T) {
	const slow = "User-agent: *\nCrawl-delay: 6\nACAP-crawler: *\n"
	broken := errors.New("the store is broken")
	for name, c := range map[string]struct {
		after  robots
		failed error
		rule   string
	}{
		"prohibition": {after: slow + "ACAP-disallow-crawl: /b\n"},
		"take-down":   {after: slow + "ACAP-request-take-down: /b\n", rule: RuleTakeDown},
		"error":       {failed: broken},
	} {
		for kind, sent := range map[Kind]bool{PageRequest: false, Part: false, Sitemap: false, PolicyFile: true} {
			for _, dial := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						requestDuringChange(t, kind, sent, dial, c.rule, &changingPolicy{before: slow, after: c.after,
							failed: c.failed})
					})
				})
			}
		}
	}
}

// requestDuringChange requests /b as the given kind of request, and changes p while the request
// waits. If dial is true, the request waits for its connection, otherwise for the pause.
func requestDuringChange(t *testing.T, kind Kind, sent, dial bool, rule string, p *changingPolicy) {
	g := New(Options{AllowPrivate: true, MaxPages: 9})
	g.Use(p)
	w := newWeb(t, g, hello)
	if !dial {
		follow(t, g, "http://a.example/a")
	} else {
		w.dial = time.Second
	}
	before, ended := g.pages, make(chan error)
	go func() {
		_, err := g.Get(t.Context(), kind, "http://a.example/b")
		ended <- err
	}()
	synctest.Wait() // returns when the request is waiting
	p.changed.Store(true)
	err := <-ended
	last := w.log[len(w.log):]
	if len(w.log) > 0 {
		last = w.log[len(w.log)-1:]
	}
	if got := len(last) > 0 && last[0].path == "/b"; got != sent {
		t.Errorf("kind %d, sent %v: %v", kind, got, err)
	}
	if sent {
		return
	}
	if p.failed != nil {
		if !errors.Is(err, p.failed) {
			t.Errorf("kind %d: %v", kind, err)
		}
	} else if r := refusal(t, err); r.Rule != rule || rule == "" && r.Decision.Allowed {
		t.Errorf("kind %d: %+v", kind, r)
	}
	if g.pages != before {
		t.Errorf("kind %d: %d requests in the budget, %d before", kind, g.pages, before)
	}
}

// The policy is checked again over HTTP/2 too. There, a refusal must not close the connection that
// other requests use.
func TestDecidedAgainOnSharedConnection(t *testing.T) {
	p := &changingPolicy{before: "", after: "ACAP-crawler: *\nACAP-request-take-down: /b\n"}
	arrived, release := make(chan string, 9), make(chan struct{})
	s, trust := secure(t, true, func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Path
		if r.URL.Path == "/slow" {
			<-release
		}
	})
	g := newGate(t, Options{PerHost: 4, AllowPrivate: true}, p)
	g.transport.TLSClientConfig = trust
	slow := make(chan error)
	go func() {
		_, err := g.Get(t.Context(), PageRequest, s.URL+"/slow")
		slow <- err
	}()
	<-arrived
	p.changed.Store(true)
	_, err := g.Get(t.Context(), PageRequest, s.URL+"/b")
	if r := refusal(t, err); r.Rule != RuleTakeDown {
		t.Errorf("%+v", r)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Errorf("a request on the same connection: %v", err)
	}
	if len(arrived) != 0 {
		t.Errorf("%s was requested", <-arrived)
	}
}

// No request has a Range header: a part of a page does not show what the rest of it prohibits.
func TestNoRange(t *testing.T) {
	s := newSite(t, func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Range") + r.Header.Get("If-Range"); got != "" {
			t.Errorf("Range or If-Range is %q", got)
		}
	})
	g := newGate(t, Options{}, rule(open), s)
	req, err := http.NewRequestWithContext(With(t.Context(), PageRequest, nil), "GET", s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=100-")
	req.Header.Set("If-Range", `"v1"`)
	resp, err := g.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// No request has a Referer header, which would send the query of one host to another.
func TestNoReferer(t *testing.T) {
	var referers []string
	other := newSite(t, func(_ http.ResponseWriter, r *http.Request) { referers = append(referers, r.Referer()) })
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		referers = append(referers, r.Referer())
		http.Redirect(w, r, other.URL+"/landed", http.StatusFound)
	})
	g := newGate(t, Options{}, rule(open), s, other)
	follow(t, g, s.URL+"/from?token=secret")
	if len(referers) != 2 || referers[0] != "" || referers[1] != "" {
		t.Errorf("%q", referers)
	}
}
