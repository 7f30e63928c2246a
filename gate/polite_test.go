package gate

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// web is a network in memory for synctest bubbles: one handler answers for every host. Time is that
// of the bubble's clock, so pauses are exact.
type web struct {
	server *http.Server
	dialed chan net.Conn
	dial   time.Duration      // duration of dialling
	way    chan time.Duration // how long each request travels to its host; nil: requests arrive at once

	mu    sync.Mutex
	log   []arrival
	now   map[string]int // number of requests in progress by network address or host
	most  map[string]int
	names map[string]netip.Addr // network address of each host name, for tests of ByAddress
}

type arrival struct {
	host, path string
	at         time.Time
}

// newWeb starts a network in which h answers every request. It replaces the connections of g by
// connections to that network.
func newWeb(t *testing.T, g *Gate, h http.HandlerFunc) *web {
	w := &web{dialed: make(chan net.Conn), now: map[string]int{}, most: map[string]int{},
		names: map[string]netip.Addr{}}
	w.server = &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r, 1)
		defer w.note(r, -1)
		h(rw, r)
	})}
	w.connect(g)
	served := make(chan error)
	go func() { served <- w.server.Serve(w) }()
	t.Cleanup(func() {
		g.Close()
		_ = w.server.Close()
		<-served
	})
	return w
}

// connect replaces the connections of g by connections to w.
func (w *web) connect(g *Gate) {
	g.transport.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
		time.Sleep(w.dial)
		near, far := net.Pipe()
		if w.way != nil {
			near = late{near, w.way}
		}
		select {
		case w.dialed <- far:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if a, ok := ctx.Value(pinKey{}).(netip.Addr); ok {
			return pipe{near, net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 80))}, nil
		}
		return near, nil
	}
	g.addresses.lookup = func(_ context.Context, _, name string) ([]netip.Addr,
		error) {
		return []netip.Addr{w.names[name]}, nil
	}
}

// late is a connection on which written bytes arrive later.
type late struct {
	net.Conn
	way chan time.Duration
}

func (l late) Write(b []byte) (int, error) {
	d, b := <-l.way, slices.Clone(b)
	go func() {
		time.Sleep(d)
		_, _ = l.Conn.Write(b)
	}()
	return len(b), nil
}

// pipe is a connection with a remote address.
type pipe struct {
	net.Conn
	remote net.Addr
}

func (p pipe) RemoteAddr() net.Addr { return p.remote }

// Accept, Close and Addr implement net.Listener, so that the server of the network can use w.
func (w *web) Accept() (net.Conn, error) {
	c, ok := <-w.dialed
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (w *web) Close() error   { close(w.dialed); return nil }
func (w *web) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (w *web) note(r *http.Request, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	place := r.Host
	if a, ok := w.names[r.Host]; ok {
		place = a.String()
	}
	if n > 0 {
		w.log = append(w.log, arrival{place, r.URL.Path, time.Now()})
	}
	w.now[place] += n
	w.most[place] = max(w.most[place], w.now[place])
}

// gaps returns the shortest time between two arrivals at each host or network address, from the log
// of the server.
func (w *web) gaps() map[string]time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, least := map[string]time.Time{}, map[string]time.Duration{}
	for _, a := range w.log {
		if before, ok := last[a.host]; ok {
			if gap, known := least[a.host]; !known || a.at.Sub(before) < gap {
				least[a.host] = a.at.Sub(before)
			}
		}
		last[a.host] = a.at
	}
	return least
}

// follow sends a page request with http.Client, as Colly does.
func follow(t *testing.T, g *Gate, address string) {
	req, err := http.NewRequestWithContext(With(t.Context(), PageRequest, nil), "GET", address, nil)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := (&http.Client{Transport: g}).Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	resp.Body.Close()
}

// The test sends requests of all kinds to two hosts that answer slowly and redirect to themselves
// and to each other. Requests to one host never start at a shorter interval than the pause, but
// several are in progress at a time.
func TestSpacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		g := New(Options{Delay: delay, PerHost: 3, AllowPrivate: true})
		g.Use(rule(open))
		w := newWeb(t, g, func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(2500 * time.Millisecond)
			switch {
			case strings.HasPrefix(r.URL.Path, "/within"):
				http.Redirect(rw, r, "/behind", http.StatusFound)
			case strings.HasPrefix(r.URL.Path, "/across") && r.Host == "a.example":
				http.Redirect(rw, r, "http://b.example/across", http.StatusFound)
			case strings.HasPrefix(r.URL.Path, "/across"):
				http.Redirect(rw, r, "http://a.example/back", http.StatusMovedPermanently)
			}
		})
		var wg sync.WaitGroup
		for i := range 4 {
			for _, host := range []string{"http://a.example", "http://b.example"} {
				wg.Go(func() { follow(t, g, fmt.Sprintf("%s/page/%d", host, i)) })
				wg.Go(func() { follow(t, g, fmt.Sprintf("%s/within/%d", host, i)) })
				wg.Go(func() { follow(t, g, fmt.Sprintf("%s/across/%d", host, i)) })
				wg.Go(func() {
					if _, err := g.Fetch(t.Context(), host+"/robots.txt"); err != nil {
						t.Error(err)
					}
					if _, err := g.Get(t.Context(), Sitemap, host+"/sitemap.xml"); err != nil {
						t.Error(err)
					}
					if _, err := g.Get(t.Context(), Part, host+"/part"); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		// requests at both hosts: 2 hosts × 4 × (1 page, 2 for a redirect within the host, 3 for
		// policy file, sitemap and part), and 4 × (3 + 2) for redirects to the other host
		if n := len(w.log); n != 68 {
			t.Errorf("%d requests", n)
		}
		for host, gap := range w.gaps() {
			// the pause is never shorter than the delay, and not longer as long as requests are
			// waiting
			if gap != delay {
				t.Errorf("%s: %s between two requests", host, gap)
			}
			if w.most[host] != 3 {
				t.Errorf("%s: %d requests at once", host, w.most[host])
			}
		}
	})
}

// The pause begins when the request is written, not when its connection is dialled.
func TestSpacingAfterSlowDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Delay: time.Second, PerHost: 2, AllowPrivate: true})
		g.Use(rule(open))
		w := newWeb(t, g, hello)
		w.dial = 400 * time.Millisecond
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { follow(t, g, fmt.Sprintf("http://a.example/%d", i)) })
		}
		wg.Wait()
		if gap := w.gaps()["a.example"]; gap != time.Second {
			t.Errorf("%s between two requests", gap)
		}
	})
}

// The host receives requests at intervals of the pause, even if one request travels longer to the
// host than the next one. An answer that comes late does not restart the pause.
func TestSpacingOverUnevenWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Delay: time.Second, PerHost: 2, AllowPrivate: true})
		g.Use(rule(open))
		w := newWeb(t, g, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				time.Sleep(10 * time.Second)
			}
		})
		w.way = make(chan time.Duration, 4)
		for _, d := range []time.Duration{40 * time.Millisecond, 0, 0, 0} {
			w.way <- d
		}
		follow(t, g, "http://a.example/first")
		follow(t, g, "http://a.example/second")
		var wg sync.WaitGroup
		wg.Go(func() { follow(t, g, "http://a.example/slow") })
		synctest.Wait()
		follow(t, g, "http://a.example/other")
		wg.Wait()
		if gap := w.gaps()["a.example"]; gap != time.Second || w.log[3].at.Sub(w.log[2].at) != time.Second {
			t.Errorf("%s between two requests: %v", gap, w.log)
		}
	})
}

// The pause is the delay or the Crawl-delay, whichever is longer.
func TestSpacingByCrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Delay: 2 * time.Second, PerHost: 2, AllowPrivate: true})
		g.Use(robots("User-agent: *\nCrawl-delay: 7\n"))
		w := newWeb(t, g, hello)
		if _, err := g.Fetch(t.Context(), "http://a.example/robots.txt"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { follow(t, g, fmt.Sprintf("http://a.example/%d", i)) })
		}
		wg.Wait()
		if gap := w.gaps()["a.example"]; gap != 7*time.Second {
			t.Errorf("%s between two requests", gap)
		}
	})
}

// byHost is a source of policies with a robots.txt for each host.
type byHost map[string]robots

func (b byHost) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	return b[u.Host].Policy(ctx, u)
}

func (b byHost) Current(u *url.URL) (*acap.Policy, error) { return b[u.Host].Current(u) }

// Hosts at one network address share the pause, but each has its own Crawl-delay.
func TestByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		g := New(Options{Delay: delay, ByAddress: true})
		g.Use(byHost{"b.example": "User-agent: *\nCrawl-delay: 5\n"})
		w := newWeb(t, g, hello)
		shared, own := netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("93.184.215.15")
		w.names = map[string]netip.Addr{"a.example": shared, "b.example": shared, "c.example": own}
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			for name := range w.names {
				wg.Go(func() { follow(t, g, fmt.Sprintf("http://%s/%s/%d", name, name, i)) })
			}
		}
		wg.Wait()
		if gap := w.gaps()[shared.String()]; gap < delay {
			t.Errorf("%s between two requests to %s", gap, shared)
		}
		var slow []time.Duration // times of the requests to b.example, measured from the start of the test
		for _, a := range w.log {
			if strings.HasPrefix(a.path, "/b.example") {
				slow = append(slow, a.at.Sub(start))
			}
			if strings.HasPrefix(a.path, "/c.example") && a.at.Sub(start) > 2*delay {
				t.Errorf("another address waited too: %s", a.at.Sub(start))
			}
		}
		for i := 1; i < len(slow); i++ {
			if slow[i]-slow[i-1] < 5*time.Second {
				t.Errorf("the Crawl-delay of b.example was not kept: %s", slow)
			}
		}
		if !slices.Equal([]int{w.most[shared.String()], w.most[own.String()]}, []int{1, 1}) {
			t.Errorf("at once: %v", w.most)
		}
	})
}
