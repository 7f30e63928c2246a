package page

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestCopyUnchanged(t *testing.T) {
	for _, body := range []string{"<P>as <B>sent", "<p class=the-acap:disallow-index>x", "", "\xef\xbb\xbf<p>\xff"} {
		p := fetched("text/html", body)
		if got, cut := p.Copy(without("preserve", true)); string(got) != body || cut {
			t.Errorf("%q: %q, %v", body, got, cut)
		}
		if got, cut := p.Copy(without("preserve", false)); got != nil || !cut {
			t.Errorf("%q prohibited: %q, %v", body, got, cut)
		}
	}
}

func TestCopyCut(t *testing.T) {
	const no = "class=the-acap:disallow-preserve"
	for _, c := range []struct {
		name, body string
		page       bool
		want       string // expected copy; "": nothing may be kept
	}{
		{"bytes around stay", "<Div >a\r\n<div  " + no + ">b<div>c</div>d</DIV >e<!--x-->", true,
			"<Div >a\r\n<div></div>e<!--x-->"},
		{"a blank in what is cut (X89)", "<p>alpha<b " + no + "> secret </b>beta", true, "<p>alpha beta"},
		{"words that the page joined (X89)", "<p>al<b " + no + ">secret</b>pha", true, "<p>alpha"},
		{"a blank beside the cut (X89)", "<p>alpha <b " + no + "> secret </b>beta", true, "<p>alpha beta"},
		{"blanks in two cuts (X89)", "<p>a<b " + no + ">b c</b><b " + no + ">d e</b>f", true, "<p>a f"},
		{"a block within an inline element (X89)", "<div>a<span " + no + "><p>b</p></span>c</div>", true,
			"<div>a<div></div>c</div>"},
		{"a block around which nothing stands (X89)", "<div>a<span><p " + no + ">b</p></span>c</div>", true,
			"<div>a<span><div></div></span>c</div>"},
		{"a block between blocks (X89)", "<p>a</p>\n<p " + no + ">b c</p>\n<p>d", true, "<p>a</p>\n\n<p>d"},
		{"a line break (X89)", "<p>a<br " + no + ">b", true, "<p>a<br>b"},
		{"in SVG (X89)", "<svg><text>a<tspan " + no + "> b </tspan>c</text></svg>", true,
			"<svg><text>a c</text></svg>"},
		{"a script in what is cut is not seen (X89)", "<p>a<b " + no + "><script> 1 </script></b>b", true, "<p>ab"},
		{"end implied by what is cut", "<p>a<div " + no + ">b</div>c", true,
			"<html><head></head><body><p>a</p>c</body></html>"},
		{"inline", "<p>a <b " + no + ">b</b> <I>c</I>", true, "<p>a  <I>c</I>"},
		{"void element", "<p>a<IMG " + no + " src=x>b", true, "<p>ab"},
		{"two", "<p>a<b " + no + ">b</b>c<b " + no + ">d</b>e", true, "<p>ace"},
		{"nested", "<p>a<b " + no + ">b<i " + no + ">c</i></b>d", true, "<p>ad"},
		{"end tag implied", "<ul><li " + no + ">a<li>b</ul>", true,
			"<html><head></head><body><ul><li>b</li></ul></body></html>"},
		{"scope by the parser's tree (N29)", "<p " + no + ">a<div>b</div></p>", true,
			"<html><head></head><body><div>b</div><p></p></body></html>"},
		{"in noscript", "<p>a<noscript><i " + no + ">b</i>c &amp; d</noscript>", true,
			"<html><head></head><body><p>a<noscript>c &amp; d</noscript></p></body></html>"},
		{"body", "<title>a</title><body " + no + " id=x>b", true,
			`<html><head><title>a</title></head><body class="the-acap:disallow-preserve"></body></html>`},
		{"permitted element of a prohibited page",
			"<title>a</title><meta charset=utf-8><div id=x title=b>c<p " +
				"class='the-acap:allow-preserve'>d</p></div><!--e-->", false,
			`<html><head><meta charset="utf-8"/></head><body><div>` +
				`<p class="the-acap:allow-preserve">d</p></div></body></html>`},
		{"prohibited page", "a<p " + no + ">b", false, ""},
		{"without an element", "<table><tr><td>a</table><tr " + no + ">b", true, ""},
	} {
		got, cut := htmlPage(c.body).Copy(without("preserve", c.page))
		if !cut || string(got) != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestCopyKeepsEncoding(t *testing.T) {
	const body = "<meta charset=windows-1251><p>%s</p><p class=the-acap:disallow-preserve>%s</p>"
	page := func(s string) string {
		return encoded(t, "windows-1251", strings.ReplaceAll(body, "%s", s))
	}
	got, cut := fetched("text/html", page("паром")).Copy(without("preserve", true))
	if want := encoded(t, "windows-1251", "<meta charset=windows-1251><p>паром</p>"); !cut || string(got) != want {
		t.Errorf("got %q", got)
	}
	utf16 := func(s string) string { return "\xfe\xff" + encoded(t, "utf-16be", s) }
	got, _ = fetched("text/html", utf16("<p>ø<b class=the-acap:disallow-preserve>x</b>")).Copy(without("preserve",
		true))
	if want := utf16("<p>ø"); string(got) != want {
		t.Errorf("got %q", got)
	}
}

// TestCopyReadsAsText checks that the text of a copy is the text of the page without the cut
// elements, with the same blocks (X89).
func TestCopyReadsAsText(t *testing.T) { // X89: the words around a cut stay as far apart as before
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		body := someElements(random)
		p, c := htmlPage(body), without("preserve", true)
		got, cut := p.Copy(c)
		if !cut {
			continue
		}
		text, blocks := p.Blocks(c)
		again, parts := htmlPage(string(got)).Blocks(Cut{})
		if text != again || !slices.Equal(blocks, parts) {
			t.Fatalf("%s\nreads %q %v\ncopy %s\nreads %q %v", body, text, blocks, got, again, parts)
		}
	}
}

// someElements returns a random well-formed page in which some elements may not be preserved.
func someElements(random *rand.Rand) string {
	var b strings.Builder
	var open []string
	b.WriteString("<body>")
	for range 1 + random.IntN(16) {
		switch n := random.IntN(9); {
		case n < 3:
			tag := []string{"b", "span", "div", "section", "i"}[random.IntN(5)]
			open = append(open, tag)
			fmt.Fprintf(&b, "<%s%s>", tag, []string{"", " class=the-acap:disallow-preserve"}[random.IntN(2)])
		case n < 5 && len(open) > 0:
			fmt.Fprintf(&b, "</%s>", open[len(open)-1])
			open = open[:len(open)-1]
		case n < 7:
			fmt.Fprintf(&b, "%c", 'a'+random.IntN(26))
		default:
			b.WriteString([]string{" ", "\n", "<!--x-->", "<img alt=' y '>"}[random.IntN(4)])
		}
	}
	for _, tag := range slices.Backward(open) {
		fmt.Fprintf(&b, "</%s>", tag)
	}
	return b.String()
}

func TestCopySnippetCut(t *testing.T) {
	p := htmlPage("<p>a<b data-nosnippet>b</b>c")
	if got, cut := p.Copy(Cut{}); cut || string(got) != "<p>a<b data-nosnippet>b</b>c" {
		t.Errorf("got %q", got)
	}
	if got, cut := p.Copy(Cut{Snippet: true}); !cut || strings.Contains(string(got), "b</b>") ||
		!strings.Contains(string(got), "ac") {
		t.Errorf("got %q", got)
	}
}

// TestCopyOfTagSoup checks for malformed markup that a copy contains every word that may be kept,
// and no other.
func TestCopyOfTagSoup(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"p", "b", "i", "a", "div", "li", "ul", "table", "tr", "td", "svg", "title", "noscript", "pre",
		"form", "select",
		"option", "template", "button", "object", "math", "mi", "desc"}
	for range 3000 {
		var b strings.Builder
		for i := range 2 + random.IntN(14) {
			name := names[random.IntN(len(names))]
			switch random.IntN(8) {
			case 0, 1:
				fmt.Fprintf(&b, "</%s>", name)
			case 2:
				fmt.Fprintf(&b, "<%s class=the-acap:disallow-preserve>", name)
			case 3:
				fmt.Fprintf(&b, "<%s class=the-acap:allow-preserve>", name)
			case 4:
				fmt.Fprintf(&b, "<%s>", name)
			default:
				fmt.Fprintf(&b, " word%c ", 'a'+i)
			}
		}
		for _, page := range []bool{true, false} {
			c := without("preserve", page)
			p := htmlPage(b.String())
			got, _ := p.Copy(c)
			s := p.tree().scope(c)
			walk(p.tree().root, func(n *html.Node) bool {
				if n.Type != html.TextNode {
					return true
				}
				for _, word := range strings.Fields(n.Data) {
					if !strings.HasPrefix(word, "word") {
						continue // a tag that is read as text
					}
					if held, may := strings.Contains(string(got), word), s.at(n); held && !may || may && !held &&
						got != nil {
						t.Errorf("%s (page %v)\nheld %v, may be kept %v: %s\ncopy %s", b.String(), page, held, may,
							word, got)
					}
				}
				return true
			}, func(*html.Node) {})
		}
	}
}
