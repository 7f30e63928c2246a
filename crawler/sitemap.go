package crawler

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// Bounds of one sitemap (sitemaps.org: 50,000 addresses and 50 MB).
const (
	maxSitemapLinks = 50_000
	maxSitemapBytes = 50 << 20
)

// Sitemap reads a sitemap, an index of sitemaps, a feed of such a form, or a plain list of addresses, gzipped or not. It gives
// the pages and the further sitemaps that are listed, in order and as written, up to the first thing that cannot be read; the
// error says what that is.
func Sitemap(body []byte) (pages, sitemaps []string, err error) {
	var r io.Reader = bytes.NewReader(body)
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(r, maxSitemapBytes))
	if err != nil {
		return nil, nil, err
	}
	if trimmed := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n"); !bytes.HasPrefix(trimmed, []byte("<")) {
		return plainList(string(trimmed)), nil, nil
	}
	return xmlSitemap(text)
}

func plainList(text string) (pages []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if (strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://")) && len(pages) < maxSitemapLinks {
			pages = append(pages, line)
		}
	}
	return pages
}

func xmlSitemap(text []byte) (pages, sitemaps []string, err error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // addresses are ASCII
	var inside []string
	for len(pages)+len(sitemaps) < maxSitemapLinks {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return pages, sitemaps, nil
		}
		if err != nil {
			return pages, sitemaps, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			inside = append(inside, t.Name.Local)
			if len(inside) > 64 {
				return pages, sitemaps, errors.New("elements are nested too deeply")
			}
		case xml.EndElement:
			if len(inside) > 0 {
				inside = inside[:len(inside)-1]
			}
		case xml.CharData:
			n := len(inside)
			if n < 2 || inside[n-1] != "loc" {
				continue
			}
			link := strings.TrimSpace(string(t))
			switch {
			case link == "":
			case inside[n-2] == "url":
				pages = append(pages, link)
			case inside[n-2] == "sitemap":
				sitemaps = append(sitemaps, link)
			}
		}
	}
	return pages, sitemaps, nil
}
