package check

import (
	"bytes"
	"path/filepath"
	"strings"
)

// Guess returns the kind of a file. It looks at the name, then at the first bytes; otherwise the
// file is a robots.txt.
func Guess(name string, src []byte) Kind {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".xht":
		return PageKind
	case ".headers", ".header", ".http":
		return HeaderKind
	}
	if strings.EqualFold(filepath.Base(name), "robots.txt") {
		return RobotsKind
	}
	start := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(src[:min(len(src), 1024)], []byte("\ufeff")), " \t\r\n"))
	switch {
	case bytes.HasPrefix(start, []byte("http/")):
		return HeaderKind
	case bytes.HasPrefix(start, []byte("<")):
		return PageKind
	}
	for line := range bytes.Lines(start) {
		if bytes.HasPrefix(line, []byte("x-robots-tag:")) || bytes.HasPrefix(line, []byte("robots-tag:")) {
			return HeaderKind
		}
	}
	return RobotsKind
}
