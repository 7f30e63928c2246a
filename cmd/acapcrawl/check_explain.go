package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/docs"
	"github.com/acapcrawl/acapcrawl/internal/check"
)

// explainedCode is what check --explain --json prints.
type explainedCode struct {
	Code string `json:"code"`
	// the paragraphs of the documents, and the project's readings of them, on which the code is
	// based
	Paragraphs    []string `json:"paragraphs"`
	Documentation string   `json:"documentation"`
	Help          string   `json:"help"` // address of the documentation of the code
}

// runCheckExplain prints the documentation about a finding code. It sends no HTTP request.
func (c *Command) runCheckExplain(code string, out *output) error {
	code = strings.ToLower(strings.TrimSpace(code))
	text := docs.Finding(code)
	if text == "" {
		try := "docs/findings.md, which lists all codes"
		if near := config.Nearest(code, docs.Codes()); near != "" {
			try = "acapcrawl check --explain " + near
		}
		return misuse(try, "there is no finding with the code %q", code)
	}
	if out.JSON() {
		return c.printJSON(explainedCode{code, check.Behind(code), text, check.Help(code)})
	}
	severity, text, _ := strings.Cut(text, "\n")
	return c.writeReport(out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s (%s)\nBased on: %s\n%s\n", code, severity, strings.Join(check.Behind(code), ", "),
			plainMarkdown(text))
		return err
	})
}

// plainMarkdown wraps the paragraphs of Markdown for a terminal and indents its blocks of code
// instead of fencing them.
func plainMarkdown(markdown string) string {
	var b strings.Builder
	inside := false
	for line := range strings.SplitSeq(markdown, "\n") {
		switch name, fence := strings.CutPrefix(line, "```"); {
		case fence && !inside:
			inside = true
			b.WriteString(name + ":\n")
		case fence:
			inside = false
		case inside:
			b.WriteString("    " + line + "\n")
		default:
			b.WriteString(reflow(line) + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
