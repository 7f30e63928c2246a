package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// newspaper returns a page of about 15 KB: a head, a menu, articles with links, a table and a
// footer.
func newspaper() string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>The Quayside Courier</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/style.css">
<meta name="robots" content="ACAP allow-index"></head><body><nav><ul>`)
	for i := range 20 {
		fmt.Fprintf(&b, "<li class=\"item\"><a href=\"/section/%d.html\">Section %d</a></li>\n", i, i)
	}
	b.WriteString("</ul></nav><main>")
	for i := range 24 {
		fmt.Fprintf(&b, `<article id="a%d" class="story">`+
			`<h2><a href="/news/%d.html#top">Ships in berth number %d</a></h2>
<p class="lead">The <em>Alma</em> came in at dawn, `+
			`with <strong>forty crates</strong> of oranges &amp; a parrot that could count.</p>
<p>Nobody on the quay had seen such a thing before, said the harbour master, who has kept the book for thirty years.
Read more in <a class="more" href="http://other.example/story?id=%d&amp;from=front">the full report</a>.</p>
<img src="/img/%d.jpg" alt="The quay at dawn" width="320" height="200"></article>
`, i, i, i, i, i)
	}
	b.WriteString("</main><table>")
	for i := range 10 {
		fmt.Fprintf(&b, "<tr><td>Berth %d</td><td>free</td></tr>", i)
	}
	b.WriteString(`</table><script>console.log("hello")</script></body></html>`)
	return b.String()
}

func bench(b *testing.B, body string, ask func(*Page)) {
	hops := []Hop{{URL: address, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body)}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		ask(New(hops))
	}
}

// BenchmarkPage calls the methods that a crawler calls for every page.
func BenchmarkPage(b *testing.B) {
	body := newspaper()
	b.Run("text+links", func(b *testing.B) {
		bench(b, body, func(p *Page) { p.Text(Cut{}); p.Links(Cut{}) })
	})
	b.Run("own+blocks+links+title", func(b *testing.B) {
		bench(b, body, func(p *Page) { p.Own(); p.Blocks(Cut{}); p.Links(Cut{}); p.Title(Cut{}) })
	})
	b.Run("own+text+links+title", func(b *testing.B) {
		bench(b, body, func(p *Page) { p.Own(); p.Text(Cut{}); p.Links(Cut{}); p.Title(Cut{}) })
	})
	b.Run("parse", func(b *testing.B) {
		bench(b, body, func(p *Page) { p.tree() })
	})
	b.Run("copy with marks", func(b *testing.B) {
		marked := strings.ReplaceAll(body, `class="lead"`, `class="the-acap:disallow-preserve"`)
		bench(b, marked, func(p *Page) { p.Copy(without("preserve", true)) })
	})
	b.Run("language", func(b *testing.B) {
		bench(b, strings.Replace(body, ` lang="en"`, "", 1), func(p *Page) { p.Language() })
	})
}
