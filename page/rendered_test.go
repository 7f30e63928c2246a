package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
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
		"<!DOCTYPE html><html><head><meta charset=iso-8859-1><title>Quai</title></head><body><p>Café <a href=b.html>b</a></body></html>")
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
	p := rendered("text/html", "<p>a", `<html><head></head><body><p class="acap:disallow-preserve">secret</p><p>b</p></body></html>`)
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
		{"a prohibited element that scripts remove makes the page prohibited", p(u), "<p>x</p>", acap.Index, nil, false},
		{"one of two that scripts remove, too", p(u) + p(u), p(u), acap.Index, nil, false},
		{"a permitted element that scripts add to a prohibited page",
			`<meta name=robots content="ACAP disallow-index">`, `<meta name=robots content="ACAP disallow-index">` + p(may),
			acap.Index, []string{may}, false},
		{"a permitted element of a prohibited page, as sent",
			`<meta name=robots content="ACAP disallow-index">` + p(may), `<meta name=robots content="ACAP disallow-index">` + p(may),
			acap.Index, []string{may}, true},
		{"scripts repeat a permission on a second element",
			`<meta name=robots content="ACAP disallow-index">` + p(may),
			`<meta name=robots content="ACAP disallow-index">` + p(may) + p(may), acap.Index, []string{may}, false},
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
