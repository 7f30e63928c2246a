package terms

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// world is a Policies and a Fetcher for tests: it contains the policies and pages that terms are
// made from.
type world struct {
	robots  map[string]string // robots.txt by scheme://host
	pages   map[string]string // page body by URL
	fetched []string
}

func (w *world) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	key := u.Scheme + "://" + u.Host
	text, ok := w.robots[key]
	if !ok {
		return nil, errors.New("no policy was read")
	}
	return acap.Parse(key+"/robots.txt", []byte(text)).Policy(acap.Crawler{Names: []string{"gazer"}}), nil
}

// Fetch returns a page only if the policy permits to crawl it, as the gate does.
func (w *world) Fetch(ctx context.Context, rawurl string) (*page.Page, error) {
	u, err := url.Parse(rawurl)
	if err != nil {
		return nil, err
	}
	p, err := w.Policy(ctx, u)
	if err != nil {
		return nil, err
	}
	if d := p.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
		return nil, d.Err(rawurl)
	}
	w.fetched = append(w.fetched, rawurl)
	body, ok := w.pages[rawurl]
	if !ok {
		return pageOf(rawurl, 404, ""), nil
	}
	return pageOf(rawurl, 200, body), nil
}

func pageOf(rawurl string, status int, body string) *page.Page {
	kind := "text/html; charset=utf-8"
	if strings.HasSuffix(rawurl, ".txt") {
		kind = "text/plain; charset=utf-8"
	}
	return page.New([]page.Hop{{URL: rawurl, Method: "GET", Status: status, Header: http.Header{"Content-Type": {kind}},
		Body: []byte(body), Start: noon}})
}

const site = "http://quay.example"

// of returns the terms of a page of site that was just fetched, under a robots.txt for all
// crawlers.
func of(t *testing.T, w *world, robots, body string) *Terms {
	t.Helper()
	if w.robots == nil {
		w.robots = map[string]string{}
	}
	w.robots[site] = "ACAP-version: 1.1\nACAP-crawler: *\n" + robots
	u, _ := url.Parse(site + "/a.html")
	origin, err := w.Policy(context.Background(), u)
	if err != nil {
		t.Fatal(err)
	}
	return Of(context.Background(), origin, u, pageOf(u.String(), 200, body), Sources{Policies: w, Fetcher: w},
		acap.Facts{Now: noon})
}

// held returns the terms of the page of fresh as if read from storage. If copied is set, a copy of
// the page is stored; otherwise only excerpts are stored. Nothing is fetched.
func held(t *testing.T, w *world, fresh *Terms, robots string, copied bool) *Terms {
	t.Helper()
	content, _ := fresh.Text()
	kept := fresh.Keep(copied, content)
	own, pg := fresh.Page().Own(), fresh.Page()
	if !copied {
		pg = nil
	}
	w.robots[site] = "ACAP-version: 1.1\nACAP-crawler: *\n" + robots
	u, _ := url.Parse(site + "/a.html")
	origin, _ := w.Policy(context.Background(), u)
	return Held(context.Background(), origin, u, own, pg, Sources{Policies: w}, acap.Facts{Now: noon}).Keeping(kept)
}

const article = `<html lang="en"><title>Low water</title><p>The pilot waits for the tide.
<p class="lead">Ships of deep draught lie in the roads.<p id="by">Words by Ada Quill.`

// TestRefusedText checks which usage refuses, as the first one, that text of the resource becomes text of another page.
func TestRefusedText(t *testing.T) {
	for _, c := range []struct {
		robots, body string
		want         acap.Usage // "": nothing refuses
	}{
		{robots: ""},
		{robots: "ACAP-disallow-present-thumbnail: /\nACAP-disallow-follow: /"},
		{robots: "ACAP-disallow-crawl: /", want: acap.Crawl},
		{robots: "ACAP-disallow-index: /", want: acap.Index},
		{robots: "ACAP-allow-index: / time-limit=9-days", want: acap.Index},
		{robots: "ACAP-allow-preserve: / time-limit=until-recrawled", want: acap.Preserve},
		{robots: "ACAP-disallow-present: /", want: acap.Present},
		{robots: "ACAP-allow-present: / must-include-resource=the-acap:credit:text:Ada", want: acap.Present},
		{robots: "ACAP-allow-present-currentcopy: / prohibited-modification=any", want: acap.PresentCurrentCopy},
		{robots: "ACAP-disallow-present-oldcopy: /", want: acap.PresentOldCopy},
		{robots: "ACAP-allow-present-snippet: / max-length=5-words", want: acap.PresentSnippet},
		{robots: "ACAP-allow-present-snippet: / must-use-resource=/s.txt", want: acap.PresentSnippet},
		{robots: "ACAP-disallow-present-oldsnippet: /", want: acap.PresentOldSnippet},
		{body: `<meta name=robots content=noarchive>`, want: acap.PresentCurrentCopy},
		{body: `<meta name=robots content=nosnippet>`, want: acap.PresentSnippet},
		{body: `<meta name=robots content=max-snippet:20>`, want: acap.PresentSnippet},
		{body: `<p class=the-acap:disallow-present-snippet>x`, want: acap.PresentSnippet},
	} {
		w := &world{pages: map[string]string{site + "/s.txt": "x"}}
		terms := of(t, w, c.robots+"\n", c.body)
		switch d := terms.RefusedText(); {
		case d == nil && c.want == "":
		case d == nil, d.Usage != c.want, d.Allowed, d.Because == nil:
			t.Errorf("%s%s: %+v, want %q", c.robots, c.body, d, c.want)
		}
		if len(w.fetched) > 0 {
			t.Errorf("%s: requests for %q", c.robots, w.fetched)
		}
	}
}

func TestTextAndLinks(t *testing.T) {
	for _, c := range []struct {
		name, robots, body string
		text               string // "-" means no text
		links              []string
		pages              map[string]string
	}{
		{"all", "", article,
			"Low water The pilot waits for the tide. Ships of deep draught lie in the roads. Words by Ada Quill.", nil,
			nil},
		{"index prohibited", "ACAP-disallow-index: /", article, "-", nil, nil},
		{"a part (P1 2.5.3.2)", "ACAP-allow-index: / must-use-resource=the-acap:extract:class:lead", article,
			"Ships of deep draught lie in the roads.", nil, nil},
		{"no such part (I01)", "ACAP-allow-index: / must-use-resource=the-acap:extract:id:nope", article, "-", nil,
			nil},
		{"a text", "ACAP-allow-index: / must-use-resource=the-acap:text:Tide%20tables", article, "Tide tables", nil,
			nil},
		{"a substitute", "ACAP-allow-index: / must-use-resource=/s.txt", article, "Tables of the tide", nil,
			map[string]string{site + "/s.txt": "Tables of the tide"}},
		{"a substitute that is not there", "ACAP-allow-index: / must-use-resource=/s.txt", article, "-", nil, nil},
		{"a substitute that may not be crawled (I02)",
			"ACAP-disallow-crawl: /s.txt\nACAP-allow-index: / must-use-resource=/s.txt", article, "-", nil,
			map[string]string{site + "/s.txt": "Tables of the tide"}},
		{"a substitute that says itself that it may not (X30)", "ACAP-allow-index: / must-use-resource=/s.html",
			article, "-", nil,
			map[string]string{site + "/s.html": `<meta name="robots" content="ACAP disallow-crawl">Tables`}},
		{"two substitutes (F15)",
			"ACAP-allow-index: / must-use-resource=/s.txt\nACAP-allow-index: / must-use-resource=/r.txt", article, "-",
			nil,
			map[string]string{site + "/s.txt": "one", site + "/r.txt": "other"}},
		{"a part cut out", "", `<p>Open <b class="the-acap:disallow-index">shut</b> quay.`, "Open quay.", nil, nil},
		{"a part of a prohibited page (N05)", "ACAP-disallow-index: /",
			`<p>Shut.<p class="the-acap:allow-index">Open quay.`, "Open quay.", nil, nil},
		{"links", "", `<a href="/b">b</a> <a class="the-acap:disallow-follow" href="/c">c</a>`, "b c",
			[]string{site + "/b"}, nil},
		{"follow prohibited", "ACAP-disallow-follow: /", `<a href="/b">b</a>`, "b", nil, nil},
		{"discarded (M06)", "", `<meta name="robots" content="ACAP disallow-crawl"><a href="/b">b</a>`, "-", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tm := of(t, &world{pages: c.pages}, c.robots, c.body)
			content, ok := tm.Text()
			got := content.String()
			if !ok {
				got = "-"
			}
			if got != c.text {
				t.Errorf("text %q, want %q", got, c.text)
			}
			if links, _ := tm.Links(); !slices.Equal(links, c.links) {
				t.Errorf("links %q, want %q", links, c.links)
			}
		})
	}
}

// TestContentOfBlocks checks that a heading that serves as the title also occurs in the text, and
// that String does not repeat such a title.
func TestContentOfBlocks(t *testing.T) {
	for _, c := range []struct{ name, body, title, text, headings, whole string }{
		{"a title", "<title>Tide</title><h1>Low</h1><p>Ships.<h2>High</h2>", "Tide", "Low Ships. High", "Low\nHigh",
			"Tide Low Ships. High"},
		{"none", "<p>Menu<h1>Low</h1><p>Ships.", "Low", "Menu Low Ships.", "Low", "Menu Low Ships."},
		{"nothing else", "<title>Tide</title>", "Tide", "", "", "Tide"},
		{"begins with its title", "<title>Low</title><p>Low water.", "Low", "Low water.", "", "Low Low water."},
	} {
		content, _ := of(t, &world{}, "", c.body).Text()
		if content.Title != c.title || content.Text != c.text || content.Headings() != c.headings ||
			content.String() != c.whole {
			t.Errorf("%s: %+v, %q, %q", c.name, content, content.Headings(), content.String())
		}
	}
}

func TestCopy(t *testing.T) {
	for _, c := range []struct{ name, robots, body, copy, text string }{ // "-" as the value of copy means no copy
		{"as sent", "", article, article,
			"Low water The pilot waits for the tide. Ships of deep draught lie in the roads. Words by Ada Quill."},
		{"nothing in it", "", "", "", ""},
		{"prohibited", "ACAP-disallow-preserve: /", article, "-", ""},
		{"a part cut out (N28)", "", `<p>Open <b class="the-acap:disallow-preserve">shut</b> quay.`, `<p>Open  quay.`,
			"Open quay."},
		{"a part that cannot be cut out", "", `<p>Open.<table><form class="the-acap:disallow-preserve"></table><p>x`,
			"?", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tm := of(t, &world{}, c.robots, c.body)
			body, cut, ok := tm.Copy(acap.Preserve)
			text, textOK := tm.CopyText()
			switch {
			case ok != textOK:
				t.Errorf("copy %v, its text %v", ok, textOK)
			case c.copy == "?":
				if ok && (body == nil || strings.Contains(string(body), "disallow")) {
					t.Errorf("copy %q", body)
				}
			case ok != (c.copy != "-"):
				t.Errorf("copy %v", ok)
			case ok && (string(body) != c.copy || cut != (c.copy != c.body) || text != c.text):
				t.Errorf("copy %q, cut %v, text %q", body, cut, text)
			}
		})
	}
}

func TestSnippet(t *testing.T) {
	long := "<title>Low water</title><p>" + strings.Repeat("The pilot waits for the tide at the quay. ", 30)
	for _, c := range []struct {
		name, robots, body, query string
		text                      string // "-" means no text
		include                   []snippet.Include
	}{
		{"a few words", "ACAP-allow-present-snippet: / max-length=4-words", long, "", "The pilot waits for", nil},
		{"nothing (X05)", "ACAP-allow-present-snippet: / max-length=0-chars", long, "", "-", nil},
		{"prohibited", "ACAP-disallow-present-snippet: /", long, "", "-", nil},
		{"a credit", "ACAP-allow-present-snippet: / max-length=4-words must-include-resource=the-acap:credit:id:by",
			article, "", "The pilot waits for",
			[]snippet.Include{{Role: "credit", Text: "Words by Ada Quill."}}},
		{"a credit that is missing (J12)",
			"ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:id:nope", article, "", "-", nil},
		{"a credit that may not be shown", "ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:id:by",
			`<p>Tide.<p id="by">By <b class="the-acap:disallow-present-snippet">Ada</b>`, "", "-", nil},
		{"an extract longer than the limit (J04)",
			"ACAP-allow-present-snippet: / max-length=3-words must-include-resource=the-acap:extract:class:lead",
			article, "", "-", nil},
		{"an element with a shorter limit of its own",
			"ACAP-disallow-present-snippet: /\n",
			`<meta name="robots" content="max-snippet:9">` +
				`<p class="the-acap:allow-present-snippet">The pilot waits for the tide.`, "", "The pilot", nil},
		{"an element of a prohibited page", "ACAP-disallow-present-snippet: /",
			`<p>Shut.<p class="the-acap:allow-present-snippet">Open quay.`, "", "Open quay.", nil},
		{"a link whose target may not be crawled (X08)",
			"ACAP-disallow-crawl: /l\nACAP-allow-present-snippet: / must-include-resource=the-acap:link:id:l",
			`<p>Tide<a id=l href="/l">L</a>`, "", "-", nil},
		{"no words of data-nosnippet", "", `<p>Open <b data-nosnippet>shut</b> quay.`, "", "Open quay.", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, ok := of(t, &world{}, c.robots, c.body).Snippet(acap.PresentSnippet, snippet.Wanted{Query: c.query})
			if !ok {
				s.Text = "-"
			}
			if strings.TrimSuffix(s.Text, "…") != c.text || !reflect.DeepEqual(s.Include, c.include) {
				t.Errorf("%q %+v, want %q %+v", s.Text, s.Include, c.text, c.include)
			}
		})
	}
}

// TestElementLimits checks that a length limit on an element applies to a snippet that contains
// text of the element, even if the policy requires that element.
func TestElementLimits(t *testing.T) {
	const use, include = "ACAP-allow-present-snippet: / must-use-resource=the-acap:extract:id:lead",
		"ACAP-allow-present-snippet: / must-include-resource=the-acap:extract:id:lead"
	for _, c := range []struct{ robots, define, want string }{
		{"", "present-snippet max-length=2-words", "The pilot"},
		{"ACAP-disallow-present-snippet: /", "present-snippet max-length=2-words", "The pilot"},
		{use, "present-snippet max-length=2-words", "The pilot"},
		{use + " max-length=1-words", "present-snippet max-length=2-words", "The"},
		{include, "present-snippet max-length=2-words", ""},
		{include, "present-snippet max-length=6-words", "The pilot waits for the tide."},
		{"ACAP-allow-present-snippet: / must-use-resource=the-acap:text:Open%20roads%20and%20berths%20for%20all " +
			"must-include-resource=the-acap:extract:id:lead",
			"present-snippet max-length=6-words", "The pilot waits for the tide."},
		{"ACAP-allow-present-snippet: / must-use-resource=the-acap:text:Open%20roads " +
			"must-include-resource=the-acap:extract:id:lead",
			"present-snippet max-length=2-words", ""},
		{"", "present-snippet max-length=0-words", ""},
		{use, "present-snippet max-length=0-words", ""},
		{"ACAP-disallow-present-snippet: /", "present-snippet max-length=0-words", ""},
		{"", "present-snippet must-include-resource=the-acap:credit:text:Ada", ""},
		// the policy requires two different sources for one text
		{use, "present-snippet must-use-resource=the-acap:text:Ada", ""},
		{include + "\nACAP-allow-present-snippet: / must-include-resource=the-acap:credit:text:Ada",
			"present-snippet must-include-resource=the-acap:credit:text:Bob", ""},
	} {
		for _, kept := range []bool{false, true} {
			w := &world{robots: map[string]string{}}
			w.robots[site] = "ACAP-version: 1.1\nACAP-qualified-usage: brief " + c.define + "\nACAP-crawler: *\n" +
				c.robots + "\n"
			u, _ := url.Parse(site + "/a.html")
			origin, _ := w.Policy(context.Background(), u)
			pg := pageOf(u.String(), 200, `<p id="lead" class="the-acap:allow-(brief)">The pilot waits for the tide.`)
			tm := Of(context.Background(), origin, u, pg, Sources{Policies: w, Fetcher: w}, acap.Facts{Now: noon})
			if kept {
				content, _ := tm.Text()
				tm = Held(context.Background(), origin, u, pg.Own(), nil, Sources{Policies: w},
					acap.Facts{Now: noon}).Keeping(tm.Keep(false, content))
			}
			s, _ := tm.Snippet(acap.PresentSnippet, snippet.Wanted{})
			if strings.TrimSuffix(s.Text, "…") != c.want {
				t.Errorf("%s under %q, kept %v: %q, want %q", c.define, c.robots, kept, s.Text, c.want)
			}
		}
	}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct {
		name, robots, body, title string
		by                        acap.Usage
	}{
		{"by snippet", "", article, "Low water", acap.PresentSnippet},
		{"by present", "ACAP-disallow-present-snippet: /", article, "Low water", acap.Present},
		{"by nothing", "ACAP-disallow-present: /\nACAP-allow-present-link: /", article, "", ""},
		{"not of a page that another stands for", "ACAP-allow-present: / must-use-resource=the-acap:text:Tide", article,
			"", ""},
		{"not from a part that is shut", "",
			`<body><div class="the-acap:disallow-present"><title>Low water</title></div>x`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fresh := of(t, &world{}, c.robots, c.body)
			w := &world{robots: map[string]string{}}
			for _, tm := range []*Terms{fresh, held(t, w, fresh, c.robots, true), held(t, w, fresh, c.robots, false)} {
				if title, by := tm.Title(); title != c.title || title != "" && by != c.by {
					t.Errorf("title %q by %q", title, by)
				}
			}
		})
	}
}

// TestKept checks that stored data is enough to show a page later as its publisher requires,
// without its copy and without a request.
func TestKept(t *testing.T) {
	robots := "ACAP-allow-present-snippet: / max-length=4-words must-include-resource=the-acap:credit:id:by\n"
	byURL := "ACAP-allow-present: / must-include-resource=the-acap:credit:/by.txt\nACAP-allow-present-snippet: / " +
		"must-use-resource=/s.txt\nACAP-allow-index: / must-use-resource=/s.txt\n"
	for _, c := range []struct {
		name, then, now string
		copied          bool
		snippet         string // "-" means no snippet
		findable        bool
	}{
		{"a credit from the page", robots, robots, false, "The pilot waits for", true},
		{"a credit that is asked for only now", "", robots, false, "-", true},
		{"a credit that is asked for only now, with a copy", "", robots, true, "The pilot waits for", true},
		{"other resources", byURL, byURL, false, "Tables of the tide", true},
		{"other resources beside a copy", byURL, byURL, true, "Tables of the tide", true},
		{"a substitute that may no longer be crawled", byURL, byURL + "ACAP-disallow-crawl: /s.txt\n", true, "-",
			false},
		{"a substitute that was taken down", byURL, byURL + "ACAP-request-take-down: /s.txt\n", true, "-", false},
		{"a credit that was taken down", byURL, byURL + "ACAP-request-take-down: /by.txt\n", true, "-", true},
		{"a substitute that is asked for only now", "", byURL, true, "-", false},
		{"a shorter limit", "", "ACAP-allow-present-snippet: / max-length=1-words", false, "The", true},
		{"a part asked for only now", "", "ACAP-allow-present-snippet: / must-use-resource=the-acap:extract:class:lead",
			false, "-", true},
		{"a part that was used then too", "ACAP-allow-present-snippet: / must-use-resource=the-acap:extract:class:lead",
			"ACAP-allow-present-snippet: / must-use-resource=the-acap:extract:class:lead", false,
			"Ships of deep draught lie in the roads.", true},
		{"index prohibited", "", "ACAP-disallow-index: /", false, "?", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{pages: map[string]string{site + "/s.txt": "Tables of the tide", site +
				"/by.txt": "By the harbour office"}}
			fresh := of(t, w, c.then, article)
			tm := held(t, w, fresh, c.now, c.copied)
			asked := len(w.fetched)
			s, ok := tm.Snippet(acap.PresentSnippet, snippet.Wanted{})
			if !ok {
				s.Text = "-"
			}
			if text := strings.TrimSuffix(s.Text, "…"); c.snippet != "?" && text != c.snippet &&
				(c.snippet == "-" || !strings.HasPrefix(text, c.snippet)) {
				t.Errorf("snippet %q, want %q", s.Text, c.snippet)
			}
			if ok && len(s.Include) != len(tm.Decide(acap.PresentSnippet).MustInclude()) {
				t.Errorf("beside it %+v", s.Include)
			}
			if got := tm.Findable(); got != c.findable {
				t.Errorf("findable %v", got)
			}
			if len(w.fetched) != asked {
				t.Errorf("requested %q", w.fetched[asked:])
			}
		})
	}
}

// TestFindableParts checks an index entry when only parts of the page may still be indexed. An
// entry made from the whole page may no longer be used. An entry made from these parts may be used.
func TestFindableParts(t *testing.T) {
	body := `<p>Shut.<p class="the-acap:allow-index">Open quay.`
	for then, want := range map[string]bool{"": false, "ACAP-disallow-index: /": true} {
		w := &world{}
		fresh := of(t, w, then, body)
		if got := held(t, w, fresh, "ACAP-disallow-index: /", false).Findable(); got != want {
			t.Errorf("made under %q: findable %v", then, got)
		}
	}
	w := &world{}
	fresh := of(t, w, "ACAP-disallow-index: /", `<p>Shut.<p class="the-acap:disallow-index">Shut too.`)
	if held(t, w, fresh, "ACAP-disallow-index: /", false).Findable() {
		t.Error("no part may be indexed")
	}
}

// TestEntryCurrent checks that EntryCurrent is true only if the stored entry equals the entry that
// would be made from the page now. An entry that leaves out more than required may still be used.
func TestEntryCurrent(t *testing.T) {
	body := `<p>Open. <b class="the-acap:disallow-(one)">Loft.</b> ` +
		`<b class="the-acap:disallow-(two) the-acap:disallow-(one)">Hold.</b> ` +
		`<b class="the-acap:allow-(three)">Deck.</b>`
	usages := func(one, two, three string) string {
		return "ACAP-composite-usage: one " + one + "\nACAP-composite-usage: two " + two +
			"\nACAP-composite-usage: three " + three + "\n"
	}
	whole, text := usages("follow", "follow", "index"), "ACAP-allow-index: / must-use-resource=the-acap:text:tables"
	for name, c := range map[string]struct {
		then, now        string
		findable, stands bool
	}{
		"the same": {whole, whole, true, true},
		"the same, less a part": {usages("index", "follow", "index"),
			usages("index", "follow", "index"), true, true},
		"a part must be left out":     {whole, usages("follow", "index", "index"), false, false},
		"a part need not be left out": {usages("follow", "index", "index"), whole, true, false},
		"another part must be left out": {usages("follow", "index", "index"),
			usages("index", "follow", "index"), false, false},
		"one of two need not be left out": {usages("index", "follow", "index"),
			usages("follow", "index", "index"), true, false},
		"what is in no element": {whole, whole + "ACAP-disallow-index: /", false, false},
		"parts alone": {whole + "ACAP-disallow-index: /", whole + "ACAP-disallow-index: /",
			true, true},
		"parts alone, and no longer": {whole + "ACAP-disallow-index: /",
			usages("follow", "follow", "follow") + "ACAP-disallow-index: /", false, false},
		"parts alone, now the page": {whole + "ACAP-disallow-index: /", whole, true, false},
		"parts alone, now the page without one": {whole + "ACAP-disallow-index: /", usages("index", "index", "index"),
			false, false},
		"parts alone, now less a part in them": {whole + "ACAP-disallow-index: /", usages("index", "follow", "index") +
			"ACAP-disallow-index: /", false, false},
		"a text":                            {whole + text, whole + text, true, true},
		"a text, whatever the elements say": {whole + text, usages("index", "index", "follow") + text, true, false},
		"a text, which need not be used":    {whole + text, whole, true, false},
		"a text instead":                    {whole, whole + text, false, false},
		"a limit has passed": {whole, whole + "ACAP-allow-index: / time-limit=until-2020-01-01",
			false, false},
	} {
		w := &world{}
		fresh := of(t, w, c.then, body)
		tm := held(t, w, fresh, c.now, true)
		if findable, stands := tm.Findable(), tm.EntryCurrent(); findable != c.findable || stands != c.stands {
			t.Errorf("%s: findable %v, stands %v", name, findable, stands)
		}
	}
}

// TestFirstBarred checks that FirstBarred returns the first part of the page that may not be used,
// and the mark of that part.
func TestFirstBarred(t *testing.T) {
	for body, want := range map[string]string{
		`<p>Open.`: "",
		`<p>Open. <b class="the-acap:disallow-index">x</b>`: "",
		`<p>Open. <b class="the-acap:allow-preserve">x</b> ` +
			`<i class="the-acap:disallow-preserve">y</i>`: "the-acap:disallow-preserve",
	} {
		tm := of(t, &world{}, "", body)
		if d, barred := tm.FirstBarred(acap.Preserve); barred != (want != "") || barred &&
			(d.Allowed || d.Because.Text != want) {
			t.Errorf("%s: %v by %v", body, barred, d.Because)
		}
	}
}

// TestEarlier checks which statements apply to an earlier version of a page: its prohibitions on
// its own elements, and all statements of the last fetch.
func TestEarlier(t *testing.T) {
	of := func(tokens ...string) (own acap.Own) {
		for i, token := range tokens {
			own.Marks = append(own.Marks, acap.Mark{Token: token, Line: i + 1})
		}
		return own
	}
	now, old := of("the-acap:allow-index"), of("the-acap:disallow-preserve", "the-acap:allow-preserve",
		"the-acap:disallow-crawl", "THE-ACAP:Disallow-index")
	now.Tags, old.Tags = []acap.Tag{{Name: "robots", Content: "noindex"}},
		[]acap.Tag{{Name: "robots", Content: "noarchive"}}
	old.Marks = append(old.Marks, acap.Mark{Token: "the-acap:disallow-present", Place: acap.OnHead})
	got := Earlier(now, old)
	want := acap.Own{Tags: now.Tags, Marks: append(slices.Clone(now.Marks), old.Marks[0], old.Marks[3]), Then: &old}
	if !reflect.DeepEqual(got, want) || len(now.Marks) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestKeptIsBounded(t *testing.T) {
	w := &world{pages: map[string]string{site + "/by.txt": strings.Repeat("word ", 1000)}}
	robots := "ACAP-allow-present: / must-include-resource=the-acap:credit:/by.txt"
	fresh := of(t, w, robots, "<title>T</title><p>"+strings.Repeat("The tide comes in. ", 1000))
	content, _ := fresh.Text()
	if k := fresh.Keep(false, content); len(k.String()) > 2000 || len(k.Parts) != 0 {
		t.Errorf("%d bytes are kept", len(k.String()))
	}
}

func TestTakeDown(t *testing.T) {
	u, _ := url.Parse(site + "/a.html")
	for robots, want := range map[string]bool{
		"ACAP-request-take-down: /a.html":   true,
		"ACAP-request-take-down: /%61.html": true,
		"ACAP-request-take-down: /b.html":   false,
		// P1 2.6 (P01): the asterisk is not a wildcard, because a request names a single resource
		"ACAP-request-take-down: /*":            false,
		"ACAP-request-re-crawl: /a.html":        false,
		"ACAP-request-take-down: /A.html":       false, // P1 2.6 (P10): paths are compared case-sensitively
		"ACAP-request-take-down: /a.html?page=": false, // P1 2.6 (P02): the query must match exactly
	} {
		tm := of(t, &world{}, robots, article)
		if got := TakeDown(tm.Policy(), u) != nil; got != want {
			t.Errorf("%s: %v", robots, got)
		}
		if !tm.Decide(acap.Index).Allowed { // X64: a take-down changes no decision
			t.Errorf("%s changes decisions", robots)
		}
	}
	if TakeDown(nil, u) != nil {
		t.Error("no policy")
	}
}

// TestNotLawfullyFetched checks that nothing in a page is read if its origin prohibits crawl (X02).
func TestNotLawfullyFetched(t *testing.T) {
	tm := of(t, &world{}, "ACAP-disallow-crawl: /a.html",
		`<meta name="robots" content="noindex"><title>T</title><a href="/b">b</a>`)
	if tm.Page() != nil {
		t.Error("the page is read")
	}
	if _, ok := tm.Text(); ok {
		t.Error("text")
	}
	if _, ok := tm.Links(); ok {
		t.Error("links")
	}
	if _, _, ok := tm.Copy(acap.Preserve); ok {
		t.Error("copy")
	}
	if !tm.Decide(acap.Index).Allowed {
		t.Error("F22: its own fields say nothing of index")
	}
}

// TestRequisites checks that META refresh, frames and images are followed by the same rules as
// links, for the page and for single elements.
func TestRequisites(t *testing.T) {
	const body = `<meta http-equiv="refresh" content="9; url=/next">` +
		`<link rel="stylesheet" href="/s.css"><img src="/a.png">
<p class="the-acap:disallow-follow"><img src="/b.png"></p>` +
		`<p class="the-acap:allow-follow"><img src="/c.png"><a href="/d">d</a></p>`
	at := func(paths ...string) (links []string) {
		for _, p := range paths {
			links = append(links, site+p)
		}
		return links
	}
	for _, c := range []struct {
		name, robots, body string
		links, requisites  []string
	}{
		{"permitted", "", body, at("/next", "/d"), at("/s.css", "/a.png", "/c.png")},
		{"follow prohibited", "ACAP-disallow-follow: /", body, at("/d"), at("/c.png")},
		{"nofollow", "", `<meta name="robots" content="nofollow">` + body, nil, nil},
		{"nothing marked", "ACAP-disallow-follow: /", `<img src="/a.png">`, nil, nil},
	} {
		tm := of(t, &world{}, c.robots, c.body)
		if links, _ := tm.Links(); !slices.Equal(links, c.links) {
			t.Errorf("%s: links %q", c.name, links)
		}
		if requisites := tm.Requisites(); !slices.Equal(requisites, c.requisites) {
			t.Errorf("%s: requisites %q", c.name, requisites)
		}
	}
}
