package holdings

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/warc"
)

// conversionOf is the conversion record of the response with the ID of.
func conversionOf(of, address, document string) foreign {
	return foreign{kind: "conversion", url: address, block: document, id: of + "-drawn",
		more: "Content-Type: text/html; charset=utf-8\r\nWARC-Refers-To: <urn:" + of + ">\r\n"}
}

// warcFile returns a WARC file with the given records.
func warcFile(records ...foreign) []byte {
	var b strings.Builder
	for _, r := range records {
		b.WriteString(r.String())
	}
	return []byte(b.String())
}

// drawn returns the rendered documents of all captures by address. A capture without one has "-".
func (s *store) drawn() map[string]string {
	s.Helper()
	all := map[string]string{}
	for _, c := range s.all() {
		document, err := s.archive.Rendered(c.ID)
		if err != nil {
			s.Fatal(err)
		}
		all[c.URL] = "-"
		switch {
		case len(document) > 0:
			all[c.URL] = string(document)
		case document != nil:
			all[c.URL] = "empty"
		}
	}
	return all
}

// A rendered document is the same after an export and an import, and after a second export. Captures with the same body
// as sent have their own rendered documents.
func TestExportRendered(t *testing.T) {
	w := newWeb("")
	from, to := open(t, t.TempDir(), w, Options{}), open(t, t.TempDir(), w, Options{})
	for _, records := range [][]foreign{ // one after the other, so that the order of the captures is known
		{{block: answered, id: "1"}, conversionOf("1", a, "<p>A gull, dr\u00e4wn.")},
		{{url: b, block: answered, id: "2"}, conversionOf("2", b, "<p>Another.")},
		{{url: c, block: answered + "!", id: "3"}},
	} {
		if counts, outcomes := from.take(warcFile(records...), ImportOptions{}); counts.Imported != 1 {
			t.Fatalf("%+v, %q", counts, outcomes)
		}
	}
	want := map[string]string{a: "<p>A gull, dr\u00e4wn.", b: "<p>Another.", c: "-"}
	if !reflect.DeepEqual(from.drawn(), want) {
		t.Fatalf("%q", from.drawn())
	}
	lines := 0
	o := ExportOptions{Line: func(string) error { lines++; return nil }}
	first, exported, _ := from.export(o)
	if exported.Captures != 3 || exported.Duplicates != 0 || exported.Rendered != 2 ||
		exported.Records != 9 || lines != 3 {
		t.Errorf("%+v, %d lines", exported, lines)
	}
	var kinds []string
	var response *warc.Record
	for _, r := range records(t, first) {
		kinds = append(kinds, r.Type())
		if r.Type() == warc.Response || r.Type() == warc.Revisit {
			response = r.Record
		}
		if r.Type() != warc.Conversion {
			continue
		}
		if string(r.block) != want[r.Target()] || r.Target() != response.Target() ||
			r.Fields.Get(warc.RefersTo) != warc.Ref(response.ID()) || r.ContentType() != "text/html; charset=utf-8" ||
			r.Fields.Get("WARC-Date") != response.Fields.Get("WARC-Date") ||
			r.PayloadDigest() != warc.Digest(r.block) ||
			r.Fields.Get("WARC-Block-Digest") != warc.Digest(r.block) || len(r.Concurrent()) > 0 ||
			r.Fields.Get(warc.IPAddress) != "" {
			t.Errorf("%q %v", r.block, r.Fields)
		}
	}
	if got := fmt.Sprint(kinds); got != "[warcinfo response conversion metadata response conversion metadata response "+
		"metadata]" {
		t.Error(got)
	}
	to.take(first, ImportOptions{})
	if !reflect.DeepEqual(to.drawn(), want) || len(to.all()) != 3 {
		t.Errorf("imported %q", to.drawn())
	}
	if _, again, _ := to.export(ExportOptions{}); again.Rendered != 2 || again.Records != exported.Records {
		t.Errorf("exported again: %+v", again)
	}
	if counts, _ := to.take(first, ImportOptions{}); counts.Held != 3 || counts.Imported != 0 || len(to.all()) != 3 {
		t.Errorf("imported again: %+v", counts)
	}
	if _, counts, _ := to.export(ExportOptions{Under: []string{c}}); counts.Rendered != 0 || counts.Captures != 1 {
		t.Errorf("under /c: %+v", counts)
	}
}

// A page with a rendered document of which a part may not be preserved now is not exported.
func TestExportRenderedBarred(t *testing.T) {
	const marked = "<p>A <b class='the-acap:disallow-preserve'>gull</b>."
	for _, test := range []struct {
		document string
		withheld bool
	}{
		{marked, true},
		{"<p>A .", false},
	} {
		s := open(t, t.TempDir(), newWeb(""), Options{})
		own := pageOf(marked, a).Own()
		_, err := s.archive.Receive(context.Background(), archive.Deposit{
			Resource: archive.Resource{URL: a, Status: 200, MIME: "text/html", Own: own},
			Fetched:  time.Now().Add(-time.Hour), Body: []byte("<p>A ."), Cut: true,
			Header: map[string][]string{"Content-Type": {"text/html"}}, Rendered: []byte(test.document)})
		if err != nil {
			t.Fatal(err)
		}
		var out []Exported
		counts, err := s.Export(context.Background(), io.Discard, ExportOptions{},
			func(e Exported) { out = append(out, e) })
		if err != nil || len(out) != 1 || (out[0].Why != "") != test.withheld || out[0].Rendered == test.withheld ||
			(counts.Withheld == 1) != test.withheld || (counts.Rendered == 1) == test.withheld {
			t.Errorf("%s: %+v, %+v, %v", test.document, out, counts, err)
		}
	}
}

// TestImportConversions checks which conversion records become rendered documents.
func TestImportConversions(t *testing.T) {
	response := foreign{block: answered, id: "1"}
	request := foreign{kind: "request", block: "GET /a HTTP/1.1\r\n\r\n"}
	typed := func(kind string) foreign {
		f := conversionOf("1", a, "<p>Drawn.")
		f.more = strings.Replace(f.more, "text/html; charset=utf-8", kind, 1)
		return f
	}
	with := func(more string) foreign {
		f := conversionOf("1", a, "<p>Drawn.")
		f.more += more
		return f
	}
	const imported, skipped = "imported /a", "skipped /a"
	for name, test := range map[string]struct {
		robots     string
		file       []foreign
		want       []string
		document   string // the rendered document of a; "-": a is stored without one; "": a is not stored
		unrendered string // why the document of an imported page is not stored
	}{
		"after its response": {file: []foreign{response, conversionOf("1", a, "<p>Drawn.")},
			want: []string{imported}, document: "<p>Drawn."},
		"after the request": {file: []foreign{response, request, conversionOf("1", a, "<p>D.")},
			want: []string{imported}, document: "<p>D."},
		"empty": {file: []foreign{response, conversionOf("1", a, "")},
			want: []string{imported}, document: "empty"},
		"other letters": {file: []foreign{response, typed("Text/HTML;charset=UTF-8")},
			want: []string{imported}, document: "<p>Drawn."},
		"no charset": {file: []foreign{response, typed("text/html")},
			want: []string{imported}, document: "<p>Drawn."},
		"its digest": {file: []foreign{
			response, with("WARC-Payload-Digest: " + warc.Digest([]byte("<p>Drawn.")) + "\r\n")},
			want: []string{imported}, document: "<p>Drawn."},
		"another digest": {file: []foreign{
			response, with("WARC-Payload-Digest: " + warc.Digest([]byte("?")) + "\r\n")},
			want: []string{"damaged /a", imported}, document: "-"},
		"a picture": {file: []foreign{response, typed("image/png")},
			want: []string{skipped, imported}, document: "-"},
		"in Latin-1": {file: []foreign{response, typed("text/html; charset=iso-8859-1")},
			want: []string{skipped, imported}, document: "-"},
		"not UTF-8": {file: []foreign{response, conversionOf("1", a, "<p>\xe9")},
			want: []string{skipped, imported}, document: "-"},
		"truncated": {file: []foreign{response, with("WARC-Truncated: length\r\n")},
			want: []string{skipped, imported}, document: "-"},
		"a segment": {file: []foreign{response, with("WARC-Segment-Number: 1\r\n")},
			want: []string{skipped, imported}, document: "-"},
		"longer than a body may be": {file: []foreign{response, conversionOf("1", a, strings.Repeat("x", roomy+1))},
			want: []string{imported}, document: strings.Repeat("x", roomy+1)},
		"a second one": {file: []foreign{response, conversionOf("1", a, "<p>D."), conversionOf("1", a, "<p>E.")},
			want: []string{skipped, imported}, document: "<p>D."},
		"before its response": {file: []foreign{conversionOf("1", a, "<p>Drawn."), response},
			want: []string{skipped, imported}, document: "-"},
		"of another record": {file: []foreign{response, conversionOf("2", a, "<p>Drawn.")},
			want: []string{skipped, imported}, document: "-"},
		"after the next response": {file: []foreign{
			response, {url: b, block: answered, id: "2"}, conversionOf("1", a, "<p>D.")},
			want: []string{imported, skipped, "imported /b"}, document: "-"},
		"of a redirect": {file: []foreign{
			{block: "HTTP/1.1 301 M\r\nLocation: /b\r\n\r\n", id: "1"}, conversionOf("1", a, "<p>D.")},
			want: []string{skipped, imported}, document: "-"},
		"of an error": {file: []foreign{
			{block: "HTTP/1.1 404 No\r\n\r\n", id: "1"}, conversionOf("1", a, "<p>D.")},
			want: []string{skipped}},
		"of a text": {file: []foreign{
			{block: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx", id: "1"},
			conversionOf("1", a, "<p>D.")},
			want: []string{imported}, document: "-", unrendered: "the page is not HTML"},
		"of a prohibited page": {robots: "ACAP-disallow-preserve: /", file: []foreign{
			response, conversionOf("1", a, "<p>D.")},
			want: []string{"refused /a"}},
		"with a prohibited part": {file: []foreign{
			response, conversionOf("1", a, "<p>A <b class='the-acap:disallow-preserve'>gull</b>.")},
			want: []string{"refused /a"}},
		"with a prohibited part that the page as sent lacks": {file: []foreign{
			response, conversionOf("1", a, "<p>A gull.<b class='the-acap:disallow-preserve'>A tern.</b>")},
			want: []string{imported}, document: "<p>A gull."},
		"that prohibits itself": {file: []foreign{
			response, conversionOf("1", a, "<meta name=robots content='ACAP disallow-preserve'><p>D.")},
			want: []string{"refused /a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(test.robots), Options{})
			var unrendered string
			var got []string
			_, err := s.Import(context.Background(), strings.NewReader(string(warcFile(test.file...))),
				ImportOptions{MaxBody: roomy}, func(i Imported) {
					got = append(got, string(i.Outcome)+" "+strings.TrimPrefix(i.URL, site))
					unrendered += i.Unrendered
				})
			if err != nil || !slices.Equal(got, test.want) || unrendered != test.unrendered {
				t.Errorf("got %q, want %q; %q, %v", got, test.want, unrendered, err)
			}
			if document := s.drawn()[a]; document != test.document {
				t.Errorf("the rendered document is %q, want %q", document, test.document)
			}
		})
	}
}

// The page that is judged has the rendered document, and so has a page that is read from the archive.
func TestImportedPageIsRendered(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.take(warcFile(foreign{block: answered, id: "1"}, conversionOf("1", a, "<p>Drawn.")), ImportOptions{})
	g := gatherer{Holdings: s.Holdings, ctx: context.Background()}
	var last page.Hop
	if err := g.read(s.all()[0], func(pg *page.Page) { last = pg.Last() }); err != nil {
		t.Fatal(err)
	}
	if string(last.Rendered) != "<p>Drawn." || string(last.Body) != "<p>A gull." {
		t.Errorf("%q, %q", last.Rendered, last.Body)
	}
	c, ok := s.current(a)
	if !ok || !s.readBody(&c) || string(c.page([]page.Hop{{Status: 304}}).Last().Rendered) != "<p>Drawn." {
		t.Errorf("after a 304 response: %q", c.rendered)
	}
}
