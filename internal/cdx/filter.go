package cdx

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits on the filters of a query. A regular expression is matched with each record: the work for
// one record is at most maxSteps times the length of the record.
const (
	maxFilters    = 16
	maxExpression = 256 // bytes of a regular expression
	maxSteps      = 300 // instructions of all regular expressions of a query
)

// filter is one value of the parameter filter: [!][=|~]field:expression.
type filter struct {
	field  string
	not    bool
	equals bool           // compare the whole value
	text   string         // the value that is compared, or that the field must contain
	begins *regexp.Regexp // matches at the beginning of the value; nil if there is no ~
}

// parseFilters returns the filters of a query.
func parseFilters(values []string) (list []filter, err error) {
	steps := 0
	for _, value := range values {
		if value == "" {
			continue
		}
		f, n, reason := parseFilter(value)
		if steps += n; reason == "" && steps > maxSteps {
			reason = "the regular expressions of this query are too large; use smaller repetition counts"
		}
		if reason == "" && len(list) == maxFilters {
			reason = fmt.Sprintf("there are more than %d filters; write fewer", maxFilters)
		}
		if reason != "" {
			return nil, &Error{"filter", value, reason}
		}
		list = append(list, f)
	}
	return list, nil
}

// parseFilter reads a filter. steps is the size of its regular expression.
func parseFilter(value string) (f filter, steps int, reason string) {
	rest, not := strings.CutPrefix(value, "!")
	rest, matches := strings.CutPrefix(rest, "~")
	f.not = not
	if !matches {
		rest, f.equals = strings.CutPrefix(rest, "=")
	}
	name, text, found := strings.Cut(rest, ":")
	if !found {
		return f, 0, "it names no field; write [!][=|~]field:expression, such as =mime:text/html"
	}
	if f.field, reason = field(name); reason != "" {
		return f, 0, reason
	}
	f.text = text
	if matches {
		f.begins, steps, reason = expression(text)
	}
	return f, steps, reason
}

// expression compiles a regular expression so that it matches at the beginning of a text.
func expression(text string) (re *regexp.Regexp, steps int, reason string) {
	if len(text) > maxExpression {
		return nil, 0, fmt.Sprintf("a regular expression may have at most %d bytes, and this one has %d", maxExpression,
			len(text))
	}
	const syntaxHint = "; write a regular expression in the syntax of RE2"
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, err.Error() + syntaxHint
	}
	anchored := `\A(?:` + tree.String() + `)`
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, err.Error() + syntaxHint
	}
	if steps = len(program.Inst); steps > maxSteps {
		return nil, steps, ""
	}
	if re, err = regexp.Compile(anchored); err != nil {
		return nil, 0, err.Error() + syntaxHint
	}
	return re, steps, ""
}

// match reports whether a record passes the filter.
func (f *filter) match(r *Record) bool {
	value := r.value(f.field)
	switch {
	case f.begins != nil:
		return f.begins.MatchString(value) != f.not
	case f.equals:
		return (value == f.text) != f.not
	}
	return strings.Contains(value, f.text) != f.not
}
