package check

import (
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// mark represents any text in the witness of a pattern. It is a private character that no URL
// needs, percent-encoded.
const mark = "%EE%80%80"

// witness returns a resource that represents everything that the given pattern covers: another
// pattern covers the witness only if this other pattern covers everything that the given pattern
// covers. Each wildcard is replaced with the constant mark, which only an asterisk, or the open end
// of a pattern, can match.
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

// resource returns the resource at a path that is written as in a URL.
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

// plain reports whether a pattern is the beginning of a path, without wildcards.
func plain(pattern string) bool { return pattern != "" && !strings.ContainsAny(pattern, "*$") }

// opening returns the text with which everything that a pattern covers begins, in lower case. It
// ends before a wildcard or an escape, which may be written in different ways.
func opening(pattern string) string {
	if i := strings.IndexAny(pattern, "*$%"); i >= 0 {
		pattern = pattern[:i]
	}
	return strings.ToLower(pattern)
}

// meet reports whether two patterns with the openings a and b may cover the same path.
func meet(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// equalInEffect reports whether two patterns differ only in letter case and by asterisks at their
// end. P1 2.4.6 (F06): several asterisks in a row count as one.
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

// openings is a set of the openings of patterns.
type openings struct {
	known   map[string]bool
	lengths []int // the different lengths of the openings
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

// cover reports whether one of the openings in o is a prefix of the given opening. If not, no
// pattern of o covers a pattern with the given opening.
func (o *openings) cover(opening string) bool {
	return slices.ContainsFunc(o.lengths, func(n int) bool { return n <= len(opening) && o.known[opening[:n]] })
}
