package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/growth"
)

func TestTextOfXML(t *testing.T) {
	for _, c := range []struct{ name, mime, body, title, want string }{
		{"RSS 2.0", "application/rss+xml",
			`<?xml version="1.0"?><rss version="2.0" xmlns:media="m"><channel>` +
				`<title>Quay &amp;amp; pier</title><link>http://no.example/</link>
<description>All that <![CDATA[<b>floats</b>]]></description>` +
				`<language>en</language><image><title>no</title><link>/no</link></image>
<item><media:title>no</media:title><title><![CDATA[The <i>Alma</i> is late]]></title>` +
				`<description>Fog &lt;p&gt;lay on the bar.&lt;/p&gt;</description>` +
				`<guid>no</guid><author>no</author></item>
<item><title>No news</title></item></channel></rss>`,
			"Quay & pier", "|All that floats\nheading|The Alma is late\n|Fog\n|lay on the bar.\nheading|No news"},
		{"the longest text of an item", "text/xml",
			`<rss><channel><item><description>Fog lay</description>` +
				`<content:encoded><![CDATA[<p>Fog lay on<p>the bar.]]></content:encoded></item></channel></rss>`,
			"", "|Fog lay on\n|the bar."},
		{"RSS 1.0", "application/rdf+xml",
			`<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel><title>Pier</title></channel>` +
				`<item><title>Fog</title><description>lay</description></item></rdf:RDF>`,
			"Pier", "heading|Fog\n|lay"},
		{"Atom", "application/atom+xml",
			`<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">A &lt;i>b&lt;/i></title>` +
				`<subtitle>c &lt;d></subtitle><id>no</id>
<entry><title>e &amp; f</title><summary type="html">&lt;p>g</summary></entry>
<entry><content type="xhtml">` +
				`<div xmlns="http://www.w3.org/1999/xhtml"><p>h<br/>i &amp;<i/> j</p><p>k</p></div></content></entry>
<entry><content type="image/png">no</content><content src="/no"/></entry></feed>`,
			"A b", "|c <d>\nheading|e & f\n|g\n|h i & j\n|k"},
		{"prefixed", "application/xml",
			`<a:feed xmlns:a="x"><a:title>T</a:title><a:entry><a:title>e</a:title></a:entry></a:feed>`, "T",
			"heading|e"},
		{"a title behind", "text/xml", `<feed><entry><title>e</title></entry><title>T</title></feed>`, "T",
			"heading|e"},
		{"markup as it stands", "text/xml",
			`<rss><channel><item><description><p>a<br>b</description></item></channel></rss>`, "", "|a b"},
		{"hidden and marked parts", "text/xml",
			`<rss><channel><item><description>a &lt;p class="the-acap:disallow-index"&gt;x&lt;/p&gt;` +
				`&lt;p hidden&gt;x&lt;/p&gt;
&lt;p data-nosnippet&gt;x&lt;/p&gt;&lt;script&gt;x&lt;/script&gt;b</description></item></channel></rss>`, "", "|a\n|b"},
		{"cut short", "text/xml", `<rss><channel><title>T</title><item><title>e</title><description>f`, "T",
			"heading|e\n|f"},
		{"other XML", "application/xml",
			"<!DOCTYPE book [<!ENTITY a \"no\">]><book no='no'>\n<title>a</title>\n <para>b <em>c</em>, d\n " +
				"e</para><!--no--><script>no</script>\n" +
				"<x class='acap:disallow-index'>no<y>no</y></x>\n" +
				"<cell>f</cell><cell>g</cell>&a;&amp;&#65;<![CDATA[<h>]]></book>no",
			"", "|a\n|b c , d e\n|f g &a;&A<h>"},
		{"HTML under another name", "application/xml", `<html xmlns="http://www.w3.org/1999/xhtml"><p>x</p></html>`, "",
			""},
		{"addresses for crawlers", "text/xml", `<urlset><url><loc>http://x.example/</loc></url></urlset>`, "", ""},
		{"too deep", "text/xml", strings.Repeat("<a>", 200) + "b<c/>d" + strings.Repeat("</a>", 200) + "e", "", ""},
		{"marks too deep", "text/xml", "<r>a" + strings.Repeat("<a>", 80) + `<p class="acap:disallow-index">x</p>` +
			strings.Repeat("</a>", 80) + "<c>b</c></r>", "", "|a b"},
		{"marks behind many attributes", "text/xml", "<r>a<p" + numberedAttributes(40) +
			` class="acap:disallow-index">x</p></r>`, "", "|a"},
		{"not XML", "text/xml", "a < b", "", ""},
	} {
		p := New([]Hop{{URL: "http://www.example.org/tide.xml", Header: map[string][]string{"Content-Type": {c.mime}},
			Body: []byte(c.body)}})
		text, blocks := p.Blocks(Cut{})
		if got := formatBlocks(text, blocks); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if got := p.Title(Cut{}); got != c.title {
			t.Errorf("%s: title %q", c.name, got)
		}
		if got := p.Text(without("index", false)); got != "" {
			t.Errorf("%s: prohibited text %q", c.name, got)
		}
	}
}

func TestFeed(t *testing.T) {
	for _, c := range []struct {
		mime, body string
		want       bool
	}{
		{"text/xml", `<?xml version="1.0"?><rss><channel><title>Pier</title></channel></rss>`, true},
		{"application/xml", `<!-- a --><a:feed xmlns:a="http://www.w3.org/2005/Atom"></a:feed>`, true},
		{"application/rss+xml", `<rdf:RDF></rdf:RDF>`, true},
		{"text/xml", `<report><rss/></report>`, false},
		{"text/xml", `<rss>`, true},
		{"text/xml", "", false},
		{"text/html", `<rss></rss>`, false},
		{"text/plain", `<rss></rss>`, false},
	} {
		if got := New([]Hop{{URL: "http://www.example.org/tide.xml",
			Header: map[string][]string{"Content-Type": {c.mime}}, Body: []byte(c.body)}}).Feed(); got != c.want {
			t.Errorf("%s %s: %v", c.mime, c.body, got)
		}
	}
}

// TestXMLIsLinear checks that the time for reading a document is linear in its size.
func TestXMLIsLinear(t *testing.T) {
	for name, part := range map[string]string{
		"open elements": "<a>x",
		"end tags":      "</a>",
		"items":         "<item><title>a</title><description>&lt;p>b",
		"fields":        "<title>a",
		"entities":      "&lol;&lol",
		"sections":      "<![CDATA[<b>",
	} {
		for _, root := range []string{"<rss><channel>", "<feed>", "<doc>"} {
			growth.Linear(t, name+" in "+root, root+strings.Repeat(part, (1<<17)/len(part)),
				func(body string) { readXML(body) })
		}
	}
}

func FuzzXMLText(f *testing.F) {
	f.Add(`<rss><channel><title>a</title><item><title>b</title>` +
		`<description>&lt;p class="acap:x"&gt;c</description></item></channel></rss>`)
	f.Add(`<feed><entry><title type="html">a</title><content type="xhtml"><div>b<br/></div></content></entry></feed>`)
	f.Add(`<doc>a<b>c</b>&#65;<![CDATA[d]]></doc>`)
	f.Fuzz(func(t *testing.T, body string) {
		p := fetched("text/xml", body)
		if err := apart(p, Cut{}); err != nil {
			t.Error(err)
		}
		if n := len(p.Text(Cut{})); n > 8*len(p.Source()) {
			t.Errorf("%d bytes of %d", n, len(p.Source()))
		}
	})
}

func numberedAttributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` a%d="1"`, i)
	}
	return b.String()
}

// TestLongFieldKeepsNothingBehindATag checks that a field over the size limit ends before the first
// tag or text that does not fit, because a tag that was left out may mark what follows it.
func TestLongFieldKeepsNothingBehindATag(t *testing.T) {
	fill := strings.Repeat("a ", (longestField-40)/2)
	tag := `<p q="` + strings.Repeat("q", 100) + `" class="acap:disallow-index">SECRET</p>`
	feed := `<feed xmlns="http://www.w3.org/2005/Atom"><entry><content type="xhtml">` + fill + tag +
		`</content></entry></feed>`
	if text := fetched("application/atom+xml", feed).Text(Cut{}); strings.Contains(text, "SECRET") ||
		!strings.Contains(text, "a a") {
		t.Errorf("%d bytes, ending in %q", len(text), text[max(0, len(text)-20):])
	}
}
