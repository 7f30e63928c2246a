package view

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/cdx"
	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// shelf archives pages, whose numbers in order of the CDX index are in the comments.
func shelf(t testing.TB) (*stock.Stock, *Handler) {
	s, h := stocked(t)
	for _, one := range [][2]string{
		{"/path/b.html", "20140101000000"}, // 4
		{"/", "20130101000000"},            // 0
		{"/", "20140601120000"},            // 1
		{"/paths", "20140101000000"},       // 6
		{"/", "20150101000000"},            // 2
		{"/path/", "20140101000000"},       // 3
		{"/path/c.php?d=1", "20140101000000"},
	} {
		at, _ := memento.ParseTimestamp(one[1])
		s.Hold(one[0], "<p>"+one[0]+one[1], at)
	}
	s.HoldPicture("/path/d.png", time.Date(2014, 1, 1, 0, 0, 0, 0, time.UTC)) // 5, after c.php
	return s, h
}

// found returns the paths and years in an answer with output=text and the fields url and timestamp.
func found(w *httptest.ResponseRecorder) string {
	if w.Code != 200 {
		return fmt.Sprint(w.Code)
	}
	var out []string
	for line := range strings.Lines(w.Body.String()) {
		address, stamp, _ := strings.Cut(strings.TrimSpace(line), " ")
		out = append(out, strings.TrimPrefix(address, stock.Site)+stamp[2:4])
	}
	return strings.Join(out, " ")
}

// TestCDX has the examples of pywb's documentation of its CDX server, on our pages.
func TestCDX(t *testing.T) {
	_, h := shelf(t)
	const all = "/13 /14 /15 /path/14 /path/b.html14 /path/c.php?d=114 /path/d.png14 /paths14"
	for _, row := range []struct{ query, want string }{
		{"url=http://quay.example/*&page=0&filter=mime:text/html&limit=4", "/13 /14 /15 /path/14"},
		{"url=http://quay.example/*&page=1&filter=mime:text/html&limit=10", "400"},
		{"url=quay.example", "/13 /14 /15"},
		{"url=https://www.QUAY.example:443/", "/13 /14 /15"},
		{"url=quay.example&from=2014&to=2014", "/14"},
		{"url=quay.example&from=201406", "/14 /15"},
		{"url=http://quay.example/path/*", "/path/b.html14 /path/c.php?d=114 /path/d.png14"},
		{"url=http://quay.example/path/&matchType=prefix", "/path/b.html14 /path/c.php?d=114 /path/d.png14"},
		{"url=http://quay.example/path&matchType=exact", "/path/14"},
		{"url=http://quay.example/path/b.html&matchType=host", all},
		{"url=*.quay.example", all},
		{"url=quay.example&matchType=domain", all},
		{"url=*.example&limit=1", "/13"},
		{"url=other.example&matchType=domain", ""},
		{"url=quay.example&sort=reverse", "/15 /14 /13"},
		{"url=quay.example&sort=reverse&limit=1", "/15"},
		{"url=quay.example&sort=closest&closest=20140501", "/14 /15 /13"},
		{"url=quay.example&closest=2014&limit=1", "/14"},
		{"url=quay.example/*&filter==mime:text/html&filter=!=status:200", ""},
		{"url=quay.example/*&filter==mime:image/png", "/path/d.png14"},
		{`url=quay.example&matchType=domain&filter=~url:.*\.php$`, ""},
		{`url=quay.example&matchType=domain&filter=~url:.*\.php`, "/path/c.php?d=114"},
		{"url=quay.example/*&filter=!mime:html", "/path/d.png14"},
		{"url=*.quay.example&pageSize=3&page=2", "/path/d.png14 /paths14"},
		{"url=*.quay.example&pageSize=3&page=3", "400"},
		{"url=quay.example/nothing", ""},
		{"url=quay.example&offset=1", "400"},
		{"url=quay.example&fl=filename", "400"},
		{"url=quay.example&matchType=all", "400"},
		{"url=quay.example&filter=~url:(", "400"},
		{"url=%zz", "400"},
		{"", "400"},
	} {
		sent := row.query
		if !strings.Contains(sent, "fl=") && sent != "" {
			sent += "&output=text&fl=url,timestamp"
		}
		w := ask(h, "GET", "/cdx?"+strings.ReplaceAll(sent, "+", "%2B"))
		if got := found(w); got != row.want {
			t.Errorf("%s: %s, want %s", row.query, got, row.want)
		}
		if w.Code == 400 && (w.Header().Get("Content-Type") != "application/problem+json" ||
			w.Header().Get("Cache-Control") != "no-store") {
			t.Errorf("%s: %v", row.query, w.Header())
		}
	}
	if w := ask(h, "HEAD", "/cdx?url=quay.example"); w.Code != 200 || w.Body.Len() > 0 ||
		w.Header().Get("Content-Type") != "text/x-cdxj" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
}

// TestCDXOutputs checks the forms of an answer, and that addresses in it can be requested.
func TestCDXOutputs(t *testing.T) {
	_, h := shelf(t)
	for output, want := range map[string]string{
		"cdxj": `example,quay)/path 20140101000000 {"url": "http://quay.example/path/", "mime": "text/html", ` +
			`"status": "200", "digest": "sha256:`,
		"json": `{"urlkey": "example,quay)/path", "timestamp": "20140101000000", "url": "http://quay.example/path/"`,
		"text": `example,quay)/path 20140101000000 http://quay.example/path/ text/html 200 sha256:`,
		"link": `<https://archive.example/raw/20140101000000/http://quay.example/path/>; rel="memento"; ` +
			`datetime="Wed, 01 Jan 2014 00:00:00 GMT"`,
	} {
		w := ask(h, "GET", "/cdx?url=quay.example/path&output="+output)
		if w.Code != 200 || !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("%s: %d %s", output, w.Code, w.Body)
		}
	}
	w := ask(h, "GET", "/cdx?url=*.quay.example&pageSize=3&showNumPages=true")
	if w.Body.String() != "{\"blocks\": 8, \"pages\": 3, \"pageSize\": 3}\n" {
		t.Error(w.Body)
	}
}

// TestCDXTerms checks that CDX lists and counts only what this reader may see.
func TestCDXTerms(t *testing.T) {
	s, h := shelf(t)
	france := Visitor{Base: base, Reader: acap.Target{Country: "FR"}}
	for _, row := range []struct {
		robots, want string
		who          Visitor
	}{
		{robots: "ACAP-disallow-present: /path/", want: "/13 /14 /15 /paths14"},
		{robots: "ACAP-disallow-present-link: /path/", want: "/13 /14 /15 /paths14"},
		{robots: "ACAP-request-take-down: /path/", want: "/13 /14 /15 /path/b.html14 /path/c.php?d=114 " +
			"/path/d.png14 /paths14"},
		{robots: "ACAP-disallow-present-oldcopy: /", want: "/15 /path/14 /path/b.html14 /path/c.php?d=114 " +
			"/path/d.png14 /paths14"},
		{robots: "ACAP-disallow-present-currentcopy: /", want: "/13 /14"},
		{robots: "ACAP-allow-present: / target-condition=prohibitedcountrylist:FR", who: france},
		{robots: "ACAP-allow-present-currentcopy: / time-limit=2-days\nACAP-disallow-present-oldcopy: /"},
	} {
		s.SetRobots(row.robots)
		w := askFrom(h, row.who, "GET", "/cdx?url=*.quay.example&output=text&fl=url,timestamp")
		if got := found(w); got != row.want {
			t.Errorf("%s: %s, want %s", row.robots, got, row.want)
		}
		count := askFrom(h, row.who, "GET", "/cdx?url=*.quay.example&showNumPages=true")
		if want := fmt.Sprintf(`{"blocks": %d,`, len(strings.Fields(row.want))); !strings.HasPrefix(count.Body.String(),
			want) {
			t.Errorf("%s: %s, want %s", row.robots, count.Body, want)
		}
	}
	s.SetUnread()
	if w := ask(h, "GET", "/cdx?url=*.quay.example"); w.Code != 200 || w.Body.Len() > 0 {
		t.Errorf("no policy: %d %s", w.Code, w.Body)
	}
}

// TestCDXTurns checks that queries for several pages wait for each other, and that a client that goes away
// ends its query.
func TestCDXTurns(t *testing.T) {
	_, h := shelf(t)
	for range mostScans {
		if _, err := h.scans.take(t.Context(), netip.Addr{}); err != nil {
			t.Fatal(err)
		}
	}
	if w := ask(h, "GET", "/cdx?url=quay.example"); w.Code != 200 {
		t.Errorf("one page: %d", w.Code)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RequestURI = "/cdx?" + url.Values{"url": {"*.quay.example"}}.Encode()
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r.WithContext(ctx)); w.Code != 503 {
		t.Errorf("several pages: %d", w.Code)
	}
}

// TestCDXSeconds checks that of two versions of the same second, the record is that of the version that /raw shows.
func TestCDXSeconds(t *testing.T) {
	s, h := stocked(t)
	s.HoldAnswer(stock.Site+":8080/a", 200, nil, []byte("one"), noon)
	s.HoldAnswer(stock.Site+":8080/a", 200, nil, []byte("two"), noon.Add(time.Second/2))
	s.HoldAnswer(stock.Site+":8080/b", 200, nil, []byte("one"), noon.Add(time.Second/2))
	w := ask(h, "GET", "/cdx?url=quay.example:8080&matchType=host&output=text&fl=timestamp,length")
	if got := w.Body.String(); got != "20260105120000 3\n20260105120000 3\n" {
		t.Errorf("%d %s", w.Code, got)
	}
	w = ask(h, "GET", "/cdx?url=quay.example:8080/a&output=text&fl=digest,url")
	digest, page, _ := strings.Cut(strings.TrimSpace(w.Body.String()), " ")
	raw := ask(h, "GET", "/raw/20260105120000/"+page).Body.String()
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(raw))); raw != "two" || digest != sum {
		t.Errorf("the digest of %q is %s, the record has %s", raw, sum, digest)
	}
}

// TestCDXHead checks that HEAD gets the status of GET, without a body.
func TestCDXHead(t *testing.T) {
	_, h := shelf(t)
	for _, query := range []string{"url=quay.example", "url=quay.example&page=7", "url=quay.example&page=x"} {
		get, head := ask(h, "GET", "/cdx?"+query), ask(h, "HEAD", "/cdx?"+query)
		if get.Code != head.Code || head.Body.Len() > 0 {
			t.Errorf("%s: GET %d, HEAD %d %s", query, get.Code, head.Code, head.Body)
		}
	}
}

// TestListingOf checks that another process makes the same listing from its text.
func TestListingOf(t *testing.T) {
	for _, sent := range []string{"url=quay.example/path*&limit=2&filter=mime:x", "url=quay.example&matchType=domain",
		"url=http://quay.example/a?b=c%26d", ""} {
		l := listingAfter("http://quay.example/b")
		if sent != "" {
			values, _ := url.ParseQuery(sent)
			q, err := cdx.Parse(values)
			if err != nil {
				t.Fatal(err)
			}
			l = cdxListing(q, values)
		}
		again, err := ListingOf(l.Text)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(again.Addresses) != fmt.Sprint(l.Addresses) || again.Text != l.Text {
			t.Errorf("%q: %+v", sent, again)
		}
		for _, address := range []string{"http://quay.example/a", "http://quay.example/c", "http://quay.example/path/x",
			"http://www.reef.example/", "http://a.quay.example/", "http://quay.example/a?b=c&d"} {
			key := l.Key(address)
			if again.Key(address) != key || again.In(key) != l.In(key) || again.Origin(address) != l.Origin(address) {
				t.Errorf("%q: %s", sent, address)
			}
		}
	}
	for _, text := range []string{"", "x", "cdx?", "cdx?url=a&x=y", "cdx?%"} {
		if _, err := ListingOf(text); err == nil {
			t.Errorf("%q is a listing", text)
		}
	}
}
