package explain

import (
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/policy"
)

// Origins returns all origins whose policies were read, that of the URL first.
func (e *Explanation) Origins() []*policy.Origin { return e.origins }

// Line returns the source line of the field f. It returns "" for an HTTP header, and if the line is
// not known or has changed since.
func (e *Explanation) Line(f *acap.Field) string {
	switch f.Source {
	case acap.Robots, acap.Referred:
		if line := e.policyLine(f); strings.Contains(line, f.Text) {
			return line
		}
	case acap.Meta, acap.Class:
		return e.pageLine(f)
	}
	return ""
}

// policyLine returns the line of a policy file at the position of f.
func (e *Explanation) policyLine(f *acap.Field) string {
	for _, o := range e.origins {
		if o.Robots != nil && o.Robots.URL == f.URL {
			return o.Robots.Line(f.Line)
		}
		for _, ref := range o.References {
			if ref.File != nil && ref.URL == f.URL {
				return ref.File.Line(f.Line)
			}
		}
	}
	return ""
}

func (e *Explanation) pageLine(f *acap.Field) string {
	if e.Page == nil || e.Page.Own().URL != f.URL {
		return ""
	}
	document, lines := e.Page.Sent(), &e.source
	if f.Scripted {
		document, lines = e.Page, &e.rendered
	}
	if *lines == nil {
		*lines = strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(document.Source()), "\n")
	}
	if f.Line < 1 || f.Line > len(*lines) {
		return ""
	}
	return (*lines)[f.Line-1]
}

// Deciding returns the field that decided d, and how many characters of its source line to mark: the
// whole field or tag, or the part that could not be interpreted. d must have a Because.
func (e *Explanation) Deciding(d acap.Decision) (at *acap.Field, length int) {
	f := d.Because
	if d.Reason == acap.ByFallback {
		for _, fi := range e.Policy().Findings() {
			if fi.URL == f.URL && fi.Line == f.Line && fi.Column > f.Column && fi.Severity == acap.Error {
				at := *f
				at.Column = fi.Column
				return &at, fi.Length
			}
		}
	}
	line := []rune(e.Line(f))
	rest := string(line[min(max(f.Column-1, 0), len(line)):])
	token, _, _ := strings.Cut(rest, " ")
	switch end := strings.IndexByte(rest, '>'); {
	case strings.HasPrefix(rest, f.Text):
		token = f.Text
	case (f.Source == acap.Meta || f.Source == acap.Class) && end >= 0:
		token = rest[:end+1]
	}
	return f, utf8.RuneCountInString(token)
}
