package page

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

const address = "http://www.example.org/news/harbour.html"

// fetched returns a page with this body and Content-Type, fetched from the constant address.
func fetched(contentType, body string) *Page {
	h := Hop{URL: address, Status: 200, Header: http.Header{}, Body: []byte(body)}
	if contentType != "" {
		h.Header.Set("Content-Type", contentType)
	}
	return New([]Hop{h})
}

func htmlPage(body string) *Page { return fetched("text/html; charset=utf-8", body) }

func fixture(t testing.TB, name string) *Page {
	t.Helper()
	body, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return htmlPage(string(body))
}

// without returns a Cut that removes elements under a mark "disallow-" + usage. If page is false,
// it also removes everything that no mark permits.
func without(usage string, page bool) Cut {
	return Cut{Keep: func(chain []acap.Mark) bool {
		kept := page
		for _, m := range chain {
			token := strings.ToLower(m.Token)
			if strings.HasSuffix(token, ":disallow-"+usage) {
				return false
			}
			kept = kept || strings.HasSuffix(token, ":allow-"+usage)
		}
		return kept
	}}
}

func TestPageWithoutHops(t *testing.T) {
	p := New(nil)
	if p.MIME() != "" || p.HTML() || p.Source() != "" || p.Text(Cut{}) != "" || p.URL().String() != "" ||
		p.Links(Cut{}) != nil {
		t.Error("an empty page has no content")
	}
}

func TestMIME(t *testing.T) {
	for _, c := range []struct {
		header, body, want string
		html               bool
	}{
		{"Text/HTML ; charset=x", "x", "text/html", true},
		{"application/xhtml+xml", "x", "application/xhtml+xml", true},
		{"", "<!doctype html><p>x", "text/html", true},
		{"", "plain words", "text/plain", false},
		{"", "\x89PNG\r\n\x1a\n", "image/png", false},
		{"application/pdf", "<html>", "application/pdf", false},
	} {
		p := fetched(c.header, c.body)
		if p.MIME() != c.want || p.HTML() != c.html {
			t.Errorf("%q: MIME %q, HTML %v", c.header, p.MIME(), p.HTML())
		}
	}
}

func TestLastHopIsThePage(t *testing.T) {
	p := New([]Hop{
		{URL: "http://a.example/", Status: 301, Header: http.Header{"X-Robots-Tag": {"noindex"}},
			Body: []byte("moved")},
		{URL: "http://b.example/x", Status: 200, Header: http.Header{"Content-Type": {"text/plain"}},
			Body: []byte("here")},
	})
	if p.URL().String() != "http://b.example/x" || p.Text(Cut{}) != "here" || len(p.Hops()) != 2 {
		t.Errorf("got %s %q", p.URL(), p.Text(Cut{}))
	}
	if own := p.Own(); own.URL != "http://b.example/x" || len(own.Tags) != 0 {
		t.Errorf("the header of a redirect speaks for it alone: %+v", own)
	}
}

func TestPlainAndOtherText(t *testing.T) {
	for mime, want := range map[string]string{
		"text/plain":       "<b> one two",
		"text/csv":         "",
		"text/css":         "",
		"text/javascript":  "",
		"application/json": "",
		"image/svg+xml":    "",
	} {
		p := fetched(mime, "<b> one\n\n  two ")
		if got := p.Text(Cut{}); got != want {
			t.Errorf("%s: %q", mime, got)
		}
		if got := p.Text(without("index", false)); got != "" {
			t.Errorf("%s: prohibited text %q", mime, got)
		}
		if _, found := p.Extract("taglist:b", Cut{}); found { // I08: a page that is not HTML has no elements
			t.Errorf("%s: found an element", mime)
		}
		if body, cut := p.Copy(Cut{}); string(body) != "<b> one\n\n  two " || cut {
			t.Errorf("%s: copy %q", mime, body)
		}
		if body, cut := p.Copy(without("preserve", false)); body != nil || !cut {
			t.Errorf("%s: prohibited copy %q", mime, body)
		}
	}
}

func TestXHTML(t *testing.T) {
	p := fetched("application/xhtml+xml", `<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x.js"/>
<meta name="robots" content="ACAP disallow-follow"/></head>
<body><div class="the-acap:disallow-index"/><p><a id="x"/>One <![CDATA[<two>]]></p>`+
		`<p class="the-acap:disallow-index">three</p></body></html>`)
	if got := p.Text(without("index", true)); got != "One <two>" {
		t.Errorf("text %q", got)
	}
	own := p.Own()
	if len(own.Tags) != 1 || own.Tags[0].Line != 3 || own.Tags[0].Content != "ACAP disallow-follow" {
		t.Errorf("tags %+v", own.Tags)
	}
	if len(own.Marks) != 2 || own.Marks[1].Line != 4 {
		t.Errorf("marks %+v", own.Marks)
	}
	body, cut := p.Copy(without("index", true))
	if !cut || strings.Contains(string(body), "three") || !strings.Contains(string(body), "<![CDATA[<two>]]>") {
		t.Errorf("copy %v %s", cut, body)
	}
}

func TestConcurrentUse(t *testing.T) {
	p := fixture(t, "harbour.html")
	want := p.Text(without("index", true))
	p = fixture(t, "harbour.html")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p.Own()
			p.Links(Cut{})
			p.Copy(without("preserve", false))
			if got := p.Text(without("index", true)); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
}
