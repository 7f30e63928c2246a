package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

func newer(t testing.TB, names ...string) []acap.Vocabulary {
	t.Helper()
	list, err := preference.Vocabularies(names, preference.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// preferringFile returns a small random robots.txt with ACAP fields and preferences.
func preferringFile(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	path := func() string { return pick("/", "/a", "/a/", "/*.gif$", "/a*c", "/b$") }
	var b strings.Builder
	for range 3 + r.IntN(10) {
		switch r.IntN(6) {
		case 0:
			b.WriteString("User-agent: " + pick("*", "one", "two") + "\n")
		case 1:
			b.WriteString("Disallow: " + path() + "\n")
		case 2, 3:
			fmt.Fprintf(&b, "Content-Usage: %s%s=%s\n", pick("", path()+" "), pick("train-ai", "ai-use", "search"),
				pick("y", "n"))
		case 4:
			fmt.Fprintf(&b, "Content-Signal: %s=%s\n", pick("ai-train", "ai-input", "search"), pick("yes", "no"))
		default:
			fmt.Fprintf(&b, "ACAP-crawler: *\nACAP-%s-%s: %s\n", pick("allow", "disallow"),
				pick("index", "other", "present"), path())
		}
	}
	return b.String()
}

// TestContrastsAreTrue tests that each reported contrast is one, that none is missed at the
// examples, and that a version does not differ from itself.
func TestContrastsAreTrue(t *testing.T) {
	r, found := rand.New(rand.NewPCG(8, 2)), 0
	for range 300 {
		text := preferringFile(r)
		d := NewDocument(robots, []byte(text))
		d.Vocabularies = newer(t, preference.Names()...)
		ask := Questions(root, d).Preferences(nil, d)
		list, err := Opposed(t.Context(), []*Document{d}, ask)
		if err != nil {
			t.Fatal(err)
		}
		said := map[string]bool{}
		for _, c := range list {
			for _, a := range c.Addresses {
				said[fmt.Sprint(c.Crawler.Names, c.Usage, a.URL)] = true
			}
		}
		for _, c := range ask.Crawlers {
			c.Vocabularies = d.Vocabularies
			p := d.File.Policy(c)
			for _, a := range ask.Addresses {
				for _, u := range ask.Usages {
					opinions := p.Opinions(u, acap.NewResource(a.URL))
					differ := slices.ContainsFunc(opinions,
						func(s acap.Said) bool { return s.Verdict != opinions[0].Verdict })
					if key := fmt.Sprint(c.Names, u, a.URL); differ != said[key] {
						t.Errorf("%s: reported %v\n%s", key, said[key], text)
					}
				}
			}
		}
		found += len(list)
		if same, err := restated(t.Context(), d, d, ask); err != nil || len(same) > 0 {
			t.Errorf("a version differs from itself: %v %v\n%s", same, err, text)
		}
	}
	if found == 0 {
		t.Error("no contrast was found")
	}
}

// TestRestated tests what two versions of files say, in each vocabulary.
func TestRestated(t *testing.T) {
	all := newer(t, preference.Names()...)
	robotsFile := func(text string) *Document {
		d := NewDocument(robots, []byte(text))
		d.Vocabularies = all
		return d
	}
	statements := func(kind Kind) func(string) *Document {
		return func(text string) *Document { return NewStatements("http://h.example", kind, []byte(text), all) }
	}
	const group, rsl = "User-agent: *\n",
		`<rsl xmlns="https://rslstandard.org/rsl"><content url="/a"><license>%s</license></content></rsl>`
	for name, c := range map[string]struct {
		read          func(string) *Document
		before, after string
		want          []string
	}{
		"aipref": {robotsFile, group + "Content-Usage: /a train-ai=n", group + "Content-Usage: /a train-ai=y",
			[]string{"aipref train-ai /a prohibit permit"}},
		"silence": {robotsFile, group + "Content-Signal: ai-input=no", group,
			[]string{"content-signal ai-use / prohibit unknown"}},
		"licence lines": {robotsFile, group, group + "License: https://h.example/l.xml",
			[]string{"rsl train-ai / unknown agreement",
				"rsl ai-use / unknown agreement", "rsl ai-index / unknown agreement", "rsl tdm / unknown agreement"}},
		"reservation": {statements(TDMRepKind), `[{"location": "/a", "tdm-reservation": 1}]`,
			`[{"location": "/a", "tdm-reservation": 1, "tdm-policy": "/p"}]`,
			[]string{"tdmrep train-ai /a prohibit agreement",
				"tdmrep ai-use /a prohibit agreement", "tdmrep ai-index /a prohibit agreement",
				"tdmrep tdm /a prohibit agreement"}},
		"licence": {statements(RSLKind), fmt.Sprintf(rsl, `<prohibits type="usage">ai-train</prohibits>`),
			fmt.Sprintf(rsl, `<prohibits type="usage">ai-train ai-input</prohibits>`),
			[]string{"rsl ai-use /a unknown prohibit"}},
		"comments": {robotsFile, group + "Content-Usage: train-ai=n",
			"# moved\n" + group + "Content-Usage: train-ai=n", nil},
	} {
		before, after := c.read(c.before), c.read(c.after)
		ask := Questions(root, before, after).Preferences(nil, before, after)
		list, err := restated(t.Context(), before, after, ask)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range list {
			got = append(got, fmt.Sprint(one.Vocabulary, " ", one.Usage, " ", one.Addresses[0].URL.Path, " ",
				one.Said[0].Verdict, " ", one.Said[1].Verdict))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
