package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkLinks measures Links for a page that is already parsed.
func BenchmarkLinks(b *testing.B) {
	body := newspaper()
	b.Run("links", func(b *testing.B) { parsed(b, htmlPage(body), func(p *Page) { p.Links(Cut{}) }) })
	b.Run("requisites", func(b *testing.B) { parsed(b, htmlPage(body), func(p *Page) { p.Requisites(Cut{}) }) })
	b.Run("canonical", func(b *testing.B) { parsed(b, htmlPage(body), func(p *Page) { p.Canonical() }) })
	h := Hop{URL: address, Header: http.Header{"Link": {strings.Repeat(`</a>; rel="next"; title="x, y", `, 100)}}}
	b.Run("header", func(b *testing.B) { parsed(b, New([]Hop{h}), func(p *Page) { p.Links(Cut{}) }) })
	b.Run("feed", func(b *testing.B) {
		parsed(b, fetched("application/rss+xml", rss(100)), func(p *Page) { p.Links(Cut{}) })
	})
	b.Run("css", func(b *testing.B) {
		css := strings.Repeat(".berth { color: #123456; background: url(img/quay.png) no-repeat } /* tide */\n", 200)
		parsed(b, fetched("text/css", css), func(p *Page) { p.Requisites(Cut{}) })
	})
}

func parsed(b *testing.B, p *Page, ask func(*Page)) {
	p.tree()
	p.Source()
	b.SetBytes(int64(len(p.Last().Body)))
	b.ReportAllocs()
	for b.Loop() {
		ask(p)
	}
}

func BenchmarkResolve(b *testing.B) {
	from := baseOf(htmlPage("").URL())
	for _, ref := range []string{"/section/3.html", "tide.html?page=2#top", "https://quay.example/story?id=3",
		"../a%20b", "mailto:desk@quay.example"} {
		b.Run(ref, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				from.resolve(ref)
			}
		})
	}
}

// rss returns a feed with that many items.
func rss(items int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel>` +
		`<title>Tides</title><link>http://www.example.org/</link>`)
	for i := range items {
		fmt.Fprintf(&b, `<item><title>High water %d</title><link>http://www.example.org/tide/%d</link>
<guid isPermaLink="false">t%d</guid><description><![CDATA[<p>The quay is <a href="/x">wet</a>.]]></description></item>`,
			i, i, i)
	}
	b.WriteString("</channel></rss>")
	return b.String()
}
