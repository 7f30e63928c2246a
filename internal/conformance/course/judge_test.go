package course

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// walk returns the visits of one visitor, one second apart. names lists the places that are
// requested; each is "origin/path" for GET or "HEAD origin/path" for HEAD.
func walk(from time.Time, agent, address string, names []string, places ...string) []Visit {
	var visits []Visit
	for i, at := range places {
		method := "GET"
		if rest, ok := strings.CutPrefix(at, "HEAD "); ok {
			method, at = "HEAD", rest
		}
		origin, p, _ := strings.Cut(at, "/")
		visits = append(visits, Visit{Time: from.Add(time.Duration(i) * time.Second), Open: 1, Origin: origin,
			Method: method, Target: "/" + p, Status: 200,
			Address: address, Agent: agent, Names: names})
	}
	return visits
}

func judged(t *testing.T, told Told, visits ...[]Visit) []*Visitor {
	t.Helper()
	var all []Visit
	for _, v := range visits {
		all = append(all, v...)
	}
	if told.Protocols == nil { // if the test names no protocols, violations of all protocols count, including ACAP
		told.Protocols = Protocols()
	}
	r, err := Judge(t.Context(), all, told)
	if err != nil {
		t.Fatal(err)
	}
	return r.Visitors
}

func (v *Visitor) wants(t *testing.T, id string, want Outcome) {
	t.Helper()
	for _, r := range v.Results {
		if r.ID == id {
			if r.Outcome != want {
				t.Errorf("%s at %s: %s is %s (%s %v), want %s", v.Agent, v.Address, id, r.Outcome, r.Why, r.Evidence,
					want)
			}
			return
		}
	}
	t.Errorf("there is no station %s", id)
}

var samplebot = []string{"samplebot"}

// If one crawler uses two addresses, each visitor knows the robots.txt and the links that the other
// visitor fetched.
func TestCrawlerOfTwoAddresses(t *testing.T) {
	got := judged(t, Told{},
		walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, "rules/robots.txt", "tags/robots.txt", "tags/meta/",
			"tags/meta/bait.html"),
		walk(noon.Add(time.Hour), "samplebot/1.0", "192.0.2.2", samplebot, "rules/plain/", "rules/plain/open.html",
			"rules/plain/trap.html", "tags/meta/trap.html"),
		walk(noon.Add(-time.Hour), "samplebot/1.0", "192.0.2.3", samplebot, "rules/plain/", "rules/plain/open.html"))
	if len(got) != 3 {
		t.Fatalf("%d visitors", len(got))
	}
	hasty, reader, other := got[0], got[1], got[2]
	reader.wants(t, "robots-first", Kept)
	other.wants(t, "robots-first", Untested)
	other.wants(t, "plain", Violated)
	other.wants(t, "meta", Violated)
	hasty.wants(t, "robots-first", Violated)
}

// One crawler with a desktop and a mobile User-Agent needs to read robots.txt only once.
func TestCrawlerOfTwoAgents(t *testing.T) {
	got := judged(t, Told{},
		walk(noon, "Mozilla/5.0 (compatible; samplebot/2.1; +http://sample.example/bot)", "192.0.2.1", samplebot,
			"rules/robots.txt", "rules/plain/", "rules/plain/open.html"),
		walk(noon.Add(time.Hour),
			"Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile "+
				"Safari/537.36 (compatible; Samplebot/2.1)", "192.0.2.1", []string{"Samplebot"},
			"rules/order/", "rules/order/open.html"))
	got[0].wants(t, "robots-first", Kept)
	got[1].wants(t, "robots-first", Untested)
}

// A crawler may leave reading robots.txt to another program with its own User-Agent. Then no
// robots.txt that was served contains the crawler's name. A second crawler at the address that
// reads robots.txt for itself does not excuse the first.
func TestRobotsReadByAnotherProgram(t *testing.T) {
	pages := []string{"named/own-group/", "named/own-group/trap.html", "named/own-group/open.html",
		"addressed/acap-named/", "addressed/acap-named/trap.html", "addressed/acap-named/open.html",
		"acap/acap-any/", "acap/acap-any/trap.html"}
	got := judged(t, Told{},
		walk(noon, "Python-urllib/3.11", "192.0.2.1", []string{"Python-urllib"}, "named/robots.txt",
			"addressed/robots.txt", "acap/robots.txt", "named/robots.txt", "named/robots.txt", "named/robots.txt"),
		walk(noon.Add(time.Minute), "samplebot/1.0", "192.0.2.1", samplebot, pages...))
	reader, crawler := got[0], got[1]
	reader.wants(t, "robots-again", Untested)
	crawler.wants(t, "robots-first", Untested)
	crawler.wants(t, "own-group", Untested)
	crawler.wants(t, "acap-named", Untested)
	crawler.wants(t, "acap-any", Violated)

	got = judged(t, Told{},
		walk(noon, "goodbot/1.0", "192.0.2.1", []string{"goodbot"}, "named/robots.txt", "addressed/robots.txt",
			"named/own-group/"),
		walk(noon.Add(time.Minute), "samplebot/1.0", "192.0.2.1", samplebot, pages...))
	got[1].wants(t, "robots-first", Violated)
	got[1].wants(t, "own-group", Violated)
	got[1].wants(t, "acap-named", Violated)
}

// A visitor that never fetched the page with the prohibited link did not follow that link.
func TestTrapThatNobodyWasLedTo(t *testing.T) {
	for _, places := range [][]string{
		{"tags/meta/trap.html", "tags/meta/open.html"},
		{"tags/meta/", "HEAD tags/meta/bait.html", "tags/meta/trap.html", "tags/meta/open.html"},
		{"tags/meta/trap.html", "tags/meta/", "tags/meta/bait.html", "tags/meta/open.html"},
	} {
		got := judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot,
			append([]string{"tags/robots.txt"}, places...)...))
		got[0].wants(t, "meta", Untested)
	}
	got := judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, "tags/robots.txt",
		"tags/meta/bait.html", "HEAD tags/meta/trap.html"))
	got[0].wants(t, "meta", Violated)
}

// A station is not reported as kept if it did not test the visitor: because the request for the
// trap was permitted, or because robots.txt used another name.
func TestKeptIsOnlyWhatWasTested(t *testing.T) {
	named := []string{"addressed/robots.txt", "addressed/acap-named/", "addressed/acap-named/open.html"}
	for _, places := range [][]string{named, append(named, "addressed/acap-named/trap.html")} {
		visits := walk(noon, "samplebot/1.0 libsample/2", "192.0.2.1", []string{"samplebot", "libsample"}, places...)
		judged(t, Told{Crawler: []string{"libsample"}}, visits)[0].wants(t, "acap-named", Untested)
	}
	visits := walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, named...)
	judged(t, Told{Crawler: []string{"SampleBot"}}, visits)[0].wants(t, "acap-named", Kept)
}

// A visitor that requests one page and no robots.txt is a person, and violates nothing, even if the
// page redirects. A visitor that requests robots.txt is a crawler.
func TestLook(t *testing.T) {
	one := walk(noon, "curl/8.5.0", "192.0.2.1", []string{"curl"}, "rules/plain/trap.html")
	judged(t, Told{}, one)[0].wants(t, "plain", Untested)
	two := walk(noon, "curl/8.5.0", "192.0.2.1", []string{"curl"}, "ways/redirect/to-closed.html",
		"ways/redirect/closed/trap.html")
	two[0].Status = 302
	judged(t, Told{}, two)[0].wants(t, "redirect", Untested)
	judged(t, Told{}, two)[0].wants(t, "robots-first", Untested)
	judged(t, Told{}, walk(noon, "curl/8.5.0", "192.0.2.1", []string{"curl"}, "rules/robots.txt",
		"rules/plain/trap.html"))[0].wants(t, "plain", Violated)

	many := judged(t, Told{}, one, walk(noon, "curl/8.5.0", "192.0.2.2", []string{"curl"},
		"rules/longest/closed/trap.html"))
	many[0].wants(t, "plain", Violated)
	many[1].wants(t, "longest", Violated)
}

// A crawler that stays for days may read robots.txt every day.
func TestRobotsAgainAfterDays(t *testing.T) {
	var visits []Visit
	for day := range 6 {
		visits = append(visits, walk(noon.AddDate(0, 0, day), "samplebot/1.0", "192.0.2.1", samplebot,
			"rules/robots.txt", "rules/plain/")...)
	}
	judged(t, Told{}, visits)[0].wants(t, "robots-again", Kept)
}

// A click counts as that of a person only if the User-Agent does not look like a robot's. The
// User-Agent of a headless browser does.
func TestClicks(t *testing.T) {
	for agent, person := range map[string]bool{
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
			"HeadlessChrome/126.0 Safari/537.36": false,
		"samplebot/1.0": false,
		"Ladybird/1.0":  true,
	} {
		visits := walk(noon, agent, "192.0.2.1", Names(agent), "rules/robots.txt", "rules/plain/trap.html")
		visits[1].Clicked = true
		if got := judged(t, Told{}, visits)[0].Unjudged; (got != "") != person ||
			strings.Contains(got, "by its User-Agent") {
			t.Errorf("%s is not judged: %q", agent, got)
		}
	}
}

// Visitors with the names "b c" and "b", "c" are not mixed up.
func TestVisitorsAreToldApart(t *testing.T) {
	if got := judged(t, Told{}, walk(noon, "x", "a", []string{"b c"}, "rules/"),
		walk(noon, "x", "a", []string{"b", "c"}, "rules/")); len(got) != 2 {
		t.Errorf("%d visitors, want 2", len(got))
	}
}

// A run whose User-Agent and address change with each request is one visitor: it is not a single
// look, it has requested robots.txt, and it has fetched the page with the link. Without a run the
// same visits are three visitors.
func TestCrawlerOfManyAgents(t *testing.T) {
	all := slices.Concat(
		walk(noon, "sample/1", "192.0.2.1", []string{"sample"}, "rules/robots.txt", "rules/plain/trap.html",
			"addressed/acap-named/trap.html"),
		walk(noon.Add(time.Minute), "example/2", "192.0.2.2", []string{"example"}, "tags/robots.txt",
			"tags/meta/bait.html"),
		walk(noon.Add(time.Hour), "", "192.0.2.3", nil, "rules/order/", "rules/order/open.html", "tags/meta/trap.html"))
	got := judged(t, Told{}, all)
	if len(got) != 3 {
		t.Fatalf("%d visitors, want 3", len(got))
	}
	got[2].wants(t, "meta", Untested)
	got[2].wants(t, "robots-first", Violated)
	for i := range all {
		all[i].Run = "1"
	}
	if got = judged(t, Told{}, all); len(got) != 1 || got[0].Agents != 3 {
		t.Fatalf("%d visitors, want 1 with 3 User-Agents", len(got))
	}
	got[0].wants(t, "plain", Violated)
	got[0].wants(t, "order", Kept)
	got[0].wants(t, "meta", Violated)
	got[0].wants(t, "name", Unheeded)
	got[0].wants(t, "acap-named", Untested)
	if got = judged(t, Told{Crawler: []string{"another"}}, all); got[0].Unjudged == "" {
		t.Error("a run of another crawler was judged")
	}
	for i := range all {
		all[i].Names = []string{"rover"}
	}
	if got = judged(t, Told{Crawler: []string{"rover"}}, all); got[0].Unjudged != "" {
		t.Errorf("the run was not judged: %s", got[0].Unjudged)
	}
	got[0].wants(t, "acap-named", Violated)

	two := slices.Clone(all)
	for i := range two {
		two[i].Run = "2"
	}
	if got = judged(t, Told{}, all, two); len(got) != 2 {
		t.Errorf("two runs are %d visitors", len(got))
	}
}

// A station that does not depend on the name gives the same result for a visitor with several
// names.
func TestNamelessExercises(t *testing.T) {
	none := NewWeb(nil, nil, symbolic)
	for _, names := range [][]string{nil, {"samplebot"}} {
		r := newRefusals(readings(none, NewWeb(names, nil, symbolic), nil, nil, false, noon))
		for _, s := range none.stations {
			if s.Needs != "" {
				continue
			}
			for _, at := range slices.Concat(s.Traps, s.Controls) {
				origin, p := s.place(at)
				because, err := r.reason(t.Context(), origin, p)
				if err != nil || (because != "") != slices.Contains(s.Traps, at) {
					t.Errorf("%v: %s is refused by %q, %v", names, at, because, err)
				}
			}
		}
	}
}

// A visitor that never requests robots.txt, and requests pages too fast, violates the delay. If
// another program requested robots.txt for the visitor, the delay is not tested.
func TestDelayUnread(t *testing.T) {
	fast := func(visits []Visit) []Visit {
		for i := range visits {
			visits[i].Time = noon.Add(time.Duration(i) * 10 * time.Millisecond)
		}
		return visits
	}
	pages := []string{"slow/", "slow/crawl-delay/", "slow/crawl-delay/open.html"}
	got := judged(t, Told{}, fast(walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, pages...)))
	got[0].wants(t, "crawl-delay", Unheeded)
	got = judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, pages...))
	got[0].wants(t, "crawl-delay", Kept)
	got = judged(t, Told{}, walk(noon.Add(-time.Minute), "Python-urllib/3.12", "192.0.2.1", []string{"Python-urllib"},
		"slow/robots.txt"),
		fast(walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, pages...)))
	got[1].wants(t, "crawl-delay", Untested)
}

// A visit in two logs counts once.
func TestLogsOverlap(t *testing.T) {
	visits := walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, "slow/robots.txt", "slow/", "slow/crawl-delay/",
		"slow/crawl-delay/open.html")
	got := judged(t, Told{}, visits, visits)
	got[0].wants(t, "crawl-delay", Kept)
	if got[0].Requests != 4 {
		t.Errorf("%d requests, want 4", got[0].Requests)
	}
}

// A crawler that waited thirty days for robots.txt may ignore it. For files that ACAP refers to
// there is no such limit.
func TestThirtyDays(t *testing.T) {
	for days, want := range map[int]Outcome{29: Violated, 31: Kept} {
		for _, station := range [][2]string{{"down", "down"}, {"broken", "broken"}, {"lost", "reference-lost"}} {
			origin, id := station[0], station[1]
			got := judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, origin+"/robots.txt"),
				walk(noon.AddDate(0, 0, days), "samplebot/1.0", "192.0.2.1", samplebot, origin+"/robots.txt",
					origin+"/"+id+"/"))
			if id == "reference-lost" {
				want = Violated
			}
			got[0].wants(t, id, want)
		}
	}
}

// A violation that can be a consequence of not knowing $ is dropped, but only for a visitor that
// reads robots.txt and keeps other rules.
func TestPresumed(t *testing.T) {
	places := []string{"rules/plain/", "rules/plain/open.html", "rules/end/trap.php", "rules/fragment/trap.html"}
	got := judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot,
		append([]string{"rules/robots.txt"}, places...)...))
	got[0].wants(t, "end", Violated)
	got[0].wants(t, "fragment", Untested)
	got = judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, places...))
	got[0].wants(t, "fragment", Violated)
	got = judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, "rules/robots.txt", "rules/plain/",
		"rules/plain/open.html", "rules/fragment/trap.html"))
	got[0].wants(t, "fragment", Violated)
}
