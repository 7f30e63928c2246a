package check

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/acapcrawl/acapcrawl/acap"
)

// FuzzReport tests that every form of a report is safe for any text: it contains no terminal
// sequences of the text, and programs can read it.
func FuzzReport(f *testing.F) {
	for _, c := range fixCases(f) {
		f.Add(c.text("before"), byte(0))
	}
	f.Add([]byte("ACAP-crawler: *\nACAP-disallow-\x1b[2J\u202e: /\xff ::error::x\r\n"), byte(1))
	f.Add([]byte("<meta name=robots content='ACAP allow-\x1b[31mx ](http://h) {0}'><p class='the-acap:\u2066'>"),
		byte(2))
	f.Add([]byte("X-Robots-Tag: noindx\x07, \u202e: ::\n\nRobots-Tag: \"a;b\n"), byte(3))
	f.Fuzz(func(t *testing.T, src []byte, kind byte) {
		if len(src) > 4000 {
			return
		}
		r := &Report{}
		name := "a\x1b[1m,b:c\n.txt"
		switch Kinds()[int(kind)%len(Kinds())] {
		case RobotsKind:
			r.Robots(name, src, Options{})
		case ReferenceKind:
			r.Referred(name, src, Options{})
		case PageKind:
			r.PageAlone(name, PageOf(name, src), Options{}, nil)
		case HeaderKind:
			r.Header(name, src, Options{}, nil)
		}
		for _, s := range []Style{{}, {Colour: true, All: true}} {
			var b bytes.Buffer
			if err := r.WriteText(&b, s); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			for _, code := range []string{boldOn, styleOff, colours[acap.Error], colours[acap.Warning],
				colours[acap.Notice]} {
				if s.Colour {
					text = strings.ReplaceAll(text, code, "")
				}
			}
			if i := strings.IndexFunc(text, func(c rune) bool {
				return unicode.IsControl(c) && c != '\n' && c != '\t' || unicode.Is(unicode.Bidi_Control, c)
			}); i >= 0 {
				t.Errorf("%q holds %q", text, text[i:])
			}
		}
		var b bytes.Buffer
		if err := r.WriteSARIF(&b, ""); err != nil || !json.Valid(b.Bytes()) {
			t.Errorf("%v: %q", err, b.String())
		}
		b.Reset()
		if err := r.WriteGitHub(&b); err != nil {
			t.Fatal(err)
		}
		commands := 0
		for line := range strings.Lines(b.String()) {
			commands++
			if !strings.HasPrefix(line, "::") ||
				strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool {
					return unicode.IsControl(c) &&
						c != '\t'
				}) {
				t.Errorf("%q is no command", line)
			}
		}
		if commands != len(r.Findings) {
			t.Errorf("%d commands for %d findings", commands, len(r.Findings))
		}
		b.Reset()
		if err := r.Tests().WriteJUnit(&b); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWhoeverIsNamed tests that statements for certain crawlers are checked: in files to which a
// reference refers only these crawlers, and in requests that only these crawlers may execute. No
// finding is reported twice.
func TestWhoeverIsNamed(t *testing.T) {
	src := []byte("ACAP-crawler: abot\nACAP-permissions-reference: /a.txt\nACAP-crawler: " +
		"bbot\nACAP-permissions-reference: /b.txt\n" +
		"ACAP-crawler: *\nACAP-request-re-crawl: /x\nACAP-crawler: cbot\nACAP-disallow-crawl: " +
		"/x\nACAP-disallow-indx: /y\n")
	refs := Parse("robots.txt", src).References(Everyone(Parse("robots.txt", src), Options{}))
	if len(refs) != 2 {
		t.Fatal(refs)
	}
	refs[0].File = acap.ParseReferred("a.txt", []byte("ACAP-crawler: dbot\nACAP-disallow-folow: /\n"))
	refs[1].Err = errors.New("HTTP status 503")
	r := &Report{}
	r.Robots("robots.txt", src, Options{}, refs...)
	told := map[string]int{}
	for _, f := range r.Findings {
		told[f.URL+" "+f.Code]++
	}
	for _, want := range []string{"robots.txt refused-request", "robots.txt unavailable-reference",
		"robots.txt unknown-usage", "a.txt unknown-usage"} {
		if told[want] != 1 {
			t.Errorf("%s is told %d times", want, told[want])
		}
	}
	if len(r.Notes) > 0 {
		t.Errorf("%q", r.Notes)
	}
}
