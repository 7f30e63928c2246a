package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// rendered returns a page with a body as sent and the document that its scripts made.
func rendered(contentType, sent, document string) *page.Page {
	return page.New([]page.Hop{{URL: "http://quay.example/a.html", Status: 200,
		Header: http.Header{"Content-Type": {contentType}}, Body: []byte(sent), Rendered: []byte(document)}})
}

// Text, links and copies of a rendered page are those of the document that its scripts made, which is UTF-8 whatever
// the page as sent declares.
func TestRendered(t *testing.T) {
	p := rendered("text/html; charset=iso-8859-1", "<title>Quay</title><div id=app></div><script src=a.js></script>",
		"<!DOCTYPE html><html><head><meta charset=iso-8859-1><title>Quai</title></head>"+
			"<body><p>Café <a href=b.html>b</a></body></html>")
	text, _ := p.Blocks(page.Cut{})
	if got := p.Title(page.Cut{}); got != "Quai" || text == "" {
		t.Errorf("title %q, text %q", got, text)
	}
	if got := p.Text(page.Cut{}); got != "Quai Café b" && got != "Café b" {
		t.Errorf("text %q", got)
	}
	if got := p.Links(page.Cut{}); !slices.Equal(got, []string{"http://quay.example/b.html"}) {
		t.Errorf("links %v", got)
	}
	body, cut := p.Copy(page.Cut{})
	if string(body) != string(p.Last().Rendered) || cut || p.DocumentType() != "text/html; charset=utf-8" {
		t.Errorf("copy %q, cut %v, type %s", body, cut, p.DocumentType())
	}
	if body, _ = p.Sent().Copy(page.Cut{}); string(body) != string(p.Last().Body) || p.Sent().Rendered() {
		t.Errorf("copy of the page as sent %q", body)
	}
	if p.AppearsEmpty() || !p.Sent().AppearsEmpty() {
		t.Error("appears empty")
	}
	if own := p.Own(); own.Scripted != nil {
		t.Errorf("scripts made statements: %+v", own)
	}
	if other := rendered("application/pdf", "%PDF-", "<p>x"); other.Rendered() || string(other.Document()) != "%PDF-" {
		t.Error("a document that is not HTML counts as rendered")
	}
}

// The document of a page that was rendered is cut like any other.
func TestRenderedCopyCut(t *testing.T) {
	p := rendered("text/html", "<p>a",
		`<html><head></head><body><p class="acap:disallow-preserve">secret</p><p>b</p></body></html>`)
	body, cut := p.Copy(page.Cut{Keep: func(chain []acap.Mark) bool { return len(chain) == 0 }})
	if want := "<html><head></head><body><p>b</p></body></html>"; string(body) != want || !cut {
		t.Errorf("%q, %v", body, cut)
	}
}

// What scripts add and remove of a page's statements.
func TestScriptedStatements(t *testing.T) {
	const (
		u    = "the-acap:disallow-index"
		may  = "the-acap:allow-index"
		meta = `<meta name=robots content="ACAP disallow-follow">`
	)
	p := func(class string) string { return fmt.Sprintf("<p class=%q>x</p>", class) }
	for _, c := range []struct {
		name, sent, document string
		usage                acap.Usage
		chain                []string // classes around a part of the rendered document; nil: the page
		allowed              bool
	}{
		{"nothing changes", p(u), p(u), acap.Index, nil, true},
		{"nothing changes, of the element", p(u), p(u), acap.Index, []string{u}, false},
		{"META that scripts add", "", meta, acap.Follow, nil, false},
		{"META that scripts remove", meta, "", acap.Follow, nil, false},
		{"an element statement that scripts add", "x", p(u), acap.Index, []string{u}, false},
		{"a permitted element that scripts add to a prohibited page",
			`<meta name=robots content="ACAP disallow-index">`,
			`<meta name=robots content="ACAP disallow-index">` + p(may),
			acap.Index, []string{may}, false},
		{"a permitted element of a prohibited page, as sent",
			`<meta name=robots content="ACAP disallow-index">` + p(may),
			`<meta name=robots content="ACAP disallow-index">` + p(may),
			acap.Index, []string{may}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			pg := rendered("text/html", "<head></head>"+c.sent, "<head>"+c.document)
			policy := acap.Parse("http://quay.example/robots.txt", nil).Policy(acap.Crawler{Names: []string{"quay"}})
			u, err := url.Parse("http://quay.example/a.html")
			if err != nil {
				t.Fatal(err)
			}
			if c.sent == "" || c.document == "" {
				pg = rendered("text/html", "<head>"+c.sent+"</head>", "<head>"+c.document+"</head>")
			}
			var chain []acap.Mark
			for i, class := range c.chain {
				chain = append(chain, acap.Mark{Token: class, Element: i + 1})
			}
			if d := policy.Narrow(pg.Own()).Part(c.usage, acap.NewResource(u), chain); d.Allowed != c.allowed {
				t.Errorf("allowed: %v because of %v; %+v", d.Allowed, d.Because, pg.Own())
			}
		})
	}
}

// What scripts move between elements with and without statements, in both directions.
func TestReveals(t *testing.T) {
	const no, may = "the-acap:disallow-index", "the-acap:allow-index"
	for _, c := range []struct {
		name, sent, document string
		page                 bool // the page itself may be used
		reveals, sentReveals bool
		snippet              bool
	}{
		{"nothing changes", `<p class=NO>sealed</p><p>open`,
			`<p class=NO>sealed</p><p>open`, true, false, false, false},
		{"the mark is removed", `<p class=NO>sealed</p><p>open`, `<p>sealed</p><p>open`, true, true, false, false},
		{"the mark moves to another element", `<p class=NO>sealed</p><p>open`,
			`<p>sealed</p><p class=NO>open`, true, true, true, false},
		{"the text moves out of the element", `<p class=NO>sealed</p><p>open`,
			`<p class=NO>x</p><p>it says sealed`, true, true, false, false},
		{"an element moves out of it", `<div class=NO>a<b>sealed word</b></div>`,
			`<div class=NO>a</div><b>sealed <i>word</i></b>`, true, true, false, false},
		{"into an attribute", `<p class=NO>sealed</p>`,
			`<p class=NO>x</p><img alt="sealed">`, true, true, false, false},
		{"the element goes away", `<p class=NO>sealed</p><p>open`, `<p>open`, true, false, false, false},
		{"its text changes", `<p class=NO>loading</p>`, `<p class=NO>3 comments</p><p>new`, true, false, false, false},
		{"the text was open, too", `<p class=NO>both</p><p>both`, `<p>both`, true, false, false, false},
		{"scripts add a mark", `<p>sealed</p><p>open`, `<p class=NO>sealed</p><p>open`, true, false, true, false},
		{"scripts add a mark to what is in their data", `<p>open</p><script>x = "sealed"</script>`,
			`<p>open</p><p class=NO>sealed</p><script>x = "sealed"</script>`, true, false, true, false},
		{"scripts add a marked element", `<p>open`, `<p>open<p class=NO>sealed`, true, false, false, false},
		{"a permission moves", `<p class=MAY>open</p><p>sealed`,
			`<p>open</p><p class=MAY>sealed`, false, true, true, false},
		{"a permission gets new text", `<p class=MAY>open</p>`, `<p class=MAY>other</p>`, false, true, false, false},
		{"a permission keeps its text", `<p class=MAY>open</p>`,
			`<div class=MAY><b>open</b></div>`, false, false, false, false},
		{"data-nosnippet is removed", `<p>open <b data-nosnippet>sealed</b>`,
			`<p>open <b>sealed</b>`, true, true, false, true},
		{"no statement at all", `<p>a`, `<p>b`, true, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			fill := strings.NewReplacer("NO", no, "MAY", may)
			p := rendered("text/html", fill.Replace(c.sent), fill.Replace(c.document))
			cut := page.Cut{Snippet: c.snippet, Keep: func(chain []acap.Mark) bool {
				keep := c.page
				for _, m := range chain {
					keep = m.Token == may
				}
				return keep
			}}
			if got := p.Reveals(cut); got != c.reveals {
				t.Errorf("reveals %v", got)
			}
			if got := p.SentReveals(cut); got != c.sentReveals {
				t.Errorf("the page as sent reveals %v", got)
			}
		})
	}
}
