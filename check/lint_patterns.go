package check

import (
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// mark stands for any text in the witness of a pattern: a character that no URL has a use for, as it is written in one.
const mark = "%EE%80%80"

// witness is the resource that a pattern covers together with exactly those patterns that cover all that it covers: where others have
// letters, it has a mark that only an asterisk, or what comes behind the end of a pattern, can stand for.
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

// resource prepares a path as it stands in a URL.
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

// plain reports whether a pattern is the beginning of a path and no more.
func plain(pattern string) bool { return pattern != "" && !strings.ContainsAny(pattern, "*$") }

// opening is what all that a pattern covers begins with, in any case; it ends before what could be written otherwise.
func opening(pattern string) string {
	if i := strings.IndexAny(pattern, "*$%"); i >= 0 {
		pattern = pattern[:i]
	}
	return strings.ToLower(pattern)
}

// meet reports whether two patterns with these openings may cover a path in common; true where that is not plain.
func meet(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// equalInEffect reports whether two patterns differ by asterisks at their end alone (F06).
func equalInEffect(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "*"), strings.TrimRight(b, "*"))
}

// plainest is a path that a pattern covers, the shortest there is.
func plainest(pattern string) string {
	if plain(pattern) && pattern[0] == '/' {
		return pattern
	}
	return acap.Examples(pattern)[0]
}

// openings are beginnings of patterns.
type openings struct {
	known   map[string]bool
	lengths []int // that occur
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

// cover reports whether any of them begins like this one: no pattern covers another that begins otherwise.
func (o *openings) cover(opening string) bool {
	return slices.ContainsFunc(o.lengths, func(n int) bool { return n <= len(opening) && o.known[opening[:n]] })
}
