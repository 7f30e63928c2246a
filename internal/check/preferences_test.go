package check

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

var updatePreferences = flag.Bool("update-preferences", false, "write what the examples of docs/findings.md about "+
	"preferences lead to into the page")

// ofPreferences is the text after the severities in a section of docs/findings.md about a code that
// package preference reports, or check about preferences.
const ofPreferences = ", about preferences"

// everyVocabulary returns the options of a check of all vocabularies.
func everyVocabulary(t testing.TB) Options {
	t.Helper()
	list, err := preference.Vocabularies(preference.Names(), preference.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Now: newYear, Vocabularies: list}
}

// prefer returns the report about the texts of a site: robots.txt, tdmrep.json, reference (a file
// to which robots.txt refers), rsl (a licence document), http (the header of a response) and html
// (a page). If there is a text site, the files are those of a running site.
func prefer(t testing.TB, texts map[string]string) *Report {
	t.Helper()
	o := everyVocabulary(t)
	if _, running := texts["site"]; running {
		return (&tinySite{texts: texts, vocabularies: o.Vocabularies}).checked(t)
	}
	r := &Report{}
	var site *LocalSite
	var robots *acap.File
	if text, ok := texts["robots.txt"]; ok {
		robots = r.Robots("robots.txt", []byte(text), o)
		site = NewLocalSite("robots.txt", robots, nil)
	}
	if text, ok := texts["tdmrep.json"]; ok {
		r.TDMRep("tdmrep.json", []byte(text), o)
		site.Add("tdmrep.json", TDMRepKind, []byte(text))
	}
	if text, ok := texts["rsl"]; ok {
		r.Licence(preference.LicenceText{Name: "licence.xml", Text: []byte(text), Line: 1, Column: 1,
			Naming: site.Naming("licence.xml")}, o)
		site.Add("licence.xml", RSLKind, []byte(text))
	}
	if text, ok := texts["reference"]; ok {
		r.Referred("terms.txt", []byte(text), o)
	}
	if text, ok := texts["http"]; ok {
		r.Header("header", []byte(text), o, robots)
	}
	if text, ok := texts["html"]; ok {
		r.PageAlone("page.html", PageOf("page.html", []byte(text)), o, robots)
	}
	r.Contradictions(site, o)
	return r
}

// TestPreferencesPage tests that the examples of docs/findings.md about preferences produce the
// findings that the page shows, with the severities of their section.
func TestPreferencesPage(t *testing.T) {
	src, err := os.ReadFile(findingsPage)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(src), "\n")
	var out, shown []string
	code, severities := "", ""
	texts := map[string]string{}
	finish := func() {
		slices.Sort(shown)
		if got := strings.Join(slices.Compact(shown), ", "); code != "" && got != severities {
			t.Errorf("%s: the section names the severities %s, its examples show %s", code, severities, got)
		}
		code, texts, shown = "", map[string]string{}, nil
	}
	for i := 0; i < len(lines); i++ {
		if m := sectionText.FindStringSubmatch(lines[i]); m != nil {
			finish()
			if s, is := strings.CutSuffix(lines[i+2], ofPreferences); is {
				code, severities = m[1], s
			}
		}
		out = append(out, lines[i])
		name, fence := strings.CutPrefix(lines[i], "```")
		if !fence || code == "" {
			continue
		}
		end := i + 1 + slices.Index(lines[i+1:], "```")
		text := strings.Join(lines[i+1:end], "\n")
		if name == "finding" {
			var got string
			got, shown = outcome(prefer(t, texts), code, shown)
			if got != text && !*updatePreferences {
				t.Errorf("%s:%d: %s: got\n%s\nwant\n%s", findingsPage, i+1, code, got, text)
			}
			text, texts = got, map[string]string{}
		} else {
			texts[name] = text + "\n"
		}
		out = append(out, text, "```")
		i = end
	}
	finish()
	if *updatePreferences {
		if err := os.WriteFile(findingsPage, []byte(strings.Join(out, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// outcome returns the findings with a code in the form that docs/findings.md uses, and adds their
// severities to shown.
func outcome(r *Report, code string, shown []string) (string, []string) {
	var got []string
	for _, f := range r.Findings {
		if f.Code != code {
			continue
		}
		shown = append(shown, string(f.Severity))
		got = append(got, fmt.Sprintf("%s %d:%d+%d %s: %s", f.Source, f.Line, f.Column, f.Length, f.Severity,
			f.Message))
		for _, l := range strings.Split(f.Excerpt(r.Line(f)), "\n") {
			got = append(got, strings.TrimRight("  "+l, " "))
		}
		if f.Hint != "" {
			got = append(got, "hint: "+f.Hint)
		}
	}
	return strings.Join(got, "\n"), shown
}

// preferenceCodes returns the codes that the source reports about preferences, with their
// severities. The codes of ACAP that package preference reports too have sections of their own.
func preferenceCodes(t *testing.T) map[string][]string {
	t.Helper()
	call := regexp.MustCompile(`"([a-z]+(?:-[a-z]+)+)", (acap\.(?:Error|Warning|Notice)|severity),`)
	codes := map[string][]string{}
	for _, pattern := range []string{"../preference/*.go", "preferences.go", "contradictions.go",
		"surface_preferences.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range call.FindAllStringSubmatch(string(src), -1) {
				codes[m[1]] = append(codes[m[1]], m[2])
			}
		}
	}
	codes["malformed-json"] = []string{"acap.Error"} // told by the method fault
	if len(codes) < 30 {
		t.Fatalf("the source tells %d codes", len(codes))
	}
	for _, shared := range []string{"lints-cut", "misspelt-name", "orphan-field", "rule-without-slash", "too-long"} {
		if codes[shared] == nil {
			t.Errorf("%s is not told about preferences", shared)
		}
		delete(codes, shared)
	}
	return codes
}

// TestPreferenceCodes tests that docs/findings.md has a section about each code that is reported
// about preferences, and no others, and that there is a case for each.
func TestPreferenceCodes(t *testing.T) {
	src, err := os.ReadFile(findingsPage)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^## (\S+)\n\n(.*)`+ofPreferences+"$").
		FindAllStringSubmatch(string(src), -1) {
		documented[m[1]] = m[2]
	}
	codes := preferenceCodes(t)
	codes["contradictory-vocabularies"] = []string{"severity"} // these two are told without a call
	codes["licence-without-type"] = []string{"acap.Warning"}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		for _, s := range codes[code] {
			if word := strings.ToLower(strings.TrimPrefix(s, "acap.")); s != "severity" &&
				!strings.Contains(documented[code], word) {
				t.Errorf("%s is told as %s, documented as %q", code, word, documented[code])
			}
		}
		delete(documented, code)
		if _, err := os.Stat(filepath.Join("testdata", "preferences", code+".txtar")); err != nil {
			t.Error(err)
		}
	}
	for code := range documented {
		t.Errorf("%s is documented and not told", code)
	}
}

// TestPreferenceHeaders tests that the lines of a header field form one dictionary, which one
// malformed line spoils, and that the media type says whether a rule is about an image.
func TestPreferenceHeaders(t *testing.T) {
	var r Report
	r.Header("h", []byte("HTTP/1.1 200 OK\nContent-Usage: train-ai=n\nContent-Usage: Search=y\n"+
		"X-Robots-Tag: noimageai\n\nHTTP/1.1 200 OK\nContent-Type: image/png\nX-Robots-Tag: noimageai\n"+
		"Content-Usage: search=y\n"), everyVocabulary(t), nil)
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprint(f.Line, " ", f.Code))
	}
	if want := []string{"3 malformed-preference", "4 image-rule"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if !strings.Contains(r.Findings[0].Message, "all lines are one dictionary") {
		t.Error(r.Findings[0])
	}
}

// TestPreferences tests the reports about pairs of sites. The name of an archive is a code: the
// site below wrong leads to it, the site below right does not. The comment is the reason.
func TestPreferences(t *testing.T) {
	names, err := filepath.Glob("testdata/preferences/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code := strings.TrimSuffix(filepath.Base(name), ".txtar")
		if len(bytes.TrimSpace(a.Comment)) == 0 {
			t.Errorf("%s gives no reason", name)
		}
		var kept []txtar.File
		texts := map[string]map[string]string{"wrong": {}, "right": {}}
		for _, f := range a.Files {
			if dir, file, ok := strings.Cut(f.Name, "/"); ok {
				kept = append(kept, f)
				texts[dir][file] = string(f.Data)
			}
		}
		for _, dir := range []string{"wrong", "right"} {
			r := prefer(t, texts[dir])
			if has := slices.ContainsFunc(r.Findings,
				func(f acap.Finding) bool { return f.Code == code }); has != (dir == "wrong") {
				t.Errorf("%s: %s: the findings are %v", name, dir, r.Findings)
			}
			var text bytes.Buffer
			if err := r.WriteText(&text, Style{}); err != nil {
				t.Fatal(err)
			}
			kept = append(kept, txtar.File{Name: dir + ".txt", Data: text.Bytes()})
		}
		want := txtar.Format(&txtar.Archive{Comment: a.Comment, Files: kept})
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got := txtar.Format(a); !bytes.Equal(got, want) {
			t.Errorf("%s: now\n%s", name, want)
		}
	}
}
