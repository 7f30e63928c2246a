package present

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/acapcrawl/acapcrawl/index"
)

// Filter restricts a search. A field that is empty restricts nothing.
type Filter struct {
	Site     string // a host; its subdomains count too
	Language string // such as "de"
	Type     string // html, text, markdown, feed, pdf, image, or a media type
	Before   string // fetched before this day: 2026-01-31, 2026-01 or 2026
	After    string // fetched on this day or later
}

// Narrow returns the query text with the conditions of f. A value cannot add another condition. The error
// wraps ErrQuery and says which value, or which part of text, is wrong.
func (f Filter) Narrow(text string) (string, error) {
	parts := []string{text}
	for _, one := range []struct{ name, value string }{{"site", f.Site}, {"lang", f.Language}, {"type", f.Type},
		{"before", f.Before}, {"after", f.After}} {
		if one.value == "" {
			continue
		}
		if strings.ContainsFunc(one.value, unicode.IsSpace) {
			return "", fmt.Errorf("%w: %s: takes one value without blanks, not %q", ErrQuery, one.name, one.value)
		}
		clause := one.name + ":" + one.value
		if err := index.Check(clause); err != nil {
			return "", err
		}
		parts = append(parts, clause)
	}
	text = strings.TrimSpace(strings.Join(parts, " "))
	return text, index.Check(text)
}

// Words returns the words and phrases that a query searches for, each as a query. The list is empty if the
// query cannot be understood.
func Words(query string) []string { return index.Words(query) }
