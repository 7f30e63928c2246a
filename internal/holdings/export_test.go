package holdings

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/warc"
)

// sent returns a page.Hop with the response of a server, as the gate records it.
func sent(address, status, fields, wire string, at time.Time) page.Hop {
	head := "HTTP/1.1 " + status + "\r\n" + strings.ReplaceAll(fields, "\n", "\r\n") + "\r\n"
	m, err := warc.ParseMessage([]byte(head))
	if err != nil {
		panic(err)
	}
	hop := page.Hop{URL: address, Method: "GET", Proto: "HTTP/1.1", Status: m.Status(), Header: m.Header,
		Sent: []byte("GET " + strings.TrimPrefix(address, site) +
			" HTTP/1.1\r\nHost: quay.example\r\nUser-Agent: gazer\r\n\r\n"), Head: []byte(head), Wire: []byte(wire),
		Body: []byte(wire), Start: at}
	if m.Header.Get("Content-Encoding") == "gzip" {
		r, err := gzip.NewReader(strings.NewReader(wire))
		if err != nil {
			panic(err)
		}
		if hop.Body, err = io.ReadAll(r); err != nil {
			panic(err)
		}
	}
	return hop
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

const html = "Content-Type: text/html; charset=utf-8\n"

// harbour receives responses of every kind into s.
func harbour(s *store, at time.Time) {
	s.Helper()
	cut := sent(site+"/cut", "200 OK", html+"Content-Encoding: gzip\nContent-Length: 99\n",
		packed(`<p>Open <b class="the-acap:disallow-preserve">sealed</b> quay.`), at)
	short := sent(site+"/short", "200 OK", html+"Content-Length: 1000\n", "<p>It breaks o", at)
	short.Truncated = true
	moved := sent(site+"/old", "301 Moved Permanently", "Location: /new\nContent-Length: 10\n", "Moved away", at)
	for _, hops := range [][]page.Hop{
		{sent(a, "200 OK", html+"Transfer-Encoding: chunked\nServer: na\u00efve\n", article, at)},
		{sent(b, "200 OK", html+"Content-Encoding: gzip\nETag: \"x\"\n", packed(article), at.Add(time.Second))},
		// this capture has the same body as the capture of the address a
		{sent(c, "200 OK", html, article, at.Add(2*time.Second))},
		{cut}, {short},
		{moved, sent(site+"/new", "200 OK", html, "<p>Here now.", at.Add(time.Millisecond))},
		{sent(site+"/data", "200 Fine", "Content-Type: application/octet-stream\nX-Robots-Tag: noindex\n",
			"\x00\x01\xff", at)},
		{sent(site+"/empty", "204 No Content", "Set-Cookie: a=1\nSet-Cookie: b=2\n", "", at)},
	} {
		s.receive(page.New(hops))
	}
}

func (s *store) export(o ExportOptions) (file []byte, counts ExportCounts, withheld []string) {
	s.Helper()
	var out bytes.Buffer
	counts, err := s.Export(context.Background(), &out, o, func(e Exported) {
		if e.Why != "" {
			withheld = append(withheld, strings.TrimPrefix(e.URL, site)+" "+e.Line)
		}
	})
	if err != nil {
		s.Fatal(err)
	}
	if counts.Bytes != int64(out.Len()) {
		s.Errorf("%d bytes are counted of %d", counts.Bytes, out.Len())
	}
	return out.Bytes(), counts, withheld
}

// kept is a WARC record together with its block.
type kept struct {
	*warc.Record
	block []byte
}

// records returns the records of a file; it fails the test if one is damaged.
func records(t *testing.T, file []byte) (list []kept) {
	t.Helper()
	for in := warc.NewReader(bytes.NewReader(file)); ; {
		rec, err := in.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := warc.ParseMessage(block); err == nil && rec.Type() != warc.Revisit {
			if wrong := rec.Check(block, m.Body); wrong != "" {
				t.Errorf("%s %s: %s", rec.Type(), rec.Target(), wrong)
			}
		} else if wrong := rec.Check(block); wrong != "" {
			t.Errorf("%s %s: %s", rec.Type(), rec.Target(), wrong)
		}
		list = append(list, kept{rec, block})
	}
}

func TestExport(t *testing.T) {
	w := newWeb("ACAP-allow-preserve: /")
	s := open(t, t.TempDir(), w, Options{})
	at := time.Now().Add(-time.Hour).UTC()
	harbour(s, at)
	var lines []string
	file, counts, withheld := s.export(ExportOptions{Name: "x.warc.gz",
		Info: warc.Fields{{Name: "software", Value: "test"}}, Line: func(l string) error {
			lines = append(lines, l)
			return nil
		}})
	if len(withheld) > 0 || counts.Captures != 8 || counts.Duplicates != 0 || counts.Withheld != 0 ||
		counts.Redirects != 1 || counts.Records != 1+9*3 || len(lines) != 9 {
		t.Errorf("%+v, withheld %q, %d lines", counts, withheld, len(lines))
	}
	list := records(t, file)
	byID := map[string]kept{}
	got := map[string]string{}
	for _, r := range list {
		byID[r.ID()] = r
		got[r.Type()+" "+strings.TrimPrefix(r.Target(), site)] = string(r.block)
		if d, ok := r.Date(); !ok || r.Type() != warc.Warcinfo && d.Before(at) {
			t.Errorf("%s %s is of %v", r.Type(), r.Target(), d)
		}
	}
	for what, want := range map[string]string{
		"request /a": "GET /a HTTP/1.1\r\nHost: quay.example\r\nUser-Agent: gazer\r\n\r\n",
		"response /a": "HTTP/1.1 200 OK\r\nContent-Type: text/html; " +
			"charset=utf-8\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\nServer: na\u00efve\r\n\r\n" +
			article,
		"response /b": "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: " +
			"gzip\r\nETag: \"x\"\r\n\r\n" + packed(article),
		"response /c": "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + article,
		"response /cut": "HTTP/1.1 200 OK\r\nContent-Type: text/html; " +
			"charset=utf-8\r\nX-Archive-Orig-Content-Encoding: gzip\r\nX-Archive-Orig-Content-Length: 99\r\n\r\n" +
			"<p>Open  quay.",
		"response /old": "HTTP/1.1 301 Moved Permanently\r\nLocation: /new\r\nContent-Length: 10\r\n\r\nMoved away",
		"response /short": "HTTP/1.1 200 OK\r\nContent-Type: text/html; " +
			"charset=utf-8\r\nX-Archive-Orig-Content-Length: 1000\r\n\r\n<p>It breaks o",
		"response /data": "HTTP/1.1 200 Fine\r\nContent-Type: application/octet-stream\r\nX-Robots-Tag: " +
			"noindex\r\n\r\n\x00\x01\xff",
	} {
		if got[what] != want {
			t.Errorf("%s: %q", what, got[what])
		}
	}
	for _, r := range list {
		switch r.Type() {
		case warc.Request, warc.Metadata:
			if to := byID[strings.Trim(r.Fields.Get(warc.ConcurrentTo), "<>")]; to.Record == nil ||
				to.Target() != r.Target() {
				t.Errorf("%s of %s stands alone", r.Type(), r.Target())
			}
		case warc.Response:
			if short := r.Fields.Get(warc.Truncated) != ""; short != (r.Target() == site+"/short") {
				t.Errorf("%s: truncated %v", r.Target(), short)
			}
		}
	}
	said := warc.ParseFields([]byte(got["metadata /cut"]))
	if said.Get(metaCut) == "" || !strings.Contains(said.Get(metaStatements), "the-acap:disallow-preserve") ||
		!slices.Contains(said.All(metaDecided), "preserve "+site+"/robots.txt:3: ACAP-allow-preserve: /") {
		t.Errorf("the metadata: %q", said)
	}
	if file, counts, _ := s.export(ExportOptions{Under: []string{site + "/ne", site + "/a"},
		Plain: true}); counts.Captures != 2 || !bytes.HasPrefix(file, []byte("WARC/1.1\r\n")) {
		t.Errorf("under /ne and /a: %+v", counts)
	}
}

// TestExportJudges checks that only captures that may be preserved now are exported, by today's
// policy and the current time.
func TestExportJudges(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := at
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{Now: func() time.Time { return now }})
	harbour(s, at)
	again := sent(a, "200 OK", html, "<p>A gull.", at.Add(time.Hour))
	now = at.Add(time.Hour)
	s.receive(page.New([]page.Hop{again}))
	for _, test := range []struct {
		robots   string
		after    time.Duration
		captures int
		withheld []string // addresses that are not exported, with the policy line that decided
	}{
		{"", 0, 9, nil},
		{"ACAP-disallow-preserve: /n", 0, 8, []string{"/new " + site + "/robots.txt:3: ACAP-disallow-preserve: /n"}},
		{"ACAP-request-take-down: /b", 0, 8, []string{"/b " + site + "/robots.txt:3: ACAP-request-take-down: /b"}},
		{"ACAP-allow-preserve: /a time-limit=until-recrawled", 0, 8,
			[]string{"/a " + site + "/robots.txt:3: ACAP-allow-preserve: /a time-limit=until-recrawled"}},
		{"ACAP-allow-preserve: /a time-limit=3-days", 71*time.Hour - time.Second, 9, nil},
		{"ACAP-allow-preserve: /a time-limit=3-days", 71 * time.Hour, 7, []string{
			"/a " + site + "/robots.txt:3: ACAP-allow-preserve: /a time-limit=3-days", "/a " + site +
				"/robots.txt:3: ACAP-allow-preserve: /a time-limit=3-days"}},
		{"ACAP-disallow-preserve: /", 0, 0, make([]string, 10)},
	} {
		w.says(test.robots)
		now = at.Add(time.Hour + test.after)
		file, counts, withheld := s.export(ExportOptions{})
		if len(test.withheld) == 10 {
			test.withheld = withheld
		}
		if counts.Captures != test.captures || counts.Withheld != 10-counts.Captures-counts.Redirects ||
			!slices.Equal(withheld, test.withheld) {
			t.Errorf("%s, after %v: %+v, withheld %q", test.robots, test.after, counts, withheld)
		}
		for _, r := range records(t, file) {
			for _, gone := range test.withheld {
				if r.Target() != "" && strings.HasPrefix(gone, strings.TrimPrefix(r.Target(), site)+" ") &&
					test.captures < 8 {
					t.Errorf("%s: %s of %s is there", test.robots, r.Type(), r.Target())
				}
			}
		}
	}
	// A redirect that may not be preserved is not exported, but the page that it redirects to is
	// exported.
	w.says("ACAP-disallow-preserve: /old")
	file, _, withheld := s.export(ExportOptions{})
	if bytes.Contains(bytes.Join(blocks(records(t, file)), nil), []byte("Moved Permanently")) ||
		!slices.Equal(withheld, []string{"/old " + site + "/robots.txt:3: ACAP-disallow-preserve: /old"}) {
		t.Error("the redirect is there")
	}
	w.mu.Lock()
	w.policy = nil
	w.mu.Unlock()
	if _, counts, _ := s.export(ExportOptions{}); counts.Captures != 0 || counts.Withheld != 10 {
		t.Errorf("without a policy: %+v", counts)
	}
	w.says("")
}

func blocks(list []kept) (out [][]byte) {
	for _, r := range list {
		out = append(out, r.block)
	}
	return out
}

// TestExportDuplicates checks that a capture becomes a revisit record only of a capture of the same address, so that
// the import of one address does not need another one.
func TestExportDuplicates(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	at := time.Now().Add(-time.Hour).UTC()
	for i, hop := range []page.Hop{sent(a, "200 OK", html, article, at), sent(b, "200 OK", html, article, at),
		sent(a, "200 OK", html, "<p>Else.", at), sent(a, "200 OK", html, article, at)} {
		hop.Start = at.Add(time.Duration(i) * time.Minute)
		s.receive(page.New([]page.Hop{hop}))
	}
	file, counts, _ := s.export(ExportOptions{})
	byID := map[string]kept{}
	for _, r := range records(t, file) {
		byID[r.ID()] = r
		if r.Type() != warc.Revisit {
			continue
		}
		first := byID[strings.Trim(r.Fields.Get(warc.RefersTo), "<>")]
		if first.Record == nil || first.Type() != warc.Response || first.PayloadDigest() != r.PayloadDigest() ||
			first.Target() != a || r.Target() != a || r.Fields.Get(warc.RefersToTargetURI) != a ||
			r.Fields.Get(warc.RefersToDate) != first.Fields.Get("WARC-Date") ||
			r.Fields.Get(warc.Truncated) != "length" {
			t.Errorf("the revisit: %v", r.Fields)
		}
	}
	if counts.Captures != 4 || counts.Duplicates != 1 {
		t.Errorf("%+v", counts)
	}
	to := open(t, t.TempDir(), newWeb("ACAP-disallow-preserve: /a"), Options{})
	if counts, got := to.take(file, ImportOptions{}); counts.Imported != 1 || counts.Refused != 3 {
		t.Errorf("%+v %v", counts, got)
	}
}

// TestPartHeld checks captures of parts of pages (206), which earlier versions of this program stored: an export
// imports everything else, and they are not revalidated.
func TestPartHeld(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	at := time.Now().Add(-time.Hour).UTC()
	_, err := s.archive.Receive(context.Background(), archive.Deposit{Resource: archive.Resource{URL: a, Status: 206,
		ETag: `"1"`}, Header: http.Header{"Etag": {`"1"`}}, Fetched: at, Body: []byte(article)})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Condition(a); got != nil {
		t.Errorf("it is revalidated: %v", got)
	}
	s.receive(page.New([]page.Hop{sent(b, "200 OK", html, article, at.Add(time.Minute))}))
	s.receive(page.New([]page.Hop{sent(a, "200 OK", html, article, at.Add(time.Minute))}))
	file, _, _ := s.export(ExportOptions{})
	to := open(t, t.TempDir(), newWeb(""), Options{})
	if _, got := to.take(file, ImportOptions{}); fmt.Sprint(got) != "[skipped /a imported /b imported /a]" {
		t.Errorf("%v", got)
	}
}

// TestExportErased checks that Export fails with ErrErased if an exported capture is erased before
// Export ends.
func TestExportErased(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	harbour(s, time.Now().Add(-time.Hour))
	for _, when := range []string{b, c} { // the capture of c has the same body as the capture of the address a
		_, err := s.Export(context.Background(), io.Discard, ExportOptions{}, func(e Exported) {
			if e.URL == b && when == b {
				s.Erase(context.Background(), b, "asked for", "")
			}
			if e.URL == b && when == c {
				s.Erase(context.Background(), a, "asked for", "")
			}
		})
		if !errors.Is(err, ErrErased) {
			t.Errorf("%s: %v", when, err)
		}
		s.receive(page.New([]page.Hop{sent(b, "200 OK", html, "<p>back", time.Now())}))
	}
}

func TestExportEnds(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	harbour(s, time.Now().Add(-time.Hour))
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := s.Export(ctx, io.Discard, ExportOptions{}, func(Exported) { cancel() }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	full := errors.New("the disk is full")
	if _, err := s.Export(context.Background(), failing{full}, ExportOptions{}, nil); !errors.Is(err, full) {
		t.Errorf("on a full disk: %v", err)
	}
	if _, err := s.Export(context.Background(), io.Discard, ExportOptions{Line: func(string) error { return full }},
		nil); !errors.Is(err, full) {
		t.Errorf("the index on a full disk: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestExportHeadless checks captures stored by versions of this program that did not store HTTP
// heads. They must be exported with a head made from the stored header fields.
func TestExportHeadless(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageWith(http.Header{"Content-Type": {"text/plain"}, "Content-Encoding": {"gzip"},
		"Transfer-Encoding": {"chunked"}}, 200, "text", site+"/x", a))
	file, _, _ := s.export(ExportOptions{})
	var got []string
	for _, r := range records(t, file) {
		got = append(got, r.Type())
		if r.Type() == warc.Response && r.Target() == a {
			want := "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Encoding: gzip\r\nContent-Type: " +
				"text/plain\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n\r\ntext"
			if string(r.block) != want {
				t.Errorf("%q", r.block)
			}
		}
	}
	if fmt.Sprint(got) != "[warcinfo response metadata]" {
		t.Errorf("%v", got)
	}
}
