package holdings

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/warc"
)

// roomy is a limit on the size of bodies that no test exceeds.
const roomy = 1 << 20

// take imports a file. For each record it returns a string with the outcome and the address.
func (s *store) take(file []byte, o ImportOptions) (counts ImportCounts, outcomes []string) {
	s.Helper()
	if o.MaxBody == 0 {
		o.MaxBody = roomy
	}
	counts, err := s.Import(context.Background(), bytes.NewReader(file), o, func(i Imported) {
		outcomes = append(outcomes, strings.TrimSpace(string(i.Outcome)+" "+strings.TrimPrefix(i.URL, site)))
		if (i.Outcome == TakenIn || i.Outcome == Already) != (i.Why == "") {
			s.Errorf("%+v", i)
		}
	})
	if err != nil {
		s.Fatal(err)
	}
	return counts, outcomes
}

// all returns every capture in the archive.
func (s *store) all() (list []archive.Capture) {
	s.Helper()
	if err := s.archive.EachCapture(func(c archive.Capture) error {
		list = append(list, c)
		return nil
	}); err != nil {
		s.Fatal(err)
	}
	return list
}

// TestExportImport checks that captures are unchanged after they are exported and imported into
// another store. An export from the other store must give the same file.
func TestExportImport(t *testing.T) {
	at := time.Now().Add(-time.Hour).UTC()
	w := newWeb("ACAP-disallow-index: /b")
	from, to := open(t, t.TempDir(), w, Options{}), open(t, t.TempDir(), w, Options{})
	harbour(from, at)
	file, _, _ := from.export(ExportOptions{})
	counts, outcomes := to.take(file, ImportOptions{})
	if counts.Imported != 8 || counts.Redirects != 1 || counts.Records != 28 || len(outcomes) != 9 {
		t.Fatalf("%+v %q", counts, outcomes)
	}
	was, is := from.all(), to.all()
	if len(was) != len(is) {
		t.Fatalf("%d captures of %d", len(is), len(was))
	}
	for _, old := range was {
		i := slices.IndexFunc(is, func(c archive.Capture) bool { return c.URL == old.URL })
		fresh := is[i]
		fresh.ID = old.ID
		// heads are not compared, because an import renames the fields of the codings it removes
		old.Head, fresh.Head, old.Header, fresh.Header = nil, nil, nil, nil
		old.Hops, fresh.Hops = plain(old.Hops), plain(fresh.Hops)
		if !reflect.DeepEqual(old, fresh) {
			t.Errorf("was %+v\nis  %+v", old, fresh)
		}
	}
	if got := to.found("pilot"); got != "/a /c" {
		t.Errorf("found at %q", got)
	}
	if final, err := to.archive.Resolve(site + "/old"); err != nil || final != site+"/new" {
		t.Errorf("/old leads to %s, %v", final, err)
	}
	again, _, _ := to.export(ExportOptions{})
	if a, b := payloads(t, file), payloads(t, again); !reflect.DeepEqual(a, b) {
		t.Errorf("exported again\n%q\n%q", a, b)
	}
	if counts, _ := to.take(file, ImportOptions{}); counts.Held != 8 || counts.Imported != 0 || len(to.all()) != 9 {
		t.Errorf("taken in again: %+v", counts)
	}
}

// TestImportTwice checks that an import recognises the captures that it has just stored.
func TestImportTwice(t *testing.T) {
	w := newWeb("")
	from, to := open(t, t.TempDir(), w, Options{}), open(t, t.TempDir(), w, Options{})
	harbour(from, time.Now().Add(-time.Hour).UTC())
	harbour(from, time.Now().Add(-2*time.Hour).UTC())
	file, _, _ := from.export(ExportOptions{})
	once, _ := open(t, t.TempDir(), w, Options{}).take(file, ImportOptions{})
	counts, _ := to.take(append(slices.Clone(file), file...), ImportOptions{})
	if once.Imported < 16 || counts.Imported != once.Imported || counts.Held != once.Imported ||
		len(to.all()) != len(from.all()) {
		t.Errorf("once %+v, twice %+v; %d captures of %d", once, counts, len(to.all()), len(from.all()))
	}
}

func plain(hops []archive.Via) (out []archive.Via) {
	for _, h := range hops {
		h.Took, h.Header = 0, nil
		out = append(out, h)
	}
	return out
}

// payloads returns type, address, date and payload of all records that have a payload, sorted.
func payloads(t *testing.T, file []byte) (list []string) {
	t.Helper()
	for _, r := range records(t, file) {
		if r.Type() == warc.Warcinfo || r.Type() == warc.Metadata {
			continue
		}
		m, err := warc.ParseMessage(r.block)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %s %s %s", r.Type(), r.Target(), r.Fields.Get("WARC-Date"),
			r.PayloadDigest(), m.Head))
	}
	slices.Sort(list)
	return list
}

// foreign is a record as another tool writes it.
type foreign struct {
	kind, url, date, block string
	more                   string // additional header fields, each with its line end
	id                     string // record ID; "x" means that the record has none
}

func (f foreign) String() string {
	if f.date == "" {
		f.date = "2020-01-01T00:00:00Z"
	}
	if f.kind == "" {
		f.kind = "response"
	}
	if f.url == "" {
		f.url = a
	}
	if !strings.Contains(f.more, "Content-Type") {
		f.more += "Content-Type: application/http;msgtype=response\r\n"
	}
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:%s>\r\nWARC-Date: %s\r\nWARC-Target-URI: "+
		"<%s>\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n",
		f.kind, cmp.Or(f.id, "x"), f.date, f.url, f.more, len(f.block), f.block)
}

const answered = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>A gull."

// TestImportRecords checks each kind of record separately: a record that may contain a page is
// checked by the policy; for any other record, the reason is reported why it was not imported.
func TestImportRecords(t *testing.T) {
	big := strings.Repeat("x", roomy+1)
	for name, test := range map[string]struct {
		robots string
		file   []foreign
		want   []string
		bodies []string // expected bodies of the stored copies of a
	}{
		"a page": {"", []foreign{{block: answered}}, []string{"imported /a"}, []string{"<p>A gull."}},
		"a resource": {"", []foreign{{kind: "resource", block: "<p>A gull.", more: "Content-Type: text/html\r\n"}},
			[]string{"imported /a"}, []string{"<p>A gull."}},
		"its fragment": {"", []foreign{{url: a + "#x", block: answered}}, []string{"imported /a#x"},
			[]string{"<p>A gull."}},
		"the request before": {"", []foreign{{kind: "request", block: "GET /a HTTP/1.1\r\n\r\n"}, {block: answered}},
			[]string{"imported /a"},
			[]string{"<p>A gull."}},
		"POST, before": {"", []foreign{{kind: "request", block: "POST /a HTTP/1.1\r\n\r\nx=y"},
			{block: answered}}, []string{"skipped /a"}, nil},
		"POST, after": {"",
			[]foreign{{block: answered}, {kind: "request", block: "POST /a HTTP/1.1\r\n\r\nx=y"}},
			[]string{"skipped /a"}, nil},
		"POST to another": {"", []foreign{{kind: "request", url: b, block: "POST /b HTTP/1.1\r\n\r\n"},
			{block: answered}}, []string{"imported /a"}, []string{"<p>A gull."}},
		"HEAD": {"", []foreign{{kind: "request", block: "HEAD /a HTTP/1.1\r\n\r\n"},
			{block: "HTTP/1.1 200 OK\r\n\r\n"}}, []string{"skipped /a"}, nil},
		"404":    {"", []foreign{{block: "HTTP/1.1 404 Not Found\r\n\r\n"}}, []string{"skipped /a"}, nil},
		"500":    {"", []foreign{{block: "HTTP/1.1 500 Oh\r\n\r\n"}}, []string{"skipped /a"}, nil},
		"a part": {"", []foreign{{block: "HTTP/1.1 206 Partial\r\n\r\nx"}}, []string{"skipped /a"}, nil},
		"no address": {"",
			[]foreign{{url: "dns:quay.example", block: "x", more: "Content-Type: text/dns\r\n"}},
			[]string{"skipped dns:quay.example"}, nil},
		"wget's log": {"", []foreign{{kind: "resource", url: "metadata://gnu.org/software/wget/warc/wget.log",
			block: "x"}}, []string{"skipped metadata://gnu.org/software/wget/warc/wget.log"}, nil},
		"no HTTP": {"", []foreign{{block: "<html>"}}, []string{"skipped /a"}, nil},
		"no date": {"", []foreign{{date: "soon", block: answered}}, []string{"skipped /a"}, nil},
		"of the future": {"", []foreign{{date: "2999-01-01T00:00:00Z", block: answered}}, []string{"skipped /a"},
			nil},
		"a segment": {"", []foreign{{block: answered, more: "WARC-Segment-Number: 1\r\n"}},
			[]string{"skipped /a"}, nil},
		"a long body": {"", []foreign{{block: "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat(big, 2)}},
			[]string{"skipped /a"}, nil},
		"unknown coding": {"", []foreign{{block: "HTTP/1.1 200 OK\r\nContent-Encoding: x-secret\r\n\r\nx"}},
			[]string{"skipped /a"}, nil},
		"coding undone": {"",
			[]foreign{{block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" +
				"Content-Encoding: gzip\r\n\r\n<p>A gull."}},
			[]string{"imported /a"}, []string{"<p>A gull."}},
		"gzip in chunks": {"",
			[]foreign{{block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: " +
				"gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(packed("<p>A gull."))}}, []string{"imported /a"},
			[]string{"<p>A gull."}},
		"wrong block digest": {"", []foreign{{block: answered, more: "WARC-Block-Digest: " + warc.Digest([]byte("x")) +
			"\r\n"}}, []string{"damaged /a"}, nil},
		"wrong digest": {"",
			[]foreign{{block: answered, more: "WARC-Payload-Digest: " + warc.Digest([]byte("x")) + "\r\n"}},
			[]string{"damaged /a"}, nil},
		"no blank line": {"", []foreign{{block: "HTTP/1.1 200\r\nContent-Length: 0\r\n"}},
			[]string{"imported /a"}, []string{""}},
		"no end of the head": {"", []foreign{{block: "HTTP/1.1 200 OK\r\nContent-Le"}}, []string{"skipped /a"}, nil},
		"revisit of any URI": {"",
			[]foreign{{url: b, block: answered},
				profiled("http://netpreserve.org/warc/1.0/revisit/uri-agnostic-identical-payload-digest")},
			[]string{"imported /b", "imported /a"}, []string{"<p>A gull."}},
		"revisit, in 1.1": {"",
			[]foreign{{url: b, block: answered},
				profiled("<http://netpreserve.org/warc/1.1/revisit/identical-payload-digest>")},
			[]string{"imported /b", "imported /a"}, []string{"<p>A gull."}},
		"revisit, by a name": {"", []foreign{{url: b, block: answered}, profiled("identical-payload-digest/")},
			[]string{"imported /b", "imported /a"}, []string{"<p>A gull."}},
		"revisit, not saying": {"", []foreign{{url: b, block: answered}, profiled("")},
			[]string{"imported /b", "imported /a"}, []string{"<p>A gull."}},
		"revisit, otherwise": {"", []foreign{{url: b, block: answered},
			profiled("http://quay.example/revisit/similar-payload")}, []string{"imported /b", "skipped /a"}, nil},
		"revisit of nothing": {"", []foreign{repeated(a, "<p>A gull.")}, []string{"skipped /a"}, nil},
		"revisit, as wget writes it": {"",
			[]foreign{{block: answered},
				{kind: "revisit", date: "2021-01-01", block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
					more: "WARC-Refers-To: <urn:y>\r\nWARC-Profile: " +
						"http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\nWARC-Truncated: " +
						"length\r\n" +
						"WARC-Block-Digest: " + warc.Digest() + "\r\nWARC-Payload-Digest: sha1:" +
						base32.StdEncoding.EncodeToString(sha1Of("<p>A gull.")) + "\r\n"}},
			[]string{"imported /a", "imported /a"}, []string{"<p>A gull.", "<p>A gull."}},
		"not modified": {"",
			[]foreign{{kind: "revisit", block: "HTTP/1.1 304 Not Modified\r\n\r\n",
				more: "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified\r\n"}},
			[]string{"skipped /a"}, nil},
		"revisit": {"", []foreign{{url: b, block: answered}, repeated(a, "<p>A gull.")},
			[]string{"imported /b", "imported /a"}, []string{"<p>A gull."}},
		"two versions": {"", []foreign{{block: answered}, {block: answered + "!", date: "2021-01-01"}},
			[]string{"imported /a", "imported /a"}, []string{"<p>A gull.", "<p>A gull.!"}},
		"twice": {"", []foreign{{block: answered}, {block: answered}}, []string{"imported /a", "held /a"},
			[]string{"<p>A gull."}},
		"preserve prohibited": {"ACAP-disallow-preserve: /", []foreign{{block: answered}}, []string{"refused /a"}, nil},
		"crawl prohibited":    {"ACAP-disallow-crawl: /", []foreign{{block: answered}}, []string{"refused /a"}, nil},
		"taken down": {"ACAP-request-take-down: /a", []foreign{{block: answered}}, []string{"refused /a"},
			nil},
		"its limit is over": {"ACAP-allow-preserve: / time-limit=30-days", []foreign{{block: answered}},
			[]string{"refused /a"}, nil},
		"by its META tag": {"",
			[]foreign{{block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<meta name=robots content='ACAP " +
				"disallow-preserve'>x"}}, []string{"refused /a"}, nil},
		"by its header": {"",
			[]foreign{{block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noarchive, ACAP " +
				"disallow-crawl\r\n\r\n<meta name=robots content='ACAP disallow-crawl'>x"}}, []string{"refused /a"},
			nil},
		"a part of it": {"",
			[]foreign{{block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>A <b " +
				"class='the-acap:disallow-preserve'>gull</b>."}}, []string{"imported /a"},
			[]string{"<p>A ."}},
		"revisit of what is refused": {"ACAP-disallow-preserve: /b",
			[]foreign{{url: b, block: answered}, repeated(a, "<p>A gull.")}, []string{"refused /b", "skipped /a"}, nil},
		"others": {"", []foreign{{kind: "warcinfo", block: "x"}, {kind: "conversion", block: "x"},
			{kind: "strange", block: "x"}, {block: answered}}, []string{"skipped /a", "imported /a"},
			[]string{"<p>A gull."}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(test.robots), Options{})
			var file strings.Builder
			for _, f := range test.file {
				file.WriteString(f.String())
			}
			normal := func(raw string) (string, error) {
				raw, _, _ = strings.Cut(raw, "#")
				_, err := url.Parse(raw)
				return raw, err
			}
			_, got := s.take([]byte(file.String()), ImportOptions{Normal: normal})
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if bodies := s.copies(a); !slices.Equal(bodies, test.bodies) {
				t.Errorf("held: %q", bodies)
			}
			if test.bodies == nil && s.resource(a).Kept.Title != "" {
				t.Error("something is known of it")
			}
		})
	}
}

func chunk(text string) string {
	return fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 5, text[:5], len(text)-5, text[5:])
}

func sha1Of(text string) []byte {
	sum := sha1.Sum([]byte(text))
	return sum[:]
}

// repeated returns a revisit record that repeats the given payload.
func repeated(address, payload string) foreign {
	return foreign{kind: "revisit", url: address, block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
		more: "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\n" +
			"WARC-Payload-Digest: " + warc.Digest([]byte(payload)) + "\r\nWARC-Refers-To-Target-URI: " + b +
			"\r\nWARC-Refers-To-Date: 2020-01-01T00:00:00Z\r\n"}
}

// profiled returns a revisit record with the given profile. It repeats the payload of the response
// answered.
func profiled(profile string) foreign {
	f := repeated(a, "<p>A gull.")
	f.more = strings.Replace(f.more, "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest", profile, 1)
	return f
}

// TestImportPast checks the import of an old version: the version of a later crawl stays current,
// and only the first dates of the page change.
func TestImportPast(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	s.receive(pageOf(article, a))
	before := s.resource(a)
	if _, got := s.take([]byte(foreign{block: answered}.String()),
		ImportOptions{}); fmt.Sprint(got) != "[imported /a]" {
		t.Fatal(got)
	}
	after := s.resource(a)
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if !after.FirstCrawled.Equal(past) || !after.FirstPreserved.Equal(past) ||
		!after.FirstIndexed.Equal(before.FirstIndexed) {
		t.Errorf("dates %+v", after)
	}
	if after.Current != before.Current || !after.LastCrawled.Equal(before.LastCrawled) || after.ETag != before.ETag ||
		after.Versions != 2 {
		t.Errorf("was %+v\nis  %+v", before, after)
	}
	if s.found("pilot") != "/a" || s.found("gull") != "" {
		t.Error("the index has changed")
	}
	w.says("ACAP-allow-preserve: / time-limit=until-recrawled")
	if _, got := s.take([]byte(foreign{block: answered, date: "2021"}.String()),
		ImportOptions{}); fmt.Sprint(got) != "[refused /a]" {
		t.Errorf("until it is crawled again, which it was: %v", got)
	}
	if len(s.copies(a)) != 2 {
		t.Error("what was held has gone")
	}
}

// TestImportTakenDown checks that a page that was taken down is not imported from an older file.
func TestImportTakenDown(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	old := []byte(foreign{block: answered}.String())
	s.take(old, ImportOptions{})
	if _, err := s.Erase(context.Background(), a, takenDown, "robots.txt:1"); err != nil {
		t.Fatal(err)
	}
	if _, got := s.take(old, ImportOptions{}); fmt.Sprint(got) != "[refused /a]" || len(s.all()) != 0 {
		t.Errorf("%v", got)
	}
	if _, err := s.archive.Erase(context.Background(),
		archive.Tombstone{URL: b, Reason: archive.ReasonDamaged, Why: takenDown}); err != nil {
		t.Fatal(err)
	}
	if _, got := s.take([]byte(foreign{url: b, block: answered}.String()),
		ImportOptions{}); fmt.Sprint(got) != "[imported /b]" {
		t.Errorf("%v", got)
	}
}

// TestImportForgotten checks that what the operator has erased is not imported from an older file unless the import
// asks for it, whatever the operator calls the reason, and that later captures are imported.
func TestImportForgotten(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	old := []byte(foreign{block: answered}.String() +
		foreign{url: b, block: "HTTP/1.1 302 Found\r\nLocation: /a\r\n\r\n"}.String())
	s.take(old, ImportOptions{})
	for _, at := range []string{a, b} {
		if _, is, err := s.Forget(t.Context(), at, archive.Tombstone{Reason: archive.ReasonForgotten, Why: takenDown},
			time.Time{}, false); !is || err != nil {
			t.Fatal(is, err)
		}
	}
	if counts, got := s.take(old, ImportOptions{}); fmt.Sprint(got) != "[forgotten /a forgotten /b]" ||
		counts.Forgotten != 2 || len(s.all()) != 0 {
		t.Errorf("%v", got)
	}
	later := []byte(foreign{block: answered, date: warc.Date(time.Now().Add(time.Second))}.String())
	s.o.Now = func() time.Time { return time.Now().Add(time.Minute) }
	if _, got := s.take(later, ImportOptions{}); fmt.Sprint(got) != "[imported /a]" {
		t.Errorf("%v", got)
	}
	for _, want := range []string{"[imported /a imported /b]", "[held /a held /b]"} {
		if _, got := s.take(old, ImportOptions{Forgotten: true}); fmt.Sprint(got) != want {
			t.Errorf("%v", got)
		}
	}
	if _, got := s.take(old, ImportOptions{}); fmt.Sprint(got) != "[held /a held /b]" {
		t.Errorf("%v", got)
	}
}

// TestImportLater checks that a page later than the last crawl becomes the current version and can
// be found.
func TestImportLater(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-allow-preserve: / time-limit=until-recrawled"), Options{})
	s.receive(page.New([]page.Hop{sent(a, "200 OK", html, article, time.Now().Add(-48*time.Hour))}))
	now := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	if _, got := s.take([]byte(foreign{block: answered, date: warc.Date(now)}.String()),
		ImportOptions{}); fmt.Sprint(got) != "[imported /a]" {
		t.Fatal(got)
	}
	if got := s.copies(a); fmt.Sprint(got) != "[<p>A gull.]" || s.found("pilot") != "" || s.found("gull") != "/a" {
		t.Errorf("held: %q", got)
	}
	if r := s.resource(a); !r.LastCrawled.Equal(now) {
		t.Errorf("%+v", r)
	}
}

// TestImportRedirects checks that an imported redirect is recorded as a redirect to the page after
// it in the file, unless the address of the redirect is already known.
func TestImportRedirects(t *testing.T) {
	moved := func(from, to string) foreign {
		return foreign{url: from, block: "HTTP/1.1 302 Found\r\nLocation: " + to + "\r\n\r\n"}
	}
	s := open(t, t.TempDir(), newWeb("ACAP-disallow-crawl: /shut"), Options{})
	s.receive(pageOf("<p>Own page.", c))
	var file string
	for _, f := range []foreign{moved(site+"/1", "/2"), moved(site+"/2", "/shut"), moved(site+"/shut", a),
		{block: answered},
		moved(site+"/w", "/c"), moved(c, b), {url: b, block: answered}, moved(site+"/x", "/y"),
		{url: site + "/z", block: answered}} {
		file += f.String()
	}
	counts, got := s.take([]byte(file), ImportOptions{})
	if fmt.Sprint(got) != "[imported /1 imported /2 refused /shut imported /a imported /w imported /c imported /b "+
		"imported /x imported /z]" ||
		counts.Redirects != 5 || counts.Imported != 3 {
		t.Errorf("%+v %v", counts, got)
	}
	for from, to := range map[string]string{"/1": a, "/2": a, "/shut": site + "/shut", "/c": c, "/w": site + "/w",
		"/x": site + "/x"} {
		if final, err := s.archive.Resolve(site + from); err != nil || final != to {
			t.Errorf("%s leads to %s, %v", from, final, err)
		}
	}
	if way, err := s.archive.Way(site + "/1"); err != nil ||
		fmt.Sprint(way) != fmt.Sprint([]string{site + "/1", site + "/2", a}) {
		t.Errorf("/1 leads by %v, %v", way, err)
	}
	list, err := s.archive.Captures(a)
	if err != nil || len(list) != 1 || len(list[0].Hops) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err = s.archive.Captures(site + "/2"); err != nil || len(list) != 1 || !list[0].Redirect() ||
		list[0].Header.Get("Location") != "/shut" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestImportDamage checks that damaged records are reported and that the others are imported.
func TestImportDamage(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	good := foreign{block: answered}.String()
	file := good + strings.Replace(foreign{url: b, block: answered}.String(), "Content-Length: ", "Content-Length: 1",
		1) + foreign{url: c, block: answered}.String() + good[:len(good)-9]
	counts, got := s.take([]byte(file), ImportOptions{})
	if fmt.Sprint(got) != "[imported /a damaged /b imported /c damaged /a]" || counts.Damaged != 2 ||
		counts.Imported != 2 {
		t.Errorf("%+v %v", counts, got)
	}
	_, err := s.Import(context.Background(),
		io.MultiReader(strings.NewReader(good), iotest.ErrReader(io.ErrClosedPipe)), ImportOptions{MaxBody: roomy}, nil)
	if err == nil {
		t.Error("a file that cannot be read is no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Import(ctx, strings.NewReader(good), ImportOptions{MaxBody: roomy}, nil); err == nil {
		t.Error("an interrupted import is no error")
	}
}

// TestImportUnknown checks that nothing is imported without a policy.
func TestImportUnknown(t *testing.T) {
	w := newWeb("")
	w.policy = nil
	s := open(t, t.TempDir(), w, Options{})
	if counts, got := s.take([]byte(foreign{block: answered}.String()),
		ImportOptions{}); fmt.Sprint(got) != "[refused /a]" || counts.Refused != 1 || len(s.all()) != 0 {
		t.Errorf("%v", got)
	}
}

// TestImportMany checks that many records, including several for one address, are imported in the
// order of the file.
func TestImportMany(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	var file strings.Builder
	const n = 500
	for i := range n {
		file.WriteString(foreign{url: fmt.Sprintf("%s/%d", site, i%200), date: fmt.Sprintf("2020-01-01T00:%02d:%02dZ",
			i/60, i%60), block: answered + fmt.Sprint(i)}.String())
	}
	counts, _ := s.take([]byte(file.String()), ImportOptions{})
	if counts.Imported != n {
		t.Fatalf("%+v", counts)
	}
	for i := range 200 {
		list, err := s.archive.Captures(fmt.Sprintf("%s/%d", site, i))
		if err != nil || len(list) < 2 ||
			!slices.IsSortedFunc(list, func(a, b archive.Capture) int { return a.Fetched.Compare(b.Fetched) }) ||
			!list[len(list)-1].Current {
			t.Fatalf("of /%d: %+v, %v", i, list, err)
		}
	}
}

// TestImportDefect checks that a record that causes a panic is skipped and that the others are
// imported.
func TestImportDefect(t *testing.T) {
	var told []*defect.Error
	s := open(t, t.TempDir(), newWeb(""), Options{Defect: func(e *defect.Error) { told = append(told, e) }})
	file := foreign{block: answered}.String() + foreign{url: b, block: answered}.String()
	counts, got := s.take([]byte(file), ImportOptions{Policies: brittle{s.web, a}})
	if fmt.Sprint(got) != "[damaged /a imported /b]" || counts.Imported != 1 || counts.Damaged != 1 || len(told) != 1 {
		t.Errorf("%v, %+v, %v", got, counts, told)
	}
}
