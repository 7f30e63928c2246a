package course

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"
)

// hostile are texts that attack a reader of the report.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "\x1b[2J\x1b]0;owned\x07", "a\u202eb",
	`</td></table><h1>`, `{{.}}`, "%n%s", strings.Repeat("é", 5000),
}

func TestHostileVisitorsInReports(t *testing.T) {
	var visits []Visit
	for i, text := range hostile {
		for _, at := range []string{"/plain/", "/plain/trap" + text, "/plain/open.html"} {
			visits = append(visits, Visit{Time: noon.Add(time.Duration(i) * time.Second), Origin: "rules",
				Method: "GET", Target: at, Status: 200, Address: text, Agent: text, Names: Names(text),
				Purposes: []string{text}})
		}
	}
	r, err := Judge(t.Context(), visits, Told{})
	if err != nil {
		t.Fatal(err)
	}
	var text, page, report bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(text.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("the text has %q", text.String()[i:min(i+20, text.Len())])
	}
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	inert(t, page.Bytes())
	report.Reset()
	if err := r.Tests().WriteJUnit(&report); err != nil || xml.Unmarshal(report.Bytes(), new(struct{})) != nil {
		t.Errorf("JUnit: %v in %q", err, report.String())
	}
	report.Reset()
	if err := r.Problems().WriteSARIF(&report, "1"); err != nil || !json.Valid(report.Bytes()) ||
		strings.ContainsAny(report.String(), "\u202e\x1b") {
		t.Errorf("SARIF: %v in %q", err, report.String())
	}
	report.Reset()
	if err := json.NewEncoder(&report).Encode(r); err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Visitors {
		if v.Tally(catRules, Violated) != 1 {
			t.Errorf("%q: %d rules were violated, want 1", v.Agent, v.Tally(catRules, Violated))
		}
	}
}

// inert fails if a page contains an element or attribute that a visitor could have inserted: a
// script, an image, a second heading.
func inert(t *testing.T, page []byte) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	headings := 0
	for n := range root.Descendants() {
		switch n.Data {
		case "script", "img", "iframe", "a", "link":
			if n.Type == html.ElementNode {
				t.Errorf("the page has an element %s", n.Data)
			}
		case "h1":
			headings++
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("the page has an attribute %s", a.Key)
			}
		}
	}
	if headings != 1 {
		t.Errorf("the page has %d headings", headings)
	}
}

// A log whose last line is cut off is read up to that line. A log that is broken elsewhere is
// refused.
func TestLogBreaksOff(t *testing.T) {
	whole := `{"time":"2026-06-01T12:00:00Z","origin":"rules","method":"GET","target":"/robots.txt"}`
	for log, want := range map[string]int{whole + "\n" + whole[:40]: 1, whole + "\n" + whole: 2, whole[:40]: 0} {
		got, err := ReadVisits("log", strings.NewReader(log))
		if len(got) != want || errors.Is(err, ErrUnfinished) != (log != whole+"\n"+whole) {
			t.Errorf("%q: %d visits, %v", log, len(got), err)
		}
	}
	for _, log := range []string{whole[:40] + "\n" + whole, whole[:40] + "\n"} {
		if got, err := ReadVisits("log", strings.NewReader(log)); err == nil || errors.Is(err, ErrUnfinished) ||
			got != nil {
			t.Errorf("%q: %d visits, %v", log, len(got), err)
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, line := range []string{
		`{"time":"2026-06-01T12:00:00Z","origin":"rules","method":"GET","target":"/plain/trap.html",` +
			`"status":200,"address":"127.0.0.1","agent":"samplebot/1.0","names":["samplebot"]}`,
		`{"time":"2026-06-01T12:00:00Z","origin":"acap","method":"HEAD","target":"//%zz/%00?#",` +
			`"status":0,"address":"","agent":"","names":["*"],"purposes":["a","b"]}`,
		`{"time":"2026-06-01T12:00:00Z","origin":"follow","method":"","target":"http://[",` +
			`"status":200,"names":["{{NAME}}","\n"],"purposes":["\nDisallow: /"]}`,
		`{"time":"2026-06-01T12:00:00Z","origin":"moved","target":"*","agent":"Mozilla/5.0 (compatible; x"}`,
		`{"origin":"nowhere"}`, `[]`, ``,
	} {
		f.Add(line, "", "")
		f.Add(line, "samplebot", "news")
	}
	f.Fuzz(func(t *testing.T, log, crawler, purpose string) {
		visits, err := ReadVisits("log", strings.NewReader(log))
		if err != nil && !errors.Is(err, ErrUnfinished) {
			return
		}
		told := Told{}
		if Name(crawler) {
			told.Crawler = []string{crawler}
		}
		if purpose != "" {
			told.Purposes = []string{purpose}
		}
		r, err := Judge(t.Context(), visits[:min(len(visits), 8)], told)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.WriteHTML(&out); err != nil {
			t.Fatal(err)
		}
		inert(t, out.Bytes())
		if err := errors.Join(r.WriteText(&out), r.Tests().WriteJUnit(&out),
			r.Problems().WriteSARIF(&out, "")); err != nil {
			t.Fatal(err)
		}
	})
}

// Every name that Names returns can stand on a line of robots.txt.
func FuzzNames(f *testing.F) {
	for _, agent := range append(hostile, "Wget/1.21.3", "colly - https://github.com/gocolly/colly/v2",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/1.2 Mobile Safari/537.36 "+
			"(compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Go-http-client/1.1",
		"acapcrawl/0.1 (+https://bot.example/)", "") {
		f.Add(agent)
	}
	f.Fuzz(func(t *testing.T, agent string) {
		for _, name := range Names(agent) {
			if !Name(name) {
				t.Errorf("%q is no name", name)
			}
		}
	})
}

func TestNames(t *testing.T) {
	for agent, want := range map[string]string{
		"Wget/1.21.3": "Wget", "colly - https://github.com/gocolly/colly/v2": "colly",
		"Go-http-client/1.1": "Go-http-client", "": "", "  ": "",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "Googlebot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; " +
			"+http://www.bing.com/bingbot.htm) Chrome/103.0.5060.134 Safari/537.36": "bingbot",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36": "",
		"Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 " +
			"(Applebot/0.1; +http://www.apple.com/go/applebot)": "Applebot",
		"acapcrawl/0.1.0 (+https://bot.example/about)":   "acapcrawl",
		"curl/7.88.1 libcurl/7.88.1":                     "curl libcurl",
		"Mozilla/5.0 (X11; rv:1) Gecko/20100101 Foo/1.0": "Foo",
	} {
		if got := strings.Join(Names(agent), " "); got != want {
			t.Errorf("%q is called %q, want %q", agent, got, want)
		}
	}
	for agent, want := range map[string]bool{
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
			"Chrome/126.0.0.0 Safari/537.36": true,
		"Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0": true,
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
			"HeadlessChrome/126.0 Safari/537.36": false,
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": false,
		"Wget/1.21.3": false, "": false,
	} {
		if isBrowser(agent) != want {
			t.Errorf("%q: a browser is %v, want %v", agent, isBrowser(agent), want)
		}
	}
}

// A User-Agent with another name at the same address is another visitor. A visitor whose request
// says that a person clicked is a person.
func TestVisitorsAreNotMixed(t *testing.T) {
	s, err := Serve(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	get := func(agent, at string, clicked bool) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL("rules")+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", agent)
		if clicked {
			req.Header.Set("Sec-Fetch-User", "?1")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	get("goodbot/1", "/robots.txt", false)
	get("badbot/1", "/robots.txt", false)
	get("goodbot/1", "/plain/open.html", false)
	get("badbot/1", "/plain/trap.html", false)
	get("Lynx/2.9", "/plain/trap.html", true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Judge(t.Context(), s.Visits(), Told{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Visitors) != 3 {
		t.Fatalf("%d visitors", len(r.Visitors))
	}
	good, bad, person := r.Visitors[0], r.Visitors[1], r.Visitors[2]
	if good.Violations(Protocols()...) != 0 || bad.Violations(REP) != 1 || bad.Violations(ACAP, Tags) != 0 ||
		person.Unjudged == "" {
		t.Errorf("good %d, bad %d, person %q", good.Violations(REP), bad.Violations(REP), person.Unjudged)
	}
}

// Texts of visitors are stored up to a limit, and visits beyond it are counted.
func TestVisitsAreBounded(t *testing.T) {
	s := &Server{webs: map[string]*Web{}, open: map[string]int{}}
	long := strings.Repeat("x", maxText)
	const visits = maxHeld/(2*maxText) + 10
	for range visits {
		s.recordVisit(Visit{Time: noon, Origin: "rules", Target: long, Agent: long})()
	}
	s.recordVisit(Visit{Time: noon, Origin: "rules", Target: "/", Agent: "late"})()
	if got, left := len(s.Visits()), s.Left(); got != maxHeld/(2*maxText) || left != 11 {
		t.Errorf("%d visits are kept and %d left out", got, left)
	}
}

// A request is no longer in progress when the visitor has the whole answer. So a visitor that sends
// one request after the other is never reported for parallel requests.
func TestAnswersEndVisits(t *testing.T) {
	s, err := Serve(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 300 {
		for _, at := range []string{s.URL("large") + "/robots.txt", s.URL("index") + "/"} {
			resp, err := client.Get(at)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, resp.Body, resp.ContentLength); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	}
	visits := s.Visits()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, v := range visits {
		if v.Open != 1 {
			t.Fatalf("%d requests are under way to %s%s", v.Open, v.Origin, v.Target)
		}
	}
}
