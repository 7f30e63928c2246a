package crawler

import (
	"bytes"
	"compress/gzip"
	"slices"
	"testing"
)

func TestSitemap(t *testing.T) {
	const urlset = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> http://example.com/a?x=1&amp;y=2 </loc><image:image><image:loc>http://example.com/p.png</image:loc></image:image></url>
<url><loc>http://example.com/b</loc></url></urlset>`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(urlset))
	z.Close()
	for name, c := range map[string]struct {
		body            []byte
		pages, sitemaps []string
		bad             bool
	}{
		"urlset":    {[]byte(urlset), []string{"http://example.com/a?x=1&y=2", "http://example.com/b"}, nil, false},
		"gzip":      {zipped.Bytes(), []string{"http://example.com/a?x=1&y=2", "http://example.com/b"}, nil, false},
		"index":     {[]byte("<sitemapindex><sitemap><loc>http://example.com/1.xml.gz</loc></sitemap></sitemapindex>"), nil, []string{"http://example.com/1.xml.gz"}, false},
		"text":      {[]byte("\ufeffhttp://example.com/a\r\nnot an address\nhttps://example.com/b"), []string{"http://example.com/a", "https://example.com/b"}, nil, false},
		"cut short": {[]byte("<urlset><url><loc>http://example.com/a</loc></url><url><lo"), []string{"http://example.com/a"}, nil, true},
		"broken gz": {zipped.Bytes()[:20], nil, nil, true},
	} {
		pages, sitemaps, err := Sitemap(c.body)
		if !slices.Equal(pages, c.pages) || !slices.Equal(sitemaps, c.sitemaps) || (err != nil) != c.bad {
			t.Errorf("%s: %q, %q, %v; want %q, %q, error %v", name, pages, sitemaps, err, c.pages, c.sitemaps, c.bad)
		}
	}
}
