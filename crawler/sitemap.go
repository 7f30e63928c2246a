package crawler

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/page"
)

// The limits of one sitemap (sitemaps.org: 50,000 addresses and 50 MB).
const (
	maxSitemapLinks = 50_000
	maxSitemapBytes = 50 << 20 // bytes of the decompressed file
	maxListedBytes  = 16 << 20 // total bytes of the listed addresses
)

// Sitemap reads a sitemap, a sitemap index, a feed (RSS, Atom) or a plain list of addresses, in
// UTF-8 or UTF-16, with or without gzip. It returns the pages, including alternates in other
// languages, and the further sitemaps, in order and as written. It stops at the limits or at the
// first error, and returns what it has read and the error. It needs little memory apart from the
// results.
func Sitemap(body []byte) (pages, sitemaps []string, err error) {
	var r io.Reader = bytes.NewReader(body)
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, nil, err
		}
	}
	limited := &io.LimitedReader{R: r, N: maxSitemapBytes}
	l := listing{seen: map[string]bool{}}
	// a longer line is not an address
	text := bufio.NewReaderSize(utf8Reader(bufio.NewReader(limited)), address.MaxLength)
	start, _ := text.Peek(512)
	if start = bytes.TrimLeft(start, " \t\r\n"); bytes.HasPrefix(start, []byte("<")) {
		err = l.readXML(text)
	} else {
		err = l.readLines(text)
	}
	if limited.N == 0 {
		err = fmt.Errorf("it is longer than %d bytes", maxSitemapBytes)
	}
	return l.pages, l.sitemaps, err
}

// listing holds the addresses read so far.
type listing struct {
	pages, sitemaps []string
	seen            map[string]bool
	bytes           int // total bytes of the addresses
}

func (l *listing) add(to *[]string, link string) error {
	switch {
	case link == "" || len(link) > address.MaxLength || l.seen[link]:
		return nil
	case len(l.seen) == maxSitemapLinks:
		return fmt.Errorf("it lists more than %d addresses", maxSitemapLinks)
	case l.bytes > maxListedBytes:
		return fmt.Errorf("its addresses have more than %d MiB", maxListedBytes>>20)
	}
	l.bytes += len(link)
	l.seen[link] = true
	*to = append(*to, link)
	return nil
}

// utf8Reader converts UTF-16 to UTF-8 and removes a byte order mark. It recognises UTF-16 by the
// byte order mark, or if the first character is "<".
func utf8Reader(r *bufio.Reader) io.Reader {
	start, _ := r.Peek(2)
	switch string(start) {
	case "<\x00":
		return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder())
	case "\x00<":
		return transform.NewReader(r, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder())
	}
	return transform.NewReader(r, unicode.BOMOverride(transform.Nop))
}

// readLines reads one address per line and skips lines that are not addresses.
func (l *listing) readLines(r *bufio.Reader) error {
	long := false // the buffer holds the rest of a line that is too long for an address
	for {
		line, more, err := r.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		link := bytes.TrimSpace(line)
		if !long && !more && (bytes.HasPrefix(link, []byte("http://")) || bytes.HasPrefix(link, []byte("https://"))) {
			if err := l.add(&l.pages, string(link)); err != nil {
				return err
			}
		}
		long = more
	}
}

func (l *listing) readXML(r io.Reader) error {
	x := page.NewXML(r)
	for {
		open, err := x.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch open[0].Name {
		case "urlset", "sitemapindex", "rss", "rdf", "feed":
		default:
			return fmt.Errorf("it is no sitemap: its element is %.40q", open[0].Name)
		}
		if len(open) < 2 {
			continue
		}
		e, in := &open[len(open)-1], open[len(open)-2].Name
		if e.Name == "loc" && in == "sitemap" {
			err = l.add(&l.sitemaps, e.Text())
		} else {
			err = l.add(&l.pages, listed(e, in))
		}
		if err != nil {
			return err
		}
	}
}

// listed returns the page address that the element e of a sitemap or feed contains. in is the name
// of the parent element of e. If e contains no page address, listed returns "".
func listed(e *page.Element, in string) string {
	href, rel := e.Attr("href"), strings.ToLower(e.Attr("rel"))
	switch {
	case e.Name == "loc" && in == "url", e.Name == "link" && in == "item" && href == "":
		return e.Text()
	case e.Name != "link":
		return ""
	case rel == "alternate" && (in == "url" || in == "item" || in == "entry"), rel == "" && (in == "item" ||
		in == "entry"):
		return href
	}
	return ""
}
