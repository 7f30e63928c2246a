package view

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/rewrite"
	"github.com/acapcrawl/acapcrawl/page"
)

// sent says how the bytes of a copy are sent.
type sent struct {
	kind   string // Content-Type
	inline bool   // a browser may show it; otherwise it can only be saved
	change bool   // addresses are rewritten
	why    string // why a browser may not show it; a sentence
}

// shownTypes are the media types that a browser shows without contacting other hosts, given the
// Content-Security-Policy of copies. Playlists are not among them, because they name further
// addresses.
var shownTypes = typeSet("text/plain text/css text/javascript application/javascript application/json text/csv " +
	"text/markdown text/vtt image/png image/apng image/jpeg image/gif image/webp image/avif image/bmp image/x-icon " +
	"image/vnd.microsoft.icon audio/mpeg audio/mp4 audio/aac audio/ogg audio/wav audio/webm audio/flac video/mp4 " +
	"video/webm video/ogg font/woff font/woff2 font/ttf font/otf application/font-woff application/font-woff2 " +
	"application/x-font-ttf application/x-font-woff application/vnd.ms-fontobject")

// savedTypes are media types that can only be saved. Browsers run or interpret some of them: XML
// may contain any element, also made by entities and style sheets. An image element shows SVG
// nevertheless.
var savedTypes = typeSet("application/pdf application/xml text/xml application/xhtml+xml image/svg+xml " +
	"application/rss+xml application/atom+xml application/zip application/gzip")

func typeSet(names string) map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		out[name] = true
	}
	return out
}

// pageOf returns the shown bytes of a copy as a page.
func pageOf(c present.Copy) *page.Page {
	return page.New([]page.Hop{{URL: c.URL, Method: http.MethodGet, Status: c.Status, Header: c.Header, Body: c.Body,
		Wire: c.Body, Truncated: c.Truncated, Start: c.Fetched}})
}

// sentOf decides how a copy is sent. Addresses are rewritten only if the terms permit every
// modification. Otherwise the bytes are sent as they are; then a browser may show HTML only if
// nothing in it makes the browser contact other hosts in spite of the Content-Security-Policy.
func sentOf(p *page.Page, c present.Copy) sent {
	kind := p.MIME()
	switch {
	case p.HTML() && c.Rewritable:
		return sent{kind: "text/html; charset=utf-8", inline: true, change: true}
	case kind == "text/css" && c.Rewritable:
		return sent{kind: "text/css; charset=utf-8", inline: true, change: true}
	case kind == "text/html":
		why := contacts(p)
		return sent{kind: "text/html; charset=" + p.Charset(), inline: why == "", why: why}
	case kind == "text/plain":
		return sent{kind: "text/plain; charset=" + p.Charset(), inline: true}
	case shownTypes[kind]:
		return sent{kind: typed(kind, c.Header), inline: true}
	case savedTypes[kind]:
		return sent{kind: typed(kind, c.Header), why: "Browsers would interpret its type, " + kind +
			", in ways that this archive cannot restrict."}
	}
	return sent{kind: "application/octet-stream", why: "Its media type is none that this archive shows."}
}

// contacts returns a sentence that names what in an unchanged page makes a browser contact other
// hosts; "" for nothing. The page is also examined byte by byte, because browsers may read damaged
// characters differently. ISO-2022-JP hides tags from that.
func contacts(p *page.Page) string {
	switch p.Charset() {
	case "iso-2022-jp", "replacement", "x-user-defined":
		return "Its encoding, " + p.Charset() + ", hides what makes browsers contact other hosts."
	}
	for _, text := range []string{p.Source(), string(p.Last().Body)} {
		found, err := rewrite.Foreign(strings.NewReader(text))
		if err != nil {
			return "It cannot be searched for what makes browsers contact other hosts: " + err.Error() + "."
		}
		if len(found) > 0 {
			return fmt.Sprintf("The element %s in line %d would make browsers contact another host, and the terms "+
				"prohibit changing it.", strings.ToUpper(found[0].Element), found[0].Line)
		}
	}
	return ""
}

// typed returns a media type with the charset of the archived header, if there is one.
func typed(kind string, h http.Header) string {
	_, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if charset := params["charset"]; err == nil && charset != "" && strings.HasPrefix(kind, "text/") {
		if out := mime.FormatMediaType(kind, map[string]string{"charset": charset}); out != "" {
			return out
		}
	}
	return kind
}

// body returns the bytes to send for a copy of the time at. If rewriting fails, the copy is sent as
// it is, to be saved.
func (s *sent) body(ctx context.Context, p *page.Page, c present.Copy, at time.Time) ([]byte, error) {
	if !s.change {
		return c.Body, nil
	}
	to := func(raw string, _ rewrite.Kind) string {
		normal, err := address.Normal(raw)
		if err != nil {
			return "about:blank"
		}
		return timedPath("/raw/", at, normal)
	}
	var out bytes.Buffer
	var err error
	if p.HTML() {
		err = rewrite.HTML(ctx, &out, strings.NewReader(p.Source()), p.URL(), to)
	} else {
		var sheet string
		sheet, err = rewrite.CSS(ctx, p.Source(), p.URL(), to)
		out.WriteString(sheet)
	}
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	*s = sent{kind: "application/octet-stream", why: err.Error()}
	return c.Body, nil
}

// targetOf returns the address to which an archived redirect leads; "" if it is not an http or
// https address.
func targetOf(v present.Version) string {
	base, err := url.Parse(v.URL)
	if err != nil || v.Location == "" {
		return ""
	}
	to, err := base.Parse(v.Location)
	if err != nil {
		return ""
	}
	normal, err := address.Normal(to.String())
	if err != nil {
		return ""
	}
	return normal
}
