package view

import (
	"context"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

var fetched = time.Date(2026, 2, 3, 9, 30, 0, 0, time.UTC)

// counting counts the searches of a presenter.
type counting struct {
	*stock.Stock
	searches int
	queries  []present.Query
}

func (c *counting) Search(ctx context.Context, q present.Query, who present.Reader) (present.Found, error) {
	c.searches++
	c.queries = append(c.queries, q)
	return c.Stock.Search(ctx, q, who)
}

// searchable returns an archive of pages under different terms, and its Handler.
func searchable(t *testing.T) (*counting, *Handler) {
	t.Helper()
	s := &counting{Stock: stock.New(t)}
	hold := func(path, lang, title, text string) {
		s.Hold(path, "<html lang="+lang+"><title>"+title+"</title><p>"+text, fetched)
	}
	hold("/full", "en", "Ferry &amp; tide", "The ferry waits for the tide <script> at the quay.")
	hold("/brief", "en", "Brief", "The ferry is late.")
	hold("/silent", "en", "Silent", "A ferry nobody may quote: quotation.")
	hold("/address", "en", "Address", "The ferry has an address.")
	hold("/hidden", "en", "Hidden", "A ferry and a zeppelin.")
	hold("/de", "de", "Hafen", "Die ferry im Hafen.")
	s.HoldPicture("/picture.png", fetched)
	s.SetRobots("ACAP-disallow-present-snippet: /silent\nACAP-disallow-present-link: /address\n" +
		"ACAP-disallow-present: /hidden\nACAP-disallow-present-currentcopy: /brief\n" +
		"ACAP-allow-present-snippet: /de must-include-resource=the-acap:credit:text:Ada%20Quill")
	h, err := New(Options{Presenter: s})
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

// lookUp searches, and returns the answer.
func lookUp(h *Handler, role Role, parameters ...string) *httptest.ResponseRecorder {
	v := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		v.Add(parameters[i], parameters[i+1])
	}
	r := httptest.NewRequest("GET", "/search?"+v.Encode(), nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(WithVisitor(r.Context(), Visitor{Role: role})))
	return w
}

// TestResults checks what a result shows and to what it links.
func TestResults(t *testing.T) {
	s, h := searchable(t)
	w := lookUp(h, Anyone, "q", "ferry")
	body := w.Body.String()
	if w.Code != 200 || s.searches != 1 {
		t.Fatalf("status %d, %d searches", w.Code, s.searches)
	}
	const copied = `href="/copy/20260203093000/http://quay.example`
	for _, want := range []string{
		"5 results", "On this page, 3 results may be listed but not shown in full",
		"1 without a snippet: the publisher prohibits it", "1 without a link: the publisher prohibits it",
		"1 without a copy: the publisher prohibits it",
		`<mark>Ferry</mark> &amp; tide`, `The <mark>ferry</mark> waits for the tide`, "Credit: Ada Quill",
		`<a class="hit" ` + copied + `/full">`, `href="/versions/http://quay.example/silent"`,
		`href="/explain?url=http%3a%2f%2fquay.example%2ffull"`,
		"<code>robots.txt, line 3</code> <code>ACAP-disallow-present-snippet: /silent</code>",
		`Original site: <a href="http://quay.example/full" rel="noreferrer noopener">http://quay.example/full</a>`,
		`<a class="hit" href="http://quay.example/brief" rel="noreferrer noopener">Brief</a>`, `<h2 lang="de"`,
		`href="/search?lang=de&amp;q=ferry"`, `href="/search?q=ferry&amp;site=quay.example"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, never := range []string{"<script> at", copied + "/brief", `href="/versions/http://quay.example/brief"`,
		"quotation", `href="http://quay.example/address"`, "hidden", "Hidden", "zeppelin"} {
		if strings.Contains(strings.NewReplacer(`class="hidden"`, "", "aria-hidden", "").Replace(body), never) {
			t.Errorf("the page contains %s", never)
		}
	}
}

// TestHiddenCountsNowhere checks that a search for words of a page that may not be shown has the answer of a
// search for words that no page has, except for an operator.
func TestHiddenCountsNowhere(t *testing.T) {
	_, h := searchable(t)
	for _, format := range []string{"%", "ferry %", "% ferry tide", `"%" -tide`} {
		answer := func(word string) string {
			w := lookUp(h, Anyone, "q", strings.ReplaceAll(format, "%", word))
			return strings.ReplaceAll(w.Body.String(), word, "WORD")
		}
		if answer("zeppelin") != answer("xyzzyxyz") {
			t.Errorf("%s: the answers differ", format)
		}
	}
	body := lookUp(h, Operator, "q", "zeppelin").Body.String()
	for _, want := range []string{"http://quay.example/hidden", "robots.txt:5", "ACAP-disallow-present: /hidden"} {
		if !strings.Contains(body, want) {
			t.Errorf("the operator does not see %s", want)
		}
	}
	for _, role := range []Role{Anyone, Publisher} {
		if body := lookUp(h, role, "q", "zeppelin").Body.String(); strings.Contains(body, "http://quay.example") {
			t.Errorf("role %q sees withheld pages", role)
		}
	}
}

// TestFilters checks that each parameter restricts the results, and that no value does anything else.
func TestFilters(t *testing.T) {
	s, h := searchable(t)
	for _, c := range []struct {
		parameters []string
		count      string // "": no result
	}{
		{[]string{"q", "ferry", "lang", "de"}, "1 result<"},
		{[]string{"lang", " de "}, "1 result<"},
		{[]string{"q", "ferry", "site", "quay.example"}, "5 results<"},
		{[]string{"q", "ferry", "site", "other.example"}, ""},
		{[]string{"q", "ferry", "before", "2026"}, ""},
		{[]string{"q", "ferry", "after", "2026-02"}, "5 results<"},
		{[]string{"q", "-tide", "site", "quay.example"}, "5 results<"},
		{[]string{"q", "ferry -", "lang", "de"}, "1 result<"},
		{[]string{"q", "ferry", "for", "train-ai", "for", "tdm,ai-use", "for", ""}, "5 results<"},
	} {
		w := lookUp(h, Anyone, c.parameters...)
		if got := strings.Contains(w.Body.String(), c.count); w.Code != 200 || !got ||
			c.count == "" && !strings.Contains(w.Body.String(), "No page that you may see matches") {
			t.Errorf("%q: %d, not %q", c.parameters, w.Code, c.count)
		}
	}
	s.searches = 0
	for _, c := range [][]string{
		{"q", "ferry", "lang", "de -tide"}, {"q", "ferry", "lang", "deutsch"}, {"q", "ferry", "site", "a\u00a0b"},
		{"q", "ferry", "site", "a/b"}, {"q", "ferry", "site", "-"}, {"q", "ferry", "type", "nonsense"},
		{"q", "ferry", "before", "yesterday"}, {"q", "ferry", "after", "2026-13"}, {"q", "ferry", "for", "index"},
		{"q", "ferry", "for", "train-ai tdm"}, {"q", "ferry", "page", "0"}, {"q", "ferry", "page", "101"},
		{"q", "a", "q", "b"}, {"q", `"open`}, {"q", "-only"}, {"q", strings.Repeat("a ", 600)},
		{"q", "ferry", "site", strings.Repeat("a", 1200)},
	} {
		w := lookUp(h, Anyone, c...)
		if w.Code != 400 || w.Header().Get("Cache-Control") != "no-store" ||
			strings.Count(w.Body.String(), `role="alert"`) != 1 {
			t.Errorf("%q: %d", c, w.Code)
		}
	}
	if slices.ContainsFunc(s.queries[len(s.queries)-s.searches:], func(q present.Query) bool { return q.Text != "" }) {
		t.Error("a bad value was searched for")
	}
}

// TestForms checks that the form shows the query as it was typed, and that the filters in use can be removed.
func TestForms(t *testing.T) {
	_, h := searchable(t)
	body := lookUp(h, Anyone, "q", `  "ferry"  -x `, "lang", "de", "for", "tdm").Body.String()
	for _, want := range []string{`value="  &#34;ferry&#34;  -x "`, `value="de"`, `value="tdm" selected`,
		`href="/search?for=tdm&amp;q=&#43;&#43;%22ferry%22&#43;&#43;-x&#43;"`,
		`href="/search?lang=de&amp;q=&#43;&#43;%22ferry%22&#43;&#43;-x&#43;"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if w := lookUp(h, Anyone); w.Code != 200 || strings.Contains(w.Body.String(), "No page") {
		t.Errorf("an empty form: %d", w.Code)
	}
}

// TestFor checks that a usage that a publisher prohibits excludes the page.
func TestFor(t *testing.T) {
	s, h := searchable(t)
	s.SetRobots("ACAP-allow-index: /\nACAP-allow-present: /\nACAP-disallow-other: /")
	body := lookUp(h, Anyone, "q", "ferry", "for", "train-ai").Body.String()
	if strings.Contains(body, "quay.example/full") || !strings.Contains(body, ">6 results</a>") {
		t.Error("results that may not be used")
	}
	if body := lookUp(h, Operator, "q", "ferry", "for", "train-ai").Body.String(); !strings.Contains(body,
		"train-ai of http://quay.example/full is not permitted") {
		t.Error("the operator does not see why")
	}
}

// TestNoResults checks what is said if nothing matches, and how many searches that needs.
func TestNoResults(t *testing.T) {
	s, h := searchable(t)
	for _, c := range []struct {
		parameters []string
		want       string
		searches   int
	}{
		{[]string{"q", "ferry xyzzyxyz"}, "“xyzzyxyz”", 3},
		{[]string{"q", "ferry zeppelin"}, "“zeppelin”", 3},
		{[]string{"q", "tide Hafen"}, "Each word occurs on some page", 3},
		{[]string{"q", "tide", "lang", "de"}, `<a href="/search?q=tide">1 result</a>`, 2},
		{[]string{"q", "tide", "lang", "de", "site", "quay.example"}, `results without the filter ` +
			`<a href="/search?q=tide&amp;site=quay.example">language: de`, 4},
		{[]string{"q", "zeppelin", "lang", "en"}, "No page that you may see matches", 2},
		{[]string{"q", "a b c d e f g h"}, "No page that you may see matches", 1},
	} {
		s.searches = 0
		w := lookUp(h, Anyone, c.parameters...)
		if w.Code != 200 || !strings.Contains(w.Body.String(), c.want) || s.searches != c.searches {
			t.Errorf("%q: %d, %d searches, want %s", c.parameters, w.Code, s.searches, c.want)
		}
	}
}

// TestPictures checks that a result with a thumbnail has its address, its size and a text.
func TestPictures(t *testing.T) {
	size := &present.Size{Width: 40, Height: 30}
	f := &fixed{found: present.Found{Count: 1, Results: []present.Result{{URL: "http://quay.example/a?b=\"c",
		Link: true, Title: "A <b>", Thumbnail: size, Details: &present.Details{Captured: fetched}}}}}
	body := lookUp(handler(t, f), Anyone, "q", "a").Body.String()
	if want := `src="/thumbnail/20260203093000/http://quay.example/a?b=%22c" width="40" height="30" ` +
		`alt="Thumbnail of A &lt;b&gt;"`; !strings.Contains(body, want) {
		t.Errorf("no %s", want)
	}
}

// TestPieces checks the division of texts at marks.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		text  string
		marks [][2]int
		want  string
	}{
		{"", nil, ""},
		{"Fähre am Kai", [][2]int{{0, 5}}, "[Fähre] am Kai"},
		{"a b c", [][2]int{{0, 1}, {4, 5}}, "[a] b [c]"},
		{"a", [][2]int{{0, 9}}, "a"},
		{"a b", [][2]int{{2, 3}, {0, 1}}, "a [b]"},
	} {
		var got strings.Builder
		for _, p := range pieces(c.text, c.marks) {
			if p.Marked {
				got.WriteString("[" + p.Text + "]")
			} else {
				got.WriteString(p.Text)
			}
		}
		if got.String() != c.want {
			t.Errorf("%q %v: %s, want %s", c.text, c.marks, got.String(), c.want)
		}
	}
}

// TestHeadings checks where the heading of a result leads.
func TestHeadings(t *testing.T) {
	for _, c := range []struct{ name, robots, want string }{
		{"all", "", `<a class="hit" href="/copy/20260203093000/` + stock.Site + `/a">`},
		{"only an old copy", "ACAP-disallow-present-currentcopy: /",
			`<a class="hit" href="/versions/` + stock.Site + `/a">`},
		{"only in a frame", "ACAP-allow-present: / required-context=within-user-frame",
			`<a class="hit" href="/versions/` + stock.Site + `/a">`},
		{"only a link", "ACAP-disallow-present: /\nACAP-allow-present-link: /",
			`<a class="hit" href="` + stock.Site + `/a" rel="noreferrer noopener">` + stock.Site + "/a</a>"},
		{"only an excerpt", "ACAP-disallow-present: /\nACAP-allow-present-snippet: /", ">Pilots</h2>"},
		{"a text for the link", "ACAP-allow-present-link: / must-use-resource=the-acap:text:Read%20it",
			`<a class="hit" href="` + stock.Site + `/a" rel="noreferrer noopener">Read it</a>`},
	} {
		s, h := stocked(t)
		s.Hold("/a", "<title>Pilots</title><p>The pilot waits.", noon)
		s.Hold("/a", "<title>Pilots</title><p>The pilot sails.", fetched)
		s.SetRobots(c.robots)
		body := lookUp(h, Anyone, "q", "pilot").Body.String()
		contains(t, body, c.want)
		versions := ask(h, "GET", "/versions/"+stock.Site+"/a").Code
		if got := strings.Contains(body, `">Versions<`); got != (versions == 200) {
			t.Errorf("%s: a link to the versions: %t, which have status %d", c.name, got, versions)
		}
	}
}
