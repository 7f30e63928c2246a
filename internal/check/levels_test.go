package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// FuzzLevels tests that comments in a hostile text suppress and lower findings about it, but never
// raise one, and that each suppressed finding is counted.
func FuzzLevels(f *testing.F) {
	for _, text := range []string{
		"# acapcrawl: ignore duplicate-field\nUser-agent: *\nDisallow: /a\nDisallow: /a\n",
		"#acapcrawl:warning orphan-field -- why\nDisallow: /a\n",
		"# acapcrawl:\n# acapcrawl: ignore\n# acapcrawl: raise html, \x00,\u00a0x -- ,,\n<html>\n",
		"\u200b# ACAPCRAWL: notice rule-without-slash,html\nUser-agent: *\nDisallow: a\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 {
			return
		}
		before, after := Report{}, Report{}
		before.Robots("robots.txt", []byte(text), Options{Now: newYear})
		after.Robots("robots.txt", []byte(text), Options{Now: newYear})
		_, wrong := commentLevels(after.Texts[0])
		after.Apply(nil)
		for _, finding := range after.Findings {
			asIs := func(b acap.Finding) bool {
				return b.Code == finding.Code && b.Line == finding.Line && b.Message == finding.Message &&
					rank(b.Severity) <= rank(finding.Severity)
			}
			if finding.Code != "check-comment" && !slices.ContainsFunc(before.Findings, asIs) {
				t.Errorf("%q: %+v was raised or added", text, finding)
			}
		}
		lost := len(before.Findings) + len(wrong) - len(after.Findings)
		if noted := len(after.Notes) > len(before.Notes); lost < 0 || lost > 0 != noted {
			t.Errorf("%q: %d findings are suppressed, the notes are %q", text, lost, after.Notes)
		}
	})
}

// TestLevelsOfUnknownCodes tests that an unknown code, or a code with two levels, causes an error
// that names the code.
func TestLevelsOfUnknownCodes(t *testing.T) {
	levels := Levels{}
	if err := levels.Set(Ignored, "html", "agent-name"); err != nil {
		t.Error(err)
	}
	for code, want := range map[string]string{
		"htlm": `"htlm" is not a code of check (did you mean html?)`,
		"":     `"" is not a code of check`,
		"html": `"html" has two levels, ignore and notice`,
	} {
		if err := levels.Set(acap.Notice, code); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", code, err, want)
		}
	}
}

// TestManyWrongComments tests that many wrong comments do not take longer than correct ones, and
// that a finding says if the list of findings is cut.
func TestManyWrongComments(t *testing.T) {
	for _, lines := range [][]string{
		{"# acapcrawl: ignore " + strings.Repeat("x,", acap.MaxSize/3)},
		slices.Repeat([]string{"# acapcrawl: nonsense"}, 1000),
	} {
		_, wrong := commentLevels(Text{Kind: RobotsKind, Lines: lines})
		if len(wrong) != maxTold+1 || !strings.Contains(wrong[maxTold].Message, "there may be more") {
			t.Errorf("%d findings, the last is %+v", len(wrong), wrong[len(wrong)-1])
		}
	}
}
