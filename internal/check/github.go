package check

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/display"
)

// WriteGitHub writes the findings as workflow commands. GitHub Actions shows them next to their
// lines.
func (r *Report) WriteGitHub(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, f := range r.Findings {
		fmt.Fprintf(b, "::%s file=%s,line=%d,endLine=%d,col=%d,endColumn=%d,title=%s::%s\n", f.Severity,
			property(f.URL), f.Line, f.Line, f.Column, f.Column+f.Length,
			property(f.Code), commandData(withHint(f)+"\n"+Help(f.Code)))
	}
	return b.Flush()
}

// commandData and property escape text for a workflow command in the same way as GitHub's own
// toolkit. They replace control characters, because the commands also appear in a log.
func commandData(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		lines = append(lines, display.Line(line))
	}
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(strings.Join(lines, "\n"))
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(s))
}
