package acap

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
)

// found returns the findings with one code about a robots.txt at host.example.
func found(text, code string) []Finding {
	all := Parse("http://host.example/robots.txt", []byte(text)).Findings
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Code != code })
}

// TestFindingsOfTheFileStay tests that findings about a file as a whole are reported even if there
// are many other findings, and that notices do not displace errors.
func TestFindingsOfTheFileStay(t *testing.T) {
	errors := strings.Repeat("Disallow: /a\n", 2000)
	notices := strings.Repeat("nothing: here\n", 2000)
	for code, text := range map[string]string{
		"html":           "<html>\n" + errors,
		"too-long":       errors + strings.Repeat("#", MaxSize),
		"wrong-encoding": "\xff\xfe" + strings.ReplaceAll(errors, "", "\x00")[1:],
		"orphan-field":   notices + "Disallow: /a\n",
	} {
		if len(found(text, code)) == 0 {
			t.Errorf("%s is lost among other findings", code)
		}
	}
	if n := len(found("<html>\n"+strings.Repeat("<p>a: b\n", 10), "unknown-line")); n > 0 {
		t.Errorf("%d lines of HTML are reported one by one", n)
	}
}

// TestNoText tests that a file that is not UTF-8 text is reported, with the way in which crawlers
// read it.
func TestNoText(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte("User-agent: *\nDisallow: /\n")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	wide := strings.ReplaceAll("User-agent: *\nDisallow: /\n", "", "\x00")
	const empty = "find no rule in it, as if it were empty, and may crawl everything"
	for _, c := range []struct{ name, text, code, says string }{
		{"gzip", zipped.String(), "not-text", empty},
		{"zstd", "\x28\xb5\x2f\xfd\x04\x00", "not-text", empty},
		{"a picture", "\x00\x00\x01\x00\x03\x00\x30\x30\x00\x00", "not-text", empty},
		{"UTF-16, little-endian", "\xff\xfe" + wide[1:], "wrong-encoding", "is converted here"},
		{"UTF-16, big-endian", "\xfe\xff" + wide[:len(wide)-1], "wrong-encoding", "is converted here"},
		{"UTF-16 without a mark", wide[1:], "wrong-encoding", "is not converted"},
		{"a NUL byte", "User-agent: *\nDisallow: /a\x00b\nDisallow: /c\x00\n", "nul-byte", "(2 lines have one)"},
	} {
		switch f := found(c.text, c.code); {
		case len(f) != 1:
			t.Errorf("%s: %d findings of %s", c.name, len(f), c.code)
		case !strings.Contains(f[0].Message, c.says):
			t.Errorf("%s: %q does not say %q", c.name, f[0].Message, c.says)
		}
	}
	if f := found(zipped.String()+"\nnothing: here\nno field\n", "unknown-line"); len(f) > 0 {
		t.Errorf("lines of a file that is no text are listed: %v", f)
	}
	for _, code := range []string{"not-text", "wrong-encoding", "nul-byte"} {
		if f := found("\ufeffUser-agent: *\nDisallow: /caf\u00e9\n", code); len(f) > 0 {
			t.Errorf("a plain file: %v", f)
		}
	}
}

// TestInvisible tests that invisible characters are reported at their place, unless a script needs
// them.
func TestInvisible(t *testing.T) {
	for line, column := range map[string]int{
		"Disallow: /a\u00a0":                   13,
		"Disallow:\u00a0/a":                    10,
		"\ufeffDisallow: /a":                   1,
		"Disallow: /a\u200bb":                  13,
		"Disallow: /a\u200e":                   13,
		"Disallow: /a\u200cb":                  13,
		"Dis\u00adallow: /a":                   4,
		"Sitemap: http://host.example/s\u200b": 31,
		"ACAP-disallow-crawl: /a\u2066b":       24,
		"Disallow: /\u0645\u06cc\u200c\u0631":  0, // Persian needs the joiner
		"Disallow: /a # b\u00a0c":              0,
		"\u00a0":                               0,
		"Words\u00a0that are no field":         0,
		"Disallow: /caf\u00e9":                 0,
	} {
		f := found("User-agent: *\n"+line+"\n", "invisible-character")
		switch {
		case column == 0 && len(f) > 0:
			t.Errorf("%q: %v", line, f)
		case column > 0 && (len(f) != 1 || f[0].Column != column || f[0].Length != 1 || f[0].Severity != Warning):
			t.Errorf("%q: %+v, want one in column %d", line, f, column)
		}
	}
}

// TestHashInValue tests that a hash is reported if it seems to cut off a part of a value, and not
// if prose follows it.
func TestHashInValue(t *testing.T) {
	for line, want := range map[string]bool{
		"Disallow: /a#b":                             true,
		"Disallow: /*/flights#":                      true,
		"Disallow: /search#/?q=":                     true,
		"ACAP-disallow-crawl: /a#b until the summer": true,
		"Disallow: /a# the old pages":                false,
		"Disallow: /a#the old pages":                 false,
		"Disallow: /a #b":                            false,
		"Crawl-delay: 10#seconds":                    false,
		"User-agent: abot#and others":                false,
		"Rule#1 of this site is courtesy":            false,
		`$("#menu").show();`:                         false,
	} {
		if got := len(found("User-agent: *\n"+line+"\n", "hash-in-value")) > 0; got != want {
			t.Errorf("%q: reported %v, want %v", line, got, want)
		}
	}
}
