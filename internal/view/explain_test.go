package view

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
	"github.com/acapcrawl/acapcrawl/page"
)

// stored is an Explainer with the robots.txt of some origins.
type stored struct {
	who    acap.Crawler
	robots map[string]string // by origin
	asked  []explain.Question
	page   *page.Page  // the archived page; nil: none
	down   *acap.Field // the request in the ledger that takes the page down; nil: none
}

func (s *stored) Crawler() acap.Crawler { return s.who }

func (s *stored) Explain(ctx context.Context, q explain.Question, _ present.Reader) (*explain.Explanation, error) {
	s.asked = append(s.asked, q)
	text, known := s.robots[originOf(q.URL.String())]
	if !known {
		return nil, fmt.Errorf("%s: %w", q.URL.Host, explain.ErrNeverRead)
	}
	if q.Page == nil {
		q.Page = s.page
	}
	e, err := explain.Pasted(ctx, q, []byte(text))
	if err == nil && s.down != nil {
		o := *e.Origin
		o.Policy = o.Policy.WithActions([]acap.Action{{Action: acap.TakeDown, URL: q.URL.String(), Field: s.down,
			Execute: true}})
		e.Origin = &o
	}
	return e, err
}

func explorer(t testing.TB, s *stored) *Handler {
	t.Helper()
	h, err := New(Options{Presenter: &fixed{}, Explainer: s,
		Now: func() time.Time { return time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// paste sends fields by POST.
func paste(t testing.TB, h *Handler, fields map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := m.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	m.Close()
	r := httptest.NewRequest("POST", "/explain", &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.RequestURI = "/explain"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var (
	matrixRow = regexp.MustCompile(`(?s)<tr role="row"[^>]*>\s*<th scope="row" role="rowheader">` +
		`<a href="#u-([a-z-]+)">.*?</tr>`)
	badge = regexp.MustCompile(`<span class="badge [a-z]+">([a-z ]+)</span>`)
)

// answersOf returns the answers in the matrix of a page, and its rows.
func answersOf(body string) (answers, rows map[acap.Usage]string) {
	answers, rows = map[acap.Usage]string{}, map[acap.Usage]string{}
	for _, m := range matrixRow.FindAllStringSubmatch(body, -1) {
		u := acap.Usage(m[1])
		rows[u] = html.UnescapeString(m[0])
		if b := badge.FindStringSubmatch(m[0]); b != nil {
			answers[u] = b[1]
		}
	}
	return answers, rows
}

const quayRobots = "ACAP-crawler: *\nACAP-disallow-index: /p\nACAP-allow-index: /p/open\n" +
	"ACAP-allow-present-snippet: / max-length=20-words\n"

// TestExplainStored checks answers by a stored policy, their deciding lines, and the permanent link.
func TestExplainStored(t *testing.T) {
	s := &stored{who: acap.Crawler{Names: []string{"gazer"}},
		robots: map[string]string{"https://quay.example": quayRobots}}
	h := explorer(t, s)
	w := get(h, "GET", "/explain?url=https://quay.example/p/a")
	body := w.Body.String()
	answers, rows := answersOf(body)
	if w.Code != 200 || len(answers) != 18 || answers["index"] != "refused" || answers["follow"] != "allowed" ||
		answers["train-ai"] != "unknown" {
		t.Fatalf("%d %v", w.Code, answers)
	}
	for row, parts := range map[acap.Usage][]string{
		"index": {"this prohibition decides", "robots.txt, line 2</a>",
			"ACAP-disallow-index: /p", `href="#s1-2"`},
		"present-snippet": {"at most 20 words"},
	} {
		for _, part := range parts {
			if !strings.Contains(rows[row], part) {
				t.Errorf("%s: no %q in %s", row, part, rows[row])
			}
		}
	}
	for _, part := range []string{`id="s1-2" data-line="2" class="decides"`, "<mark>ACAP-disallow-index: /p</mark>",
		`href="/explain?url=https%3A%2F%2Fquay.example%2Fp%2Fa"`} {
		if !strings.Contains(body, part) {
			t.Errorf("no %q", part)
		}
	}
	open, _ := answersOf(get(h, "GET", "/explain?url=https://quay.example/p/open/a").Body.String())
	if open["index"] != "allowed" {
		t.Errorf("%v", open)
	}
	if w := get(h, "GET", "/explain?url=https://never.example/a"); w.Code != 200 ||
		!strings.Contains(w.Body.String(), "was never read") || !strings.Contains(w.Body.String(), `name="robots"`) ||
		strings.Contains(w.Body.String(), "u-crawl") {
		t.Errorf("never read: %d %s", w.Code, w.Body)
	}
	if w := get(h, "GET", "/explain"); w.Code != 200 || strings.Contains(w.Body.String(), "u-crawl") {
		t.Errorf("the form: %d", w.Code)
	}
}

// TestExplainParameters checks what a question consists of, and bad values.
func TestExplainParameters(t *testing.T) {
	s := &stored{who: acap.Crawler{Names: []string{"gazer"}, Purposes: []string{"http://p.example/own"}, Strict: true},
		robots: map[string]string{"https://quay.example": ""}}
	h := explorer(t, s)
	const at = "/explain?url=https://quay.example/a"
	get(h, "GET", at)
	get(h, "GET", at+"&crawler=owlbot&crawler=owl&purpose=http://p.example/x&as_of=2026-02-01&reader_country=be"+
		"&reader_ip=192.0.2.7&reader_domain=Desk.example.")
	if len(s.asked) != 2 {
		t.Fatalf("%d questions", len(s.asked))
	}
	own, other := s.asked[0], s.asked[1]
	if own.Crawler.Key() != s.who.Key() || !own.AsOf.Equal(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", own)
	}
	if strings.Join(other.Crawler.Names, " ") != "owlbot owl" || other.Crawler.Strict ||
		strings.Join(other.Crawler.Purposes, " ") != "http://p.example/x" || other.AsOf.Month() != time.February ||
		other.Reader.Country != "BE" || other.Reader.IP.String() != "192.0.2.7" ||
		other.Reader.Domains[0] != "desk.example" {
		t.Errorf("%+v", other)
	}
	for _, bad := range []string{"url=quay.example/a", "url=ftp://quay.example/", "crawler=x",
		"url=https://quay.example/&as_of=today",
		"url=https://quay.example/&reader_country=BEL", "url=https://quay.example/&reader_ip=1.2.3",
		"url=https://quay.example/&reader_domain=a/b",
		"url=https://quay.example/&crawler=" + strings.Repeat("a+", 30)} {
		if w := get(h, "GET", "/explain?"+bad); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
	without, err := New(Options{Presenter: &fixed{}})
	if err != nil {
		t.Fatal(err)
	}
	if w := get(without, "GET", at); w.Code != 404 {
		t.Errorf("without an Explainer: %d", w.Code)
	}
}

// TestExplainPasted checks answers by pasted texts: a robots.txt, a page and headers.
func TestExplainPasted(t *testing.T) {
	s := &stored{who: acap.Crawler{Names: []string{"gazer"}},
		robots: map[string]string{"https://quay.example": quayRobots}}
	h := explorer(t, s)
	for _, c := range []struct {
		name   string
		fields map[string]string
		usage  acap.Usage
		answer string
		parts  []string
	}{
		{"robots.txt", map[string]string{"robots": quayRobots, "url": "/p/x"}, "index", "refused",
			[]string{"The pasted robots.txt", "were not stored"}},
		{"page", map[string]string{"page": "<html><head>\n" +
			"<meta name=robots content='ACAP disallow-preserve'>\n<title>x</title>"},
			"preserve", "refused", []string{"The pasted page", "ACAP disallow-preserve",
				`data-line="2" class="decides"`}},
		{"headers", map[string]string{"headers": "HTTP/1.1 200 OK\r\nServer: x\r\nX-Robots-Tag: noindex\r\n"}, "index",
			"refused",
			[]string{"this header restricts it", `data-line="3" class="decides"`}},
		{"page, stored policy", map[string]string{"page": "<title>x</title>", "url": "https://quay.example/p/a"},
			"index",
			"refused", []string{"as last read", "https://quay.example"}},
		{"page, no policy", map[string]string{"page": "<title>x</title>", "url": "https://never.example/p/a"}, "index",
			"allowed", []string{"counts as empty"}},
	} {
		w := paste(t, h, c.fields)
		answers, _ := answersOf(w.Body.String())
		if w.Code != 200 || answers[c.usage] != c.answer || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %v", c.name, w.Code, answers, w.Header())
		}
		for _, part := range c.parts {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s: no %q in %s", c.name, part, w.Body)
			}
		}
	}
	form := url.Values{"robots": {quayRobots}, "url": {"/p/x"}}.Encode()
	r := httptest.NewRequest("POST", "/explain", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.RequestURI = "/explain"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if answers, _ := answersOf(w.Body.String()); answers["index"] != "refused" {
		t.Errorf("urlencoded: %d %v", w.Code, answers)
	}
}

// TestExplainCompared checks the comparison of two files, in both directions.
func TestExplainCompared(t *testing.T) {
	h := explorer(t, &stored{who: acap.Crawler{Names: []string{"gazer"}}})
	before := "ACAP-crawler: *\nACAP-disallow-index: /a\nACAP-allow-present-snippet: / max-length=20-words\n"
	after := "ACAP-crawler: *\nACAP-disallow-index: /b\nACAP-allow-present-snippet: / max-length=10-words\n" +
		"Crawl-delay: 7\n"
	w := paste(t, h, map[string]string{"robots": before, "against": after, "url": "/a"})
	body := html.UnescapeString(w.Body.String())
	for _, part := range []string{"Allowed by the first file, not by the second",
		"Allowed by the second file, not by the first",
		"Allowed by both, with other limits", "line 2: ACAP-disallow-index: /b", "line 2: ACAP-disallow-index: /a",
		"at most 10 words", "Second file", "The second robots.txt", `id="t1-3" data-line="3" class="decides"`,
		"Examples of addresses"} {
		if !strings.Contains(body, part) {
			t.Errorf("no %q", part)
		}
	}
	_, rows := answersOf(body)
	if got := badge.FindAllStringSubmatch(rows["index"], -1); len(got) != 2 || got[0][1] != "refused" ||
		got[1][1] != "allowed" {
		t.Errorf("%v", got)
	}
	// index is refused by line 2 of the first file only; no line of the second is about /a
	for _, part := range []string{`<tr role="row" class="changed">`, "First file: this prohibition decides",
		`First file: <a href="#s1-2">robots.txt, line 2</a>`, "Second file: nothing is said about it"} {
		if !strings.Contains(rows["index"], part) {
			t.Errorf("no %q in %s", part, rows["index"])
		}
	}
	if strings.Contains(rows["follow"], "changed") {
		t.Errorf("follow is marked as changed: %s", rows["follow"])
	}
	same := paste(t, h, map[string]string{"robots": before, "against": before})
	if !strings.Contains(same.Body.String(), "Both files decide the same") {
		t.Error("equal files differ")
	}
}

// TestExplainEscapes checks that pasted markup is shown as text.
func TestExplainEscapes(t *testing.T) {
	h := explorer(t, &stored{who: acap.Crawler{Names: []string{"<i>gazer"}}})
	bad := "<script>alert(1)</script>\u202e"
	w := paste(t, h, map[string]string{"robots": "ACAP-crawler: *\nACAP-disallow-index: /\"'" + bad + "\n" + bad +
		": " + bad,
		"page":    "</textarea>" + bad + "<p class='the-acap:disallow-index" + bad + "'>",
		"headers": "X-Robots-Tag: " + bad,
		"against": "User-agent: " + bad + "\nDisallow: /" + bad, "url": "https://quay.example/" + bad, "crawler": bad,
		"purpose": bad})
	body := w.Body.String()
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, body)
	}
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "<i>") {
		t.Error("markup of the visitor is part of the page")
	}
	i := strings.Index(body, "<h2 id=\"forms\">") // the form returns what was sent
	if strings.Contains(body[:i], "\u202e") {
		t.Error("a character that changes the direction of text is shown")
	}
}

// TestExplainRefuses checks requests that are too large or of another kind.
func TestExplainRefuses(t *testing.T) {
	h := explorer(t, &stored{})
	if w := paste(t, h, map[string]string{"robots": strings.Repeat("a", maxPosted)}); w.Code != 413 {
		t.Errorf("too large: %d", w.Code)
	}
	if w := paste(t, h, map[string]string{"url": "https://quay.example/"}); w.Code != 400 {
		t.Errorf("nothing pasted: %d", w.Code)
	}
	if w := paste(t, h, map[string]string{"headers": "X-Robots-Tag: noindex\nno header"}); w.Code != 400 ||
		!strings.Contains(w.Body.String(), "in line 2") {
		t.Errorf("no header: %d %s", w.Code, w.Body)
	}
	if w := get(h, "POST", "/explain", "Content-Type", "application/json"); w.Code != 415 {
		t.Errorf("JSON: %d", w.Code)
	}
}

// hostileTexts are texts that are long, deep or complicated.
func hostileTexts() map[string]map[string]string {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i, i)
		}
		return b.String()
	}
	return map[string]map[string]string{
		"many lines": {"robots": lines(10_000, "nonsense %d %d")},
		"many rules": {"robots": "ACAP-crawler: *\n" + lines(10_000, "ACAP-disallow-index: /%d/*/%d")},
		"all match": {"robots": "ACAP-crawler: *\n" + lines(10_000,
			"ACAP-allow-present-snippet: / max-length=%d-words ignored=%d")},
		"asterisks":     {"robots": "ACAP-crawler: *\n" + lines(3000, "ACAP-disallow-index: /*a*b*c%d*d*e*f*%d*g")},
		"one line":      {"robots": "ACAP-crawler: *\nACAP-disallow-index: /" + strings.Repeat("x", 900_000)},
		"deep":          {"page": strings.Repeat("<div class='the-acap:disallow-index'>", 20_000)},
		"many marks":    {"page": strings.Repeat("<p class='the-acap:disallow-index the-acap:x'>y</p>\n", 15_000)},
		"many crawlers": {"robots": lines(10_000, "User-agent: bot%d\nDisallow: /%d")},
		"two files": {"robots": "ACAP-crawler: *\n" + lines(8000, "ACAP-disallow-index: /%d/*/%d"),
			"against": "ACAP-crawler: *\n" + lines(8000, "ACAP-disallow-index: /x%d/*/%d")},
	}
}

// TestExplainHostile checks that the answer to hostile texts is bounded, and says what it leaves out.
func TestExplainHostile(t *testing.T) {
	h := explorer(t, &stored{who: acap.Crawler{Names: []string{"gazer"}}})
	for name, fields := range hostileTexts() {
		fields["url"] = "/1/" + strings.Repeat("abcdefg/", 500) + "1"
		w := paste(t, h, fields)
		body, _, _ := strings.Cut(w.Body.String(), `<h2 id="forms">`)
		answers, _ := answersOf(body)
		if w.Code != 200 || len(answers) != 18 {
			t.Errorf("%s: %d, %d answers", name, w.Code, len(answers))
		}
		if n := strings.Count(body, "data-line="); n > 2*maxLines {
			t.Errorf("%s: %d lines", name, n)
		}
		if len(body) > 1<<20 {
			t.Errorf("%s: %d bytes", name, len(body))
		}
		if name != "one line" && name != "deep" && !strings.Contains(body, "left out") {
			t.Errorf("%s: it does not say what is left out", name)
		}
	}
}

// TestExplainPages checks the form and the answers with html-validate, and with axe-core in Chromium.
func TestExplainPages(t *testing.T) {
	vocabularies, err := preference.Vocabularies(preference.Names(), preference.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	robots := quayRobots + "ACAP-disallow-presnt: /x\nUser-agent: *\nContent-Signal: ai-train=no\n" +
		"Content-Usage: train-ai=n\n"
	h := explorer(t, &stored{who: acap.Crawler{Names: []string{"gazer"}, Vocabularies: vocabularies},
		robots: map[string]string{"https://quay.example": robots}})
	posted := paste(t, h, map[string]string{"robots": robots, "against": "ACAP-crawler: *\nACAP-disallow-index: /q\n",
		"url": "/p/a", "headers": "X-Robots-Tag: noarchive",
		"page": "<html><head>\n<meta name=robots content='ACAP disallow-follow'>\n<title>x</title>"}).Body.String()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/posted" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, posted)
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	pages := map[string]string{server.URL + "/posted": posted}
	for _, sent := range []string{"/explain", "/explain?url=https://quay.example/p/a",
		"/explain?url=https://never.example/"} {
		pages[server.URL+sent] = get(h, "GET", sent).Body.String()
	}
	t.Run("html", func(t *testing.T) { pagecheck.Validate(t, pages) })
	t.Run("axe", func(t *testing.T) { pagecheck.Axe(t, slices.Sorted(maps.Keys(pages))) })
}
