package convert_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/convert"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

const (
	home    = "http://example.org"
	licence = home + "/license.xml"
)

// policyOf returns the policy of a site for a crawler that obeys one of the newer vocabularies, or
// none. file is the content of tdmrep.json or of the licence document.
func policyOf(t testing.TB, vocabulary, robots, file, crawler string) *acap.Policy {
	t.Helper()
	c := acap.Crawler{Names: []string{crawler}}
	if vocabulary != "" {
		var err error
		if c.Vocabularies, err = preference.Vocabularies([]string{vocabulary}, preference.Settings{}); err != nil {
			t.Fatal(err)
		}
	}
	f := acap.Parse(home+"/robots.txt", []byte(robots))
	refs := f.References(c)
	for i := range refs {
		if refs[i].Vocabulary == "" {
			refs[i].Err = errors.New("it is not there")
		}
		refs[i].Text = []byte(file)
	}
	return f.Policy(c, refs...)
}

// converted returns the policy of the result of a conversion to a vocabulary, or to ACAP.
func converted(t testing.TB, vocabulary string, out *convert.Conversion, crawler string) *acap.Policy {
	switch vocabulary {
	case convert.TDMRep:
		return policyOf(t, vocabulary, "", out.TDMRep, crawler)
	case convert.RSL:
		return policyOf(t, vocabulary, "License: "+licence+"\n", out.License, crawler)
	}
	return policyOf(t, vocabulary, out.Robots, "", crawler)
}

// compared are the usages that conversions to and from newer vocabularies are about.
func compared() []acap.Usage {
	return slices.DeleteFunc(append(acap.Usages(), acap.NewerUsages()...),
		func(u acap.Usage) bool { return u == acap.Other })
}

// explicit reports whether a statement permits a usage, without limits.
func explicit(d acap.Decision) bool {
	return d.Allowed && d.Reason != acap.ByDefault && d.Limits(acap.Facts{}).Empty()
}

// someRecords returns ACAP records about many usages, and sometimes conventional records.
func someRecords(c *chooser) string {
	var b strings.Builder
	if c.below(2) == 1 {
		b.WriteString(someConventional(c))
	}
	b.WriteString("ACAP-version: 1.1\nACAP-resource-set: pictures *.x /m/*k\n")
	for range 1 + c.below(2) {
		for range 1 + c.below(2) {
			fmt.Fprintf(&b, "ACAP-crawler: %s\n", pick(c, "*", "*", "foo", "bar/1.0"))
		}
		for range 1 + c.below(6) {
			fmt.Fprintf(&b, "ACAP-%s-%s: %s%s\n", pick(c, "allow", "disallow"),
				pick(c, "crawl", "index", "index", "other", "other", "present", "present-link", "present-snippet",
					"present-oldsnippet", "preserve", "follow", "present-thumbnail", "(broken)"),
				pick(c, somePattern(c), somePattern(c), "/", "the-acap:resource-set:pictures",
					"the-acap:all-resources"),
				pick(c, "", "", "", " time-limit=3-days", " tiem-limit=3"))
		}
	}
	return b.String()
}

// listed reports whether a remark says that a usage of a path changes for a crawler.
func listed(f *acap.File, remarks []convert.Remark, crawler string, u acap.Usage, path string) bool {
	return slices.ContainsFunc(remarks, func(r convert.Remark) bool {
		return slices.Contains(r.Usages, u) && remarked(f, []convert.Remark{{Severity: acap.Warning,
			Crawlers: r.Crawlers, Paths: r.Paths}}, crawler, path)
	})
}

// lookAtTo converts ACAP records to the newer vocabularies, and the result back. No result permits
// what its source prohibits, and remarks list all other differences.
func lookAtTo(t *testing.T, data []byte) (done bool) {
	c := &chooser{data}
	text, inCase := someRecords(c), strings.NewReplacer()
	if c.below(2) == 1 {
		inCase = lowerCase
	}
	text = inCase.Replace(text)
	f := acap.Parse(home+"/robots.txt", []byte(text))
	o := convert.Options{AnyCase: inCase == lowerCase}
	var paths []string
	for range 25 {
		paths = append(paths, inCase.Replace(somePath(c)))
	}
	for _, v := range convert.Vocabularies() {
		out, err := convert.To(v, []byte(text), o)
		switch {
		case errors.Is(err, convert.ErrTooLarge): // the intersections of patterns may be too many
			return false
		case err != nil:
			t.Fatalf("%s: %v\n%s", v, err, text)
		}
		result := out.Robots + out.TDMRep + out.License
		noErrors(t, out, text)
		for _, crawler := range []string{"foo", "bar", "other"} {
			was, is := policyOf(t, "", text, "", crawler), converted(t, v, out, crawler)
			for _, path := range paths {
				compare(t, was, is, path, func(u acap.Usage, a, b acap.Decision) string {
					switch {
					case u == acap.Crawl && out.Robots != "": // TestToConventionalRandom compares it
					case explicit(b) && (!a.Allowed || !a.Limits(acap.Facts{}).Empty()):
						return "permitted now"
					case v == convert.AIPREF && !is.Decide(acap.Crawl, resourceOf(t, path)).Allowed:
						// it says nothing there
					case a.Allowed != b.Allowed && (a.Allowed || a.Reason != acap.Conventional) && sameCase(f, path) &&
						!listed(f, out.Remarks, crawler, u, path):
						return "changed, and no remark says so"
					}
					return ""
				}, text, result, out.Remarks)
			}
		}
		lookBack(t, v, out, o, paths)
	}
	return true
}

// lookBack converts the result of a conversion back to ACAP.
func lookBack(t *testing.T, v string, out *convert.Conversion, o convert.Options, paths []string) {
	text := out.Robots + out.TDMRep + out.License
	back, err := convert.From(v, []byte(text), o)
	if errors.Is(err, convert.ErrTooLarge) || errors.Is(err, convert.ErrSaysNothing) || text == "" {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", v, err, text)
	}
	noErrors(t, back, text)
	for _, crawler := range []string{"foo", "bar", "other"} {
		was, is := converted(t, v, out, crawler), policyOf(t, "", back.Robots, "", crawler)
		for _, path := range paths {
			compare(t, was, is, path, func(_ acap.Usage, a, b acap.Decision) string {
				if !a.Allowed && b.Allowed {
					return "permitted after the way back"
				}
				return ""
			}, text, back.Robots, back.Remarks)
		}
	}
}

// compare calls judge with the decisions of two policies on each usage of a path, and reports what
// it returns as an error, unless it is "".
func compare(t *testing.T, was, is *acap.Policy, path string, judge func(u acap.Usage, a, b acap.Decision) string,
	text, result string, remarks []convert.Remark) {
	t.Helper()
	r := resourceOf(t, path)
	for _, u := range compared() {
		a, b := was.Decide(u, r), is.Decide(u, r)
		if wrong := judge(u, a, b); wrong != "" && !t.Failed() {
			t.Errorf("%s of %s is %s: before %v, after %v\n%s\nbecame\n%s\n%v", u, path, wrong, a.Because, b.Because,
				text, result, remarks)
		}
	}
}

func noErrors(t *testing.T, out *convert.Conversion, text string) {
	t.Helper()
	for _, r := range out.Remarks {
		if r.Severity == acap.Error {
			t.Errorf("%v\nof\n%s\nbecame\n%s", r, text, out.Robots+out.TDMRep+out.License)
		}
	}
}

// sameCase reports whether the same statements of a file are about a path if letter case is
// ignored.
func sameCase(f *acap.File, path string) bool {
	return !slices.ContainsFunc(f.Statements(), func(s acap.Statement) bool {
		return slices.ContainsFunc(s.Patterns, func(p string) bool { return otherCase(p, path) })
	})
}

// otherCase reports whether a pattern matches a path only if letter case is ignored.
func otherCase(pattern, path string) bool {
	return acap.NewGlob(acap.Folded(pattern)).Matches(acap.Folded(path)) && !acap.NewGlob(pattern).Matches(path)
}

// someStatements returns a text with statements in a newer vocabulary: a robots.txt, tdmrep.json or
// licence document.
func someStatements(c *chooser, vocabulary string) string {
	var list []string
	value := func(yes, no string) string { return pick(c, yes, no, no, "") }
	rooted := func() string {
		p := somePattern(c)
		return pick(c, "/", "/"+strings.TrimPrefix(p, "/"))
	}
	for range 1 + c.below(6) {
		switch vocabulary {
		case convert.AIPREF:
			list = append(list, "Content-Usage: "+pick(c, "", rooted()+" ")+pick(c, "train-ai", "ai-use", "bots")+
				value("=y", "=n")+", search"+value("=y", "=n"))
		case convert.ContentSignal:
			list = append(list, "Content-Signal: "+pick(c, "ai-train", "ai-input", "search")+value("=yes", "=no")+
				pick(c, "", "", ", use=immediate", ", use=reference", ",use=full"))
		case convert.TDMRep:
			list = append(list, fmt.Sprintf(`{"location": %q, "tdm-reservation": %s%s}`, rooted(),
				pick(c, "0", "1", "1", "2"), pick(c, "", `, "tdm-policy": "/p"`)))
		case convert.RSL:
			content := ""
			for range 1 + c.below(2) {
				content += "<license>" + pick(c, "", "<payment type=\"crawl\"/>", "<permits type=\"geo\">DE</permits>")
				for _, element := range []string{"permits", "prohibits"} {
					if c.below(2) == 1 {
						content += fmt.Sprintf("<%s type=\"usage\">%s</%s>", element,
							pick(c, "search", "ai-train", "ai-all", "all", "ai-input search", "print"), element)
					}
				}
				content += "</license>"
			}
			list = append(list, fmt.Sprintf("<content url=%q%s>%s</content>",
				strings.ReplaceAll(rooted(), "&", "&amp;"),
				pick(c, "", "", "", " server=\"https://l.example/\""), content))
		}
	}
	switch vocabulary {
	case convert.TDMRep:
		return "[" + strings.Join(list, ",\n") + "]\n"
	case convert.RSL:
		return "<rsl xmlns=\"https://rslstandard.org/rsl\">\n" + strings.Join(list, "\n") + "\n</rsl>\n"
	}
	groups := strings.SplitAfter(someConventional(c), "User-agent: ")
	text := ""
	for i, g := range groups {
		if text += g; i > 0 && c.below(2) == 1 && !strings.HasSuffix(text, "User-agent: ") {
			text += list[c.below(len(list))] + "\n"
		}
	}
	return text + "User-agent: " + pick(c, someCrawlers...) + "\n" + strings.Join(list, "\n") + "\n"
}

// lookAtFrom converts statements in a newer vocabulary to ACAP. The result permits nothing that its
// source prohibits, and remarks list all other differences.
func lookAtFrom(t *testing.T, data []byte) (done bool) {
	c := &chooser{data}
	inCase := strings.NewReplacer()
	if c.below(2) == 1 {
		inCase = lowerCase
	}
	o := convert.Options{AnyCase: inCase == lowerCase}
	for _, v := range convert.Vocabularies() {
		text := inCase.Replace(someStatements(c, v))
		out, err := convert.From(v, []byte(text), o)
		switch {
		case errors.Is(err, convert.ErrTooLarge):
			return false
		case err != nil:
			t.Fatalf("%s: %v\n%s", v, err, text)
		}
		noErrors(t, out, text)
		for range 15 {
			path := inCase.Replace(somePath(c))
			for _, crawler := range []string{"foo", "bar", "other"} {
				was := converted(t, v, &convert.Conversion{Robots: text, TDMRep: text, License: text}, crawler)
				is := policyOf(t, "", out.Robots, "", crawler)
				f := acap.Parse(home+"/robots.txt", []byte(out.Robots))
				compare(t, was, is, path, func(u acap.Usage, a, b acap.Decision) string {
					switch {
					case !a.Allowed && b.Allowed:
						return "permitted now"
					case v == convert.AIPREF && !was.Decide(acap.Crawl, resourceOf(t, path)).Allowed:
						// it says nothing there
					case u == acap.Crawl && remarked(f, out.Remarks, crawler, path):
					case a.Allowed && !b.Allowed && sameCase(f, path) && !listed(f, out.Remarks, crawler, u, path):
						return "prohibited now, and no remark says so"
					}
					return ""
				}, text, out.Robots, out.Remarks)
			}
		}
	}
	return true
}

// randomly calls look with random data. A few inputs may be too complex: several patterns with many
// asterisks each have too many paths in common.
func randomly(t *testing.T, look func(*testing.T, []byte) (done bool)) {
	r, tooLarge := rand.New(rand.NewPCG(8, 9)), 0
	for range 40 {
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if !look(t, data) {
			tooLarge++
		}
		if t.Failed() {
			return
		}
	}
	if tooLarge > 3 {
		t.Errorf("%d of 40 small files are too large", tooLarge)
	}
}

func TestToNewerRandom(t *testing.T) { randomly(t, lookAtTo) }

func FuzzToNewer(f *testing.F) { f.Fuzz(func(t *testing.T, data []byte) { lookAtTo(t, data) }) }

func TestFromNewerRandom(t *testing.T) { randomly(t, lookAtFrom) }

func FuzzFromNewer(f *testing.F) { f.Fuzz(func(t *testing.T, data []byte) { lookAtFrom(t, data) }) }

// TestNewerIsBounded tests that hostile files are converted or refused, and that this takes limited
// time.
func TestNewerIsBounded(t *testing.T) {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i, i*7)
		}
		return b.String()
	}
	many := lines(30_000, "{\"location\": \"/%d/\", \"tdm-reservation\": 1, \"x\": %d},\n")
	const group, record = "User-agent: *\n", "ACAP-crawler: *\n"
	for name, c := range map[string]struct {
		direction, vocabulary, text string
		tooLarge                    bool
	}{
		"stars": {"to", convert.AIPREF, record +
			lines(700, "ACAP-disallow-index: /*%d*\nACAP-allow-index: /*%d*x\n"), true},
		"plain": {"to", convert.AIPREF, record +
			lines(900, "ACAP-disallow-index: /%d/\nACAP-allow-index: /%d/x\n"), false},
		"fields":   {"to", convert.RSL, record + lines(15_000, "ACAP-disallow-index: /%d/%d\n"), true},
		"crawlers": {"to", convert.TDMRep, lines(4_000, "ACAP-crawler: bot%d\nACAP-disallow-other: /%d\n"), true},
		"named":    {"to", convert.AIPREF, lines(300, "ACAP-crawler: bot%d\nACAP-disallow-index: /%d\n"), false},
		"named groups": {"from", convert.AIPREF,
			lines(100, "User-agent: bot%d\nContent-Usage: /%d search=n, train-ai=n\n"), false},
		"long":  {"to", convert.RSL, record + "ACAP-disallow-index: /" + strings.Repeat("*a", 2000), true},
		"usage": {"from", convert.AIPREF, group + lines(10_000, "Content-Usage: /%d/%d search=n\n"), true},
		"usage plain": {"from", convert.AIPREF, group +
			lines(900, "Content-Usage: /%d/%d/ search=n, train-ai=n\n"), false},
		"labels": {"from", convert.AIPREF, group + "Content-Usage: " +
			lines(20_000, "a%d=%d, ") + "search=n\n", false},
		"signals": {"from", convert.ContentSignal, group +
			lines(9_000, "Content-Signal: search=no, a%d=%d\n"), false},
		"groups": {"from", convert.ContentSignal,
			lines(9_000, "User-agent: bot%d\nContent-Signal: search=no, a=%d\n"), true},
		"locations": {"from", convert.TDMRep, "[" +
			lines(900, "{\"location\": \"/%d/%d\", \"tdm-reservation\": 1},") + "7]", false},
		"contents": {"from", convert.RSL, "<rsl xmlns=\"https://rslstandard.org/rsl\">" + lines(4_000,
			"<content url=\"/%d/%d\"><license><prohibits type=\"usage\">all</prohibits></license></content>") +
			"</rsl>", true},
		"megabytes": {"from", convert.TDMRep, "[" + many + "]", true},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			out, err := translation(c.direction+" "+c.vocabulary)([]byte(c.text), convert.Options{AnyCase: true})
			t.Log(time.Since(start), err)
			if errors.Is(err, convert.ErrTooLarge) != c.tooLarge {
				t.Errorf("%v", err)
			}
			if out != nil {
				noErrors(t, out, "")
			}
		})
	}
}
