package docs

import (
	"strings"
	"testing"
)

func TestFinding(t *testing.T) {
	codes := Codes()
	if len(codes) < 100 {
		t.Fatalf("%d codes", len(codes))
	}
	for _, code := range codes {
		section := Finding(code)
		severity, _, _ := strings.Cut(strings.Fields(section)[0], ",")
		if severity != "error" && severity != "warning" && severity != "notice" || strings.Contains(section, "\n## ") {
			t.Errorf("%s: %.80q", code, section)
		}
	}
	for _, code := range []string{"", "no-such-code", "Severities and suppressed findings"} {
		if s := Finding(code); s != "" {
			t.Errorf("%q: %.80q", code, s)
		}
	}
}
