package convert

import (
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// TestNewerProof tests that a result is reported as wrong if it permits what the source prohibits, or if
// no remark says what it changes.
func TestNewerProof(t *testing.T) {
	const src = "ACAP-crawler: *\nACAP-disallow-index: /drafts/\nACAP-disallow-preserve: /news/\n"
	for name, c := range map[string]struct {
		change  func(*Conversion)
		reports bool
	}{
		"as it is": {func(*Conversion) {}, false},
		"a permission": {func(out *Conversion) {
			out.Robots = strings.ReplaceAll(out.Robots, "search=n", "search=y")
		}, true},
		"silence": {func(out *Conversion) {
			out.Robots = strings.ReplaceAll(out.Robots, "search=n", "search=x")
		}, true},
		"a prohibition": {func(out *Conversion) { out.Robots += "Content-Usage: train-ai=n\n" }, true},
		"no remark about a loss": {func(out *Conversion) {
			out.Remarks = slices.DeleteFunc(out.Remarks, func(r Remark) bool { return r.Code == "lost" })
		}, true},
		"no remark about a restriction": {func(out *Conversion) {
			out.Remarks = slices.DeleteFunc(out.Remarks, func(r Remark) bool { return r.Code == "prohibits-more" })
		}, true},
	} {
		out, err := To(AIPREF, []byte(src), Options{AnyCase: true})
		if err != nil {
			t.Fatal(err)
		}
		c.change(out)
		x := newTranslation(aiprefDialect(), Options{AnyCase: true})
		x.folds, x.robots = true, true
		f := parsed(src)
		remarks := x.proof(nil, []string{"/drafts/", "/news/"}).compare(x, out, func(name string) decider {
			return f.Policy(acap.Crawler{Names: []string{name}}).Decide
		})
		if reports := len(remarks) > 0; reports != c.reports {
			t.Errorf("%s: %v", name, remarks)
		}
	}
}
