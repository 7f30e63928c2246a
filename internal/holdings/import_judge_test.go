package holdings

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/warc"
)

const (
	htmlHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	sealed   = "<meta name=robots content='ACAP disallow-preserve'>"
)

// said returns a metadata record about the record before it, with the given statements of the page.
// It looks like a record that Export writes for a copy from which parts were cut.
func said(statements string) foreign {
	return foreign{kind: "metadata", block: "acap-cut: yes\r\nacap-page-statements: " + statements + "\r\n",
		more: "Content-Type: application/warc-fields\r\nWARC-Refers-To: <urn:x>\r\n"}
}

// imported imports the records and returns their outcomes.
func (s *store) imported(records ...foreign) []string {
	s.Helper()
	var file string
	for _, r := range records {
		file += r.String()
	}
	_, got := s.take([]byte(file), ImportOptions{})
	return got
}

// TestImportSaid checks that statements in a metadata record are added to the statements in the
// page, and do not remove any of them.
func TestImportSaid(t *testing.T) {
	lost := `{"URL":"` + a + `","Marks":[{"Token":"the-acap:disallow-preserve"}]}`
	for name, test := range map[string]struct {
		records []foreign
		want    string
		marks   int // number of marks stored with the capture of /a
	}{
		"the page prohibits": {[]foreign{{block: htmlHead + sealed}, said("{}")}, "[refused /a]", 0},
		"and is allowed": {[]foreign{{block: htmlHead + sealed},
			said(`{"Tags":[{"Source":"META","Name":"robots","Content":"ACAP allow-preserve"}]}`)},
			"[refused /a]", 0},
		"nothing to be read": {[]foreign{{block: htmlHead + sealed}, said("?")}, "[refused /a]", 0},
		"a part was cut":     {[]foreign{{block: htmlHead + "<p>A gull."}, said(lost)}, "[imported /a]", 1},
		"no part":            {[]foreign{{block: htmlHead + "<p>A gull."}, said("{}")}, "[imported /a]", 0},
		"an allowance": {[]foreign{{block: htmlHead + "<p>A gull."},
			said(`{"Marks":[{"Token":"the-acap:allow-preserve"}]}`)}, "[imported /a]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{})
			if got := s.imported(test.records...); fmt.Sprint(got) != test.want {
				t.Errorf("%v", got)
			}
			for _, c := range s.all() {
				if len(c.Own.Marks) != test.marks || !c.Cut {
					t.Errorf("%+v", c.Own)
				}
			}
		})
	}
}

// TestImportRevisitOfCut checks a revisit record whose payload is a copy from which parts were cut.
// The HTTP head in the revisit record must be applied.
func TestImportRevisitOfCut(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{NoArchive: true})
	s.imported(foreign{url: b, block: htmlHead + "<p>A gull."},
		said(`{"Marks":[{"Token":"the-acap:disallow-preserve"}]}`))
	again := repeated(a, "<p>A gull.")
	again.block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noarchive\r\n\r\n"
	if got := s.imported(again); fmt.Sprint(got) != "[refused /a]" {
		t.Errorf("%v", got)
	}
	if got := s.imported(repeated(a, "<p>A gull.")); fmt.Sprint(got) != "[imported /a]" {
		t.Errorf("%v", got)
	}
	if !slices.ContainsFunc(s.all(), func(c archive.Capture) bool {
		return c.URL == a && c.Cut &&
			len(c.Own.Marks) == 1
	}) {
		t.Errorf("%+v", s.all())
	}
}

// TestImportEarlier checks an imported version that is older than the last crawl. The page's later
// statements must also apply to it, as to any earlier version (H11).
func TestImportEarlier(t *testing.T) {
	for name, test := range map[string]struct{ now, then, want string }{
		"prohibits now":   {sealed, "<p>A gull.", "[refused /a]"},
		"prohibited then": {"<p>A pilot.", sealed, "[imported /a]"},
		"prohibited a part": {"<p>A pilot.", "<p>A <b class='the-acap:disallow-preserve'>gull</b>.",
			"[imported /a]"},
		"prohibits and did so": {sealed, sealed, "[refused /a]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{})
			s.receive(pageOf(test.now, a))
			if got := s.imported(foreign{block: htmlHead + test.then}); fmt.Sprint(got) != test.want {
				t.Errorf("%v", got)
			}
			for _, c := range s.copies(a) {
				if strings.Contains(c, "gull") && strings.Contains(test.then, "class") {
					t.Errorf("held: %q", c)
				}
			}
		})
	}
}

// policies makes a function usable as terms.Policies.
type policies func(u *url.URL) (*acap.Policy, error)

func (p policies) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) { return p(u) }

// TestImportPolicyChanges checks that a capture is erased if the policy changes during the import
// of this capture and no longer permits it.
func TestImportPolicyChanges(t *testing.T) {
	for _, line := range []string{"ACAP-disallow-preserve: /", "ACAP-request-take-down: /a"} {
		w := newWeb("")
		s := open(t, t.TempDir(), w, Options{})
		var asked atomic.Bool // records are checked concurrently
		o := ImportOptions{Policies: policies(func(u *url.URL) (*acap.Policy, error) {
			if asked.Swap(true) {
				w.says(line)
			}
			return w.Policy(context.Background(), u)
		})}
		if _, got := s.take([]byte(foreign{block: answered}.String()), o); fmt.Sprint(got) != "[refused /a]" ||
			len(s.all()) != 0 {
			t.Errorf("%s: %v, %d held", line, got, len(s.all()))
		}
	}
}

// TestImportMeanwhile checks that an imported page is checked again if its address is crawled while
// the import decides about the page.
func TestImportMeanwhile(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	var judged, crawled atomic.Bool // records are checked concurrently
	o := ImportOptions{Policies: policies(func(u *url.URL) (*acap.Policy, error) {
		if u.String() == a {
			judged.Store(true)
		}
		// the import requests the policy of b, because b may redirect to a
		if judged.Load() && u.String() == b && crawled.CompareAndSwap(false, true) {
			s.receive(pageOf(sealed, a))
		}
		return w.Policy(context.Background(), u)
	})}
	file := foreign{url: c, block: answered}.String() +
		foreign{url: b, block: "HTTP/1.1 302 Found\r\nLocation: /a\r\n\r\n"}.String() +
		repeated(a, "<p>A gull.").String() // a revisit record: the records before it are imported before it is read
	if _, got := s.take([]byte(file), o); fmt.Sprint(got) != "[imported /c imported /b refused /a]" ||
		!crawled.Load() || len(s.all()) != 2 {
		t.Errorf("%v, %d held", got, len(s.all()))
	}
}

// TestImportElsewhere checks an address that now redirects to another page: it continues to do so,
// and an imported page at this address becomes an earlier version.
func TestImportElsewhere(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	s.receive(pageOf("<p>A pilot.", b, a))
	if got := s.imported(foreign{url: b, block: answered, date: warc.Date(time.Now().Add(-time.Second))}); fmt.Sprint(
		got) != "[imported /b]" {
		t.Errorf("%v", got)
	}
	final, err := s.archive.Resolve(b)
	if err != nil || final != a || s.found("gull") != "" || s.found("pilot") != "/a" {
		t.Errorf("/b leads to %s, %v; found at %q", final, err, s.found("gull"))
	}
	if list, err := s.archive.Captures(b); err != nil || len(list) != 1 || list[0].Current {
		t.Errorf("%+v, %v", list, err)
	}
	w.says("ACAP-allow-preserve: / time-limit=until-recrawled")
	if got := s.imported(foreign{url: b, block: answered}); fmt.Sprint(got) != "[refused /b]" {
		t.Errorf("until it is crawled again: %v", got)
	}
}

// TestImportUnfit checks that records are skipped if they cannot be a page, or if the address in
// the record cannot be trusted.
func TestImportUnfit(t *testing.T) {
	unknown := "WARC-Payload-Digest: blake9:abc\r\n"
	revisit := repeated(a, "")
	revisit.more = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\n" + unknown
	post := func(block, of string) foreign {
		return foreign{kind: "request", block: "POST /a HTTP/1.1\r\n\r\n" + block, more: "WARC-Concurrent-To: <" + of +
			">\r\n"}
	}
	page, other := foreign{block: answered}, foreign{url: b, block: answered}
	concurrent := foreign{block: answered, more: "WARC-Concurrent-To: <urn:x>\r\n"}
	asking := foreign{kind: "request", url: b, block: "POST /a HTTP/1.1\r\n\r\n"}
	for name, test := range map[string]struct {
		records []foreign
		want    string
	}{
		"POST, and others between": {[]foreign{post("", "urn:x"),
			{kind: "request", url: c, block: "GET /c HTTP/1.1\r\n\r\n"}, page}, "[skipped /a]"},
		"POST, named by its answer": {[]foreign{asking,
			{kind: "request", id: "z", url: c, block: "GET /c HTTP/1.1\r\n\r\n"}, concurrent}, "[skipped /a]"},
		"a long POST": {[]foreign{post(strings.Repeat("x", longestHead), "urn:x"), page}, "[skipped /a]"},
		"POST, after others": {[]foreign{page, {kind: "resource", url: "dns:quay.example", block: "x"},
			post("", "urn:x")}, "[skipped /a skipped dns:quay.example]"},
		"POST of another": {[]foreign{post("", "urn:y"), other}, "[imported /b]"},
		"a head without blank line": {[]foreign{{block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"}},
			"[imported /a]"},
		"a head that is too long": {[]foreign{{block: "HTTP/1.1 200 OK\r\na: " + strings.Repeat("x", longestHead) +
			"\r\n\r\nx"}}, "[skipped /a]"},
		"before the web": {[]foreign{{block: answered, date: "1980"}}, "[skipped /a]"},
		"of no time":     {[]foreign{{block: answered, date: "0001-01-01T00:00:00Z"}}, "[skipped /a]"},
		"of the future": {[]foreign{{block: answered, date: warc.Date(time.Now().Add(25 * time.Hour))}},
			"[skipped /a]"},
		"an unknown digest": {[]foreign{{url: b, block: answered, more: unknown}, revisit},
			"[imported /b skipped /a]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{})
			if got := s.imported(test.records...); fmt.Sprint(got) != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}
