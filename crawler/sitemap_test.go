package crawler

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

const (
	urlset = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" ` +
		`xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> http://example.com/a?x=1&amp;y=2 </loc><lastmod>2026-11-21</lastmod>` +
		`<image:image><image:loc>http://example.com/p.png</image:loc></image:image></url>
<url><loc>http://example.com/b</loc></url><url><loc>http://example.com/b</loc></url></urlset>`
	extended = `<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" ` +
		`xmlns:xhtml="http://www.w3.org/1999/xhtml"><s:url><s:loc><![CDATA[http://example.com/en?a&b]]></s:loc>
<xhtml:link rel="alternate" hreflang="de" href="http://example.com/de?a&amp;b"/>` +
		`<xhtml:link rel="alternate" hreflang="en" href="http://example.com/en?a&amp;b"></xhtml:link>
<xhtml:link rel="amphtml" href="http://example.com/amp"/><news:news><news:title>a < b</news:title></news:news><title/>
<video:video><video:player_loc>http://example.com/v</video:player_loc>` +
		`<video:content_loc>http://example.com/v.mp4</video:content_loc></video:video></s:url></s:urlset>`
	feed = `<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://example.com/no"/>` +
		`<entry><link href="http://example.com/a"/><link rel="edit" href="http://example.com/no"/></entry>
<entry><link rel="alternate" href="http://example.com/b"/></entry></feed>`
	items = `<rss><channel><link>http://example.com/no</link><item><link>http://example.com/a</link></item>` +
		`<item><atom:link rel="self" href="http://example.com/no"/><link>http://example.com/b</link></item>` +
		`</channel></rss>`
)

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

// wide returns text in UTF-16. low is the position of the low byte in each pair of bytes: 0 or 1.
func wide(text string, low int) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		pair := [2]byte{}
		pair[low], pair[1-low] = byte(unit), byte(unit>>8)
		out = append(out, pair[:]...)
	}
	return out
}

func TestSitemap(t *testing.T) {
	ab := []string{"http://example.com/a", "http://example.com/b"}
	set := []string{"http://example.com/a?x=1&y=2", "http://example.com/b"}
	for name, c := range map[string]struct {
		body            []byte
		pages, sitemaps []string
		bad             bool
	}{
		"urlset":              {[]byte(urlset), set, nil, false},
		"byte order mark":     {[]byte("\ufeff" + urlset), set, nil, false},
		"gzip":                {zipped(urlset), set, nil, false},
		"gzip and more":       {append(zipped(urlset), "x"...), set, nil, true},
		"UTF-16, little":      {wide("\ufeff"+urlset, 0), set, nil, false},
		"UTF-16, big":         {wide("\ufeff"+urlset, 1), set, nil, false},
		"UTF-16 without mark": {wide(urlset, 0), set, nil, false},
		"UTF-16 without, big": {wide(urlset, 1), set, nil, false},
		"extensions": {[]byte(extended), []string{"http://example.com/en?a&b", "http://example.com/de?a&b"},
			nil, false},
		"Atom": {[]byte(feed), ab, nil, false},
		"RSS":  {[]byte(items), ab, nil, false},
		"index": {[]byte(
			"<sitemapindex><sitemap><loc>http://example.com/1.xml.gz</loc></sitemap></sitemapindex>"), nil,
			[]string{"http://example.com/1.xml.gz"}, false},
		"text": {[]byte("\ufeffhttp://example.com/a\r\nnot an address\n\n https://example.com/b"),
			[]string{"http://example.com/a", "https://example.com/b"}, nil, false},
		"text in UTF-16": {wide("\ufeffhttp://example.com/a\nhttp://example.com/b\n", 0), ab, nil, false},
		"text with a long line": {[]byte("http://example.com/a\nhttp://h/" + strings.Repeat("x", 3*address.MaxLength) +
			"\nhttp://example.com/b"), ab, nil, false},
		"text, much too long": {[]byte("http://example.com/a\nx" + strings.Repeat("y", 2*address.MaxLength-2) +
			"http://example.com/no"), ab[:1], nil, false},
		"XML with a long loc": {[]byte("<urlset><url><loc>http://h/" + strings.Repeat("x", 3*address.MaxLength) +
			"</loc></url><url><loc>http://example.com/a</loc></url></urlset>"), ab[:1], nil, false},
		"cut short": {[]byte("<urlset><url><loc>http://example.com/a</loc></url><url><lo"), ab[:1], nil,
			true},
		"end tags missing": {[]byte(
			"<urlset><url><loc>http://example.com/a<url><loc>http://example.com/b</urlset>"), []string{ab[1], ab[0]},
			nil, false},
		"lone ampersand": {[]byte(
			"<urlset><url><loc>http://example.com/?a&region=b&copy=c</loc></url></urlset>"),
			[]string{"http://example.com/?a&region=b&copy=c"}, nil, false},
		"entities of its own": {[]byte(`<!DOCTYPE urlset [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` +
			`<urlset><url><loc>http://example.com/&b;</loc></url></urlset>`),
			[]string{"http://example.com/&b;"}, nil, false},
		"HTML": {[]byte(
			"<!DOCTYPE html><html><head><title>Not found</title><link rel=alternate href=/no></head><body><a " +
				"href=/no>x</a></body></html>"), nil, nil, true},
		"broken gz":              {zipped(urlset)[:20], nil, nil, true},
		"no gz":                  {[]byte{0x1f, 0x8b, 0}, nil, nil, true},
		"nothing":                {nil, nil, nil, false},
		"gz of nothing":          {zipped(""), nil, nil, false},
		"gz of gz is no sitemap": {zipped(string(zipped(urlset))), nil, nil, false},
	} {
		pages, sitemaps, err := Sitemap(c.body)
		if !slices.Equal(pages, c.pages) || !slices.Equal(sitemaps, c.sitemaps) || (err != nil) != c.bad {
			t.Errorf("%s: %q, %q, %v; want %q, %q, error %v", name, pages, sitemaps, err, c.pages, c.sitemaps, c.bad)
		}
	}
}

// Addresses before an error in a gzip stream are returned.
func TestBrokenGzip(t *testing.T) {
	body := zipped(large(20_000))
	pages, _, err := Sitemap(body[:len(body)/2])
	if err == nil || len(pages) < 5_000 || len(pages) >= 20_000 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
}

func large(n int) string {
	var b strings.Builder
	b.WriteString("<urlset>")
	for i := range n {
		fmt.Fprintf(&b,
			"<url><loc>http://example.com/%d</loc><lastmod>2026-11-21</lastmod><priority>0.5</priority></url>\n", i)
	}
	b.WriteString("</urlset>")
	return b.String()
}

func TestSitemapBounds(t *testing.T) {
	full, _, err := Sitemap([]byte(large(maxSitemapLinks)))
	if err != nil || len(full) != maxSitemapLinks {
		t.Errorf("%d pages, %v", len(full), err)
	}
	over, _, err := Sitemap([]byte(large(maxSitemapLinks + 1)))
	if err == nil || len(over) != maxSitemapLinks {
		t.Errorf("%d pages, %v", len(over), err)
	}
	for name, filling := range map[string]string{"texts": "<url>" + strings.Repeat("x", 4000) + "</url>",
		"one text": "x", "one tag": "<a"} {
		bomb := zipped("<urlset><url><loc>http://example.com/a</loc></url>" +
			strings.Repeat(filling, (maxSitemapBytes+10)/len(filling)))
		pages, _, err := Sitemap(bomb)
		if err == nil || len(pages) != 1 {
			t.Errorf("%s: %d pages, %v", name, len(pages), err)
		}
	}
}

func FuzzSitemap(f *testing.F) {
	for _, body := range []string{urlset, extended, feed, items,
		"\ufeffhttp://example.com/a\r\n\nhttps://example.com/b", "\xff\xfe<\x00a\x00", "\x00<\x00a",
		string(zipped(urlset))} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		pages, sitemaps, _ := Sitemap(body)
		seen := map[string]bool{}
		for _, link := range slices.Concat(pages, sitemaps) {
			if link == "" || len(link) > address.MaxLength || seen[link] || strings.TrimSpace(link) != link &&
				!strings.HasPrefix(link, "http") {
				t.Errorf("%q", link)
			}
			seen[link] = true
		}
	})
}

func BenchmarkSitemap(b *testing.B) {
	body := []byte(large(maxSitemapLinks))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		Sitemap(body)
	}
}
