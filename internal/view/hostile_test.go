package view

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// utf16le returns text in UTF-16, least significant byte first.
func utf16le(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(unit))
		b.WriteByte(byte(unit >> 8))
	}
	return b.String()
}

// TestTypes checks the type with which each sort of content is sent, and whether a browser may show it. The bytes are
// those of the server, and all protective header fields are present.
func TestTypes(t *testing.T) {
	const connect = "<link rel=preconnect href=//evil.example>"
	for _, c := range []struct {
		name, kind, body string
		want             string // Content-Type
		saved            bool
	}{
		{"HTML", "text/html", "<script>x</script>", "text/html; charset=utf-8", false},
		{"HTML with other hosts", "text/html", connect, "text/html; charset=utf-8", true},
		{"HTML with a frame", "text/html", "<iframe src=//evil.example>", "text/html; charset=utf-8", true},
		{"HTML with a base", "text/html", "<base href=//evil.example><link rel=prefetch href=x>",
			"text/html; charset=utf-8", true},
		{"HTML in UTF-16", "text/html; charset=utf-16le", utf16le(connect), "text/html; charset=utf-16le", true},
		{"HTML with a byte order mark", "text/html; charset=utf-8", "\xff\xfe" + utf16le(connect),
			"text/html; charset=utf-16le", true},
		{"HTML in ISO-2022-JP", "text/html; charset=iso-2022-jp", "<p>x", "text/html; charset=iso-2022-jp", true},
		{"HTML in a dead encoding", "text/html; charset=hz-gb-2312", "<p>x", "text/html; charset=replacement", true},
		{"HTML that hides a tag behind a half character", "text/html; charset=shift_jis", "\x81" + connect,
			"text/html; charset=shift_jis", true},
		{"HTML with a declared encoding", "text/html", "<meta charset=windows-1251><p>\xc0",
			"text/html; charset=windows-1251", false},
		{"XHTML", "application/xhtml+xml", "<html xmlns='http://www.w3.org/1999/xhtml'/>",
			"application/xhtml+xml", true},
		{"XML with a style sheet", "text/xml", "<?xml-stylesheet type='text/xsl' href='//evil.example/x.xsl'?><a/>",
			"text/xml", true},
		{"SVG", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg' onload='x'/>", "image/svg+xml", true},
		{"PDF", "application/pdf", "%PDF-1.4 /JavaScript", "application/pdf", true},
		{"a feed", "application/atom+xml", "<feed/>", "application/atom+xml", true},
		{"MHTML", "multipart/related", "MIME-Version: 1.0", "application/octet-stream", true},
		{"a stream that replaces itself", "multipart/x-mixed-replace; boundary=a", "--a",
			"application/octet-stream", true},
		{"a playlist", "application/vnd.apple.mpegurl", "#EXTM3U\nhttp://evil.example/",
			"application/octet-stream", true},
		{"a playlist as sound", "audio/mpegurl", "#EXTM3U\nhttp://evil.example/", "application/octet-stream", true},
		{"Flash", "application/x-shockwave-flash", "FWS", "application/octet-stream", true},
		{"an applet", "application/java-archive", "PK", "application/octet-stream", true},
		{"an HTML application", "application/hta", "<script>", "application/octet-stream", true},
		{"two types", "text/plain, text/html", "<script>", "application/octet-stream", true},
		{"a type with a line end", "text/plain\r\nX-Evil: 1", "x", "application/octet-stream", true},
		{"an unknown type", "x/y", "<script>", "application/octet-stream", true},
		{"a wildcard", "*/*", "<script>", "application/octet-stream", true},
		{"text that looks like HTML", "text/plain", "<script>x</script>", "text/plain; charset=utf-8", false},
		{"text in another encoding", "text/plain; charset=windows-1252", "\xe9",
			"text/plain; charset=windows-1252", false},
		{"a script", "text/javascript", "x()", "text/javascript", false},
		{"a style sheet", "text/css; charset=koi8-r", "@import '//evil.example'", "text/css; charset=koi8-r", false},
		{"a charset with a line end", "text/css; charset=\"a\r\nb\"", "a{}", "text/css", false},
		{"a picture that is HTML", "image/png", connect, "image/png", false},
		{"no type", "", "\x89PNG\r\n\x1a\n", "image/png", false},
		{"no type, HTML", "", "<html>" + connect, "text/html; charset=utf-8", true},
		{"no type, unknown", "", "\x00\x01", "application/octet-stream", true},
	} {
		s, h := stocked(t)
		hold(s, "/a", c.kind, c.body)
		s.SetRobots("ACAP-allow-present: / prohibited-modification=any")
		w := ask(h, "GET", at("/raw/", "/a"))
		head := w.Header()
		saved := head.Get("Content-Disposition") == "attachment"
		if w.Code != 200 || head.Get("Content-Type") != c.want || saved != c.saved || w.Body.String() != c.body {
			t.Errorf("%s: %d %s, saved %t, %q", c.name, w.Code, head.Get("Content-Type"), saved, w.Body)
		}
		if head.Get("Content-Security-Policy") != copyPolicy || head.Get("X-Content-Type-Options") != "nosniff" ||
			head.Get("X-DNS-Prefetch-Control") != "off" || head.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", c.name, head)
		}
		viewed := ask(h, "GET", at("/copy/", "/a"))
		if framed := strings.Contains(viewed.Body.String(), "<iframe"); viewed.Code != 200 || framed == c.saved {
			t.Errorf("%s: the viewer answers %d, with a frame: %t", c.name, viewed.Code, framed)
		}
	}
}

// TestFonts checks that only a font may be read from the origin of a copy, and only as a font.
func TestFonts(t *testing.T) {
	s, h := stocked(t)
	hold(s, "/f", "font/woff2", "x")
	hold(s, "/a", "text/html", "x")
	for _, c := range []struct{ path, dest, want string }{{"/f", "font", "*"}, {"/f", "empty", ""}, {"/f", "", ""},
		{"/a", "font", ""}} {
		w := ask(h, "GET", at("/raw/", c.path), "Sec-Fetch-Dest", c.dest, "Origin", "null")
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != c.want {
			t.Errorf("%s as %q: %q", c.path, c.dest, got)
		}
	}
}

// TestPathTricks checks that addresses with unusual characters select the page of their normal form or nothing, and
// that no answer contains a header or a link of somebody else's making.
func TestPathTricks(t *testing.T) {
	s, h := stocked(t)
	s.Hold("/a", "<p>a", noon)
	s.Hold("/q?x=//b&y=%2F", "<p>q", noon)
	for _, c := range []struct {
		rest   string
		status int
	}{
		{stock.Site + "/a", 200},
		{stock.Site + "/x/../a", 200},
		{stock.Site + "/%61", 200},
		{"http://QUAY.example:80/a", 200},
		{"HTTP://quay.example/a", 200},
		{"http://user:pass@quay.example/a", 200},
		{stock.Site + "/q?x=//b&y=%2F", 200},
		{stock.Site + "/q?x=//b&y=/", 404},
		{stock.Site + "//a", 404},
		{stock.Site + "/a%00", 404},
		{stock.Site + "/a%0d%0aSet-Cookie:%20a=b", 404},
		{stock.Site + "/<script>alert(1)</script>", 404},
		{stock.Site + "/\"><img/src=x>", 404},
		{"http://[::1/a", 400},
		{"http:///a", 400},
		{"//quay.example/a", 400},
		{"javascript:alert(1)", 400},
		{"file:///etc/passwd", 400},
		{"../../../../etc/passwd", 400},
		{"http://" + strings.Repeat("a", 100_000) + ".example/", 400},
	} {
		for _, prefix := range []string{"/raw/", "/copy/", "/thumbnail/", "/versions/"} {
			sent := prefix + "20260105120000/" + c.rest
			if prefix == "/versions/" {
				sent = prefix + c.rest
			}
			want := c.status
			if prefix == "/thumbnail/" && want == 200 {
				want = 404
			}
			w := ask(h, "GET", sent)
			if w.Code != want {
				t.Errorf("%.80s: %d, want %d", sent, w.Code, want)
			}
			if strings.Contains(w.Body.String(), "<script>alert") || strings.Contains(w.Body.String(), "<img/src") ||
				w.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s: %v %s", sent, w.Header(), w.Body)
			}
		}
	}
}

// TestHostileTexts checks that titles, addresses, types and terms of publishers are only text in the viewer and in
// comparisons.
func TestHostileTexts(t *testing.T) {
	s, h := stocked(t)
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}`
	path := "/" + url.QueryEscape(evil)
	for n := range 2 {
		s.HoldAnswer(stock.Site+path, http.StatusOK, http.Header{"Content-Type": {"text/html"}, "X-Evil": {evil}},
			[]byte("<title>&lt;script>alert(1)&lt;/script>\u202e</title><p>"+strings.ReplaceAll(evil, "<", "&lt;")+
				strings.Repeat("x ", n)), noon.AddDate(0, 0, n))
	}
	s.SetRobots("ACAP-allow-present: / must-include-resource=the-acap:credit:text:" + url.QueryEscape(evil))
	for _, sent := range []string{at("/copy/", path), "/compare/20260105120000/20260106120000/" + stock.Site + path} {
		w := ask(h, "GET", sent)
		if body := w.Body.String(); w.Code != 200 || strings.Contains(body, "<script>alert") ||
			strings.Contains(body, "<img src=x") || strings.Contains(body, "\u202e") {
			t.Errorf("%s: %d %s", sent, w.Code, body)
		}
	}
}
