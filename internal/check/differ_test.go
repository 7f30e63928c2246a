package check

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

const robots = "http://h.example/robots.txt"

var (
	noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	root = &url.URL{Scheme: "http", Host: "h.example"}
)

func addressOf(t testing.TB, path string) Address {
	t.Helper()
	u, err := url.Parse("http://h.example" + path)
	if err != nil {
		t.Fatal(err)
	}
	return NewAddress(u)
}

// mixed returns a small random file, and the same file with empty lines in place of its ACAP lines.
func mixed(r *rand.Rand) (file, conventional string) {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	pattern := func() string {
		return pick("/", "/a", "/a/", "/a/b", "/A", "/*.gif$", "*b", "/a*c", "*", "/b$", "/a?q=", "/a$b", "a", "/a/*/c",
			"/%61", "/b.gif")
	}
	var a, b strings.Builder
	for range 2 + r.IntN(12) {
		line, ours := "", true
		switch r.IntN(12) {
		case 0, 1:
			line = "ACAP-crawler: " + pick("*", "one", "two", "one/2.0")
		case 2, 3:
			line = "ACAP-disallow-crawl: " + pattern()
		case 4:
			line = "ACAP-allow-crawl: " + pattern()
		case 5:
			line = "ACAP-" + pick("allow-", "disallow-") + pick("index", "present", "present-snippet", "other",
				"follow") + ": " + pattern()
		case 6:
			line = pick("ACAP-ignore-conventional-records", "ACAP-version: 1.1", "ACAP-usage-purpose: news",
				"ACAP-allow-present-snippet: / max-length=9-words")
		case 7, 8:
			line, ours = "User-agent: "+pick("*", "one", "two", "Two/1"), false
		case 9, 10:
			line, ours = "Disallow: "+pattern(), false
		default:
			line, ours = pick("Allow: ", "Disallow: ")+pattern(), false
		}
		a.WriteString(line + "\n")
		if ours {
			line = ""
		}
		b.WriteString(line + "\n")
	}
	return a.String(), b.String()
}

// path returns a random path of the letters that mixed uses.
func path(r *rand.Rand) string {
	const letters = "/abAB.c?q=gif"
	p := []byte{'/'}
	for range r.IntN(8) {
		p = append(p, letters[r.IntN(len(letters))])
	}
	return string(p)
}

// checkTrue tests that package acap confirms each difference that Compare reports, and that Compare
// misses no difference on the given paths.
func checkTrue(t *testing.T, file, conventional string, paths []string) []Difference {
	t.Helper()
	d := NewDocument(robots, []byte(file))
	ask := Questions(root, d)
	for _, p := range paths {
		ask.Addresses = append(ask.Addresses, addressOf(t, p))
	}
	found, err := Compare(t.Context(), d.ACAP(noon), d.Conventional(), ask)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, f := range found {
		for _, a := range f.Addresses {
			said[fmt.Sprint(f.Crawler.Names, f.Usage, a.URL)] = true
		}
		if a, b := f.A.Limits.Empty(), f.B.Limits.Empty(); f.A.Allowed == f.B.Allowed && a && b {
			t.Errorf("%s: no difference: %+v", f.Usage, f)
		}
	}
	both, blind := acap.Parse(robots, []byte(file)), acap.Parse(robots, []byte(conventional))
	held := map[string]bool{}
	for _, c := range ask.Crawlers {
		p, q := both.Policy(c), blind.Policy(c)
		for _, a := range ask.Addresses {
			r := acap.NewResource(a.URL)
			for _, u := range ask.Usages {
				x, y := p.Decide(u, r), q.Decide(acap.Crawl, r)
				if x.Allowed != y.Allowed || x.Allowed && !x.Limits(acap.Facts{Now: noon}).Empty() {
					held[fmt.Sprint(c.Names, u, a.URL)] = true
				}
			}
		}
	}
	for k := range held {
		if !said[k] {
			t.Errorf("missed: %s", k)
		}
	}
	for k := range said {
		if !held[k] {
			t.Errorf("untrue: %s", k)
		}
	}
	return found
}

// TestDifferencesAreTrue tests that each reported difference is real and that none is missed. If
// all addresses are in one letter case, examples made from the file's patterns find every
// difference that random addresses find.
func TestDifferencesAreTrue(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	found := 0
	for range 3000 {
		file, conventional := mixed(r)
		var paths []string
		for range 20 {
			paths = append(paths, path(r))
		}
		checkTrue(t, file, conventional, paths)
		for i := range paths {
			paths[i] = strings.ToLower(paths[i])
		}
		if strings.Contains(file, "/A\n") {
			paths = nil
		}
		examples := map[string]bool{}
		for _, a := range Questions(root, NewDocument(robots, []byte(file))).Addresses {
			examples[a.URL.String()] = true
		}
		for _, d := range checkTrue(t, file, conventional, paths) {
			found++
			if !slices.ContainsFunc(d.Addresses, func(a Address) bool { return examples[a.URL.String()] }) {
				t.Errorf("no example of %s for %q at %s", d.Usage, d.Crawler.Names, d.Addresses[0].URL)
			}
		}
		if t.Failed() {
			t.Fatalf("of\n%s", file)
		}
	}
	if found < 5000 {
		t.Errorf("%d differences", found)
	}
}

// TestQuestionsTellWhatIsLeft tests that Questions reports which addresses it left out because of a
// limit.
func TestQuestionsTellWhatIsLeft(t *testing.T) {
	var many, starred strings.Builder
	many.WriteString("User-agent: *\n")
	starred.WriteString("User-agent: *\n")
	for i := range maxWitnesses {
		fmt.Fprintf(&many, "Disallow: /%d/\n", i)
	}
	for i := range 100 {
		fmt.Fprintf(&starred, "Disallow: /*%d\n", i)
	}
	for text, want := range map[string]string{many.String(): "not all addresses", starred.String(): "with an asterisk",
		"User-agent: *\nDisallow: /*a\n": ""} {
		ask := Questions(root, NewDocument(robots, []byte(text)))
		if told := strings.Join(ask.Left, "; "); !strings.Contains(told, want) || told != "" && want == "" {
			t.Errorf("%.40q: %q, want %q", text, told, want)
		}
		if !slices.ContainsFunc(ask.Addresses, func(a Address) bool { return a.URL.Path == "/any-other-page.html" }) {
			t.Errorf("%.40q: no page that no pattern covers", text)
		}
	}
}

// TestChangesOfMany tests that changes reports only the changed ones of many requests, and that it
// returns a sentence if there are more changes than the limit.
func TestChangesOfMany(t *testing.T) {
	file := func(from, to int) *Document {
		var b strings.Builder
		b.WriteString("ACAP-crawler: *\n")
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "ACAP-request-take-down: /%d\n", i)
		}
		return NewDocument(robots, []byte(b.String()))
	}
	got, left := changes(file(0, 5000), file(1, 5000), []acap.Crawler{{}})
	if len(got) != 1 || got[0].URL != "http://h.example/0" || got[0].Before == "" || got[0].After != "" || left != nil {
		t.Errorf("%+v %q", got, left)
	}
	if got, left := changes(file(0, 3000), file(0, 0), make([]acap.Crawler, 10)); len(got) != maxChanges ||
		len(left) != 1 {
		t.Errorf("%d changes, %q", len(got), left)
	}
}

// TestAloneKeepsBrokenFields tests that a reading without conventional records does not change ACAP
// fields: P1 2.7 (A07): a permission that is broken over two lines prohibits.
func TestAloneKeepsBrokenFields(t *testing.T) {
	d := NewDocument(robots, []byte("User-agent: *\nDisallow: /x\nACAP-crawler: *\nACAP-allow-index: /a\n  "+
		"time-limit=3-days\n"))
	for name, reading := range map[string]Reading{"ACAP": d.ACAP(noon), "alone": d.Alone(noon)} {
		if a := reading(acap.Crawler{})(acap.Index, addressOf(t, "/a")); a.Allowed {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// FuzzDifferences compares random texts with all readings, and checks each reported difference with
// package acap.
func FuzzDifferences(f *testing.F) {
	r := rand.New(rand.NewPCG(8, 3))
	for range 10 {
		file, _ := mixed(r)
		f.Add([]byte(file))
	}
	f.Add([]byte("User-agent: *\nDisallow: /*a*a$\nACAP-crawler: *\nACAP-allow-crawl: " +
		"%%%\nACAP-permissions-reference: //[::1\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 2000 {
			return
		}
		d := NewDocument(robots, src)
		ask := Questions(root, d)
		if len(ask.Addresses) > 200 {
			ask.Addresses = ask.Addresses[:200]
		}
		readings := []Reading{d.ACAP(noon), d.Alone(noon), d.Conventional()}
		if temoto, _, err := d.Temoto(); err == nil {
			readings = append(readings, temoto)
		}
		for i, b := range readings {
			found, err := Compare(t.Context(), readings[0], b, ask)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 && len(found) > 0 {
				t.Fatalf("a reading differs from itself: %+v", found)
			}
			for _, one := range found {
				p := d.File.Policy(one.Crawler, d.References(one.Crawler)...)
				for _, a := range one.Addresses {
					if got := p.Decide(one.Usage, acap.NewResource(a.URL)); got.Allowed != one.A.Allowed ||
						got.Because != one.A.Because {
						t.Fatalf("%s of %s: %v, told %v", one.Usage, a.URL, got.Allowed, one.A.Allowed)
					}
				}
				if one.A.Allowed == one.B.Allowed && one.A.Limits.Empty() && one.B.Limits.Empty() {
					t.Fatalf("no difference: %+v", one)
				}
			}
		}
		changes(d, NewDocument(robots, nil), ask.Crawlers)
	})
}
