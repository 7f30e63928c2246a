package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/page"
)

func TestCrawlTakesTheSiteAndStops(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a", "b?x=2&a=1", "/a#part", "/private/x", "mailto:a@b", "http://elsewhere.example/")
	s.Page("/a", "/", "/c")
	s.Page("/b", "/c", "./missing")
	s.Page("/c")
	c := newCrawl(t)
	c.rules.text = "User-agent: *\nDisallow: /private/\n"
	sum := c.run(t, context.Background(), s.URL)

	for path, want := range map[string]int{"/": 1, "/a": 1, "/b?x=2&a=1": 1, "/c": 1, "/missing": 1, "/private/x": 0} {
		if n := s.Asked(path); n != want {
			t.Errorf("%s was requested %d times, want %d", path, n, want)
		}
	}
	if sum.Fetched != 5 || sum.Stored != 5 || sum.Indexed != 4 || sum.Refused.Crawl != 1 || sum.Errors != 0 ||
		sum.Queued != 0 ||
		sum.Interrupted || sum.SeedsRefused || sum.Bytes == 0 || sum.Rate <= 0 {
		t.Errorf("summary %+v", sum)
	}
	refused := c.skips[s.URL+"/private/x"]
	if refused.State != Refused || !strings.Contains(refused.Why, "/robots.txt:2") ||
		!strings.Contains(refused.Why, "Disallow: /private/") {
		t.Errorf("the refusal does not name its line: %+v", refused)
	}
	if r, _, _ := c.frontier.Get(s.URL + "/private/x"); r.Why != refused.Why || r.State != Refused || r.Depth != 1 {
		t.Errorf("the refusal was not recorded: %+v", r)
	}
	if out := c.skips["http://elsewhere.example/"]; out.State != Outside || out.Why == "" {
		t.Errorf("the link out of scope was not reported: %+v", out)
	}

	before := len(s.requests())
	if sum := c.run(t, context.Background(), s.URL); sum.Fetched != 0 || len(s.requests()) != before {
		t.Errorf("a second run requested %v", s.requests()[before:])
	}
	c.o.Refetch = true
	if sum := c.run(t, context.Background()); sum.Fetched != 5 || sum.Refused.Crawl != 1 || s.Asked("/c") != 2 {
		t.Errorf("with refetch: %+v", sum)
	}
}

func TestSummaryJSON(t *testing.T) {
	b, err := json.Marshal(Summary{Fetched: 1, Refused: Refusal{Crawl: 2}})
	must(t, err)
	want := `{"fetched":1,"stored":0,"indexed":0,"refused":{"crawl":2,"follow":0,"index":0,"preserve":0},` +
		`"unreachable":0,"errors":0,"bytes":0,"duration_s":0,"pages_per_s":0,`
	if !strings.HasPrefix(string(b), want) {
		t.Errorf("%s", b)
	}
}

func TestRedirects(t *testing.T) {
	s, other := newSite(t), newSite(t)
	s.Page("/", "/old", "/to-forbidden", "/circle", "/long/0", "/away", "/ftp", "/dots")
	s.Redirect("/old", "/new#part")
	s.Page("/new", "/")
	s.Redirect("/to-forbidden", "/private/x")
	s.Redirect("/circle", "/circle2")
	s.Redirect("/circle2", "/circle")
	for i := range 20 {
		s.Redirect(fmt.Sprintf("/long/%d", i), fmt.Sprintf("/long/%d", i+1))
	}
	away := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	s.Redirect("/away", away+"/x")
	s.Redirect("/ftp", "ftp://h/x")
	s.Redirect("/dots", s.URL+"/a/../%6eew")
	c := newCrawl(t)
	c.rules.text = "ACAP-crawler: *\nACAP-disallow-crawl: /private/\n"
	sum := c.run(t, context.Background(), s.URL)

	if n := s.Asked("/private/x"); n != 0 {
		t.Errorf("the redirect to a forbidden path was followed %d times", n)
	}
	if r := c.skips[s.URL+"/to-forbidden"]; r.State != Refused || !strings.Contains(r.Why, "/private/x") ||
		!strings.Contains(r.Why, ":2") {
		t.Errorf("the refused redirect: %+v", r)
	}
	if len(other.requests()) != 0 {
		t.Errorf("the redirect out of scope was requested: %v", other.requests())
	}
	if r := c.skips[away+"/x"]; r.State != Outside {
		t.Errorf("the target out of scope: %+v", r)
	}
	p := c.handler.pages[s.URL+"/new"]
	if p == nil || len(p.Hops()) != 2 || p.Last().Status != 200 {
		t.Fatalf("the page behind the redirect: %+v", p)
	}
	for _, u := range []string{"/old", "/new", "/dots", "/away", "/ftp"} {
		if st := c.state(t, s.URL+u); st != Fetched {
			t.Errorf("%s is %s", u, st)
		}
	}
	for _, u := range []string{"/circle", "/long/0"} {
		if st := c.skips[s.URL+u]; st.State != Failed || st.Why == "" {
			t.Errorf("%s is %+v", u, st)
		}
	}
	if n := s.Asked("/circle"); n != 1 {
		t.Errorf("the circle was gone round %d times", n)
	}
	if s.Asked("/long/10") != 1 || s.Asked("/long/11") != 0 {
		t.Errorf("redirects followed: %v", s.requests())
	}
	if sum.Errors != 2 || sum.Refused.Crawl != 1 {
		t.Errorf("summary %+v", sum)
	}
}

func TestRetries(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/soon", "/never", "/cut")
	var mu sync.Mutex
	n := map[string]int{}
	s.Handle("/soon", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n["soon"]++; n["soon"] < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "here")
	})
	s.Handle("/never", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	s.Handle("/cut", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n["cut"]++; n["cut"] == 1 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "here")
	})
	c := newCrawl(t)
	sum := c.run(t, context.Background(), s.URL)
	if c.state(t, s.URL+"/soon") != Fetched || s.Asked("/soon") != 3 {
		t.Errorf("/soon is %s after %d requests", c.state(t, s.URL+"/soon"), s.Asked("/soon"))
	}
	if c.state(t, s.URL+"/cut") != Fetched {
		t.Errorf("/cut is %s", c.state(t, s.URL+"/cut"))
	}
	r, _, _ := c.frontier.Get(s.URL + "/never")
	if r.State != Failed || r.Status != 500 || s.Asked("/never") != maxTries || r.Why != c.skips[s.URL+"/never"].Why ||
		r.Why == "" {
		t.Errorf("/never: %+v after %d requests", r, s.Asked("/never"))
	}
	if c.handler.times[s.URL+"/never"] != 0 || c.handler.times[s.URL+"/soon"] != 1 {
		t.Errorf("pages received: %v", c.handler.times)
	}
	if sum.Fetched != 3 || sum.Errors != 1 {
		t.Errorf("summary %+v", sum)
	}
	// this run names the seed, so it retries the failed addresses that have the same origin as the
	// seed
	c.run(t, context.Background(), s.URL)
	if s.Asked("/never") != 2*maxTries || s.Asked("/soon") != 3 {
		t.Errorf("after a second run: %v", s.requests())
	}
	sum = c.run(t, context.Background()) // this run names no seed, so the failed addresses are not retried and stay due
	if s.Asked("/never") != 3*maxTries || s.Asked("/soon") != 3 || sum.Waiting != 1 || sum.Queued != 0 {
		t.Errorf("after a third run: %v, %+v", s.requests(), sum)
	}
	s.Handle("/never", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "at last") })
	sum = c.run(t, context.Background())
	if c.state(t, s.URL+"/never") != Fetched || sum.Fetched != 1 || sum.Waiting != 0 {
		t.Errorf("after a fourth run: %+v", sum)
	}
	if sum = c.run(t, context.Background()); sum.Requests != 0 {
		t.Errorf("after a fifth run: %+v", sum)
	}
}

// Runs that do not name the seed do not retry addresses that failed permanently.
func TestFailedForGood(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/loop")
	s.Handle("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	c := newCrawl(t)
	c.run(t, context.Background(), s.URL)
	if sum := c.run(t, context.Background()); c.state(t, s.URL+"/loop") != Failed || sum.Requests != 0 ||
		sum.Waiting != 0 {
		t.Errorf("%+v", sum)
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	s := newSite(t)
	s.Handle("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	c := newCrawl(t)
	sum := c.run(t, context.Background(), s.URL)
	if s.Asked("/") != 1 || sum.Queued != 1 || sum.Fetched != 0 || sum.Errors != 0 {
		t.Errorf("%d requests, summary %+v", s.Asked("/"), sum)
	}
	if due := c.frontier.Counts().NextDue; time.Until(due) < 59*time.Minute {
		t.Errorf("next due %s", due)
	}
}

func TestMaxPagesIsNeverExceeded(t *testing.T) {
	s := newSite(t)
	var links []string
	for i := range 100 {
		path := fmt.Sprintf("/p%d", i)
		links = append(links, path)
		if i%3 == 0 {
			s.Redirect(path, path+"x")
			s.Page(path + "x")
		} else {
			s.Page(path)
		}
	}
	s.Page("/", links...)
	c := newCrawl(t)
	c.o.Concurrency, c.gate.MaxPages = 16, 20
	sum := c.run(t, context.Background(), s.URL)
	if n := len(s.requests()); n != 20 || !sum.Interrupted {
		t.Errorf("%d requests, summary %+v", n, sum)
	}
	c.gate.MaxPages = 0
	c.run(t, context.Background())
	for _, l := range links {
		if st := c.state(t, s.URL+l); st != Fetched {
			t.Errorf("%s is %s", l, st)
		}
	}
}

func TestDepth(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/1")
	s.Page("/1", "/2", "/1b")
	s.Page("/1b", "/2")
	s.Page("/2", "/3")
	s.Page("/3", "/4")
	c := newCrawl(t)
	c.o.Depth = 0
	c.run(t, context.Background(), s.URL)
	if got := s.requests(); !slices.Equal(got, []string{"/"}) {
		t.Errorf("depth 0 took %v", got)
	}
	c.o.Depth = 1
	if sum := c.run(t, context.Background(), s.URL); sum.Fetched != 1 || s.Asked("/1") != 1 {
		t.Errorf("depth 1 took %v", s.requests())
	}
	if r := c.skips[s.URL+"/2"]; r.State != Deep || !strings.Contains(r.Why, "more than 1 link") {
		t.Errorf("below the depth: %+v", r)
	}
	c.o.Depth = 3
	c.run(t, context.Background(), s.URL)
	if s.Asked("/3") != 1 || s.Asked("/4") != 0 || s.Asked("/") != 1 {
		t.Errorf("depth 3 took %v", s.requests())
	}
}

func TestWiderScopeTakesUpWhatWasLeft(t *testing.T) {
	s, other := newSite(t), newSite(t)
	away := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	s.Page("/docs/", "/docs/a", "/b", away+"/x")
	s.Page("/docs/a")
	s.Page("/b")
	other.Page("/x", "/y")
	other.Page("/y")
	c := newCrawl(t)
	c.o.Scope = ScopePrefix
	c.run(t, context.Background(), s.URL+"/docs/")
	if s.Asked("/b") != 0 || s.Asked("/docs/a") != 1 || len(other.requests()) != 0 {
		t.Errorf("scope prefix took %v and %v", s.requests(), other.requests())
	}
	c.o.Scope = ScopeHost
	c.run(t, context.Background())
	if s.Asked("/b") != 1 || len(other.requests()) != 0 {
		t.Errorf("scope host took %v and %v", s.requests(), other.requests())
	}
	c.o.Scope = ScopeAny
	c.run(t, context.Background())
	if other.Asked("/x") != 1 || other.Asked("/y") != 1 || s.Asked("/docs/") != 1 {
		t.Errorf("scope any took %v and %v", s.requests(), other.requests())
	}
}

func TestSeedsRefusedOrUnreachable(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a")
	c := newCrawl(t)
	c.rules.text = "User-agent: *\nDisallow: /\n"
	if sum := c.run(t, context.Background(), s.URL, s.URL+"/a"); !sum.SeedsRefused || sum.SeedsUnreachable ||
		sum.Refused.Crawl != 2 {
		t.Errorf("refused: %+v", sum)
	}
	c.rules = rules{down: "127.0.0.1"}
	sum := c.run(t, context.Background(), s.URL, s.URL+"/a")
	if sum.SeedsRefused || !sum.SeedsUnreachable || sum.Unreachable != 2 || sum.Refused.Crawl != 0 {
		t.Errorf("unreachable: %+v", sum)
	}
	if r := c.skips[s.URL+"/a"]; r.State != Unreachable || !strings.Contains(r.Why, "503") {
		t.Errorf("unreachable: %+v", r)
	}
	if len(s.requests()) != 0 {
		t.Errorf("requested: %v", s.requests())
	}
	c.rules = rules{}
	if sum := c.run(t, context.Background(), s.URL); sum.Fetched != 2 || sum.SeedsRefused || sum.SeedsUnreachable {
		t.Errorf("allowed: %+v", sum)
	}
	s.Close()
	if sum := c.run(t, context.Background(), s.URL+"/gone"); !sum.SeedsUnreachable || sum.Errors != 1 {
		t.Errorf("nobody there: %+v", sum)
	}
}

func TestReceipt(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/gone")
	s.Page("/self-refused", "/x")
	s.Redirect("/away", "http://elsewhere.example/")
	c := newCrawl(t)
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		if p.URL().Path == "/self-refused" {
			return Receipt{RefusedCrawl: true}, nil
		}
		return Receipt{RefusedFollow: true, RefusedIndex: true, RefusedPreserve: true}, nil
	}
	sum := c.run(t, context.Background(), s.URL, s.URL+"/self-refused", s.URL+"/away")
	if sum.Fetched != 2 || sum.Stored != 0 || sum.Refused != (Refusal{Crawl: 1, Follow: 2, Index: 2, Preserve: 2}) {
		t.Errorf("summary %+v", sum)
	}
	if len(s.requests()) != 3 {
		t.Errorf("links that may not be followed were: %v", s.requests())
	}
	if st := c.state(t, "http://elsewhere.example/"); st != "" {
		t.Errorf("the redirect of a page that may not be followed was recorded as %s", st)
	}
}

func TestHandlerFailureLosesNothing(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a", "/b")
	s.Page("/a")
	s.Page("/b")
	f := newFrontier(t, FrontierOptions{})
	g := gate.New(gate.Options{AllowPrivate: true})
	defer g.Close()
	g.Use(rules{})
	full := errors.New("disk full")
	h := &shelf{receive: func(p *page.Page) (Receipt, error) {
		if p.URL().Path == "/a" {
			return Receipt{}, full
		}
		return Receipt{Links: p.Links(page.Cut{})}, nil
	}}
	if _, err := New(g, h, f, Options{Depth: -1}).Run(context.Background(), []string{s.URL}); !errors.Is(err, full) {
		t.Fatalf("the failure was not reported: %v", err)
	}
	h.receive = nil
	sum, err := New(g, h, f, Options{Depth: -1}).Run(context.Background(), nil)
	if err != nil || sum.Queued != 0 || s.Asked("/b") != 1 || s.Asked("/a") != 2 {
		t.Errorf("after the failure: %+v, %v, %v", sum, err, s.requests())
	}
}

func TestFullDiskLosesNothing(t *testing.T) {
	s := newSite(t)
	for i := range 60 {
		s.Page(fmt.Sprintf("/%d", i), fmt.Sprintf("/%d", 2*i+1), fmt.Sprintf("/%d", 2*i+2))
	}
	name := filepath.Join(t.TempDir(), "frontier.db")
	f, err := Open(name, FrontierOptions{PerHost: 4})
	must(t, err)
	g := gate.New(gate.Options{PerHost: 4, AllowPrivate: true})
	defer g.Close()
	g.Use(rules{})
	full, n := errors.New("no space left on device"), 0
	f.inject = func() error {
		if n++; n > 9 {
			return full
		}
		return nil
	}
	h := &shelf{}
	o := Options{Depth: -1, Concurrency: 4}
	if _, err := New(g, h, f, o).Run(context.Background(), []string{s.URL + "/0"}); !errors.Is(err, full) {
		t.Fatalf("the full disk was not reported: %v", err)
	}
	if err := f.Close(); !errors.Is(err, full) {
		t.Errorf("Close after the failure: %v", err)
	}
	f = openFrontier(t, name, FrontierOptions{PerHost: 4})
	must(t, f.Check())
	sum, err := New(g, h, f, o).Run(context.Background(), nil)
	if err != nil || sum.Queued != 0 {
		t.Fatalf("after the failure: %+v, %v", sum, err)
	}
	for i := range 60 {
		if h.times[fmt.Sprintf("%s/%d", s.URL, i)] == 0 {
			t.Errorf("/%d was lost", i)
		}
	}
}

func TestInterruptAndGoOn(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var links []string
	for i := range 50 {
		path := fmt.Sprintf("/p%d", i)
		links = append(links, path)
		s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
			if len(s.requests()) >= 20 {
				cancel()
			}
			fmt.Fprint(w, "text")
		})
	}
	s.Page("/", links...)
	c := newCrawl(t)
	sum := c.run(t, ctx, s.URL)
	if !sum.Interrupted || sum.Fetched != len(s.requests()) || sum.Fetched+sum.Queued != 51 {
		t.Errorf("%d requests, summary %+v", len(s.requests()), sum)
	}
	sum = c.run(t, context.Background())
	if sum.Queued != 0 || len(s.requests()) != 51 {
		t.Errorf("%d requests, summary %+v", len(s.requests()), sum)
	}
}

func TestGraceEnds(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.Handle("/", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	c := newCrawl(t)
	c.o.Grace = 20 * time.Millisecond
	if sum := c.run(t, ctx, s.URL); sum.Queued != 1 || !sum.Interrupted || sum.Errors != 0 {
		t.Errorf("summary %+v", sum)
	}
}

func TestPauseBetweenRequests(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a", "/r")
	s.Page("/a")
	s.Redirect("/r", "/b")
	s.Page("/b")
	const pause = 60 * time.Millisecond
	c := newCrawl(t)
	c.frontier.o.Delay, c.gate.Delay = pause, pause
	c.run(t, context.Background(), s.URL)
	if len(s.Requests()) != 4 {
		t.Fatalf("requests: %v", s.requests())
	}
	// the requests with the times when they were sent, since the crawler cannot know when they
	// arrive at the server
	var hops []page.Hop
	for _, p := range c.handler.pages {
		hops = append(hops, p.Hops()...)
	}
	slices.SortFunc(hops, func(a, b page.Hop) int { return a.Start.Compare(b.Start) })
	if len(hops) != 4 {
		t.Fatalf("%d hops", len(hops))
	}
	for i := range hops[1:] {
		if d := hops[i+1].Start.Sub(hops[i].Start); d < pause {
			t.Errorf("%s was sent %s after %s", hops[i+1].URL, d, hops[i].URL)
		}
	}
}

func TestEnvironmentChangesNothing(t *testing.T) {
	t.Setenv("COLLY_FOLLOW_REDIRECTS", "no")
	t.Setenv("COLLY_MAX_REQUESTS", "1")
	t.Setenv("COLLY_CACHE_DIR", t.TempDir())
	t.Setenv("COLLY_USER_AGENT", "someone else")
	s := newSite(t)
	s.Redirect("/", "/a")
	s.Page("/a", "/b")
	agent := ""
	s.Handle("/b", func(_ http.ResponseWriter, r *http.Request) { agent = r.UserAgent() })
	c := newCrawl(t)
	c.gate.UserAgent = "acapcrawl/1"
	c.run(t, context.Background(), s.URL)
	if s.Asked("/b") != 1 || agent != "acapcrawl/1" {
		t.Errorf("requested: %v by %q", s.requests(), agent)
	}
	dir, err := os.ReadDir(os.Getenv("COLLY_CACHE_DIR"))
	if err != nil || len(dir) != 0 {
		t.Errorf("pages were cached: %v, %v", dir, err)
	}
}

// A body that looks compressed to Colly is stored as it was sent.
func TestBodyAsSent(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/map.xml.gz", "/x.tgz", "/latin")
	s.Handle("/map.xml.gz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "not packed at all") })
	s.Handle("/x.tgz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		fmt.Fprint(w, "nor this")
	})
	s.Handle("/latin", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
		w.Write([]byte("caf\xe9"))
	})
	c := newCrawl(t)
	c.run(t, context.Background(), s.URL)
	for path, want := range map[string]string{"/map.xml.gz": "not packed at all", "/x.tgz": "nor this",
		"/latin": "caf\xe9"} {
		p := c.handler.pages[s.URL+path]
		if p == nil || string(p.Last().Body) != want {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// Another spelling of a loopback address is another host name, and a request for it reaches no
// server.
func TestOtherSpellings(t *testing.T) {
	s := newSite(t)
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	s.Page("/", "http://2130706433"+port+"/x", "http://0x7f.1"+port+"/x", "http://[::ffff:127.0.0.1]"+port+"/x",
		"http://127.1"+port+"/x")
	s.Page("/x")
	c := newCrawl(t)
	c.o.Scope = ScopeAny
	c.gate.AllowPrivate = false
	g := gate.New(c.gate)
	defer g.Close()
	g.Use(rules{})
	u, err := address.Parse(s.URL)
	must(t, err)
	g.Name(u)
	sum, err := New(g, &c.handler, c.frontier, Options{Scope: ScopeAny, Depth: -1}).Run(context.Background(),
		[]string{s.URL})
	must(t, err)
	if s.Asked("/x") != 0 || sum.Fetched != 1 || sum.Refused.Crawl != 4 {
		t.Errorf("requested: %v, summary %+v", s.requests(), sum)
	}
}

func TestProgress(t *testing.T) {
	s := newSite(t)
	shown := make(chan Progress, 1)
	s.Page("/", "/a")
	s.Handle("/a", func(http.ResponseWriter, *http.Request) { <-shown })
	c := newCrawl(t)
	c.o.Every = time.Millisecond
	c.o.Progress = func(p Progress) {
		if p.Fetched == 1 && p.Queued == 1 {
			select {
			case shown <- p:
			default:
			}
		}
	}
	if sum := c.run(t, context.Background(), s.URL); sum.Fetched != 2 {
		t.Errorf("summary %+v", sum)
	}
}

func TestWrongUse(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	g := gate.New(gate.Options{})
	defer g.Close()
	for _, c := range []struct {
		o     Options
		seeds []string
	}{{Options{}, nil}, {Options{}, []string{"example"}}, {Options{Scope: "web"}, []string{"http://h/"}}} {
		if _, err := New(g, &shelf{}, f, c.o).Run(context.Background(), c.seeds); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// A page on which the program panics is reported, and all other pages are fetched. The next run
// visits this page again.
func TestDefectFailsOnePage(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a", "/b")
	s.Page("/a", "/c")
	s.Page("/b", "/c")
	s.Page("/c")
	f := newFrontier(t, FrontierOptions{})
	g := gate.New(gate.Options{AllowPrivate: true})
	defer g.Close()
	g.Use(rules{})
	h := &shelf{receive: func(p *page.Page) (Receipt, error) {
		if p.URL().Path == "/a" {
			panic("sixteen bits")
		}
		return Receipt{Links: p.Links(page.Cut{})}, nil
	}}
	var skipped []Skip
	o := Options{Depth: -1, Skipped: func(s Skip) { skipped = append(skipped, s) }}
	sum, err := New(g, h, f, o).Run(context.Background(), []string{s.URL})
	if err != nil || sum.Errors != 1 || s.Asked("/b") != 1 || s.Asked("/c") != 1 {
		t.Fatalf("%+v, %v, %v", sum, err, s.requests())
	}
	if len(skipped) != 1 || skipped[0].State != Failed || skipped[0].Defect == nil ||
		!strings.Contains(skipped[0].Why, "sixteen bits") ||
		len(skipped[0].Defect.Stack) == 0 {
		t.Errorf("%+v", skipped)
	}
	h.receive = nil
	if sum, err := New(g, h, f, o).Run(context.Background(), []string{s.URL}); err != nil || s.Asked("/a") != 2 {
		t.Errorf("the next run: %+v, %v, %v", sum, err, s.requests())
	}
}
