package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// takeDowns returns a robots.txt that requests the take-down of these paths.
func takeDowns(paths ...string) rules {
	text := "ACAP-crawler: *\n"
	for _, path := range paths {
		text += "ACAP-request-take-down: " + path + "\n"
	}
	return rules{text: text}
}

// takenDown reports whether the robots.txt of the crawl requests the take-down of the address.
func (c *crawl) takenDown(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	p, _ := c.rules.Policy(context.Background(), u)
	return p.TakeDown(acap.NewResource(u)) != nil
}

// While a take-down is in force, the page is not requested under any address and its links are not
// followed. When it ends, the next crawl visits the page and the addresses that redirect to it.
func TestTakenDownPages(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/gone", "/moved", "/far", "/fine")
	s.Page("/gone", "/behind")
	s.Page("/fine")
	s.Page("/behind")
	s.Redirect("/moved", "/gone")
	s.Redirect("/far", "/moved")
	c := newCrawl(t)
	c.rules, c.o.Stands = takeDowns("/gone"), c.takenDown
	c.handler.receive = c.terms
	check := func(what string, want map[string]int) {
		t.Helper()
		got := map[string]int{}
		for path := range want {
			got[path] = s.Asked(path)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: requests %v, want %v", what, got, want)
		}
	}
	sum := c.run(t, context.Background(), s.URL)
	check("while it stands", map[string]int{"/": 1, "/fine": 1, "/gone": 0, "/behind": 0, "/moved": 2, "/far": 1})
	if led := c.handler.led; led[s.URL+"/moved"] != s.URL+"/gone" || led[s.URL+"/far"] != s.URL+"/gone" ||
		len(led) != 2 {
		t.Errorf("reported %v", led)
	}
	if sum.TakenDown != 3 || sum.Refused.Crawl != 0 || sum.Fetched != 2 {
		t.Errorf("%+v", sum)
	}
	for path, final := range map[string]string{"/gone": "", "/moved": s.URL + "/gone", "/far": s.URL + "/gone"} {
		skip := c.skips[s.URL+path]
		r, _, err := c.frontier.Get(s.URL + path)
		if skip.State != Refused || skip.TakeDown == nil || skip.Final != final || err != nil || r.State != Refused ||
			r.Led != final ||
			!strings.Contains(r.Why, "/robots.txt:2: ACAP-request-take-down: /gone") {
			t.Errorf("%s: %+v; %+v, %v", path, skip, r, err)
		}
	}
	c.run(t, context.Background())
	c.o.Refetch = true
	if sum = c.run(t, context.Background()); sum.TakenDown != 3 {
		t.Errorf("%+v", sum)
	}
	check("whatever is visited again", map[string]int{"/": 2, "/gone": 0, "/moved": 4})

	c.o.Refetch, c.rules = false, takeDowns("/fine")
	c.run(t, context.Background())
	check("after it went", map[string]int{"/": 2, "/fine": 2, "/behind": 1, "/far": 3})
	// /moved may be visited twice, at its own address and as the redirect target of /far. /gone may
	// be visited twice too.
	moved := s.Asked("/moved")
	if s.Asked("/gone") == 0 || moved <= 4 {
		t.Error("what came back is not visited")
	}

	must(t, c.frontier.Bar(s.URL+"/fine", s.URL+"/unknown")) // /fine was visited before the take-down was requested
	c.run(t, context.Background())
	check("of what was visited before", map[string]int{"/fine": 2})
	c.rules = takeDowns()
	c.run(t, context.Background())
	check("after that went", map[string]int{"/": 2, "/fine": 3, "/moved": moved})
	if c.run(t, context.Background()); s.Asked("/fine") != 3 {
		t.Error("it is visited again and again")
	}
}

// terms is a Handler that stores nothing of a page that is taken down.
func (c *crawl) terms(p *page.Page) (Receipt, error) {
	r := Receipt{Links: p.Links(page.Cut{}), Stored: true}
	u := p.URL()
	policy, err := c.rules.Policy(context.Background(), u)
	if down := policy.TakeDown(acap.NewResource(u)); down != nil {
		r.TakenDown, r.Stored = down, false
	}
	return r, err
}

// P1 2.2.1 (P11): a re-crawl request for a page that is taken down confirms that the page is gone.
// The page is requested once and its links are not followed. When the take-down ends, the page is
// visited.
func TestTakenDownIsConfirmed(t *testing.T) {
	s := newSite(t)
	s.Page("/")
	s.Page("/live", "/behind")
	s.Redirect("/moved", "/behind")
	s.Redirect("/other", "/live")
	s.Page("/behind")
	c := newCrawl(t)
	c.rules, c.o.Stands = takeDowns("/live", "/moved", "/absent", "/refused"), c.takenDown
	c.rules.text += "ACAP-disallow-crawl: /refused\n"
	c.handler.receive = c.terms
	c.run(t, context.Background(), s.URL)
	for _, path := range []string{"/live", "/moved", "/absent", "/refused", "/other"} {
		must(t, c.frontier.Promote(s.URL+path))
	}
	sum := c.run(t, context.Background())
	for path, want := range map[string]struct {
		state            State
		status, requests int
	}{"/live": {Fetched, 200, 1}, "/moved": {Fetched, 302, 1}, "/absent": {Fetched, 404, 1},
		"/refused": {Refused, 0, 0}, "/other": {Refused, 302, 1}, "/behind": {"", 0, 0}} {
		r, _, err := c.frontier.Get(s.URL + path)
		if err != nil || r.State != want.state || r.Status != want.status || s.Asked(path) != want.requests {
			t.Errorf("%s: %+v, %v; %d requests", path, r, err, s.Asked(path))
		}
	}
	if sum.Stored != 0 || sum.TakenDown != 1 || sum.Refused.Crawl != 1 {
		t.Errorf("%+v", sum)
	}
	c.run(t, context.Background())
	if s.Asked("/live") != 1 {
		t.Error("it is confirmed again and again")
	}
	c.rules = takeDowns()
	c.run(t, context.Background())
	for path, n := range map[string]int{"/moved": 2, "/absent": 2, "/other": 2, "/refused": 0} {
		if s.Asked(path) != n {
			t.Errorf("after it went %s was requested %d times, want %d", path, s.Asked(path), n)
		}
	}
	// each page may be visited twice: at its own address and as the target of a redirect
	if s.Asked("/live") < 2 || s.Asked("/behind") == 0 {
		t.Error("what came back is not visited, or its links are not followed")
	}
}

// The links of a page are not followed if it is taken down between its request and its receipt.
func TestTakenDownDuringVisit(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/behind")
	c := newCrawl(t)
	c.o.Stands = c.takenDown
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		return Receipt{Links: p.Links(page.Cut{}), TakenDown: &acap.Field{Text: "a line"}}, nil
	}
	c.run(t, context.Background(), s.URL)
	if s.Asked("/behind") != 0 {
		t.Error("its links were followed")
	}
	c.handler.receive = nil
	if c.run(t, context.Background()); s.Asked("/") != 2 || s.Asked("/behind") != 1 {
		t.Errorf("%v", s.requests())
	}
}

// A page is stored although it names a canonical address that is taken down.
func TestTakenDownCanonical(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/main")
	s.canonical("/main", "/main")
	c := newCrawl(t)
	c.o.Canonical = true
	c.run(t, context.Background(), s.URL)
	must(t, c.frontier.Bar(s.URL+"/main"))
	s.canonical("/copy", "/main")
	c.rules = takeDowns("/main")
	c.run(t, context.Background(), s.URL+"/copy")
	if c.handler.times[s.URL+"/copy"] != 1 {
		t.Errorf("%v, led %v", c.handler.times, c.handler.led)
	}
}

// When the take-down of a required resource ends, the resource is visited again, like a page.
func TestTakenDownParts(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	named := "http://h/a b"
	must(t, f.AddParts([]string{named, "http://h/other"}, nil, Recrawl{}))
	must(t, f.AddParts(nil, []string{named}, Recrawl{}))
	must(t, f.Flush())
	key, err := partKey(named)
	must(t, err)
	var l *Lease
	for l == nil {
		l = next(t, f)
	}
	finish(t, f, l, End{State: Refused, Why: "taken down", TakenDown: true})
	if l.URL != key {
		t.Fatal(l.URL)
	}
	lifted := func(prefix string, want int, asked ...string) {
		t.Helper()
		var got []string
		n, err := f.Lift(prefix, func(address string) bool { got = append(got, address); return want == 0 })
		if err != nil || n != want || !slices.Equal(got, asked) {
			t.Errorf("%d came back, %v; asked about %v", n, err, got)
		}
	}
	lifted("http://g/", 0)
	lifted("http://h/", 0, "http://h/a%20b")
	lifted("", 1, "http://h/a%20b")
	lifted("", 0)
	if l = leaseURL(t, f, key); l != nil {
		finish(t, f, l, End{State: Fetched})
	}
	// the resources were visited before the take-down was requested
	must(t, errors.Join(f.Bar("http://h/a%20", "http://h/a%20b", "http://h/a%20bc"), f.Check()))
	lifted("http://h/a%20b", 1, "http://h/a%20b")
	if r, _, err := f.Get(key); err != nil || r.State != Queued || r.Led != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// When the take-down of a page ends, the addresses that redirect to the page are visited again too.
func TestTakenDownWithWhatLedThere(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	_, err := f.AddSeeds("http://h/new", "http://h/old", "http://h/queued")
	must(t, err)
	for _, path := range []string{"new", "old"} {
		finish(t, f, leaseURL(t, f, "http://h/"+path), End{State: Fetched})
	}
	must(t, errors.Join(f.Bar("http://h/new"), f.BarLed("http://h/new", "http://h/old", "http://h/queued",
		"http://h/unknown"), f.Check()))
	if r, _, err := f.Get("http://h/old"); err != nil || r.State != Fetched || r.Led != "http://h/new" {
		t.Errorf("%+v, %v", r, err)
	}
	if n, err := f.Lift("http://h/new", func(string) bool { return false }); n != 2 || err != nil {
		t.Errorf("%d came back, %v", n, err)
	}
	if r, _, err := f.Get("http://h/old"); err != nil || r.State != Queued || r.Led != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Lift works for more addresses than fit into one transaction, even if some of them are queued
// already. All changes are durable.
func TestLiftMany(t *testing.T) {
	name := filepath.Join(t.TempDir(), "frontier.db")
	f := openFrontier(t, name, FrontierOptions{PerHost: 1000})
	const n = maxOffers + 10
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://h%d/%d", i%10, i))
	}
	_, err := f.AddLinks(0, urls...)
	must(t, err)
	for l := next(t, f); l != nil; l = next(t, f) {
		must(t, f.Done(l, End{State: Fetched}))
	}
	must(t, errors.Join(f.Flush(), f.Bar(urls...), f.Bar(urls...)))
	closeFrontier(t, f)
	f = openFrontier(t, name, FrontierOptions{})
	must(t, f.Promote(urls[0]))
	if got, err := f.Lift("", func(a string) bool { return strings.HasPrefix(a, "http://h3/") }); err != nil ||
		got != n-n/10-1 {
		t.Errorf("%d came back, %v", got, err)
	}
	if c := f.Counts(); c.Queued != n-n/10 || c.Fetched != n/10 {
		t.Errorf("%+v", c)
	}
}
