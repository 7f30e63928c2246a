package present

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // bleve starts background goroutines when it is loaded
}

const site = "http://quay.example"

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// store is a test data directory with pages and the current robots.txt.
type store struct {
	testing.TB
	*Presenter
	archive *archive.Archive
	index   *index.Index
	mu      sync.Mutex
	policy  *acap.Policy // nil: robots.txt was never read
	asked   int
	writes  atomic.Int64 // number of write transactions
}

func (s *store) Policy(context.Context, *url.URL) (*acap.Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.policy == nil {
		return nil, errors.New("the policy was never read")
	}
	return s.policy, nil
}

// Fetch returns the page /cover with the title Cover, and an error for all other addresses.
func (s *store) Fetch(_ context.Context, rawurl string) (*page.Page, error) {
	hop := page.Hop{URL: rawurl, Method: "GET", Status: 404, Header: http.Header{"Content-Type": {"text/html"}},
		Start: noon}
	if rawurl == site+"/cover" {
		hop.Status, hop.Body = 200, []byte("<title>Cover</title><p>A cover.")
	}
	return page.New([]page.Hop{hop}), nil
}

func (s *store) setRobots(robots string) {
	s.policy = acap.Parse(site+"/robots.txt", []byte("ACAP-version: 1.1\nACAP-crawler: *\n"+robots+
		"\n")).Policy(acap.Crawler{Names: []string{"gazer"}})
}

func open(t testing.TB) *store {
	t.Helper()
	dir, s := t.TempDir(), &store{TB: t}
	a, err := archive.Open(dir, archive.Options{Fault: func(step archive.Step) error {
		if step == archive.Commit {
			s.writes.Add(1)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		problems, err := a.Verify(context.Background(), archive.VerifyOptions{})
		if err := errors.Join(err, a.Close()); err != nil || len(problems) > 0 {
			t.Errorf("verify: %v, %v", problems, err)
		}
	})
	ix, err := index.Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ix.Close() })
	s.setRobots("")
	s.archive, s.index, s.Presenter = a, ix, New(Stored(a, ix), s)
	s.now = func() time.Time { return noon }
	return s
}

// hold stores those parts of a page that the current policy permits to store.
func (s *store) hold(path, body string) {
	s.Helper()
	u, _ := url.Parse(site + path)
	h := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	pg := page.New([]page.Hop{{URL: u.String(), Method: "GET", Status: 200, Header: h, Body: []byte(body),
		Start: noon}})
	t := terms.Of(context.Background(), s.policy, u, pg, terms.Sources{Policies: s, Fetcher: s}, acap.Facts{Now: noon})
	content, indexed := t.Text()
	copied, cut, kept := t.Copy(acap.Preserve)
	k := t.Keep(kept, content)
	d := archive.Deposit{Resource: archive.Resource{URL: u.String(), Status: 200, MIME: pg.MIME(),
		Language: pg.Language(), Own: pg.Own(), Kept: k},
		Fetched: noon, Header: h, Index: indexed, Cut: cut}
	if kept {
		d.Body = copied
	}
	if _, err := s.archive.Receive(context.Background(), d); err != nil {
		s.Fatal(err)
	}
	if indexed {
		if err := s.index.Put(index.Document{URL: u.String(), Title: content.Title, Text: content.Text,
			Language: pg.Language(), Analysis: pg.LikelyLanguage(), Host: u.Host, Fetched: noon,
			Positions: kept}); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *store) search(query string, who Reader) []Result {
	s.Helper()
	found, err := s.Search(context.Background(), Query{Text: query, Limit: 10}, who)
	if err != nil {
		s.Fatal(err)
	}
	return found.Results
}

// seen formats search results as a reader sees them: the address (in brackets if it is a link), the
// title, the snippet, and required texts next to it.
func seen(results []Result) string {
	var out []string
	for _, r := range results {
		s := strings.TrimPrefix(r.URL, site)
		if r.Link {
			s = "[" + s + "]"
		}
		if r.Href != "" {
			s += "->" + r.Href
		}
		if r.Title != "" {
			s += " " + r.Title
		}
		include := r.Include
		if r.Snippet != nil {
			s += ": " + r.Snippet.Text
			include = append(include, r.Snippet.Include...)
		}
		for _, in := range include {
			s += " (" + strings.TrimSpace(in.Role+" "+in.Text+" "+in.Href) + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

const article = `<title>Low water</title><p>The pilot waits for the tide.<p id="by">Words by Ada Quill.`

func TestSearch(t *testing.T) {
	whole := "The pilot waits for the tide. Words by Ada Quill."
	for _, c := range []struct {
		name, then, now, body string
		who                   Reader
		want                  string // expected results; "": none
	}{
		{name: "all", want: "[/a] Low water: " + whole},
		{name: "what stands on every page is passed over",
			body: `<nav>Home Quays</nav><h1>Pictures of the quay</h1><p>The pilot waits.<footer>Imprint</footer>`,
			want: "[/a] Pictures of the quay: The pilot waits."},
		{name: "and so is a heading that repeats the title",
			body: `<title>The pilot – Quay</title><h1>The pilot</h1><p>A pilot waits.<h2>Tides</h2><p>None.`,
			want: "[/a] The pilot – Quay: A pilot waits. Tides… None."},
		{name: "unless the word stands in it alone",
			body: `<title>The pilot – Quay</title><h1>The pilot</h1><p>She waits.`,
			want: "[/a] The pilot – Quay: The pilot… She waits."},
		{name: "unless the word stands there alone",
			body: `<title>Quay</title><nav>Home Pilots pilot</nav><p>The tide waits.`,
			want: "[/a] Quay: Home Pilots pilot… The tide waits."},
		{name: "a credit from the page",
			now:  "ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:id:by",
			want: "[/a] Low water: " + whole + " (credit Words by Ada Quill.)"},
		{name: "a credit that is missing (J12)",
			now: "ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:id:nope", want: "[/a] Low water"},
		{name: "a credit that is missing, for all forms",
			now: "ACAP-allow-present: / must-include-resource=the-acap:credit:id:nope"},
		{name: "a credit for all forms, no snippet",
			now:  "ACAP-allow-present: / must-include-resource=the-acap:credit:id:by\nACAP-disallow-present-snippet: /",
			want: "[/a] Low water (credit Words by Ada Quill.)"},
		{name: "a credit for all forms, no copy",
			then: "ACAP-disallow-preserve: /\nACAP-allow-present: / must-include-resource=the-acap:credit:id:by",
			now:  "ACAP-allow-present: / must-include-resource=the-acap:credit:id:by", want: "[/a] Low water: " +
				whole +
				" (credit Words by Ada Quill.)"},
		{name: "a credit that is asked for only now, no copy", then: "ACAP-disallow-preserve: /",
			now: "ACAP-allow-present: / must-include-resource=the-acap:credit:id:by"},
		{name: "no snippet", now: "ACAP-disallow-present-snippet: /", want: "[/a] Low water"},
		{name: "no link (X61)", now: "ACAP-disallow-present-link: /", want: "/a Low water: " + whole},
		{name: "nothing may be shown (F25)", now: "ACAP-disallow-present: /"},
		{name: "a link of a text", now: "ACAP-allow-present-link: / must-use-resource=the-acap:text:Pilot%20book",
			want: "[/a] Pilot book: " + whole},
		{name: "a link of a part", now: "ACAP-allow-present-link: / must-use-resource=the-acap:extract:id:by",
			want: "[/a] Words by Ada Quill.: " + whole},
		{name: "a link of a part that is missing",
			now: "ACAP-allow-present-link: / must-use-resource=the-acap:extract:id:nope", want: "/a Low water: " +
				whole},
		{name: "a link of another page that is not at hand", now: "ACAP-allow-present-link: / must-use-resource=/book",
			want: "/a Low water: " + whole},
		{name: "a link of another page", then: "ACAP-allow-present-link: / must-use-resource=/cover",
			now:  "ACAP-allow-present-link: / must-use-resource=/cover",
			want: "[/a]->" + site + "/cover Cover: " + whole},
		{name: "all of another page", then: "ACAP-allow-present: / must-use-resource=/cover",
			now:  "ACAP-allow-present: / must-use-resource=/cover",
			want: "[/a]->" + site + "/cover Cover: Cover A cover."},
		{name: "a link of a text alone",
			now:  "ACAP-disallow-present: /\nACAP-allow-present-link: / must-use-resource=the-acap:text:Pilot%20book",
			want: "[/a] Pilot book"},
		{name: "a bare link (rule 10)", now: "ACAP-disallow-present: /\nACAP-allow-present-link: /", want: "[/a]"},
		{name: "snippet alone (F17)", now: "ACAP-disallow-present: /\nACAP-allow-present-snippet: / max-length=2-words",
			want: "/a Low water: The pilot…"},
		{name: "no copy, a snippet", then: "ACAP-disallow-preserve: /", want: "[/a] Low water: " + whole},
		{name: "no copy, a shorter snippet now", then: "ACAP-disallow-preserve: /",
			now: "ACAP-allow-present-snippet: / max-length=2-words", want: "[/a] Low water: The pilot…"},
		{name: "index prohibited now", now: "ACAP-disallow-index: /"},
		{name: "index of a part alone now", now: "ACAP-allow-index: / must-use-resource=the-acap:extract:id:by"},
		{name: "index by a text", then: "ACAP-allow-index: / must-use-resource=the-acap:text:pilot%20tables",
			now:  "ACAP-allow-index: / must-use-resource=the-acap:text:pilot%20tables",
			want: "[/a] Low water: " + whole},
		{name: "index prohibited, but of a part (N05)", then: "ACAP-disallow-index: /", now: "ACAP-disallow-index: /",
			body: `<p class="the-acap:allow-index">A pilot`,
			want: "[/a]: A pilot"},
		{name: "index of the whole then, of a part now", now: "ACAP-disallow-index: /",
			body: `<p class="the-acap:allow-index">A pilot`},
		{name: "the page's own word", body: `<meta name="robots" content="nosnippet"><title>T</title>pilot`,
			want: "[/a] T"},
		{name: "taken down, not yet erased", now: "ACAP-request-take-down: /a"},
		{name: "a country", now: "ACAP-allow-present: / target-condition=permittedcountrylist:BE",
			who: Reader{Target: acap.Target{Country: "BE"}}, want: "[/a] Low water: " + whole},
		{name: "another country", now: "ACAP-allow-present: / target-condition=permittedcountrylist:BE",
			who: Reader{Target: acap.Target{Country: "FR"}}},
		{name: "no country (K15)", now: "ACAP-allow-present: / target-condition=permittedcountrylist:BE"},
		{name: "an address", now: "ACAP-allow-present: / target-condition=ipaddressrangelist:192.0.2.1-192.0.2.9",
			who: Reader{Target: acap.Target{IP: netip.MustParseAddr("192.0.2.5")}}, want: "[/a] Low water: " + whole},
		{name: "in time", now: "ACAP-allow-present: / time-limit=3-days", who: Reader{AsOf: noon.AddDate(0, 0, 2)},
			want: "[/a] Low water: " + whole},
		{name: "too late", now: "ACAP-allow-present: / time-limit=3-days", who: Reader{AsOf: noon.AddDate(0, 0, 3)}},
		{name: "the index entry has ended", now: "ACAP-allow-index: / time-limit=until-2026-01-06",
			who: Reader{AsOf: noon.AddDate(0, 0, 2)}},
		{name: "the snippet has ended", now: "ACAP-allow-present-snippet: / time-limit=1-days",
			who: Reader{AsOf: noon.AddDate(0, 0, 2)}, want: "[/a] Low water"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			s.setRobots(c.then)
			if c.body == "" {
				c.body = article
			}
			s.hold("/a", c.body)
			s.setRobots(c.now)
			if got := seen(s.search("pilot", c.who)); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("no policy", func(t *testing.T) {
		s := open(t)
		s.hold("/a", article)
		s.policy = nil
		if got := s.search("pilot", Reader{}); got != nil {
			t.Error(seen(got))
		}
	})
	t.Run("the index does not know yet", func(t *testing.T) {
		s := open(t)
		s.hold("/a", article)
		if _, err := s.archive.Erase(context.Background(),
			archive.Tombstone{URL: site + "/a", Why: "asked"}); err != nil {
			t.Fatal(err)
		}
		if got := s.search("pilot", Reader{}); got != nil {
			t.Error(seen(got))
		}
	})
}

// TestSearchPages checks that pages of results are full although hidden pages are skipped. It also
// checks that only results that are shown are recorded as presented.
func TestSearchPages(t *testing.T) {
	s := open(t)
	for i := range 150 {
		s.hold(fmt.Sprintf("/%03d", i), fmt.Sprintf("<p>pilot %d", 1000+i))
	}
	s.setRobots("ACAP-disallow-present: /\nACAP-allow-present: /*9$\nACAP-disallow-present: /00")
	var got []string
	for skip := 0; ; skip += 4 {
		found, err := s.Search(context.Background(), Query{Text: "pilot", Skip: skip, Limit: 4}, Reader{})
		if err != nil {
			t.Fatal(err)
		}
		if found.Count != 14 || found.More {
			t.Errorf("%d, %v", found.Count, found.More)
		}
		page := found.Results
		for _, r := range page {
			got = append(got, strings.TrimPrefix(r.URL, site))
		}
		if skip == 0 {
			if r, _, _ := s.archive.Resource(site + "/149"); !r.FirstPresented.IsZero() {
				t.Error("a page counts as shown that was not")
			}
		}
		if len(page) < 4 {
			break
		}
	}
	want := "/019 /029 /039 /049 /059 /069 /079 /089 /099 /109 /119 /129 /139 /149"
	if strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
	s.asked = 0
	if found, err := s.Search(context.Background(), Query{Text: "pilot"}, Reader{}); len(found.Results) != 0 ||
		err != nil || s.asked != 0 {
		t.Errorf("no results asked for: %+v, %v", found, err)
	}
	if _, err := s.Search(context.Background(), Query{Text: `"`, Limit: 1}, Reader{}); !errors.Is(err, index.ErrQuery) {
		t.Error("a query that is none:", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Search(ctx, Query{Text: "pilot", Limit: 1}, Reader{}); !errors.Is(err, context.Canceled) {
		t.Error("cancelled:", err)
	}
}

// TestFirstPresented checks that the first presentation of a page is recorded once, by whichever
// method the page is presented. The recorded time must be the time of the clock, not Reader.AsOf
// (H04).
func TestFirstPresented(t *testing.T) {
	s := open(t)
	s.hold("/a", article)
	var mu sync.Mutex
	var given []time.Time
	s.now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		given = append(given, noon.Add(time.Duration(len(given))*time.Hour))
		return given[len(given)-1]
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.Search(context.Background(), Query{Text: "pilot", Limit: 1},
				Reader{AsOf: noon.AddDate(1, 0, 0)}); err != nil {
				t.Error(err)
			}
			if _, err := s.Copy(context.Background(), site+"/a", Which{},
				Reader{AsOf: noon.AddDate(1, 0, 0)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	first, _, _ := s.archive.Resource(site + "/a")
	s.search("pilot", Reader{})
	again, _, _ := s.archive.Resource(site + "/a")
	if first.FirstPresented.IsZero() || first.FirstPresented.Year() != 2026 ||
		again.FirstPresented != first.FirstPresented {
		t.Errorf("%v, then %v", first.FirstPresented, again.FirstPresented)
	}
}

// TestFirstPresentedTogether checks that one page of results causes one write, or none if all its
// results were presented before. If a page was erased during the search, no presentation of that
// page is recorded.
func TestFirstPresentedTogether(t *testing.T) {
	s := open(t)
	for i := range 10 {
		s.hold(fmt.Sprint("/", i), fmt.Sprintf("<p>The pilot of boat %d.", i))
	}
	for _, want := range []int64{1, 0} {
		before := s.writes.Load()
		if got := s.search("pilot", Reader{}); len(got) != 10 {
			t.Errorf("%d results", len(got))
		}
		if n := s.writes.Load() - before; n != want {
			t.Errorf("%d writes, not %d", n, want)
		}
	}
	for i := range 10 {
		if r, _, err := s.archive.Resource(fmt.Sprint(site, "/", i)); !r.FirstPresented.Equal(noon) || err != nil {
			t.Errorf("%d: %v, %v", i, r.FirstPresented, err)
		}
	}
	if err := s.shown(context.Background(), site+"/never"); err != nil {
		t.Error(err)
	}
	if _, known, err := s.archive.Resource(site + "/never"); known || err != nil {
		t.Error("it is known", err)
	}
}

func TestCopy(t *testing.T) {
	for _, c := range []struct {
		name, now, old, body string // old is the body of an earlier version; "" for none
		which                Which
		who                  Reader
		// the expected body; "!" and the reason of the refusal; or only "!" if nothing is stored
		want string
		line int // the line of robots.txt that decides; 0: any line
	}{
		{name: "the current one", old: "<p>old", want: article},
		{name: "version 1", old: "<p>old", which: Which{Version: 1}, want: "<p>old"},
		{name: "version 3", old: "<p>old", which: Which{Version: 3}, want: "!"},
		{name: "at a time", old: "<p>old", which: Which{At: noon.Add(time.Hour)}, want: article},
		{name: "before there was one", which: Which{At: noon.Add(-time.Hour)}, want: "!"},
		{name: "no copies", now: "ACAP-disallow-present-currentcopy: /", want: "!prohibition"},
		{name: "no current copies, old ones", now: "ACAP-disallow-present-currentcopy: /", old: "<p>old",
			which: Which{Version: 1}, want: "<p>old"},
		{name: "no old copies", now: "ACAP-disallow-present-oldcopy: /", old: "<p>old", which: Which{Version: 1},
			want: "!prohibition"},
		{name: "an old one that was to go when crawled again", now: "ACAP-allow-preserve: / time-limit=until-recrawled",
			old: "<p>old", which: Which{Version: 1}, want: "!expired"},
		{name: "preserve prohibited now", now: "ACAP-disallow-preserve: /", want: "!prohibition"},
		{name: "present prohibited now", now: "ACAP-disallow-present: /", want: "!prohibition"},
		{name: "the time has passed", now: "ACAP-allow-present: / time-limit=2-days",
			who: Reader{AsOf: noon.AddDate(0, 0, 5)}, want: "!expired"},
		{name: "another country", now: "ACAP-allow-present: / target-condition=prohibitedcountrylist:FR",
			who: Reader{Target: acap.Target{Country: "FR"}}, want: "!target"},
		{name: "in a frame only",
			now:  "ACAP-allow-present-currentcopy: /\nACAP-allow-present: / required-context=within-user-frame",
			want: "!unfulfillable", line: 4},
		{name: "a credit that is missing", now: "ACAP-allow-present: / must-include-resource=the-acap:credit:id:nope",
			want: "!unfulfillable"},
		{name: "a credit that is a text", now: "ACAP-allow-present: / must-include-resource=the-acap:credit:text:Quay",
			want: article},
		{name: "a credit in the page", now: "ACAP-allow-present: / must-include-resource=the-acap:credit:id:by",
			want: article},
		{name: "noarchive (N24)", body: `<meta name="robots" content="noarchive">x`, want: "!meta"},
		{name: "a part cut out", body: `<p>Open <b class="the-acap:disallow-present">shut</b> quay.`,
			want: "<p>Open  quay."},
		{name: "a part that may not be left out either",
			now:  "ACAP-allow-present-currentcopy: / prohibited-modification=content",
			body: `<p>Open <b class="the-acap:disallow-present-currentcopy">shut</b> quay.`, want: "!prohibition"},
		{name: "a part of an old version (N28)", old: `<p>Open <b class="the-acap:disallow-present">shut</b> quay.`,
			which: Which{Version: 1}, want: "<p>Open  quay."},
		{name: "a part not kept", body: `<p>Open <b class="the-acap:disallow-preserve">shut</b> quay.`,
			want: "<p>Open  quay."},
		{name: "a part not kept, of what may not be changed",
			now:  "ACAP-allow-present-currentcopy: /\nACAP-allow-present: / prohibited-modification=structure",
			body: `<p>Open <b class="the-acap:disallow-preserve">shut</b> quay.`, want: "!prohibition", line: 4},
		{name: "a part not kept, of what may not be translated",
			now:  "ACAP-allow-present: / prohibited-modification=translation",
			body: `<p>Open <b class="the-acap:disallow-preserve">shut</b> quay.`, want: "<p>Open  quay."},
		{name: "taken down, not yet erased", now: "ACAP-request-take-down: /a", want: "!prohibition"},
		{name: "framed", now: "ACAP-allow-present-currentcopy: / required-context=within-user-frame",
			who: Reader{Framed: true}, want: article},
		{name: "in no frame",
			now: "ACAP-allow-present-currentcopy: /\nACAP-allow-present: / prohibited-context=within-user-frame",
			who: Reader{Framed: true}, want: "!prohibition", line: 4},
		{name: "as at home, a whole page", now: "ACAP-allow-present: / required-context=within-original-frame",
			want: article},
		{name: "as at home, a page in part", now: "ACAP-allow-present: / required-context=within-original-frame",
			body: `<p>Open <b class="the-acap:disallow-present">shut</b> quay.`, want: "!unfulfillable"},
		{name: "as at home, framed", now: "ACAP-allow-present: / required-context=within-original-frame",
			who: Reader{Framed: true}, want: "!unfulfillable"},
		{name: "what the last fetch says binds old versions (H11)", old: "<p>old",
			body: `<meta name="robots" content="ACAP disallow-present">x`, which: Which{Version: 1},
			want: "!prohibition"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			if c.old != "" {
				s.hold("/a", c.old)
			}
			if c.body == "" {
				c.body = article
			}
			s.hold("/a", c.body)
			s.setRobots(c.now)
			got, err := s.Copy(context.Background(), site+"/a", c.which, c.who)
			var refused *acap.Refused
			text := string(got.Body)
			switch {
			case errors.As(err, &refused):
				text = "!" + string(refused.Decision.Reason)
				if by := refused.Decision.Because; c.line != 0 && (by == nil || by.Line != c.line) {
					t.Errorf("not by line %d: %v", c.line, err)
				}
			case errors.Is(err, ErrNotHeld):
				text = "!"
			case err != nil:
				t.Fatal(err)
			}
			if text != c.want {
				t.Errorf("%q, want %q", text, c.want)
			}
			s.compareVersions("/a", c.who)
			if r, _, _ := s.archive.Resource(site + "/a"); r.FirstPresented.IsZero() != (err != nil) {
				t.Errorf("first presented %v, %v", r.FirstPresented, err)
			}
		})
	}
}

func TestCopyOfWhatIsGone(t *testing.T) {
	s := open(t)
	if _, err := s.Copy(context.Background(), site+"/a", Which{}, Reader{}); !errors.Is(err, ErrNotHeld) {
		t.Error("never held:", err)
	}
	s.hold("/a", "<p>one")
	s.hold("/a", "<p>two")
	d := archive.Deposit{Resource: archive.Resource{URL: site + "/a", Status: 404}, Fetched: noon}
	if _, err := s.archive.Receive(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	got, err := s.Copy(context.Background(), site+"/a", Which{}, Reader{})
	if err != nil || got.Current || got.Version != 2 || string(got.Body) != "<p>two" {
		t.Errorf("%+v, %v", got, err)
	}
	s.policy = nil
	var refused *acap.Refused
	if _, err = s.Copy(context.Background(), site+"/a", Which{}, Reader{}); !errors.As(err, &refused) ||
		refused.Decision.Reason != acap.Unavailable {
		t.Error("without a policy:", err)
	}
}

// TestCopyByAlias checks that a copy requested at a URL that redirects to another page is shown
// under the requested URL (X66).
func TestCopyByAlias(t *testing.T) {
	s := open(t)
	d := archive.Deposit{Resource: archive.Resource{URL: site + "/b", Status: 200}, Fetched: noon, Body: []byte("b"),
		Aliases: []string{site + "/a"},
		Header:  http.Header{"Content-Type": {"text/plain"}}}
	if _, err := s.archive.Receive(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	got, err := s.Copy(context.Background(), site+"/a", Which{}, Reader{})
	if err != nil || got.URL != site+"/b" || string(got.Body) != "b" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDecide(t *testing.T) {
	s := open(t)
	if _, err := s.Decide(context.Background(), site+"/a", Reader{}, acap.Index); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	s.hold("/a", article)
	s.setRobots("ACAP-disallow-present-link: /")
	d, err := s.Decide(context.Background(), site+"/a", Reader{}, acap.PresentLink, acap.PresentSnippet)
	if err != nil || len(d) != 2 || d[0].Allowed || !d[1].Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	// the following policies contain rules for /old, which redirects to the page
	s.setRobots("ACAP-disallow-present: /old\nACAP-allow-present-snippet: /old")
	s.receive(archive.Deposit{Resource: archive.Resource{URL: site + "/a"}, Body: []byte("a"),
		Aliases: []string{site + "/old"}})
	d, err = s.Decide(context.Background(), site+"/old", Reader{}, acap.PresentLink, acap.PresentSnippet)
	if err != nil || len(d) != 2 || d[0].Allowed || !d[1].Allowed {
		t.Errorf("of what led to it: %+v, %v", d, err)
	}
}
