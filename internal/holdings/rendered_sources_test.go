package holdings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
	"github.com/acapcrawl/acapcrawl/warc"
)

const data, app = site + "/data.json", site + "/app.js"

// scriptedAt is like scripted, for a page fetched at a time.
func scriptedAt(at time.Time, body, document string, made ...string) *page.Page {
	hop := sent(a, "200 OK", html, body, at)
	hop.Rendered, hop.Made = []byte(document), made
	return page.New([]page.Hop{hop})
}

// madeOf returns the resources from which scripts made the page a.
func (s *store) madeOf() []string {
	s.Helper()
	return s.resource(a).Kept.Of[terms.Scripts]
}

// sourceFields returns the metadata record that names the resources from which scripts made the page before it.
func sourceFields(of string, addresses ...string) foreign {
	f := foreign{kind: "metadata",
		more: "Content-Type: application/warc-fields\r\nWARC-Refers-To: <urn:" + of + ">\r\n"}
	for _, address := range addresses {
		f.block += "acap-made-of: " + address + "\r\n"
	}
	return f
}

// rendering returns the records of the page a with a document that scripts made of the resources at the addresses.
func rendering(date, document string, addresses ...string) []byte {
	response, conversion := foreign{block: answered, id: "1", date: date}, conversionOf("1", a, document)
	metadata := sourceFields("1", addresses...)
	conversion.date, metadata.date = date, date
	return warcFile(response, conversion, metadata)
}

// TestExportSources checks that the metadata record of a capture with a rendered document, and no other, names the
// resources from which scripts made the page, and that an import stores them.
func TestExportSources(t *testing.T) {
	w := newWeb("")
	from, to := open(t, t.TempDir(), w, Options{}), open(t, t.TempDir(), w, Options{})
	at := time.Now().Add(-time.Hour)
	from.receive(scriptedAt(at, unscripted, scriptedArticle, data))
	from.receive(page.New([]page.Hop{sent(a, "200 OK", html, unscripted+" ", at.Add(time.Minute))}))
	from.receive(scriptedAt(at.Add(2*time.Minute), unscripted, scriptedArticle+" ", app, data))
	file, counts, _ := from.export(ExportOptions{})
	if counts.Captures != 3 || counts.Rendered != 2 {
		t.Fatalf("%+v", counts)
	}
	var got []string
	for _, r := range records(t, file) {
		if r.Type() == warc.Metadata {
			got = append(got, fmt.Sprint(warc.ParseFields(r.block).All("acap-made-of")))
		}
	}
	both := fmt.Sprint([]string{app, data})
	if want := []string{both, "[]", both}; !slices.Equal(got, want) {
		t.Errorf("metadata %q, want %q", got, want)
	}
	to.take(file, ImportOptions{})
	if fmt.Sprint(to.madeOf()) != both || len(to.copies(a)) != 3 || !reflect.DeepEqual(to.drawn(), from.drawn()) {
		t.Errorf("sources %q, %d copies", to.madeOf(), len(to.copies(a)))
	}
	again, _, _ := to.export(ExportOptions{})
	if n := strings.Count(string(plainRecords(t, again)), "acap-made-of"); n != 4 {
		t.Errorf("exported again: %d fields", n)
	}
}

// plainRecords returns the blocks of all records of a file.
func plainRecords(t *testing.T, file []byte) (blocks []byte) {
	t.Helper()
	for _, r := range records(t, file) {
		blocks = append(blocks, r.block...)
	}
	return blocks
}

// TestExportSourceTakenDown checks that a page is not exported if something is taken down from which its scripts made
// it, also before a sweep has erased it.
func TestExportSourceTakenDown(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	s.receive(scripted(unscripted, scriptedArticle, data))
	w.says("ACAP-request-take-down: /data.json")
	var out []Exported
	counts, err := s.Export(context.Background(), io.Discard, ExportOptions{},
		func(e Exported) { out = append(out, e) })
	if err != nil || counts.Captures != 0 || counts.Withheld != 1 || len(out) != 1 || out[0].Unknown ||
		out[0].Why != "its scripts made it from "+data+": taken down at the publisher's request" ||
		!strings.Contains(out[0].Line, "take-down") {
		t.Errorf("%+v, %+v, %v", counts, out, err)
	}
}

// TestTakeDownImportedSource checks that an imported page is erased if something is taken down from which its scripts
// made it, by a take-down and by a sweep, whether the capture is the current one or an earlier one.
func TestTakeDownImportedSource(t *testing.T) {
	file := rendering("2020-01-01T00:00:00Z", scriptedArticle, data)
	for name, test := range map[string]struct {
		before func(*store) // stores other versions
		also   []string     // resources from which scripts made these
	}{
		"current": {before: func(*store) {}},
		"earlier": {before: func(s *store) { s.receive(pageOf("<p>Now.", a)) }},
		"earlier than another rendered one": {before: func(s *store) {
			s.receive(scripted(unscripted, scriptedArticle, app))
		}, also: []string{app}},
		"later than another rendered one": {before: func(s *store) {
			s.take(rendering("2019-01-01T00:00:00Z", scriptedArticle, app), ImportOptions{})
		}, also: []string{app}},
		"a redirect now": {before: func(s *store) { s.receive(pageOf("<p>Now.", a, b)) }},
	} {
		for _, source := range append(test.also, data) {
			for _, way := range []string{"erase", "sweep"} {
				t.Run(name+" "+strings.TrimPrefix(source, site)+" "+way, func(t *testing.T) {
					w := newWeb("")
					s := open(t, t.TempDir(), w, Options{})
					test.before(s)
					held := len(s.copies(a))
					if counts, outcomes := s.take(file, ImportOptions{}); counts.Imported != 1 ||
						len(s.copies(a)) != held+1 || !slices.Contains(s.madeOf(), source) {
						t.Fatalf("%q, %d copies, sources %q", outcomes, len(s.copies(a)), s.madeOf())
					}
					if way == "erase" {
						if _, err := s.Erase(t.Context(), source, takenDown, "line"); err != nil {
							t.Fatal(err)
						}
					} else {
						w.says("ACAP-request-take-down: " + strings.TrimPrefix(source, site))
						s.sweep(SweepOptions{})
					}
					if len(s.copies(a)) != 0 || s.found("pilot") != "" {
						t.Errorf("copies %q, found %q", s.copies(a), s.found("pilot"))
					}
				})
			}
		}
	}
}

// unknownPolicies is like web, but no policy is known of one host.
type unknownPolicies struct {
	*web
	host string
}

func (p unknownPolicies) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	if u.Host == p.host {
		return nil, errors.New("no policy was read")
	}
	return p.web.Policy(ctx, u)
}

// TestImportSourceTakenDown checks when a rendered document is not imported because something is taken down from which
// scripts made it.
func TestImportSourceTakenDown(t *testing.T) {
	const why = "its scripts made it from " + data + ": taken down at the publisher's request"
	const date = "2020-01-01T00:00:00Z"
	for name, test := range map[string]struct {
		robots     string
		file       []byte
		erased     bool // data was taken down before
		recent     bool // the capture is younger than that
		unrendered string
		sources    []string
	}{
		"by the policy": {robots: "ACAP-request-take-down: /data.json",
			file: rendering(date, scriptedArticle, app, data), unrendered: why},
		"after the capture": {erased: true, file: rendering(date, scriptedArticle, data), unrendered: why},
		"before the capture": {erased: true, recent: true,
			file: rendering(date, scriptedArticle, data), sources: []string{data}},
		"another resource": {robots: "ACAP-request-take-down: /other", file: rendering(date, scriptedArticle, data),
			sources: []string{data}},
		"of another program": {robots: "ACAP-request-take-down: /data.json", file: rendering(date, scriptedArticle)},
		"unknown policy": {robots: "ACAP-request-take-down: /data.json",
			file:    rendering(date, scriptedArticle, "http://other.example/data.json"),
			sources: []string{"http://other.example/data.json"}},
		"an invalid address": {robots: "ACAP-request-take-down: /data.json",
			file: rendering(date, scriptedArticle, "http://[", ""), sources: []string{"http://["}},
		"another record": {robots: "ACAP-request-take-down: /data.json",
			file: warcFile(foreign{block: answered, id: "1"}, conversionOf("1", a, scriptedArticle),
				sourceFields("2", data))},
		"before the conversion": {robots: "ACAP-request-take-down: /data.json",
			file: warcFile(foreign{block: answered, id: "1"}, sourceFields("1", data),
				conversionOf("1", a, scriptedArticle)), unrendered: why},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb("")
			s := open(t, t.TempDir(), w, Options{})
			if test.erased {
				s.receive(pageOf("{}", data))
				if _, err := s.Erase(t.Context(), data, takenDown, "line"); err != nil {
					t.Fatal(err)
				}
			}
			if test.recent {
				test.file = []byte(strings.ReplaceAll(string(test.file), date,
					time.Now().UTC().Format(time.RFC3339Nano)))
			}
			w.says(test.robots)
			var got []Imported
			_, err := s.Import(t.Context(), strings.NewReader(string(test.file)), ImportOptions{MaxBody: roomy,
				Policies: unknownPolicies{w, "other.example"}}, func(i Imported) { got = append(got, i) })
			if err != nil || len(got) != 1 || got[0].Outcome != TakenIn || got[0].Unrendered != test.unrendered {
				t.Fatalf("%+v, %v", got, err)
			}
			want, found := scriptedArticle, "/a"
			if test.unrendered != "" {
				want, found = "-", ""
			}
			if s.drawn()[a] != want || s.found("pilot") != found || !slices.Equal(s.madeOf(), test.sources) {
				t.Errorf("document %q, found %q, sources %q", s.drawn()[a], s.found("pilot"), s.madeOf())
			}
		})
	}
}

// TestImportSourceTakenDownMeanwhile checks that a page is not imported if something from which its scripts made it is
// taken down after the page was judged.
func TestImportSourceTakenDownMeanwhile(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	n := 0
	counts, outcomes := s.take(rendering("2020-01-01T00:00:00Z", scriptedArticle, data),
		ImportOptions{Policies: policyFunc(func(ctx context.Context, u *url.URL) (*acap.Policy, error) {
			if u.String() == data {
				if n++; n == 2 {
					w.says("ACAP-request-take-down: /data.json")
				}
			}
			return w.Policy(ctx, u)
		})})
	if n < 2 || counts.Refused != 1 || counts.Imported != 0 || len(s.all()) != 0 || s.found("pilot") != "" {
		t.Errorf("%+v, %q, found %q, %d", counts, outcomes, s.found("pilot"), n)
	}
}

type policyFunc func(context.Context, *url.URL) (*acap.Policy, error)

func (f policyFunc) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) { return f(ctx, u) }

// TestConversionStatements checks that the statements of the page as sent and those of its document are in force after
// an export and an import, also if parts of the page were cut.
func TestConversionStatements(t *testing.T) {
	const noindex = `<meta name="robots" content="noindex">`
	for name, test := range map[string]struct{ sent, document string }{
		"META that scripts removed":       {noindex + unscripted, scriptedArticle},
		"META that scripts added":         {unscripted, "<head>" + noindex + "</head>" + scriptedArticle},
		"removed, and a part is cut":      {noindex + unscripted, scriptedPart},
		"added, and a part is cut":        {unscripted, "<head>" + noindex + "</head>" + scriptedPart},
		"neither":                         {unscripted, scriptedArticle},
		"neither, and a part is cut":      {unscripted, scriptedPart},
		"removed, for the newer usages":   {`<meta name="robots" content="noai">` + unscripted, scriptedArticle},
		"removed prohibition of snippets": {`<meta name="robots" content="nosnippet">` + unscripted, scriptedArticle},
		"added prohibition of the archive": {unscripted,
			`<head><meta name="robots" content="noarchive"></head>` + scriptedArticle},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb("")
			from, to := open(t, t.TempDir(), w, Options{}), open(t, t.TempDir(), w, Options{})
			from.receive(scriptedAt(time.Now().Add(-time.Hour), test.sent, test.document, data))
			if len(from.all()) != 1 {
				t.Fatal("not stored")
			}
			file, _, _ := from.export(ExportOptions{})
			if counts, outcomes := to.take(file, ImportOptions{}); counts.Imported != 1 {
				t.Fatalf("%+v, %q", counts, outcomes)
			}
			was, is := from.all()[0], to.all()[0]
			if was.Cut != is.Cut || was.Cut != strings.Contains(name, "cut") {
				t.Errorf("cut: %v, then %v", was.Cut, is.Cut)
			}
			if a, b := inJSON(t, was.Own), inJSON(t, is.Own); a != b && !was.Cut {
				t.Errorf("statements %s\nimported %s", a, b)
			}
			if got := inJSON(t, decisions(to, is)); got != inJSON(t, decisions(from, was)) {
				t.Errorf("decisions %s\nimported %s", inJSON(t, decisions(from, was)), got)
			}
			indexed := !strings.Contains(test.sent+test.document, noindex)
			if found := to.found("pilot") != ""; found != indexed || found != (from.found("pilot") != "") {
				t.Errorf("found %v", found)
			}
			if !reflect.DeepEqual(from.drawn(), to.drawn()) {
				t.Errorf("documents %q, imported %q", from.drawn(), to.drawn())
			}
			to.sweep(SweepOptions{})
			if found := to.found("pilot") != ""; found != indexed || len(to.copies(a)) != 1 {
				t.Errorf("after a sweep: found %v, %d copies", found, len(to.copies(a)))
			}
		})
	}
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// decisions returns, by usage, whether the terms of a stored capture permit it.
func decisions(s *store, c archive.Capture) map[acap.Usage]bool {
	s.Helper()
	u, _ := url.Parse(c.URL)
	origin, err := s.web.Policy(context.Background(), u)
	if err != nil {
		s.Fatal(err)
	}
	t := terms.Held(context.Background(), origin, u, c.Own, nil, terms.Sources{Policies: s.web},
		s.factsNow(s.resource(c.URL)))
	all := map[acap.Usage]bool{}
	for _, usage := range slices.Concat(acap.Usages(), acap.NewerUsages()) {
		all[usage] = t.Decide(usage).Allowed
	}
	return all
}
