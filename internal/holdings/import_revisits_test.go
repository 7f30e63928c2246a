package holdings

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/warc"
)

// TestImportRevisits checks that a revisit record finds the payload that it repeats in each file of an import, whatever
// the order, and that it is reported why a payload is missing.
func TestImportRevisits(t *testing.T) {
	digest := "WARC-Payload-Digest: " + warc.Digest([]byte("<p>A gull.")) + "\r\n"
	page := foreign{url: c, block: answered, more: digest} // the revisit record names another address, /b
	again := repeated(a, "<p>A gull.")
	part := foreign{url: c, block: strings.Replace(answered, "200 OK", "206 Part", 1)}
	for name, test := range map[string]struct {
		robots string
		files  [][]foreign
		want   string
		why    string // part of the reason of the last record
	}{
		"the payload before": {"", [][]foreign{{page, again}}, "[imported /c imported /a]", ""},
		"the payload after":  {"", [][]foreign{{again, page}}, "[imported /c imported /a]", ""},
		"in another file":    {"", [][]foreign{{page}, {again}}, "[imported /c imported /a]", ""},
		"in a later file":    {"", [][]foreign{{again}, {page}}, "[imported /c imported /a]", ""},
		"nowhere":            {"", [][]foreign{{again}, {}}, "[skipped /a]", "not stored: " + b},
		"in a page that is refused": {"ACAP-disallow-preserve: /c", [][]foreign{{again}, {page}},
			"[refused /c skipped /a]", c + ", which was not imported: prohibited"},
		"in a part of a page": {"", [][]foreign{{part, again}}, "[skipped /c skipped /a]", "a part of a page (206)"},
		"and may itself not be kept": {"ACAP-disallow-preserve: /a", [][]foreign{{again, page}},
			"[imported /c refused /a]", "prohibited"},
		"with its rendered document ": {"", [][]foreign{{again, conversionOf("x", a, "<p>Drawn."), page}},
			"[imported /c imported /a]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(test.robots), Options{})
			o := ImportOptions{MaxBody: roomy, Revisits: &Revisits{}}
			var got []string
			var last Imported
			var counts ImportCounts
			told := func(i Imported) {
				last, got = i, append(got, string(i.Outcome)+" "+strings.TrimPrefix(i.URL, site))
			}
			for _, file := range test.files {
				n, err := s.Import(t.Context(), bytes.NewReader(warcFile(file...)), o, told)
				if counts.Add(n); err != nil {
					t.Fatal(err)
				}
			}
			n, err := s.ImportRevisits(t.Context(), o)
			if counts.Add(n); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != test.want || !strings.Contains(last.Why, test.why) {
				t.Errorf("%v, %s", got, last.Why)
			}
			if counts.Imported+counts.Refused+counts.Skipped != len(got) {
				t.Errorf("%+v", counts)
			}
			if strings.HasPrefix(name, "with") && s.drawn()[a] != "<p>Drawn." {
				t.Error(s.drawn())
			}
		})
	}
}
