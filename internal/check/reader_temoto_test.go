package check

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// temotoOf returns the decision of the library, called directly.
func temotoOf(t *testing.T, file, name, path string) bool {
	t.Helper()
	r, err := robotstxt.FromString(file)
	if err != nil {
		t.Fatalf("%v:\n%s", err, file)
	}
	return r.TestAgent(path, name)
}

// TestTemotoIsTheLibrary tests that the reading gives the same answers as the library for the whole
// file. Exchanging Allow and Disallow in the line that the reading names must change the answer.
// Exchanging them in any other line must not change it.
func TestTemotoIsTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	contrary := strings.NewReplacer("Disallow:", "Allow:", "Allow:", "Disallow:", " disallow ", " allow ")
	decided := 0
	for range 150 {
		file, _ := mixed(r)
		file = "User-agent: *\n" + strings.ReplaceAll(file, "ACAP-allow-crawl: /a\n",
			"ACAP-allow-crawl: /a disallow /b\n")
		d := NewDocument(robots, []byte(file))
		temoto, left, err := d.Temoto()
		if err != nil || len(left()) > 0 {
			t.Fatalf("%v %q:\n%s", err, left(), file)
		}
		for _, name := range []string{"", "one", "two", "oneself"} {
			c := acap.Crawler{}
			if name != "" {
				c.Names = []string{name}
			}
			judge := temoto(c)
			for range 8 {
				p := path(r)
				a := judge(acap.Crawl, addressOf(t, p)).whole()
				if want := temotoOf(t, file, name, addressOf(t, p).URL.RequestURI()); a.Allowed != want ||
					a.Unknown != "" {
					t.Fatalf("%q at %s: %+v, want %v:\n%s", name, p, a, want, file)
				}
				lines := strings.Split(file, "\n")
				for i, line := range lines {
					lines[i] = contrary.Replace(line)
					turned := temotoOf(t, strings.Join(lines, "\n"), name,
						addressOf(t, p).URL.RequestURI()) != a.Allowed
					if is := a.Because != nil && a.Because.Line == i+1; is != turned {
						t.Fatalf("%q at %s: line %d decides: %v; named: %v of\n%s", name, p, i+1, turned, a.Because,
							file)
					}
					lines[i] = line
				}
				if a.Because != nil {
					decided++
				}
			}
		}
	}
	if decided < 500 {
		t.Errorf("%d answers rest on a line", decided)
	}
}

// TestTemotoCauses tests the reason that is given if the library decides differently from RFC 9309.
func TestTemotoCauses(t *testing.T) {
	for _, c := range []struct {
		file, name, path string
		line             int // the number of the deciding line; 0 if there is none
		want             string
	}{
		{"User-agent: *\nDisallow: /a\nACAP-crawler: *\nACAP-disallow-crawl: /b", "", "/a", 2, readsNoACAP},
		{"User-agent: *\nAllow: /\nACAP-crawler: *\nACAP-allow-index: /a disallow /b", "", "/b", 4, withinACAP},
		{"User-agent: *\nDisallow: b", "", "/b", 2, withinLine},
		{"User-agent: *\nAllow: /\nHost: x disallow /b", "", "/b", 3, withinLine},
		{"User-agent: *\nDisallow:\nUser-agent: one/2.0\nDisallow: /", "one", "/b", 0, byVersion},
		{"User-agent: *\nDisallow: /\nUser-agent: one/2.0\nDisallow: /a", "one", "/b", 2, byVersion},
		{"User-agent: *\nDisallow: /\nUser-agent: one! two\nDisallow: /a", "one", "/b", 2, byVersion},
		{"User-agent: *\nDisallow: /\nUser-agent: one\nNoindex: /a", "one", "/b", 2, passesOver},
		{"User-agent: *\nDisallow: *", "one", "/b", 0, voidRule},
		{"User-agent: on\nDisallow: /", "one", "/b", 2, byPrefix},
		{"User-agent: *\nDisallow: /b*c", "", "/a/b/c", 2, unanchored},
		{"User-agent: *\nDisallow: /b$", "", "/a/b", 2, unanchored},
		{"User-agent: *\nDisallow: /%62", "", "/b", 0, byEncoding},
		{"User-agent: *\nDisallow: /b\nAllow: /b", "", "/b", 2, firstOfLength},
		{"User-agent: *\nAllow: /bb.html\nDisallow: /*.html", "", "/bb.html", 3, byExpression},
	} {
		temoto, _, err := NewDocument(robots, []byte(c.file)).Temoto()
		if err != nil {
			t.Fatalf("%v:\n%s", err, c.file)
		}
		who := acap.Crawler{}
		if c.name != "" {
			who.Names = []string{c.name}
		}
		a := temoto(who)(acap.Crawl, addressOf(t, c.path)).whole()
		line := 0
		if a.Because != nil {
			line = a.Because.Line
		}
		if line != c.line || a.Note != c.want {
			t.Errorf("%s of\n%s\nby line %d: %s; want line %d: %s", c.path, c.file, line, a.Note, c.line, c.want)
		}
	}
}

// TestTemotoBounds tests a file that the library rejects, and the parts that the library does not
// receive because of the limits.
func TestTemotoBounds(t *testing.T) {
	if _, _, err := NewDocument(robots, []byte("Disallow: /a\n")).Temoto(); err == nil {
		t.Error("a rule before any group is no error")
	}
	stars := "User-agent: *\nDisallow: /a\nDisallow: /" + strings.Repeat("*b", maxTemotoStars+1) + "\n"
	temoto, left, err := NewDocument(robots, []byte(stars)).Temoto()
	if err != nil || len(left()) != 1 || !strings.Contains(left()[0], "line 3") {
		t.Fatalf("%v %q", err, left())
	}
	judge := temoto(acap.Crawler{})
	if a := judge(acap.Crawl, addressOf(t, "/"+strings.Repeat("b", 20))); a.Unknown == "" {
		t.Errorf("%+v", a)
	}
	if a := judge(acap.Crawl, addressOf(t, "/a")).whole(); a.Allowed || a.Because.Line != 2 {
		t.Errorf("%+v", a)
	}
	if a := judge(acap.Crawl, addressOf(t, "/"+strings.Repeat("a", maxTemotoPath))); a.Unknown == "" ||
		len(left()) != 3 {
		t.Errorf("%+v %q", a, left())
	}
}

// hostile returns files within the limits that take the library as long as possible.
func hostile() map[string]string {
	fill := func(line string, most int) string { return strings.Repeat(line, most/len(line)) }
	return map[string]string{
		"plain": "User-agent: *\n" + fill("Disallow: /a\n", maxTemotoText-20),
		"wild":  "User-agent: *\n" + fill("Disallow: /"+strings.Repeat("*a", maxTemotoStars-1)+"$\n", maxTemotoWild),
		"long": "User-agent: *\n" + fill("Disallow: /"+strings.Repeat("*"+strings.Repeat("a", 250), maxTemotoStars)+
			"b\n", maxTemotoWild),
		"agents": strings.Repeat("User-agent: *\n", 5000) + fill("Disallow: /a\n", maxTemotoText/3),
		"twice": fill(strings.Repeat("User-agent: *\n", maxTemotoAgents)+strings.Repeat("Disallow: /a\n",
			maxTemotoAgents), maxTemotoText),
		"groups": fill("User-agent: abcdefgh\nDisallow:/*b\n", maxTemotoWild),
	}
}

// TestTemotoEnds tests that no file within the limits takes the reading long, and that the limit on
// work stops the reading if there are many addresses.
func TestTemotoEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("large files")
	}
	for name, file := range hostile() {
		temoto, _, err := NewDocument(robots, []byte(file)).Temoto()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		judge := temoto(acap.Crawler{})
		at := addressOf(t, "/"+strings.Repeat("a", maxTemotoPath-1))
		if a := judge(acap.Crawl, at).whole(); a.Unknown != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func BenchmarkTemotoHostile(b *testing.B) {
	for name, file := range hostile() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				temoto, _, err := NewDocument(robots, []byte(file)).Temoto()
				if err != nil {
					b.Fatal(err)
				}
				judge := temoto(acap.Crawler{})
				at := addressOf(b, "/"+strings.Repeat("a", maxTemotoPath-1))
				for judge(acap.Crawl, at).whole().Unknown == "" {
				}
			}
		})
	}
}
