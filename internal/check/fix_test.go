package check

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/acapcrawl/acapcrawl/acap"
)

var update = flag.Bool("update", false, "write what comes out into the files of testdata")

// fixCase is a text with the expected result of Repair. The comment of its archive is the reason.
type fixCase struct {
	name    string
	archive *txtar.Archive
	kind    Kind
}

func (c *fixCase) text(name string) []byte {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return written(f.Data)
		}
	}
	return nil
}

func fixCases(t testing.TB) (out []*fixCase) {
	names, err := filepath.Glob("testdata/fix/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kind := RobotsKind
		for _, k := range []Kind{ReferenceKind, TDMRepKind, RSLKind} {
			if strings.HasPrefix(filepath.Base(name), string(k)) {
				kind = k
			}
		}
		out = append(out, &fixCase{name, a, kind})
	}
	return out
}

func TestRepair(t *testing.T) {
	for _, c := range fixCases(t) {
		src, want := c.text("before"), c.text("after")
		if len(bytes.TrimSpace(c.archive.Comment)) == 0 {
			t.Errorf("%s gives no reason", c.name)
		}
		got, mended := Repair(src, c.kind, everyVocabulary(t), nil)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, got, want)
		}
		var codes []string
		for _, f := range mended {
			codes = append(codes, f.Code)
		}
		if want := strings.Fields(string(c.text("mended"))); !slices.Equal(codes, want) {
			t.Errorf("%s: mended %v, want %v", c.name, codes, want)
		}
		keeps(t, src, c.kind)
	}
}

// FuzzRepair tests that a corrected finding is not reported again, that a second repair changes
// nothing, that lines without a correction stay the same, and that corrections for codes that are
// not in the map restoring permit nothing new.
func FuzzRepair(f *testing.F) {
	for _, c := range fixCases(f) {
		f.Add(c.text("before"), c.kind == ReferenceKind)
	}
	f.Fuzz(func(t *testing.T, src []byte, referred bool) {
		if len(src) > 4000 {
			return
		}
		switch kind := Guess("", src); {
		case referred:
			keeps(t, src, ReferenceKind)
		case kind == TDMRepKind || kind == RSLKind:
			keeps(t, src, kind)
		default:
			keeps(t, src, RobotsKind)
		}
	})
}

func keeps(t *testing.T, src []byte, kind Kind) {
	t.Helper()
	o := everyVocabulary(t)
	out, _ := Repair(src, kind, o, nil)
	if again, mended := Repair(out, kind, o, nil); !bytes.Equal(again, out) || len(mended) > 0 {
		t.Errorf("%q is mended to %q, and that to %q", src, out, again)
	}
	for range maxRounds { // apply one round of corrections after the other
		words, moves := Fixes(src, onItsOwn(src, kind, o, nil))
		fixes := words
		if len(words) == 0 {
			fixes = moves
		}
		if len(fixes) == 0 {
			break
		}
		next, done := apply(src, fixes)
		named := map[int]bool{}
		for _, f := range done {
			named[f.Finding.Line] = true
		}
		if line := lostLine(src, next, named); line != "" {
			t.Errorf("%q becomes %q without %q", src, next, line)
		}
		plain := slices.DeleteFunc(slices.Clone(fixes), func(f Fix) bool { return restoring[f.Finding.Code] })
		if len(plain) > 0 && kind == RobotsKind {
			same, _ := apply(src, plain)
			if more := permits(src, same, o); more != "" {
				t.Errorf("%q becomes %q: %s", src, same, more)
			}
		}
		src = next
	}
}

// lostLine returns a line of src that is missing in out. It ignores the lines whose numbers are in
// named. The other lines must be in out in the same order, byte by byte.
func lostLine(src, out []byte, named map[int]bool) string {
	before, after := newSource(src), newSource(out)
	at := 1
	for n := 1; n < len(before.starts); n++ {
		if named[n] {
			continue
		}
		line := before.line(n)
		for at < len(after.starts) && after.body(at) != before.body(n) {
			at++
		}
		if at == len(after.starts) {
			return line
		}
		at++
	}
	return ""
}

// permits returns a description of something that out permits and src does not, or "".
func permits(src, out []byte, o Options) string {
	before, after := acap.Parse(somewhere, src), acap.Parse(somewhere, out)
	paths := []string{"/", "/x"}
	for _, f := range []*acap.File{before, after} {
		for _, s := range f.Statements() {
			for _, p := range s.Patterns {
				paths = append(paths, acap.Examples(p)...)
			}
		}
		for _, g := range f.Groups() {
			for _, r := range g.Rules {
				paths = append(paths, acap.Examples(r.Pattern)...)
			}
		}
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	crawlers := []acap.Crawler{{}, {Purposes: []string{}}, {Purposes: []string{"news"}},
		{Cannot: []string{"max-length"}}}
	for _, name := range before.Crawlers()[:min(len(before.Crawlers()), 3)] {
		crawlers = append(crawlers, acap.Crawler{Names: []string{name}})
	}
	for _, c := range crawlers {
		c.Vocabularies = o.Vocabularies
		then, now := before.Policy(c, left(before, c)...), after.Policy(c, left(after, c)...)
		for _, path := range paths[:min(len(paths), 60)] {
			u, err := url.Parse("http://robots.invalid" + path)
			if err != nil {
				continue
			}
			r := acap.NewResource(u)
			for _, usage := range append(acap.Usages(), acap.NewerUsages()...) {
				if a, b := then.Decide(usage, r), now.Decide(usage, r); b.Allowed && !a.Allowed {
					return fmt.Sprintf("%v may %s %s: %s; %s", c.Names, usage, path, a.Why(), b.Why())
				}
			}
		}
	}
	return ""
}

func left(f *acap.File, c acap.Crawler) []acap.Reference {
	refs := f.References(c)
	for i := range refs {
		refs[i].File = acap.ParseReferred("", nil)
	}
	return refs
}

// TestRepairRandom runs the test of FuzzRepair on random files that consist of lines of the test
// cases.
func TestRepairRandom(t *testing.T) {
	var lines []string
	for _, c := range fixCases(t) {
		if c.kind == RobotsKind || c.kind == ReferenceKind {
			lines = append(lines, slices.Collect(strings.Lines(string(c.text("before"))))...)
		}
	}
	lines = append(lines, "ACAP-crawler: abot\n", "User-agent: abot\n", "ACAP-usage-purpose: news\n",
		"ACAP-allow-crawl: /\n", "ACAP-allow-index: /a\n", "ACAP-allow-present: /\n",
		"Allow: /\n", "time-limit=3-days\n", "ACAP-ignore-conventional-records\n", "ACAP-disallow-other: /\n",
		"##ACAP version=1.1\n", "ACAP-permissions-reference: /x\n")
	random := rand.New(rand.NewPCG(8, 15))
	for range 3000 {
		var b strings.Builder
		for range 2 + random.IntN(10) {
			b.WriteString(lines[random.IntN(len(lines))])
		}
		keeps(t, []byte(b.String()), RobotsKind)
	}
}
