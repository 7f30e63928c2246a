package check

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
)

// without holds the codes whose findings claim that a field can be removed without changing a
// decision.
var without = map[string]bool{"duplicate-field": true, "redundant-field": true, "shadowed-field": true,
	"contradictory-field": true}

// claims tests what the findings about a small file claim: that a field can be removed, or that a
// permission has no effect for any crawler.
func claims(t *testing.T, text string, o Options) {
	var r Report
	f := r.Robots(somewhere, []byte(text), o)
	base := &url.URL{Scheme: "http", Host: "robots.invalid"}
	lines := f.Lines()
	var addresses []Address
	for _, fi := range r.Findings {
		line := ""
		if fi.Line <= len(lines) {
			line = lines[fi.Line-1]
		}
		acapLine := strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "acap")
		switch {
		// P1 2.10.2 (X72): the field may still cancel conventional rules
		case fi.Code == "contradictory-field" && acapLine && len(f.Groups()) > 0:
			continue
		case fi.Code == "contradictory-field" && !strings.Contains(fi.Message, "has no effect ("):
			continue
		case !without[fi.Code] && fi.Code != "unfetched-permission":
			continue
		}
		if addresses == nil {
			addresses = Questions(base, NewDocument(somewhere, []byte(text))).Addresses
			addresses = addresses[:min(len(addresses), 400)]
		}
		if fi.Code == "unfetched-permission" {
			unfetchedIndeed(t, f, fi, text, addresses)
			continue
		}
		changed := append([]string(nil), lines...)
		changed[fi.Line-1] = "Disallow: /nowhere-at-all"
		if acapLine { // without this field, the record would have no fields and would be merged with the next one
			changed[fi.Line-1] = "ACAP-disallow-follow: /nowhere-at-all"
		}
		g := acap.Parse(somewhere, []byte(strings.Join(changed, "\n")))
		for _, c := range askers(f) {
			p, q := f.Policy(c), g.Policy(c)
			for _, u := range acap.Usages() {
				for _, at := range addresses {
					a, b := p.Decide(u, at.resource).At(acap.Facts{Now: o.Now}), q.Decide(u,
						at.resource).At(acap.Facts{Now: o.Now})
					if a.Allowed != b.Allowed {
						t.Fatalf("%v\nwithout line %d %s of %s for %+v: %s\nbefore: %s\n%s", fi, fi.Line, u, at.URL, c,
							b.Why(), a.Why(), text)
					}
				}
			}
		}
	}
}

func unfetchedIndeed(t *testing.T, f *acap.File, fi acap.Finding, text string, addresses []Address) {
	for _, c := range askers(f) {
		p := f.Policy(c)
		for _, at := range addresses {
			if !p.Decide(acap.Crawl, at.resource).Allowed {
				continue
			}
			for _, u := range fetched {
				if d := p.Decide(u, at.resource); d.Because != nil && d.Because.Line == fi.Line {
					t.Fatalf("%v\n%s of %s for %+v rests on it, and may be crawled\n%s", fi, u, at.URL, c, text)
				}
			}
		}
	}
}

// askers returns crawlers with different purposes: some that the file names, and some that it does
// not name.
func askers(f *acap.File) []acap.Crawler {
	names := f.Crawlers()
	lists := [][]string{nil, {"unheard-of"}}
	for _, n := range names[:min(len(names), 4)] {
		lists = append(lists, named(n).Names)
	}
	if len(names) > 1 {
		lists = append(lists, slices.Concat(named(names[0]).Names, named(names[1]).Names))
	}
	var out []acap.Crawler
	for _, l := range lists {
		for _, purposes := range [][]string{nil, {}, {"news"}, {"newsletter"}, {"x", "news"}} {
			out = append(out, acap.Crawler{Names: l, Purposes: purposes})
		}
	}
	return out
}

// TestLintsClaimNothingFalse tests the claims of findings on random files whose fields often
// conflict.
func TestLintsClaimNothingFalse(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 300
	}
	claimed := map[string]int{}
	for seed := range n {
		text := randomFile(rand.New(rand.NewPCG(8, uint64(seed))))
		claims(t, text, Options{Now: newYear})
		for _, fi := range lint(acap.Parse(somewhere, []byte(text)), Options{Now: newYear}).findings {
			claimed[fi.Code]++
		}
	}
	for _, code := range []string{"contradictory-field", "drifting-records", "duplicate-field", "expired-permission",
		"redundant-field", "shadowed-field", "unfetched-permission"} {
		if claimed[code] == 0 {
			t.Errorf("no file led to %s", code)
		}
	}
	t.Log(claimed)
}

func randomFile(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	pattern := func() string {
		return pick("/", "/a", "/a/", "/a*", "/a/b", "/A/b*", "/a$", "/a/b$", "*", "*b", "*.b", "/*b", "/*ab", "/*a*b",
			"/b", "/a/b/c", "$", "the-acap:resource-set:s", "/%7Ea", "/~a")
	}
	var b strings.Builder
	if r.IntN(3) == 0 {
		b.WriteString("ACAP-version: 1.1\n")
	}
	if r.IntN(12) == 0 {
		b.WriteString("ACAP-ignore-conventional-records\n")
	}
	fmt.Fprintf(&b, "ACAP-resource-set: s %s %s\nACAP-qualified-usage: q index time-limit=3-days\n",
		pick("/a", "/*b", "/a/b"), pick("/b", "/a*"))
	for range 1 + r.IntN(4) {
		if r.IntN(3) == 0 {
			for range 1 + r.IntN(2) {
				fmt.Fprintf(&b, "User-agent: %s\n", pick("*", "*", "a", "b"))
			}
			for range 1 + r.IntN(4) {
				fmt.Fprintf(&b, "%s: %s\n", pick("Disallow", "Disallow", "Allow"), pattern())
			}
			continue
		}
		for range 1 + r.IntN(2)/1 {
			fmt.Fprintf(&b, "ACAP-crawler: %s\n", pick("*", "*", "a", "a", "b", "b/1"))
		}
		few := []string{pick("crawl", "index"), pick("crawl", "present", "other"), pick("index", "present-snippet",
			"follow")}
		for range 1 + r.IntN(6) {
			if r.IntN(8) == 0 {
				fmt.Fprintf(&b, "ACAP-usage-purpose: %s\n", pick("news", "n*", "x$"))
			}
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "ACAP-disallow-%s: %s\n", few[r.IntN(3)], pattern())
			} else {
				fmt.Fprintf(&b, "ACAP-allow-%s: %s%s\n", pick(few[0], few[1], few[2], "(q)"), pattern(),
					pick("", "", "", " time-limit=until-2020-01-01", " time-limit=5-days", " max-length=0-words"))
			}
		}
	}
	return b.String()
}

// FuzzLint tests that the linter never fails, that the positions of findings are in the text, that
// their number is limited, that docs/findings.md explains their codes, and that their claims are
// true.
func FuzzLint(f *testing.F) {
	_, sections := readPage(f)
	documented := map[string]bool{}
	for _, s := range sections {
		documented[s.code] = true
		for _, e := range s.examples {
			f.Add([]byte(e.robots))
		}
	}
	names, err := filepath.Glob("testdata/lint/*.txt")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file := acap.Parse(somewhere, src)
		lines := file.Lines()
		found := lint(file, Options{Now: newYear}).findings
		if most := (len(documented) + 1) * maxTold; len(found) > most {
			t.Errorf("%d findings", len(found))
		}
		for _, fi := range found {
			if !documented[fi.Code] || len(fi.Message) > 1000 || len(fi.Hint) > 300 || fi.URL != somewhere {
				t.Errorf("%+v", fi)
			}
			if fi.Line < 1 || fi.Line > max(1, len(lines)) || fi.Column < 1 || fi.Length < 1 {
				t.Fatalf("%+v of %d lines", fi, len(lines))
			}
			if n := utf8.RuneCountInString(lines[fi.Line-1]); fi.Column+fi.Length-1 > max(1, n) {
				t.Errorf("%+v in a line of %d characters", fi, n)
			}
		}
		if len(src) < 1000 && len(lines) < 40 && !strings.Contains(strings.ToLower(string(src)), "reference") {
			claims(t, string(src), Options{Now: newYear})
		}
	})
}
