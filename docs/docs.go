// Package docs holds the pages of documentation that the program prints.
package docs

import (
	_ "embed"
	"strings"
)

//go:embed findings.md
var findings string

// Codes returns the codes of findings that findings.md documents, in its order.
func Codes() []string {
	var codes []string
	for line := range strings.Lines(findings) {
		if code, ok := strings.CutPrefix(line, "## "); ok {
			codes = append(codes, strings.TrimSpace(code))
		}
	}
	return codes
}

// Finding returns the section of findings.md about a code as Markdown, without its heading; "" for
// an unknown code.
func Finding(code string) string {
	_, section, _ := strings.Cut(findings, "\n## "+code+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return strings.TrimSpace(section)
}
