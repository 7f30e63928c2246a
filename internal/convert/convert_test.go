package convert_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/convert"
)

// chooser makes choices from bytes, so that a fuzzer can vary them.
type chooser struct{ from []byte }

func (c *chooser) below(n int) int {
	if len(c.from) == 0 {
		return 0
	}
	b := c.from[0]
	c.from = c.from[1:]
	return int(b) % n
}

func pick(c *chooser, all ...string) string { return all[c.below(len(all))] }

// somePattern returns a pattern of few different letters, so that patterns have much in common. No
// letter is a hexadecimal digit: after an asterisk it would match a digit of an escape.
func somePattern(c *chooser) string {
	p := pick(c, "/", "/", "/", "/", "*", "/*", "/m", "/k/")
	for range c.below(5) {
		p += pick(c, "m", "k", "M", "/", "*", "m/", ".x", "?m", "%4D", "%C3%A9", "%c3%89", "%2A", "k*")
	}
	return p + pick(c, "", "", "", "$", "*")
}

func somePath(c *chooser) string {
	p := "/"
	for range c.below(8) {
		p += pick(c, "m", "k", "M", "K", "/", "m/", ".x", "?m", "%C3%A9", "%C3%89", "x", "%2A")
	}
	return p
}

var someCrawlers = []string{"*", "foo", "bar", "baz"}

func someConventional(c *chooser) string {
	var b strings.Builder
	for range 1 + c.below(3) {
		for range 1 + c.below(2) {
			fmt.Fprintf(&b, "User-agent: %s\n", pick(c, someCrawlers...))
		}
		for range c.below(6) {
			fmt.Fprintf(&b, "%s: %s\n", pick(c, "Allow", "Disallow", "Disallow"), somePattern(c))
		}
	}
	return b.String()
}

// reader returns a function with the decisions for a crawler. robots is the robots.txt of the site,
// and reference a file to which robots.txt refers.
func reader(t testing.TB, robots, reference, crawler string) func(u acap.Usage, path string) bool {
	f := acap.Parse("http://example.org/robots.txt", []byte(robots))
	c := acap.Crawler{Names: []string{crawler}}
	refs := f.References(c)
	for i := range refs {
		refs[i].File = acap.ParseReferred(refs[i].URL, []byte(reference))
	}
	p := f.Policy(c, refs...)
	return func(u acap.Usage, path string) bool {
		return p.Decide(u, resourceOf(t, path)).Allowed
	}
}

func resourceOf(t testing.TB, path string) acap.Resource {
	t.Helper()
	at, err := url.Parse(home + path)
	if err != nil {
		t.Fatal(err)
	}
	return acap.NewResource(at)
}

// remarked reports whether a warning says that a crawler may do something else with a path after
// the conversion. A warning for any crawler is ignored for a crawler that f names, and a warning
// for named crawlers is ignored for all others.
func remarked(f *acap.File, remarks []convert.Remark, crawler, path string) bool {
	if !slices.ContainsFunc(f.Crawlers(), func(n string) bool {
		return strings.EqualFold(n, crawler) ||
			strings.EqualFold(n, crawler+"/1.0")
	}) {
		crawler = "*"
	}
	return slices.ContainsFunc(remarks, func(r convert.Remark) bool {
		told := r.Severity != acap.Notice && slices.ContainsFunc(r.Crawlers,
			func(n string) bool { return strings.EqualFold(n, crawler) })
		return told && slices.ContainsFunc(r.Paths, func(p string) bool {
			return acap.NewGlob(acap.Folded(p)).Matches(acap.Folded(path))
		})
	})
}

// lookAtACAP converts a conventional file to ACAP. The result must never permit more than the
// original, and must permit the same where no remark says otherwise. With AnyCase, only lower-case
// paths are compared.
func lookAtACAP(t *testing.T, data []byte) (done bool) {
	c := &chooser{data}
	o := convert.Options{Ignore: c.below(2) == 1, AnyCase: c.below(3) == 1, Usages: []acap.Usage{acap.Crawl}}
	if c.below(3) == 1 {
		o.Reference = "/acap.txt"
	}
	if c.below(4) == 1 {
		o.Usages = append(o.Usages, acap.Index)
	}
	text, inCase := someConventional(c), strings.NewReplacer()
	if o.AnyCase {
		inCase = lowerCase
	}
	text = inCase.Replace(text)
	out, err := convert.ToACAP([]byte(text), o)
	switch {
	// the intersection of patterns with several asterisks each may be too complex
	case errors.Is(err, convert.ErrTooLarge):
		return false
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	}
	for _, r := range out.Remarks {
		if r.Severity == acap.Error {
			t.Errorf("%v\nof\n%s\nbecame\n%s%s", r, text, out.Robots, out.Reference)
		}
	}
	for _, f := range acap.Parse("http://example.org/robots.txt", []byte(out.Robots)).Findings {
		if f.Severity == acap.Error && !strings.HasPrefix(f.Message, "rule") {
			t.Errorf("%v in\n%s", f, out.Robots)
		}
	}
	alone := strings.Replace(out.Robots, "ACAP-version: 1.1\n", "ACAP-version: 1.1\nACAP-ignore-conventional-records\n",
		1)
	f := acap.Parse("http://example.org/robots.txt", []byte(text))
	var paths []string
	for range 20 {
		paths = append(paths, inCase.Replace(somePath(c)))
	}
	for _, crawler := range []string{"foo", "bar", "baz", "other"} {
		was, whole, is := reader(t, text, "", crawler), reader(t, out.Robots, out.Reference, crawler), reader(t, alone,
			out.Reference, crawler)
		for _, path := range paths {
			before := was(acap.Crawl, path)
			if !before && whole(acap.Crawl, path) {
				t.Errorf("%+v: %s: %s may crawl it afterwards alone\n%s\nbecame\n%s%s", o, path, crawler, text,
					out.Robots, out.Reference)
			}
			for _, u := range o.Usages {
				// without the options AnyCase and Ignore, the conventional records still
				// distinguish letter case
				changes := before != is(u, path) && (before || o.AnyCase || o.Ignore)
				if changes && !remarked(f, out.Remarks, crawler, path) {
					t.Errorf("%+v: %s: %s may %s it: before %v, and no remark says that this "+
						"changes\n%s\nbecame\n%s%s\n%v", o, path, crawler, u, before, text, out.Robots, out.Reference,
						out.Remarks)
				}
			}
		}
	}
	return true
}

var lowerCase = strings.NewReplacer("M", "m", "K", "k", "%4D", "m", "%c3%89", "%C3%A9", "%C3%89", "%C3%A9")

// someACAP returns a file with ACAP records, and sometimes conventional records.
func someACAP(c *chooser) string {
	var b strings.Builder
	if c.below(2) == 1 {
		b.WriteString(someConventional(c))
	}
	b.WriteString("ACAP-version: 1.1\n")
	if c.below(3) == 1 {
		b.WriteString("ACAP-ignore-conventional-records\n")
	}
	b.WriteString("ACAP-qualified-usage: broken preserve tiem-limit=3-days\nACAP-composite-usage: partly crawl " +
		"(broken)\n")
	for range 1 + c.below(3) {
		for range 1 + c.below(2) {
			fmt.Fprintf(&b, "ACAP-crawler: %s\n", pick(c, "*", "foo", "bar/1.0", "two words", ""))
		}
		for range c.below(6) {
			fmt.Fprintf(&b, "ACAP-%s: %s\n", pick(c, "allow-crawl", "disallow-crawl", "disallow-crawl", "allow-crawl",
				"disallow-other", "allow-index", "disallow-index",
				"usage-purpose", "disallow-print", "allow-(partly)", "allow-other"),
				pick(c, somePattern(c), somePattern(c), somePattern(c), somePattern(c), "$", "/m$k", "",
					"the-acap:resource-set:no",
					"/m time-limit=3-days"))
		}
	}
	return b.String()
}

// decides reports whether the field that decides about a path also covers the path if letter case
// is distinguished, so that the decision does not depend on letter case. It returns true if no
// field decides.
func decides(f *acap.File, crawler, path string) bool {
	u, _ := url.Parse("http://example.org" + path)
	r := acap.NewResource(u)
	because := f.Policy(acap.Crawler{Names: []string{crawler}}).Decide(acap.Crawl, r).Because
	normal := strings.TrimPrefix(r.URL, "http://example.org")
	return because == nil || !slices.ContainsFunc(f.Statements(), func(s acap.Statement) bool {
		return s.Field.Line == because.Line && slices.ContainsFunc(s.Patterns, func(p string) bool {
			return acap.NewGlob(acap.Folded(p)).Matches(acap.Folded(normal)) && !acap.NewGlob(p).Matches(normal)
		})
	})
}

// lookAtConventional converts ACAP records to conventional ones. The result must never permit more
// crawling than the original, and must permit the same where no remark says otherwise. It does not
// compare spellings in a letter case that no field uses.
func lookAtConventional(t *testing.T, data []byte) (done bool) {
	c := &chooser{data}
	text, inCase := someACAP(c), strings.NewReplacer()
	if c.below(2) == 1 {
		inCase = lowerCase
	}
	text = inCase.Replace(text)
	out, err := convert.ToConventional([]byte(text), convert.Options{AnyCase: true})
	switch {
	// the intersection of patterns with several asterisks each may be too complex
	case errors.Is(err, convert.ErrTooLarge):
		return false
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	}
	for _, r := range out.Remarks {
		if r.Severity == acap.Error {
			t.Errorf("%v\nof\n%s\nbecame\n%s", r, text, out.Robots)
		}
	}
	f := acap.Parse("http://example.org/robots.txt", []byte(text))
	for range 40 {
		path := inCase.Replace(somePath(c))
		for _, crawler := range []string{"foo", "bar", "other"} {
			before, now := reader(t, text, "", crawler)(acap.Crawl, path), reader(t, out.Robots, "",
				crawler)(acap.Crawl, path)
			if before == now || inCase != lowerCase && !decides(f, crawler, path) {
				continue
			}
			if now {
				t.Errorf("%s: %s may crawl it afterwards alone\n%s\nbecame\n%s", path, crawler, text, out.Robots)
			}
			if before && !remarked(f, out.Remarks, crawler, path) {
				t.Errorf("%s: %s may crawl it before alone, and no remark says so\n%s\nbecame\n%s\n%v", path, crawler,
					text, out.Robots, out.Remarks)
			}
		}
	}
	return true
}

func random(t *testing.T, look func(*testing.T, []byte) (done bool)) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 150 {
		data := make([]byte, 160)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if !look(t, data) {
			t.Error("what is small is too large")
		}
		if t.Failed() {
			return
		}
	}
}

func TestToACAPRandom(t *testing.T)         { random(t, lookAtACAP) }
func TestToConventionalRandom(t *testing.T) { random(t, lookAtConventional) }

func FuzzToACAP(f *testing.F) { f.Fuzz(func(t *testing.T, data []byte) { lookAtACAP(t, data) }) }
func FuzzToConventional(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) { lookAtConventional(t, data) })
}

var updateConvert = flag.Bool("update-convert", false, "write what the cases of testdata/cases lead to")

// TestConvert converts the files of testdata/cases. Each file has a reason, the text to convert,
// the target language, and the expected records and remarks. The flag -update-convert writes these.
func TestConvert(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			question, wanted, _ := strings.Cut(string(text), "-- wanted --\n")
			_, question, _ = strings.Cut(question, "-- ")
			to, source, _ := strings.Cut(question, " --\n")
			o := convert.Options{AnyCase: !strings.Contains(filepath.Base(file), "case")}
			out, err := translation(to)([]byte(source), o)
			if err != nil {
				t.Fatal(err)
			}
			got := out.Robots + out.TDMRep + out.License
			if i := strings.Index(got, "ACAP-version: 1.1\n\n"); i >= 0 {
				got = got[i+len("ACAP-version: 1.1\n\n"):]
			}
			for _, r := range out.Remarks {
				got += r.String() + "\n"
				if r.Severity == acap.Error {
					t.Errorf("%v", r)
				}
			}
			switch {
			case got == wanted:
			case *updateConvert:
				before, _, _ := strings.Cut(string(text), "-- wanted --\n")
				if err := os.WriteFile(file, []byte(before+"-- wanted --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("got\n%s\nwanted\n%s", got, wanted)
			}
		})
	}
}

// translation returns the conversion with the given name: acap, conventional, or "to" or "from" and
// a newer vocabulary.
func translation(name string) func([]byte, convert.Options) (*convert.Conversion, error) {
	direction, vocabulary, _ := strings.Cut(name, " ")
	newer := map[string]func(string, []byte, convert.Options) (*convert.Conversion, error){"to": convert.To,
		"from": convert.From}[direction]
	switch {
	case name == "acap":
		return convert.ToACAP
	case newer == nil:
		return convert.ToConventional
	}
	return func(src []byte, o convert.Options) (*convert.Conversion, error) { return newer(vocabulary, src, o) }
}

// TestConvertIsBounded tests that hostile files are refused, and that this takes limited time.
func TestConvertIsBounded(t *testing.T) {
	var stars, crawlers strings.Builder
	stars.WriteString("User-agent: *\n")
	for i := range 1500 {
		fmt.Fprintf(&stars, "%s: /*%d*%d*\n", []string{"Allow", "Disallow"}[i%2], i, i*7)
		fmt.Fprintf(&crawlers, "ACAP-crawler: bot%d\nACAP-disallow-crawl: /%d/\n", i, i)
	}
	long := "User-agent: *\nDisallow: /" + strings.Repeat("*a", 2000) + "$\nAllow: /" + strings.Repeat("*a*b", 1000) +
		"\n"
	for _, text := range []string{stars.String(), long, strings.Repeat("User-agent: *\n", acap.MaxSize)} {
		if _, err := convert.ToACAP([]byte(text), convert.Options{}); !errors.Is(err, convert.ErrTooLarge) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	_, err := convert.ToConventional([]byte(crawlers.String()), convert.Options{})
	if !errors.Is(err, convert.ErrTooLarge) {
		t.Errorf("many crawlers: %v", err)
	}
}

// TestConvertSaysWhatWasCompared tests that a remark says if not all examples could be compared,
// and that the conversion still counts as exact.
func TestConvertSaysWhatWasCompared(t *testing.T) {
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "User-agent: bot%d\n", i)
	}
	for i := range 2500 {
		fmt.Fprintf(&many, "Disallow: /%d/\n", i)
	}
	for text, want := range map[string]bool{many.String(): true, "User-agent: *\nDisallow: /a/\n": false} {
		out, err := convert.ToACAP([]byte(text), convert.Options{AnyCase: true})
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(out.Remarks, func(r convert.Remark) bool { return r.Code == "not-compared" })
		if told != want || !out.Exact() {
			t.Errorf("%.30q: %v", text, out.Remarks)
		}
	}
}
