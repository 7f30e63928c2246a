package page

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestLinksOfFeeds(t *testing.T) {
	for name, c := range map[string]struct{ mime, body, want string }{ // want: paths relative to the site
		"RSS 2.0": {"application/rss+xml",
			`<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>` +
				`<link>http://no.example/</link>
<atom:link rel="self" href="/no"/><image><link>/no</link></image>` +
				`<item><title>x</title><link> http://www.example.org/a?b=1&amp;c=2#d </link></item>
<item><link><![CDATA[/b]]></link><source url="/no">x</source>` +
				`<enclosure url="/no.mp3"/><comments>/no</comments></item></channel></rss>`, "/a?b=1&c=2 /b"},
		"guid": {"application/rss+xml",
			`<rss><channel><item><guid>http://www.example.org/a</guid></item>` +
				`<item><guid isPermaLink="false">http://no.example/</guid></item>
<item><guid>http://no.example/</guid><link>/b</link></item><item><guid>tag:1</guid></item></channel></rss>`, "/a /b"},
		"RSS 1.0": {"application/rdf+xml",
			`<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel rdf:about="/no"><link>/no</link></channel>` +
				`<item rdf:about="/a"><link>/a</link></item></rdf:RDF>`, "/a"},
		"RSS 0.91": {"text/xml", `<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "rss.dtd" [<!ENTITY a "b">]>
<rss version="0.91"><channel><item><link>/a</link><description><p>unclosed<br>x</description></item>` +
			`<item><link>/b</link></item></channel></rss>`, "/a /b"},
		"Atom": {"application/atom+xml; charset=utf-8",
			`<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/base/"><link href="/no"/>` +
				`<link rel="next" href="?page=2"/>
<entry xml:base="sub/"><link rel="alternate" href="a"/><link rel="edit" href="no"/>` +
				`<link rel="enclosure" href="no"/><id>http://no.example/</id></entry>
<entry><link href="b"/><content type="html">&lt;a href="no"&gt;</content></entry>` +
				`<entry><link rel="nofollow alternate" href="no"/><link>no</link></entry></feed>`,
			"/base/?page=2 /base/sub/a /base/b"},
		"prefixed": {"application/xml",
			`<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:link href="/a"/></a:entry></a:feed>`, "/a"},
		"cut short": {"text/xml", `<rss><channel><item><link>/a</link></item><item><link>/b`, "/a"},
		"lone &": {"text/xml", `<rss><channel><item><link>/a?b=1&copy=2&#38;d&lt</link></item></channel></rss>`,
			"/a?b=1&copy=2&d&lt"},
		"XML":          {"text/xml", `<doc><item><link>/no</link></item></doc>`, ""},
		"another type": {"text/plain", `<rss><channel><item><link>/no</link></item></channel></rss>`, ""},
		"not XML":      {"application/xml", `a < b`, ""},
		"ISO 8859-1": {"application/rss+xml",
			"<?xml version='1.0' encoding='ISO-8859-1'?><rss><channel><item><link>/\xe4</link></item></channel></rss>",
			"/%C3%A4"},
		"deeply nested": {"text/xml", "<rss>" + strings.Repeat("<p>", 100) + "<item><link>/no</link></item>" +
			strings.Repeat("</p>", 100) + "<channel><item><link>/a</link></item></channel></rss>", "/a"},
	} {
		got := strings.ReplaceAll(strings.Join(fetched(c.mime, c.body).Links(Cut{}), " "), site, "")
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := fetched("application/rss+xml", rss(2)).Links(without("follow", false)); got != nil {
		t.Errorf("links of a feed that may not be followed: %q", got)
	}
	body := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(rss(1))) {
		body = append(body, byte(unit), byte(unit>>8))
	}
	if got := fetched("application/rss+xml", string(body)).Links(Cut{}); !slices.Equal(got,
		[]string{site + "/tide/0"}) {
		t.Errorf("UTF-16: %q", got)
	}
}

func TestManyLinks(t *testing.T) {
	if got := fetched("text/xml", rss(maxLinks+10)).Links(Cut{}); len(got) != maxLinks {
		t.Errorf("%d links of a feed", len(got))
	}
	var body strings.Builder
	for i := range maxLinks + 10 {
		fmt.Fprintf(&body, "<a href=%d>x</a>", i)
	}
	if got := htmlPage(body.String()).Links(Cut{}); len(got) != maxLinks {
		t.Errorf("%d links of a page", len(got))
	}
	got := htmlPage("<base href='/" + strings.Repeat("x", 1<<20) + "/'>" +
		strings.Repeat("<a href=a>x</a><a href=b>x</a>", 100)).Links(Cut{})
	if len(got) != 2 {
		t.Errorf("%d links under a long base", len(got))
	}
}

func TestXML(t *testing.T) {
	x := NewXML(strings.NewReader(
		`<?xml version="1.0"?><!-- <no> --><A x="1&amp;2"><title>b < c &amp; d</title><e/>` +
			`x<![CDATA[<y>&amp;]]>z</wrong><p:f><g>1</p:f></A>`))
	var got []string
	for {
		open, err := x.Next()
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		e := &open[len(open)-1]
		got = append(got, fmt.Sprintf("%d %s %q %q", len(open), e.Name, e.Text(), e.Attr("x")))
	}
	want := []string{`2 title "b < c & d" ""`, `2 e "" ""`, `3 g "1" ""`, `2 f "" ""`, `1 a "x<y>&amp;z" "1&2"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
	for body, fault := range map[string]bool{"": false, "x": false, "<a>": true, "<a><b></b>": true, "<a></a><b": false,
		"<a x=" + strings.Repeat("y", maxXMLToken): true} {
		x := NewXML(strings.NewReader(body))
		var err error
		for err == nil {
			_, err = x.Next()
		}
		if (err != io.EOF) != fault {
			t.Errorf("%.20q: %v", body, err)
		}
	}
}

func FuzzFeed(f *testing.F) {
	for _, s := range []string{rss(2), `<feed xml:base="/b/"><entry><link href=a /></entry></feed>`,
		"<rdf:RDF><item><link>&#x41;&bad;<![CDATA[x]]></link>", "<rss><item><guid>a://b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		links := fetched("application/xml", string(body)).Links(Cut{})
		for i, link := range links {
			u, err := url.Parse(link)
			if err != nil || !web(u) || strings.Contains(link, "#") || slices.Contains(links[:i], link) {
				t.Errorf("%q: %v", link, err)
			}
		}
	})
}

// FuzzResolve checks that base.quick and the URL parser return the same result.
func FuzzResolve(f *testing.F) {
	for _, base := range []string{address, "http://h", "https://User:pw@H:443/a//b/..;x/?q", "http://h//x",
		"http://[::1]:80/%2e/a%2Fb/c"} {
		for _, ref := range []string{"x.html", "/a/b?c#d", "//x", "?", "a//b", "/a/.b", "http://quay.example",
			"https://quay.example/a:b", "http://a..b/%"} {
			f.Add(base, ref)
		}
	}
	f.Fuzz(func(t *testing.T, address, ref string) {
		u, err := url.Parse(address)
		if err != nil {
			return
		}
		b := baseOf(u)
		link, ok := b.quick(ref)
		if !ok {
			return
		}
		if slow, ok := b.slow(ref); !ok || slow != link {
			t.Errorf("%q at %q: %q, otherwise %q, %t", ref, address, link, slow, ok)
		}
	})
}
