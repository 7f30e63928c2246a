package holdings

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
)

// scripted returns a page with the document that scripts made of it from the resources at the addresses made.
func scripted(sent, document string, made ...string) *page.Page {
	hops := slices.Clone(pageOf(sent, a).Hops())
	hops[0].Rendered, hops[0].Made = []byte(document), made
	return page.New(hops)
}

const (
	unscripted      = `<title>x</title><div id=app></div><script src=/app.js></script>`
	scriptedArticle = `<html><head><title>Low water</title></head>` +
		`<body><p>The pilot waits. <a href="/b">more</a></p></body></html>`
	scriptedPart = `<html><head></head><body><p>The pilot waits.</p>` +
		`<p class="the-acap:disallow-preserve">A gull.</p></body></html>`
)

// TestReceiveScripted checks what is stored of pages that scripts made.
func TestReceiveScripted(t *testing.T) {
	for _, c := range []struct {
		name, robots, sent, document string
		refused                      string
		copies                       []string
		rendered                     string // of the copy; "-": none
		pilot, gull                  bool
		links                        int
	}{
		{name: "both documents", sent: unscripted, document: scriptedArticle, copies: []string{unscripted},
			rendered: scriptedArticle, pilot: true, links: 1},
		{name: "a part of the document is cut", sent: unscripted, document: scriptedPart, copies: []string{unscripted},
			rendered: "<html><head></head><body><p>The pilot waits.</p></body></html>", pilot: true, gull: true},
		{name: "a part of the page as sent is cut, and scripts have removed it",
			sent: `<p>x<b class="the-acap:disallow-preserve">A gull.</b>`, document: scriptedArticle,
			copies: []string{"<p>x"}, rendered: scriptedArticle, pilot: true, links: 1},
		{name: "scripts have moved a prohibited part",
			document: `<html><head></head><body><p>The pilot. A gull.</p></body></html>`,
			sent:     `<p>x<b class="the-acap:disallow-index the-acap:disallow-preserve">A gull.</b>`,
			refused:  "preserve index", rendered: "-"},
		{name: "scripts prohibit a part of the page as sent", sent: `<p>The pilot.<b>A gull.</b>`,
			document: `<html><head></head><body><p>The pilot.` +
				`<b class="the-acap:disallow-preserve">A gull.</b></p></body></html>`,
			refused: "preserve", rendered: "-", pilot: true, gull: true},
		{name: "META in the document", sent: unscripted,
			document: `<head><meta name="robots" content="noindex, nofollow"></head>` + scriptedArticle,
			copies:   []string{unscripted},
			rendered: `<head><meta name="robots" content="noindex, nofollow"></head>` + scriptedArticle,
			refused:  "follow index"},
		{name: "META that scripts removed", sent: `<meta name="robots" content="noindex">` + unscripted,
			document: scriptedArticle, copies: []string{`<meta name="robots" content="noindex">` + unscripted},
			rendered: scriptedArticle, refused: "index", links: 1},
		{name: "the document prohibits its own crawl", sent: unscripted,
			document: `<head><meta name="robots" content="ACAP disallow-crawl"></head>` + scriptedArticle,
			refused:  "follow preserve index", rendered: "-"},
		{name: "no preserve", robots: "ACAP-disallow-preserve: /", sent: unscripted, document: scriptedArticle,
			refused: "preserve", rendered: "-", pilot: true, links: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(c.robots), Options{})
			r := s.receive(scripted(c.sent, c.document))
			if len(r.Links) != c.links || refused(r) != c.refused {
				t.Errorf("links %q, refused %q", r.Links, refused(r))
			}
			if got := s.copies(a); !slices.Equal(got, c.copies) {
				t.Errorf("copies %q", got)
			}
			if got := s.drawn()[a]; got != c.rendered && (got != "" || c.rendered != "-") {
				t.Errorf("rendered %q", got)
			}
			if (s.found("pilot") != "") != c.pilot || (s.found("gull") != "") != c.gull {
				t.Errorf("found: %q, %q", s.found("pilot"), s.found("gull"))
			}
		})
	}
}

// TestSweepScripted checks pages that scripts made when the policy changes: what the page as sent or its document
// prohibits counts, and what is shown without a copy is made of the document.
func TestSweepScripted(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	s.receive(scripted(unscripted, scriptedArticle, site+"/data.json"))
	if again := s.receive(scripted(unscripted, scriptedArticle, site+"/data.json")); !again.Unchanged {
		t.Error("the same documents are not the same copy")
	}
	if again := s.receive(scripted(unscripted, scriptedArticle+" ", site+"/data.json")); again.Unchanged ||
		len(s.copies(a)) != 2 {
		t.Errorf("another document is the same copy: %q", s.copies(a))
	}
	w.says("ACAP-disallow-preserve: /a")
	s.sweep(SweepOptions{})
	if len(s.copies(a)) != 0 || s.found("pilot") == "" {
		t.Errorf("%q, found %q", s.copies(a), s.found("pilot"))
	}
	if of := s.resource(a).Kept.Sources(); !slices.Equal(of, []string{site + "/data.json"}) {
		t.Errorf("sources %q", of)
	}
	w.says("ACAP-disallow-index: /a\nACAP-disallow-preserve: /a")
	s.sweep(SweepOptions{})
	if s.found("pilot") != "" {
		t.Error("still found")
	}
}

// TestTakeDownScripted checks that a page is erased if something is taken down from which scripts made it, by a
// take-down and by a sweep, or if its publisher restricts what its text may be used for, and that it is crawled again.
// The tombstone names the resource and the line. If such a resource is only gone, the page stays.
func TestTakeDownScripted(t *testing.T) {
	const data = site + "/data.json"
	const header = data + ": header X-Robots-Tag"
	noarchive := pageWith(http.Header{"X-Robots-Tag": {"noarchive"}}, 200, `{"a": 1}`, data)
	for _, c := range []struct {
		name string
		says string // new line of the policy, after which a sweep runs
		act  func(*store)
		line string // of the tombstone; empty: the page stays
	}{
		{name: "erase", line: "line", act: func(s *store) {
			if _, err := s.Erase(t.Context(), data, takenDown, "line"); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "sweep", says: "ACAP-request-take-down: /data.json"},
		{name: "prohibited", says: "ACAP-disallow-index: /data.json"},
		{name: "no snippets", says: "ACAP-disallow-present-snippet: /data.json"},
		{name: "short snippets", says: "ACAP-allow-present-snippet: /data.json max-length=5-words"},
		{name: "a time limit", says: "ACAP-allow-index: /data.json time-limit=9-days"},
		{name: "another resource", act: func(s *store) {
			s.web.says("ACAP-disallow-index: /other.json")
			s.sweep(SweepOptions{})
		}},
		{name: "a new header", line: header, act: func(s *store) { s.receive(noarchive) }},
		{name: "the header of the record", line: header, act: func(s *store) {
			s.receive(noarchive)
			s.receive(scripted(unscripted, scriptedArticle, data))
			s.sweep(SweepOptions{})
		}},
		{name: "gone", act: func(s *store) { s.receive(answer(404, data)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeb("")
			var again []string
			s := open(t, t.TempDir(), w, Options{Again: func(page string) { again = append(again, page) }})
			s.receive(pageOf("{}", data))
			s.receive(scripted(unscripted, scriptedArticle, data))
			if c.says != "" {
				w.says(c.says)
				_, err := s.Sweep(t.Context(), SweepOptions{}, func(x Swept) {
					if x.URL == a && x.TakenDown { // the ledger would get a request that nobody made
						t.Error("the page counts as taken down itself")
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				c.line = site + "/robots.txt:3: " + c.says
			} else {
				c.act(s)
			}
			gone := c.line != ""
			if (len(s.copies(a)) == 0) != gone || (s.found("pilot") == "") != gone {
				t.Errorf("copies %q, found %q", s.copies(a), s.found("pilot"))
			}
			if slices.Contains(again, a) != gone {
				t.Errorf("crawled again: %q", again)
			}
			stones, err := s.archive.Tombstones(a)
			if err != nil || len(stones) > 0 != gone {
				t.Fatalf("%+v, %v", stones, err)
			}
			for _, stone := range stones {
				if !strings.HasPrefix(stone.Why, "its scripts made it from "+data+": ") || stone.Line != c.line {
					t.Errorf("erased: %s, line %q", stone.Why, stone.Line)
				}
			}
		})
	}
}

// TestEraseOfMany checks an erasure if pages were made from each other or from themselves: it ends, and erases only
// what was made from the erased resource itself. A page that is being judged by an unreadable policy is erased too.
func TestEraseOfMany(t *testing.T) {
	const b, c = site + "/b", site + "/c"
	at := func(address string, made ...string) *page.Page {
		pg := scripted(unscripted, scriptedArticle, made...)
		hops := slices.Clone(pg.Hops())
		hops[0].URL = address
		return page.New(hops)
	}
	for _, test := range []struct {
		name   string
		pages  []*page.Page
		erased string
		gone   []string
	}{
		{"of itself", []*page.Page{at(a, a)}, a, []string{a}},
		{"of each other", []*page.Page{at(a, b), at(b, a)}, a, []string{a, b}},
		{"one after the other", []*page.Page{pageOf("{}", a), at(b, a), at(c, b)}, a, []string{a, b}},
	} {
		for _, readable := range []bool{true, false} {
			t.Run(fmt.Sprint(test.name, ", policy readable: ", readable), func(t *testing.T) {
				w := newWeb("")
				s := open(t, t.TempDir(), w, Options{})
				for _, pg := range test.pages {
					s.receive(pg)
				}
				if !readable {
					w.policy = nil
				}
				if _, err := s.Erase(t.Context(), test.erased, takenDown, "line"); err != nil {
					t.Fatal(err)
				}
				for _, address := range []string{a, b, c} {
					held := slices.ContainsFunc(test.pages, func(pg *page.Page) bool {
						return pg.URL().String() == address
					})
					if want := held && !slices.Contains(test.gone, address); (len(s.copies(address)) > 0) != want {
						t.Errorf("%s is held: %v", address, !want)
					}
					stones, err := s.archive.Tombstones(address)
					if err != nil || (len(stones) > 0) != slices.Contains(test.gone, address) {
						t.Errorf("%s: %+v, %v", address, stones, err)
					}
					for _, stone := range stones {
						if stone.TakenDown() != (address == test.erased) || !stone.Asked {
							t.Errorf("%+v", stone)
						}
					}
				}
				if _, asked, err := s.archive.Uncompacted(); asked.IsZero() || err != nil {
					t.Errorf("the files are not compacted soon: %v", err)
				}
			})
		}
	}
}

// TestForgetScripted checks what happens to a page if the operator erases something from which its scripts made it,
// and when its rendered document is imported again.
func TestForgetScripted(t *testing.T) {
	for name, test := range map[string]struct {
		older     bool // erase only what is old; the page has its own time
		forgotten bool // import what the operator has erased
		gone      bool
		found     string // after the import
	}{
		"forget":                   {gone: true},
		"forget, import all":       {gone: true, forgotten: true, found: "/a"},
		"forget older, import all": {older: true, found: "/a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{Again: func(page string) {
				t.Errorf("%s is crawled again", page)
			}})
			s.receive(pageOf("{}", data))
			s.receive(scriptedAt(time.Now().Add(-time.Hour), unscripted, scriptedArticle, data))
			file, _, _ := s.export(ExportOptions{})
			var before time.Time
			if test.older {
				before = time.Now().Add(time.Hour)
			}
			for range 2 { // as a job's keep does at each crawl
				if _, _, err := s.Forget(t.Context(), data, archive.Tombstone{Reason: archive.ReasonForgotten, Why: "old"},
					before, false); err != nil {
					t.Fatal(err)
				}
			}
			if stones, err := s.archive.Tombstones(data); err != nil || len(stones) != 1 {
				t.Errorf("erasures of the data: %+v, %v", stones, err)
			}
			stones, err := s.archive.Tombstones(a)
			if err != nil || (len(s.copies(a)) == 0) != test.gone || (len(stones) == 1) != test.gone {
				t.Fatalf("copies %q, %+v, %v", s.copies(a), stones, err)
			}
			if test.gone && (stones[0].Reason != archive.ReasonDerived || stones[0].Asked ||
				stones[0].Why != "its scripts made it from "+data+": erased by the operator: old") {
				t.Errorf("%+v", stones[0])
			}
			if s.take(file, ImportOptions{Forgotten: test.forgotten}); s.found("pilot") != test.found {
				t.Errorf("found %q, documents %q", s.found("pilot"), s.drawn())
			}
		})
	}
}

// TestTakeDownAfterDerived checks that a page which was erased because its scripts made it from something taken down
// leaves nothing when it is taken down itself: also the redirects to it are erased (X66), which stayed before.
func TestTakeDownAfterDerived(t *testing.T) {
	const old = site + "/old"
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	s.receive(pageOf("{}", data))
	pg := scripted(unscripted, scriptedArticle, data)
	led := ledPage(time.Now(), old, a).Hops()
	s.receive(page.New(append(slices.Clone(led[:len(led)-1]), pg.Last())))
	if from, err := s.Aliases(a); err != nil || !slices.Equal(from, []string{old}) {
		t.Fatalf("redirects %q, %v", from, err)
	}
	if _, err := s.Erase(t.Context(), data, takenDown, "line"); err != nil {
		t.Fatal(err)
	}
	if from, err := s.Aliases(a); err != nil || len(from) != 1 || len(s.copies(a)) != 0 {
		t.Fatalf("redirects %q, copies %q, %v", from, s.copies(a), err)
	}
	if problems, err := s.Verify(t.Context(), archive.VerifyOptions{}); err != nil || len(problems) > 0 {
		t.Errorf("%+v, %v", problems, err)
	}
	if _, err := s.Erase(t.Context(), a, takenDown, "line"); err != nil {
		t.Fatal(err)
	}
	from, err := s.Aliases(a)
	if err != nil || len(from) != 0 || len(s.all()) != 0 {
		t.Errorf("redirects %q, %+v, %v", from, s.all(), err)
	}
}

// TestTakeDownDamagedPage checks that a damaged page which scripts made from something taken down is erased, and
// prevents nothing.
func TestTakeDownDamagedPage(t *testing.T) {
	dir := t.TempDir()
	w := newWeb("")
	s := open(t, dir, w, Options{})
	s.receive(scripted(unscripted, scriptedArticle, data))
	s.receive(pageOf("{}", data))
	s.shut()
	damageFirstKey(t, dir)
	s = open(t, dir, w, Options{})
	if _, err := s.archive.Body(s.resource(a).Current); !errors.Is(err, archive.ErrCorrupt) {
		t.Fatal("the body is not damaged:", err)
	}
	if _, err := s.Erase(t.Context(), data, takenDown, "line"); err != nil {
		t.Error(err)
	}
	if len(s.all()) != 0 || s.found("pilot") != "" {
		t.Errorf("held: %+v, found %q", s.all(), s.found("pilot"))
	}
}
