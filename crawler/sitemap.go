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

	"github.com/acapcrawl/acapcrawl/address"
	"github.com/acapcrawl/acapcrawl/page"
)

// Bounds of one sitemap (sitemaps.org: 50,000 addresses and 50 MB).
const (
	maxSitemapLinks = 50_000
	maxSitemapBytes = 50 << 20 // decompressed
	maxListedBytes  = 16 << 20 // of the addresses
)

// Sitemap reads a sitemap, an index of sitemaps, a feed (RSS, Atom) or a plain list of addresses,
// gzipped or not, in UTF-8 or UTF-16. It gives the pages, alternates in other languages among them,
// and the further sitemaps that are listed, in order and as written, up to the bounds or the first
// thing that cannot be read; the error says what that is. Beside what it gives it holds little in
// memory.
func Sitemap(body []byte) (pages, sitemaps []string, err error) {
	var r io.Reader = bytes.NewReader(body)
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, nil, err
		}
	}
	limited := &io.LimitedReader{R: r, N: maxSitemapBytes}
	l := listing{seen: map[string]bool{}}
	// no line of more is an address
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

// listing is what was listed so far.
type listing struct {
	pages, sitemaps []string
	seen            map[string]bool
	bytes           int // of all of them
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

// utf8Reader reads UTF-16 as UTF-8, known by its byte order mark or the first character of markup,
// and drops a byte order mark.
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

// readLines reads one address per line and passes over lines that are none.
func (l *listing) readLines(r *bufio.Reader) error {
	long := false // the line at hand is longer than what is read at once, and no address
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

// listed is the address of a page that e, which stands in the element of that name, gives; "" for
// none.
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
