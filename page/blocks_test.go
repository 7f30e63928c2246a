package page

import (
	"fmt"
	"strings"
	"testing"
)

// formatBlocks formats blocks for comparison in tests.
func formatBlocks(text string, blocks []Block) string {
	var list []string
	for _, b := range blocks {
		list = append(list, strings.TrimSpace(string(b.Kind)+" ")+"|"+text[b.Start:b.End])
	}
	return strings.Join(list, "\n")
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"no words", "<title>a</title><p> <p>", ""},
		{"the title is none", "<title>a</title><p>b", "|b"},
		{"paragraphs", "<p>a <i>b</i>c<p>d", "|a bc\n|d"},
		{"text between blocks", "a<div>b</div>c", "|a\n|b\n|c"},
		{"headings", "<h1>a</h1>b<h6>c <b>d</b></h6>", "heading|a\n|b\nheading|c d"},
		{"a heading around blocks", "<h2><div>a</div><div>b</div></h2>c", "heading|a\nheading|b\n|c"},
		{"list items", "<ul><li>a<li>b<ul><li>c</ul>d</ul><dl><dt>e<dd>f</dl>", "|a\n|b\n|c\n|d\n|e\n|f"},
		{"tables", "<table><caption>a</caption><tr><th>b<td>c d</table>", "|a\n|b\n|c d"},
		{"captions", "<figure><img alt=a><figcaption>b</figcaption></figure>", "|a\n|b"},
		{"a line break is of its block", "<p>a<br>b", "|a b"},
		{"two line breaks", "<p>a<br> <br>b<br><img src=x><br>c<br>d", "|a\n|b\n|c d"},
		{"buttons", "<p>a<button>b</button>c", "|a b c"},
		{"navigation", "<nav><ul><li>a<li>b</ul></nav><div role=' Navigation '><p>c</div>d",
			"aside|a\naside|b\naside|c\n|d"},
		{"other landmarks", "<div role=banner>a</div><div role=contentinfo>b</div><div " +
			"role=complementary>c</div><div role=main>d</div>",
			"aside|a\naside|b\naside|c\n|d"},
		{"names that are customary",
			"<div class='x NavHeader'>a</div><table id=toc><td>b</table><ul class=breadcrumbs><li>c</ul><div " +
				"class=has-sidebar>d</div><p class=footer>e",
			"aside|a\naside|b\naside|c\n|d\n|e"},
		{"names that DocBook gives to navigation",
			"<ul class='docnav top'><li>a</ul><div id=banner>b</div><ol class=menu><li>c</ol><p>d",
			"aside|a\naside|b\naside|c\n|d"},
		{"links alone", "<p id=title><a href=/>Site</a> <a href=/b>Book</a><dl><dt>1.2. <a " +
			"href=/c>Aliases</a></dl><p>Read <a href=/d>more</a> of it<p><a name=e>f</a>",
			"aside|Site Book\naside|1.2. Aliases\n|Read more of it\n|f"},
		{"asides within asides", "<aside>a<nav>b</nav>c</aside>d", "aside|a\naside|b\naside|c\n|d"},
		{"header and footer of the site",
			"<header>a</header><main><header>b</header>c<footer>d</footer></main><footer>e</footer>",
			"aside|a\n|b\n|c\n|d\naside|e"},
		{"header of an article", "<div><article><div><header>a</header></div></article><header>b</header></div>",
			"|a\naside|b"},
		{"headings of asides", "<header><h1>a</h1><h2>b</h2></header><nav><h2>c</h2></nav>",
			"heading|a\naside|b\naside|c"},
		{"hidden blocks", "a<div hidden>x</div>b<nav hidden>y</nav>c", "|abc"},
		{"an aside left out", "<nav data-nosnippet>a</nav>b", "|b"},
	} {
		p := htmlPage(c.body)
		text, blocks := p.Blocks(Cut{Snippet: true})
		if got := formatBlocks(text, blocks); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := p.Text(Cut{Snippet: true}); got != text {
			t.Errorf("%s: text %q, with blocks %q", c.name, got, text)
		}
	}
}

func TestBlocksUnderMarks(t *testing.T) {
	const body = "<nav class=the-acap:disallow-index><p>x</nav><h2 class=the-acap:disallow-index>y</h2><p>a<b " +
		"class=the-acap:disallow-index>z</b>b"
	if got := formatBlocks(htmlPage(body).Blocks(without("index", true))); got != "|ab" {
		t.Errorf("%q", got)
	}
	if got := formatBlocks(htmlPage("<p>x<p class=the-acap:allow-index>a").Blocks(without("index",
		false))); got != "|a" {
		t.Errorf("%q", got)
	}
	if got := formatBlocks(htmlPage("<p>x").Blocks(without("index", false))); got != "" {
		t.Errorf("%q", got)
	}
}

// apart checks blocks: they must be in order without overlap, begin and end with a word, and
// contain all words except the title.
func apart(p *Page, c Cut) error {
	text, blocks := p.Blocks(c)
	if text != p.Text(c) {
		return fmt.Errorf("%.60q is not %.60q", text, p.Text(c))
	}
	end := 0
	for i, b := range blocks {
		if b.Start < end || b.End <= b.Start || b.End > len(text) {
			return fmt.Errorf("block %d of %d: %+v behind %d", i, len(blocks), b, end)
		}
		if s := text[b.Start:b.End]; s != strings.TrimSpace(s) {
			return fmt.Errorf("block %q", s)
		}
		if i > 0 && strings.TrimSpace(text[end:b.Start]) != "" {
			return fmt.Errorf("%q is in no block", text[end:b.Start])
		}
		end = b.End
	}
	if len(blocks) > 0 && strings.TrimSpace(text[end:]) != "" {
		return fmt.Errorf("%q is in no block", text[end:])
	}
	return nil
}

func TestTitle(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"of its element", "<title> a\nb </title><h1>c</h1>", "a b"},
		{"none", "<p>a<h2>b", ""},
		{"the first H1", "<p>a<h1>b <i>c</i></h1><h1>d</h1>", "b c"},
		{"the element says nothing", "<title> </title><h1>a</h1>", "a"},
		{"the first H1 with words", "<h1><img src=x></h1><h1 hidden>a</h1><div hidden><h1>b</h1></div><h1>c</h1>", "c"},
		{"a prohibited H1", "<h1 class=the-acap:disallow-index>a</h1><h1>b</h1>", "b"},
		{"a prohibited title", "<title class=the-acap:disallow-index>a</title><h1>b</h1>", ""},
	} {
		p := htmlPage(c.body)
		if got := p.Title(without("index", true)); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := p.Title(without("index", false)); got != "" {
			t.Errorf("%s: prohibited page, %q", c.name, got)
		}
	}
}

func TestPlainText(t *testing.T) {
	const address = "http://www.example.org/notes/Tide%20table.txt"
	long := strings.Repeat("tide ", 21)
	for _, c := range []struct{ name, body, title, want string }{
		{"a short first line", "\r\n Notes of the pilot\r\n\r\none\r\ntwo\r\n\r\nthree", "Notes of the pilot",
			"|Notes of the pilot\n|one two\n|three"},
		{"a long first line", long + "\nhigh\n", "Tide table.txt", "|" + long + "high"},
		{"a list", "潮\n時", "潮", "|潮 時"},
		{"nothing", " \n", "", ""},
	} {
		p := New([]Hop{{URL: address, Header: map[string][]string{"Content-Type": {"text/plain"}},
			Body: []byte(c.body)}})
		if got := p.Title(Cut{}); got != c.title {
			t.Errorf("%s: title %q", c.name, got)
		}
		if got := formatBlocks(p.Blocks(Cut{})); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := p.Title(without("index", false)); got != "" {
			t.Errorf("%s: prohibited title %q", c.name, got)
		}
	}
}
