package check

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// licenceStart matches the beginning of a licence document of RSL in lower case.
var licenceStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:<\?.*?\?>|<!--.*?-->|<!doctype\s+rsl\b[^>]*>|\s)*<(?:[\w.-]+:)?rsl[\s/>]`)
})

// Guess returns the kind of a file. It looks at the name, then at the first bytes; otherwise the
// file is a robots.txt.
func Guess(name string, src []byte) Kind {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".xht":
		return PageKind
	case ".headers", ".header", ".http":
		return HeaderKind
	case ".json":
		return TDMRepKind
	case ".rsl":
		return RSLKind
	}
	if strings.EqualFold(filepath.Base(name), "robots.txt") {
		return RobotsKind
	}
	start := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(src[:min(len(src), 1024)], []byte("\ufeff")), " \t\r\n"))
	switch {
	case bytes.HasPrefix(start, []byte("http/")):
		return HeaderKind
	case licenceStart().Match(start):
		return RSLKind
	case bytes.HasPrefix(start, []byte("<")):
		return PageKind
	case bytes.HasPrefix(start, []byte("[")), bytes.HasPrefix(start, []byte("{")):
		return TDMRepKind
	}
	for line := range bytes.Lines(start) {
		for _, name := range []string{"x-robots-tag:", "robots-tag:", "tdm-reservation:", "tdm-policy:"} {
			if bytes.HasPrefix(line, []byte(name)) {
				return HeaderKind
			}
		}
	}
	return RobotsKind
}
