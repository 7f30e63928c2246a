package check

import (
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// mark represents any text in the witness of a pattern: a character that no URL needs, in the form
// of a URL.
const mark = "%EE%80%80"

// witness returns the resource that exactly those patterns cover that cover everything that the
// given pattern covers. Its wildcards become marks, which only an asterisk, or the open end of a
// pattern, can match.
func witness(pattern string) acap.Resource {
	path, anchored := strings.CutSuffix(pattern, "$")
	path = strings.ReplaceAll(path, "*", mark)
	if !anchored {
		path += mark
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return resource(path)
}

// resource returns the resource at a path as written in a URL.
func resource(path string) acap.Resource {
	path, query, asked := strings.Cut(path, "?")
	u := &url.URL{Scheme: "http", Host: "example.com", Path: path, RawQuery: query, ForceQuery: asked}
	if strings.Contains(path, "%") {
		if plain, err := url.PathUnescape(path); err == nil {
			u.Path, u.RawPath = plain, path
		}
	}
	return acap.NewResource(u)
}

// plain reports whether a pattern is a prefix of a path without wildcards.
func plain(pattern string) bool { return pattern != "" && !strings.ContainsAny(pattern, "*$") }

// opening returns the common prefix of everything that a pattern covers, in any letter case; it
// ends before what could be written otherwise.
func opening(pattern string) string {
	if i := strings.IndexAny(pattern, "*$%"); i >= 0 {
		pattern = pattern[:i]
	}
	return strings.ToLower(pattern)
}

// meet reports whether two patterns with these openings may intersect; true if that is uncertain.
func meet(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// equalInEffect reports whether two patterns differ only by asterisks at their end: P1 2.4.6 (F06):
// asterisks in a row are one.
func equalInEffect(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "*"), strings.TrimRight(b, "*"))
}

// plainest returns the shortest path that a pattern covers.
func plainest(pattern string) string {
	if plain(pattern) && pattern[0] == '/' {
		return pattern
	}
	return acap.Examples(pattern)[0]
}

// openings holds prefixes of patterns.
type openings struct {
	known   map[string]bool
	lengths []int // lengths that occur
}

func (o *openings) add(opening string) {
	if o.known == nil {
		o.known = map[string]bool{}
	}
	o.known[opening] = true
	if !slices.Contains(o.lengths, len(opening)) {
		o.lengths = append(o.lengths, len(opening))
	}
}

// cover reports whether one of the openings begins like this one: no pattern covers another with a
// different opening.
func (o *openings) cover(opening string) bool {
	return slices.ContainsFunc(o.lengths, func(n int) bool { return n <= len(opening) && o.known[opening[:n]] })
}
