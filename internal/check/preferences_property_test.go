package check

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// randomPreferences returns a robots.txt with one statement in each line, and a tdmrep.json with
// one entry in each line.
func randomPreferences(r *rand.Rand) (robots, locations []string) {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	robots = append(robots, "License: https://example.com/l.xml")
	for range 1 + r.IntN(4) {
		for range 1 + r.IntN(2) {
			robots = append(robots, "User-agent: "+pick("*", "a", "b"))
		}
		for range 1 + r.IntN(6) {
			path := pick("", "", "/ ", "/a ", "/a/b ", "/*.x$ ")
			robots = append(robots, pick(
				"Content-Usage: "+path+pick("train-ai", "ai-use", "search")+pick("=y", "=n"),
				"Content-Signal: "+pick("ai-train", "ai-input", "search")+pick("=yes", "=no"),
				"Content-Signal: use="+pick("full", "reference", "immediate"),
				pick("Allow: ", "Disallow: ")+pick("/a", "/a/b", "/c")))
		}
	}
	for range r.IntN(6) {
		locations = append(locations, fmt.Sprintf(`{"location": %q, "tdm-reservation": %d}`,
			pick("/", "/a", "/a/", "/a/b", "/*", "/*b", "/*.x$", "/a*", "*", "/a$"), r.IntN(2)))
	}
	return robots, locations
}

// allowed returns the usages that are allowed, for several crawlers and paths.
func allowed(t *testing.T, robots, locations []string, o Options) string {
	t.Helper()
	f := Parse("", []byte(strings.Join(robots, "\n")))
	var b strings.Builder
	for _, name := range []string{"", "a", "b", "c"} {
		c := acap.Crawler{Names: []string{name}, Vocabularies: o.Vocabularies}
		refs := f.References(c)
		for i := range refs {
			refs[i].Text = []byte("[" + strings.Join(locations, ",") + "]")
			if refs[i].Vocabulary == rslName {
				refs[i].Text = []byte(`<rsl xmlns="https://rslstandard.org/rsl">` +
					`<content url="/"><license/></content></rsl>`)
			}
		}
		p := f.Policy(c, refs...)
		for _, path := range []string{"/", "/a", "/ab", "/a/", "/a/b", "/a/b/c.x", "/c", "/a/b.x?y"} {
			for _, u := range append(acap.Usages(), acap.NewerUsages()...) {
				fmt.Fprintf(&b, "%s %s %s %t\n", name, path, u, p.Decide(u, resource(path)).Allowed)
			}
		}
	}
	return b.String()
}

// TestPreferencesClaimNothingFalse tests what findings claim on random sites: that a statement has
// no effect, because another says the same or is stricter, or because an earlier location matches
// first.
func TestPreferencesClaimNothingFalse(t *testing.T) {
	o, claimed := everyVocabulary(t), map[string]int{}
	for seed := range 300 {
		robots, locations := randomPreferences(rand.New(rand.NewPCG(19, uint64(seed))))
		var r Report
		f := r.Robots("robots.txt", []byte(strings.Join(robots, "\n")), o)
		file := []byte("[\n" + strings.Join(locations, ",\n") + "\n]")
		r.TDMRep("tdmrep.json", file, o)
		site := NewLocalSite("robots.txt", f, nil)
		site.Add("tdmrep.json", TDMRepKind, file)
		r.Contradictions(site, o)
		for _, fi := range r.Findings {
			claimed[fi.Code]++
			without, left := slices.Clone(robots), slices.Clone(locations)
			switch fi.Code {
			case "repeated-preference", "contradictory-preference":
				without[fi.Line-1] = "Content-Usage: nothing=n" // ends a run of User-agent lines, too
			case "shadowed-entry":
				left = slices.Delete(left, fi.Line-2, fi.Line-1)
			case "contradictory-vocabularies":
				if fi.URL == "robots.txt" {
					without[fi.Line-1] = "Content-Usage: nothing=n"
					if !strings.HasPrefix(robots[fi.Line-1], "Content-Signal") {
						continue // the path of the line may keep other lines from counting
					}
				}
			default:
				continue
			}
			if before, after := allowed(t, robots, locations, o), allowed(t, without, left, o); before != after {
				t.Fatalf("%v\n%s\n%s\nbefore:\n%s\nafter:\n%s", fi, strings.Join(robots, "\n"), file, before, after)
			}
		}
	}
	for _, code := range []string{"repeated-preference", "contradictory-preference", "shadowed-entry",
		"contradictory-vocabularies", "missing-preference"} {
		if claimed[code] == 0 {
			t.Errorf("no site led to %s", code)
		}
	}
	t.Log(claimed)
}

// FuzzPreferences tests that the check of any text never fails, that the positions of findings are
// in the text, and that docs/findings.md explains their codes.
func FuzzPreferences(f *testing.F) {
	names, err := filepath.Glob("testdata/preferences/*.txtar")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if strings.HasPrefix(file.Name, "wrong/") {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 4000 {
			return
		}
		o, r := everyVocabulary(t), &Report{}
		site := NewLocalSite("robots.txt", r.Robots("robots.txt", src, o), nil)
		r.TDMRep("t.json", src, o)
		site.Add("t.json", TDMRepKind, src)
		r.Licence(preference.LicenceText{Name: "l.xml", Text: src, Line: 1, Column: 1, Naming: site.Naming("l.xml")}, o)
		site.Add("l.xml", RSLKind, src)
		r.Header("h", src, o, site.Robots)
		r.PageAlone("p.html", PageOf("p.html", src), o, site.Robots)
		r.Contradictions(site, o)
		for _, fi := range r.Findings {
			i := slices.IndexFunc(r.Texts, func(t Text) bool { return t.Name == fi.URL })
			if !Known(fi.Code) || i < 0 || len(fi.Message) > 1200 || len(fi.Hint) > 300 {
				t.Fatalf("%+v", fi)
			}
			if n := len(r.Texts[i].Lines); fi.Line < 1 || fi.Line > max(1, n) || fi.Column < 1 || fi.Length < 1 {
				t.Errorf("%+v of %d lines", fi, n)
			} else if line := r.Line(fi); r.Texts[i].Kind != RobotsKind && fi.Column > utf8.RuneCountInString(line)+2 {
				t.Errorf("%+v in %q", fi, line)
			}
		}
	})
}

// TestPreferencesAreBounded checks hostile files of one site together. Work that is quadratic in
// their size would take hours.
func TestPreferencesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow")
	}
	filled := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	o := everyVocabulary(t)
	robots := map[string]string{
		"lines": "User-agent: *\nContent-Signal: ai-train=no\n" +
			filled(10_000, "Content-Usage: /p#*x train-ai=y\n"),
		"groups": "User-agent: *\nContent-Usage: train-ai=y\n" +
			filled(5_000, "User-agent: b#\nLicense: https://x.example/l.xml\n"),
		"licences": "User-agent: *\nContent-Usage: train-ai=y\n" + filled(9_000, "License: https://x#.example/l.xml\n"),
		"keys":     "User-agent: *\nContent-Usage: train-ai=y" + filled(40_000, ",k#=n") + "\n",
	}
	locations := "[" + filled(10_000, `{"location":"/#*a","tdm-reservation":0},`) + "0]"
	stars := "[" + filled(2_000, `{"location":"`+strings.Repeat("/*a", 60)+`#","tdm-reservation":0},`) + "0]"
	content := `<content url="/p"><license><permits type="usage">all</permits></license></content>`
	licence := `<rsl xmlns="https://rslstandard.org/rsl">` + strings.Repeat(content, 6_000) + "</rsl>"
	files := map[string]string{"lines": locations, "groups": stars, "licences": "[" + strings.Repeat(" ", 10<<20) + "]",
		"keys": locations}
	for name, text := range robots {
		r := &Report{}
		site := NewLocalSite("robots.txt", r.Robots("robots.txt", []byte(text), o), nil)
		r.TDMRep("tdmrep.json", []byte(files[name]), o)
		site.Add("tdmrep.json", TDMRepKind, []byte(files[name]))
		r.Licence(preference.LicenceText{Name: "l.xml", Text: []byte(licence), Line: 1, Column: 1}, o)
		site.Add("l.xml", RSLKind, []byte(licence))
		r.Contradictions(site, o)
		if len(r.About("tdmrep.json")) == 0 || len(r.Findings) > 5000 {
			t.Errorf("%s: %d findings", name, len(r.Findings))
		}
	}
	r := &Report{}
	r.Licence(preference.LicenceText{Name: "l.xml", Text: []byte(strings.Repeat(content, 100_000)), Line: 1, Column: 1},
		o)
	r.Header("header", []byte(filled(10_000, "Content-Usage: k#=n\n")+"Content-Usage: "+filled(100_000, "k#=n,")+
		"z=n\n"+filled(10_000, "Link: </#>; rel=license; type=\"application/rsl+xml\"\n")), o, nil)
	if len(r.About("l.xml")) == 0 || len(r.About("header")) == 0 {
		t.Errorf("found %v", r.Findings)
	}
}
