package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/test/growth"
)

func TestDeepPages(t *testing.T) {
	const deep = 20_000
	open := strings.Repeat("<div>", deep)
	for _, c := range []struct{ name, body, text string }{
		{"plain elements", "<title>a</title>" + open + "b<p>c", "a b c"},
		{"closed again", open + "b" + strings.Repeat("</div>", deep) + "c<b>d", "b cd"},
		{"formatting", strings.Repeat("<b>", deep) + "b<i>c", "bc"},
		{"list items", strings.Repeat("<ul><li>a", 600), strings.TrimSpace(strings.Repeat("a ", 600))},
		{"what cannot be left out", "<title>a</title>" + strings.Repeat("<object>", deep) + "b", "a"},
		{"hidden ones cannot be left out", "<title>a</title>" + strings.Repeat("<div hidden>", deep) + "b", "a"},
		{"nested noscript", strings.Repeat("<noscript>", deep) + "b", ""},
	} {
		if got := htmlPage(c.body).Text(Cut{}); got != c.text {
			t.Errorf("%s: %.60q", c.name, got)
		}
	}
}

// TestDeepPageStillSpeaks checks that elements nested too deeply are not used, but that their
// statements are still obeyed.
func TestDeepPageStillSpeaks(t *testing.T) {
	p := htmlPage("<head><meta name=robots content=noindex></head>" + strings.Repeat("<object>", 600) +
		"<a href=x>a</a><p class=the-acap:disallow-preserve>b")
	own := p.Own()
	if len(own.Tags) != 1 || len(own.Marks) != 1 || own.Marks[0].Place != acap.OnElement {
		t.Errorf("own %+v", own)
	}
	if got, cut := p.Copy(without("preserve", true)); got != nil || !cut {
		t.Errorf("copy %.60q", got)
	}
	if got, cut := p.Copy(without("follow", true)); cut || len(got) == 0 {
		t.Error("nothing of that mark has to be cut")
	}
	if got := p.Links(Cut{}); got != nil {
		t.Errorf("links %q", got)
	}
}

func TestMarksOutlastTheParser(t *testing.T) {
	// the parser makes no element of the P in this markup
	p := htmlPage("a<svg><desc><template></template></desc></svg><p class=the-acap:disallow-preserve>b")
	if own := p.Own(); len(own.Marks) != 1 || len(p.tree().lost) != 1 {
		t.Errorf("own %+v", own)
	}
	if got, cut := p.Copy(without("preserve", true)); got != nil || !cut {
		t.Errorf("copy %q", got)
	}
}

// TestTreesStaySmall checks that the trees of pages with unclosed formatting elements stay small. A
// parser opens such elements again in every block.
func TestTreesStaySmall(t *testing.T) {
	var formats, noscripts strings.Builder
	for i := range 500 {
		fmt.Fprintf(&formats, "<b a=%d>", i)
	}
	blocks := strings.Repeat("<p>x", 40_000)
	for range 40 {
		noscripts.WriteString("<noscript>" + formats.String() + blocks[:6000] + "</noscript>")
	}
	for name, body := range map[string]string{
		"formatting":   formats.String() + blocks,
		"end tags":     strings.ReplaceAll(formats.String(), ">", "><object></b></object>") + blocks,
		"marked":       strings.ReplaceAll(formats.String(), "<b ", "<b hidden ") + blocks,
		"in noscripts": noscripts.String(),
	} {
		p := htmlPage(body)
		nodes := 0
		walk(p.tree().root, func(*html.Node) bool { nodes++; return true }, func(*html.Node) {})
		if nodes > maxNodes {
			t.Errorf("%s: %d nodes of %d bytes", name, nodes, len(body))
		}
	}
	if got := htmlPage(formats.String() + blocks).Text(Cut{}); got != strings.TrimSpace(strings.Repeat("x ", 40_000)) {
		t.Errorf("text %.60q", got)
	}
}

// TestLinear checks that the time for reading a page is linear in its size, for many kinds of
// markup.
func TestLinear(t *testing.T) {
	for name, part := range map[string]string{
		"marks":      "<p class='the-acap:disallow-index'>x<b class=acap:y>z",
		"unclosed":   "<li class='the-acap:disallow-index'>x",
		"metas":      "<meta name=robots content=noindex>",
		"ids":        "<i id=a class=x>y</i>",
		"attributes": "<p a b c d e f=g h>",
		"references": "&amp;&notin",
		"noscript":   "<noscript><p class=acap:x>",
		"colons":     "acap:",
		"comments":   "<!--",
		"links":      "<a href=%>x<a href=/y?z>",
		"styles":     "<style>.a,#b{display:none}@media x{.c{.d{display:block}}</style><p class='a c'>x",
		"requisites": "<img srcset='a,b 1x' style='a:url(\\'>",
	} {
		growth.Linear(t, name, strings.Repeat(part, (1<<17)/len(part)), func(body string) { exercise(htmlPage(body)) })
	}
}

// exercise calls all methods of a page.
func exercise(p *Page) {
	for _, c := range []Cut{{}, {Snippet: true}, without("index", true), without("index", false)} {
		p.Blocks(c)
		p.Title(c)
		p.Links(c)
		p.Requisites(c)
		p.Copy(c)
		for _, locator := range []string{"id:a", "idlist:a,b", "class:x", "classlist:x,y", "meta:robots",
			"taglist:p,b,li,title"} {
			p.Extract(locator, c)
			p.Link(locator)
		}
	}
	p.Own()
	p.Canonical()
	p.Language()
}

func FuzzPage(f *testing.F) {
	body, err := os.ReadFile(filepath.Join("testdata", "harbour.html"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("text/html", body)
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		p := fetched(contentType, string(body))
		exercise(p)
		for _, c := range []Cut{{}, {Snippet: true}, without("index", true), without("index", false)} {
			if err := apart(p, c); err != nil {
				t.Error(err)
			}
		}
		if !p.HTML() {
			return
		}
		own := p.Own()
		lines := 1 + strings.Count(p.Source(), "\n") + strings.Count(p.Source(), "\r")
		for _, m := range own.Marks {
			if m.Line > lines || m.Line < 0 {
				t.Errorf("mark %+v in %d lines", m, lines)
			}
		}
		for _, c := range []Cut{without("index", true), without("index", false)} {
			got, cut := p.Copy(c)
			if !cut && !bytes.Equal(got, body) {
				t.Errorf("an uncut copy differs: %q", got)
			}
			if text := p.Text(c); len(text) > 4*len(p.Source()) || strings.Contains(text, "  ") {
				t.Errorf("text %q", text)
			}
		}
	})
}
