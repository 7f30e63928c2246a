package course

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
)

// rover is a crawler for tests of the judge. It follows links breadth first. It checks redirects as
// well as links against robots.txt.
type rover struct {
	agents []string // User-Agents that the crawler sends in turn
	// returns the part of a robots.txt that the crawler obeys; nil: it never requests robots.txt
	keeps  func(robots []byte) []byte
	passes func(link *url.URL) bool // reports whether the crawler skips a link; may be nil
	robots map[string]*acap.Policy  // policy of each host; nil: nothing may be requested
	client http.Client
	sent   int
}

var errClosed = errors.New("closed by robots.txt")

// get requests an address and follows redirects to addresses that allowed permits.
func (r *rover) get(u *url.URL, allowed func(*url.URL) bool) (status int, body []byte) {
	r.client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) > 5 || !allowed(req.URL) {
			return errClosed
		}
		return nil
	}
	agent := r.agents[r.sent%len(r.agents)]
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"User-Agent": {agent}}}
	r.sent++
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil
	}
	return resp.StatusCode, body
}

// may reports whether robots.txt of the host of u permits u. It requests robots.txt first if
// necessary.
func (r *rover) may(u *url.URL) bool {
	if r.keeps == nil {
		return true
	}
	p, asked := r.robots[u.Host]
	if !asked {
		at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: robotsPath}
		// saved and restored below, because get overwrites CheckRedirect, and the CheckRedirect of
		// a page calls this function
		client := r.client
		status, body := r.get(at, func(*url.URL) bool { return true })
		r.client = client
		switch {
		case status == 0 || status >= 500:
		case status >= 400:
			p = acap.Parse(at.String(), nil).Policy(acap.Crawler{})
		default:
			p = acap.Parse(at.String(), r.keeps(body)).Policy(acap.Crawler{Names: Names(r.agents[0])})
		}
		r.robots[u.Host] = p
	}
	return p != nil && p.Decide(acap.Crawl, acap.NewResource(u)).Allowed
}

func (r *rover) crawl(t *testing.T, seeds []string) {
	t.Helper()
	r.robots = map[string]*acap.Policy{}
	r.client.Timeout = 20 * time.Second
	seen := map[string]bool{}
	for queue := seeds; len(queue) > 0; queue = queue[1:] {
		u, err := url.Parse(queue[0])
		if err != nil {
			t.Fatal(err)
		}
		u.Fragment = ""
		if seen[u.String()] || u.Hostname() != "127.0.0.1" || r.passes != nil && r.passes(u) || !r.may(u) {
			continue
		}
		seen[u.String()] = true
		_, body := r.get(u, r.may)
		root, err := html.Parse(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				if to, err := u.Parse(a.Val); err == nil && (a.Key == "href" || a.Key == "src") {
					queue = append(queue, to.String())
				}
			}
		}
	}
}

// run starts a server for the course, lets the crawler visit it as a crawler that the course
// started, and returns what the judge finds with default options.
func (r *rover) run(t *testing.T) *Visitor {
	t.Helper()
	s, err := Serve(t.Context(), Options{Run: "1"})
	if err != nil {
		t.Fatal(err)
	}
	var seeds []string
	for _, o := range Seeds() {
		seeds = append(seeds, s.URL(o)+"/")
	}
	r.crawl(t, seeds)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := Judge(t.Context(), s.Visits(), Told{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Visitors) != 1 {
		t.Fatalf("%d visitors, want 1: a run is one visitor", len(report.Visitors))
	}
	return report.Visitors[0]
}

// violated returns the IDs of the stations of a protocol that the visitor violated.
func (v *Visitor) violated(p Protocol) (ids []string) {
	for _, r := range v.Results {
		if r.Protocol == p && r.Outcome == Violated {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// rep returns robots.txt without its ACAP lines: what a crawler understands that knows only RFC
// 9309.
func rep(robots []byte) []byte {
	lines := bytes.SplitAfter(robots, []byte("\n"))
	return bytes.Join(slices.DeleteFunc(lines, func(line []byte) bool {
		return bytes.HasPrefix(bytes.ToLower(line), []byte("acap-"))
	}), nil)
}

// oneGroup returns a parser with an error: if robots.txt has several groups for any crawler, it
// uses only the first, or only the last if last is true.
func oneGroup(last bool) func([]byte) []byte {
	return func(robots []byte) []byte {
		var groups []string // each group begins with its first User-agent line
		head := false
		for line := range strings.Lines(string(rep(robots))) {
			starts := strings.HasPrefix(strings.ToLower(line), "user-agent:")
			if len(groups) == 0 || starts && !head {
				groups = append(groups, "")
			}
			if strings.Trim(line, " \t\r\n") != "" {
				head = starts
			}
			groups[len(groups)-1] += line
		}
		kept := -1
		for i, g := range groups {
			if strings.Contains(g, "User-agent: *") && (last || kept < 0) {
				kept = i
			}
		}
		var out strings.Builder
		for i, g := range groups {
			if i == kept || !strings.Contains(g, "User-agent: *") {
				out.WriteString(g)
			}
		}
		return []byte(out.String())
	}
}

var roverbot = []string{"roverbot/1.0"}

// A crawler that obeys RFC 9309 and knows nothing else has no failures, whatever its User-Agent is.
// The judge does not report ACAP violations for it.
func TestCrawlerWithoutACAP(t *testing.T) {
	rotating := []string{"", "Lynx/2.9"}
	for i := range 6 {
		rotating = append(rotating, fmt.Sprintf("sample%cbot/%d", 'a'+i, i),
			fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/%[1]d.0", 120+i))
	}
	for name, agents := range map[string][]string{"one User-Agent": roverbot, "fourteen": rotating} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &rover{agents: agents, keeps: rep}
			got := r.run(t)
			if ids := got.violated(REP); len(ids) > 0 || got.Failures() > 0 {
				t.Errorf("of RFC 9309 it is said to violate %v; %d failures", ids, got.Failures())
			}
			for _, id := range []string{"robots-first", "plain", "again", "shared", "blank-line", "down",
				"redirect-away", "conventional"} {
				got.wants(t, id, Kept)
			}
			for _, id := range []string{"own-group", "own-case", "own-again"} {
				want := Kept
				if len(agents) > 1 {
					want = Untested
				}
				got.wants(t, id, want)
			}
			for _, res := range got.Results {
				if res.Protocol == ACAP && (res.Outcome != NotJudged || len(res.Evidence) > 0) {
					t.Errorf("%s is %s", res.ID, res.Outcome)
				}
			}
			if a := got.ACAP; a.Judged || a.Sign != "" || a.Prohibited < 30 {
				t.Errorf("ACAP: %+v", a)
			}
			if len(got.violated(Tags)) == 0 {
				t.Error("it reads no META tags, and is not said so")
			}
			if len(agents) > 1 && got.Agents != len(agents) {
				t.Errorf("it came under %d User-Agents, want %d", got.Agents, len(agents))
			}
		})
	}
}

// A crawler with a parser that uses only one of several groups for any crawler fails only at the
// station for that error.
func TestOneGroup(t *testing.T) {
	for _, last := range []bool{false, true} {
		t.Run(fmt.Sprintf("last %v", last), func(t *testing.T) {
			t.Parallel()
			r := &rover{agents: roverbot, keeps: oneGroup(last)}
			got := r.run(t)
			if ids := got.violated(REP); !slices.Equal(ids, []string{"again"}) {
				t.Errorf("it is said to violate %v, want again alone", ids)
			}
		})
	}
}

// A crawler that ignores robots.txt violates RFC 9309. It shows no sign of reading ACAP, although
// it makes requests that ACAP permits against a conventional rule.
func TestCrawlerWithoutRobots(t *testing.T) {
	r := &rover{agents: roverbot}
	got := r.run(t)
	for _, id := range []string{"robots-first", "plain", "again", "shared", "unknown", "blank-line", "own-group",
		"down", "redirect", "conventional"} {
		got.wants(t, id, Violated)
	}
	if got.ACAP.Sign != "" || got.ACAP.Judged || got.Failures() != got.Violations(REP) {
		t.Errorf("ACAP: %+v, %d failures", got.ACAP, got.Failures())
	}
}

// A crawler that obeys ACAP in robots.txt and nowhere else is judged by the ACAP requirements,
// because it shows signs of reading ACAP.
func TestCrawlerWithSomeACAP(t *testing.T) {
	r := &rover{agents: roverbot, keeps: func(robots []byte) []byte { return robots }}
	got := r.run(t)
	if !got.ACAP.Judged || got.ACAP.Sign == "" || !slices.Contains(got.Counted, ACAP) {
		t.Fatalf("ACAP: %+v", got.ACAP)
	}
	got.wants(t, "acap-any", Kept)
	got.wants(t, "acap-again", Kept)
	got.wants(t, "acap-meta", Violated)
	got.wants(t, "acap-class", Violated)
}

// A crawler may obey only the ACAP record with its own name and ignore the records for any crawler,
// as RFC 9309 does with groups. It fails only at the station of the category crawl that tests this.
func TestNamedRecordInstead(t *testing.T) {
	r := &rover{agents: roverbot, keeps: func(robots []byte) []byte {
		records := strings.SplitAfter(string(robots), "\n\n")
		if !strings.Contains(string(robots), "ACAP-crawler: roverbot") {
			return robots
		}
		return []byte(strings.Join(slices.DeleteFunc(records, func(record string) bool {
			return strings.Contains(record, "ACAP-crawler: *")
		}), ""))
	}}
	var ids []string
	for _, res := range r.run(t).Results {
		if res.Category == catCrawl && res.Outcome == Violated {
			ids = append(ids, res.ID)
		}
	}
	if !slices.Equal(ids, []string{"acap-merged"}) {
		t.Errorf("it is said to violate %v, want acap-merged alone", ids)
	}
}

// A crawler that follows links at random leaves some ACAP traps. That is not a sign of reading
// ACAP.
func TestChanceIsNoSign(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dice := rand.New(rand.NewPCG(seed, 0))
			r := &rover{agents: roverbot, keeps: rep, passes: func(u *url.URL) bool {
				return strings.HasSuffix(u.Path, ".html") && dice.IntN(2) == 0
			}}
			if got := r.run(t); got.ACAP.Sign != "" {
				t.Errorf("it is said to read ACAP: %s", got.ACAP.Sign)
			}
		})
	}
}

// If a crawler fetches robots.txt, and then a file that only an ACAP field of this robots.txt
// names, that is a sign that the crawler reads ACAP. No other line of the course names these files.
func TestFilesOfACAP(t *testing.T) {
	for _, f := range acapFiles() {
		file := f.origin + f.path
		for _, tc := range []struct {
			places []string
			sign   bool
		}{
			{[]string{f.named + "/robots.txt", file}, true},
			{[]string{file, f.named + "/robots.txt"}, false},
			{[]string{f.named + "/robots.txt", "HEAD " + file}, false},
			{[]string{file}, false},
		} {
			r, err := Judge(t.Context(), walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, tc.places...), Told{})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Visitors[0].ACAP.Sign; (got != "") != tc.sign {
				t.Errorf("%v: the sign is %q", tc.places, got)
			}
		}
		w := NewWeb(nil, nil, symbolic)
		for origin, answers := range w.answers {
			for at, a := range answers {
				link := symbolic(f.origin) + f.path
				names := bytes.Contains(a.Body, []byte(link)) || origin == f.origin &&
					bytes.Contains(rep(a.Body), []byte(f.path))
				if at != robotsPath && names {
					t.Errorf("%s%s names %s", origin, at, file)
				}
			}
		}
		if a := w.Answer(f.named, robotsPath); bytes.Contains(rep(a.Body), []byte(f.path)) {
			t.Errorf("a line of %s/robots.txt that is not of ACAP names %s", f.named, file)
		}
	}
}
