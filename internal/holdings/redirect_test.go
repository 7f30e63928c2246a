package holdings

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/warc"
)

// answersOf lists the response and revisit records of an export: status, address and length of the
// body.
func (s *store) answersOf(o ExportOptions) (list []string) {
	s.Helper()
	file, _, _ := s.export(o)
	for _, r := range records(s.T, file) {
		if m, err := warc.ParseMessage(r.block); err == nil && r.Type() != warc.Request {
			if said := m.Header.Get("Content-Length"); r.Type() == warc.Response && said != "" &&
				said != fmt.Sprint(len(m.Body)) {
				s.Errorf("%s: Content-Length %s, and %d bytes follow", r.Target(), said, len(m.Body))
			}
			list = append(list, fmt.Sprint(m.Status(), " ", strings.TrimPrefix(r.Target(), site), " ", len(m.Body)))
		}
	}
	return list
}

func movedTo(from, to, body string, at time.Time) page.Hop {
	return sent(from, "301 Moved Permanently", html+"Location: "+to+"\nContent-Length: "+fmt.Sprint(len(body))+"\n",
		body, at)
}

// TestRedirectsAreKept checks that a redirect is stored and exported with its body, whatever its
// target is: a page received with the redirect, a page received before, an unchanged page, an
// address that is not crawled, or no page.
func TestRedirectsAreKept(t *testing.T) {
	at := time.Now().Add(-time.Hour).UTC()
	ok := func(address string) page.Hop { return sent(address, "200 OK", html, article, at) }
	for name, c := range map[string]struct {
		visit func(s *store)
		want  string
	}{
		"to a page": {func(s *store) { s.receive(page.New([]page.Hop{movedTo(b, "/a", "gone", at), ok(a)})) },
			"[301 /b 4 200 /a 94]"},
		"received at the same time": {func(s *store) {
			s.receive(page.New([]page.Hop{ok(a)}))
			s.receive(page.New([]page.Hop{movedTo(b, "/a", "gone", at), sent(a, "304 Not Modified", "", "", at)}))
		}, "[200 /a 94 301 /b 4]"},
		"received before": {func(s *store) {
			s.receive(page.New([]page.Hop{ok(a)}))
			if err := s.Lead(context.Background(), []page.Hop{movedTo(b, "/a", "gone", at)}, a); err != nil {
				s.Fatal(err)
			}
		}, "[200 /a 94 301 /b 4]"},
		"out of scope": {func(s *store) {
			s.receive(page.New([]page.Hop{movedTo(b, "http://other.example/", "",
				at)}))
		}, "[301 /b 0]"},
		"to nothing": {func(s *store) {
			s.receive(page.New([]page.Hop{movedTo(b, "/a", "gone", at), sent(a, "404 Not Found", html, "no", at)}))
		}, "[301 /b 4]"},
		"to what may not be kept": {func(s *store) {
			s.web.says("ACAP-disallow-preserve: /a")
			s.receive(page.New([]page.Hop{movedTo(b, "/a", "gone", at), ok(a)}))
		}, "[301 /b 4]"},
		"by two": {func(s *store) {
			s.receive(page.New([]page.Hop{movedTo(b, "/c", "gone", at), movedTo(c, "/a", "gone", at), ok(a)}))
		}, "[301 /b 4 301 /c 4 200 /a 94]"},
		"no redirect": {func(s *store) { s.receive(page.New([]page.Hop{sent(b, "301 Moved", html, "where?", at)})) },
			"[]"},
		"with parts that may not be kept": {func(s *store) {
			s.receive(page.New([]page.Hop{movedTo(b, "/a", `<p>Gone <b class="the-acap:disallow-preserve">away</b>.`,
				at), ok(a)}))
		}, "[301 /b 9 200 /a 94]"},
		"with more than is kept": {func(s *store) {
			s.receive(page.New([]page.Hop{movedTo(b, "/a", strings.Repeat("x", longestRedirect+1), at), ok(a)}))
		}, fmt.Sprintf("[301 /b %d 200 /a 94]", longestRedirect)},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{})
			c.visit(s)
			if got := fmt.Sprint(s.answersOf(ExportOptions{})); got != c.want {
				t.Errorf("exported %s, want %s", got, c.want)
			}
			problems, err := s.Verify(context.Background(), archive.VerifyOptions{})
			if err != nil || len(problems) > 0 {
				t.Errorf("%+v, %v", problems, err)
			}
			if r := s.resource(b); r.Current != 0 || r.Indexed {
				t.Errorf("the redirect passes for a page: %+v", r)
			}
		})
	}
}

// TestRedirectsEnd checks that the body of a redirect is erased like other copies. It is erased
// when the address of the redirect may no longer be preserved, or when a time limit ends with a new
// crawl.
func TestRedirectsEnd(t *testing.T) {
	at := time.Now().Add(-time.Hour).UTC()
	dir := t.TempDir()
	s := open(t, dir, newWeb("ACAP-allow-preserve: /b time-limit=until-recrawled"), Options{})
	visit := func(body string, at time.Time) {
		s.receive(page.New([]page.Hop{movedTo(b, "/a", body, at), sent(a, "200 OK", html, article, at)}))
	}
	visit("quuxfirstquux", at)
	s.sweep(SweepOptions{})
	if got := fmt.Sprint(s.answersOf(ExportOptions{Under: []string{b}})); got != "[301 /b 13]" {
		t.Errorf("after a sweep: %s", got)
	}
	visit("quuxsecond", at.Add(time.Minute))
	if got := fmt.Sprint(s.answersOf(ExportOptions{Under: []string{b}})); got != "[301 /b 10]" {
		t.Errorf("crawled again: %s", got)
	}
	s.web.says("ACAP-disallow-preserve: /b")
	s.sweep(SweepOptions{})
	if got := fmt.Sprint(s.answersOf(ExportOptions{})); strings.Contains(got, "/b") || !strings.Contains(got, "/a") {
		t.Errorf("prohibited: %s", got)
	}
	if _, err := s.Compact(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	s.shut()
	for _, word := range []string{"quuxfirstquux", "quuxsecond"} {
		if where := holding(t, dir, word); where != nil {
			t.Errorf("%s is in %q", word, where)
		}
	}
}

// TestExportOldHops checks redirects that older versions of the program stored as heads in the
// capture of the page. They must be exported without a wrong Content-Length.
func TestExportOldHops(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	moved := sent(b, "302 Found",
		"Location: /a\nContent-Length: 120\nContent-Encoding: gzip\nTransfer-Encoding: chunked\n", packed(""),
		time.Now())
	_, err := s.archive.Receive(context.Background(), archive.Deposit{Resource: archive.Resource{URL: a, Status: 200},
		Fetched: time.Now(), Body: []byte("x"),
		Hops: []archive.Via{{URL: b, Status: 302, Start: time.Now(), Header: moved.Header, Head: moved.Head}}})
	if err != nil {
		t.Fatal(err)
	}
	file, _, _ := s.export(ExportOptions{})
	found := false
	for _, r := range records(t, file) {
		if r.Target() == b && r.Type() == warc.Response {
			found = true
			want := "HTTP/1.1 302 Found\r\nLocation: /a\r\nX-Archive-Orig-Content-Length: " +
				"120\r\nX-Archive-Orig-Content-Encoding: gzip\r\n" +
				"X-Archive-Orig-Transfer-Encoding: chunked\r\n\r\n"
			if string(r.block) != want || r.Fields.Get(warc.Truncated) != "length" {
				t.Errorf("%q, %v", r.block, r.Fields)
			}
		}
	}
	if !found {
		t.Error("the redirect is not there")
	}
}

// TestImportRedirectsAlone checks that redirects in a file are stored whether their target follows,
// is elsewhere in the file, or is missing. If the target is stored, the redirect to it is recorded.
func TestImportRedirectsAlone(t *testing.T) {
	moved := func(from, to string) string {
		return foreign{url: from, block: "HTTP/1.1 302 Found\r\nLocation: " + to + "\r\nContent-Length: 4\r\n\r\ngone",
			more: "WARC-IP-Address: 192.0.2.7\r\n"}.String()
	}
	s := open(t, t.TempDir(), newWeb(""), Options{})
	file := moved(site+"/1", "/2") + moved(site+"/3", "/nowhere") + moved(site+"/2", "/a") +
		foreign{url: c, block: answered}.String() +
		foreign{block: answered + " It sat."}.String() + moved(site+"/4", "/a")
	for range 2 {
		counts, got := s.take([]byte(file), ImportOptions{})
		if counts.Redirects != 4 || counts.Imported+counts.Held != 2 || len(got) != 6 || len(s.all()) != 6 {
			t.Fatalf("%+v %v, %d held", counts, got, len(s.all()))
		}
	}
	for from, to := range map[string]string{"/1": a, "/2": a, "/3": site + "/3", "/4": a} {
		if final, err := s.archive.Resolve(site + from); err != nil || final != to {
			t.Errorf("%s leads to %s, %v", from, final, err)
		}
	}
	list := strings.Join(s.answersOf(ExportOptions{}), ", ")
	for _, want := range []string{"302 /1 4", "302 /2 4", "302 /3 4", "302 /4 4", "200 /a 18", "200 /c 10"} {
		if !strings.Contains(list, want) {
			t.Errorf("%s is not exported: %s", want, list)
		}
	}
	out, _, _ := s.export(ExportOptions{Plain: true})
	if n := bytes.Count(out, []byte("WARC-IP-Address: 192.0.2.7\r\n")); n != 4 {
		t.Errorf("%d addresses of servers", n)
	}
}

// TestExportAddress checks that the address of the server is exported with request and response.
func TestExportAddress(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	hop := sent(a, "200 OK", html, article, time.Now())
	hop.Address = netip.MustParseAddr("2001:db8::7")
	s.receive(page.New([]page.Hop{hop}))
	out, _, _ := s.export(ExportOptions{Plain: true})
	if n := bytes.Count(out, []byte("WARC-IP-Address: 2001:db8::7\r\n")); n != 2 {
		t.Errorf("%d times", n)
	}
	to := open(t, t.TempDir(), newWeb(""), Options{})
	to.take(out, ImportOptions{})
	if list := to.all(); len(list) != 1 || list[0].Address != hop.Address {
		t.Errorf("taken in: %+v", list)
	}
}
