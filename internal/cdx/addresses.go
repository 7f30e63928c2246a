package cdx

import (
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/warc"
)

// Addresses returns the addresses in normal form that a caller must look up for a query for one
// page, so that it need not search the whole archive. These are the usual spellings that have the
// key of the query: http or https, with or without www, with or without a slash at the end, and
// with letter case, host and order of parameters as given or as in the key. Addresses returns nil
// for a query for several pages.
func (q *Query) Addresses() []string {
	if q.match != "exact" {
		return nil
	}
	list := []string{}
	key := q.ranges[0].From
	host, path, _ := strings.Cut(key, ")")
	labels, port, _ := strings.Cut(host, ":")
	names := strings.Split(labels, ",")
	slices.Reverse(names)
	host = strings.Join(names, ".")
	if port != "" {
		host += ":" + port
	}
	_, given, found := strings.Cut(q.url, "://")
	if !found {
		given = q.url
	}
	end := strings.IndexAny(given+"/", "/?")
	for _, scheme := range []string{"http://", "https://"} {
		for _, host := range []string{host, "www." + host, given[:end]} {
			for _, path := range []string{path, otherSlash(path), given[end:], otherSlash(given[end:])} {
				one, err := address.Normal(scheme + host + path)
				if err == nil && warc.URLKey(one) == key && !slices.Contains(list, one) {
					list = append(list, one)
				}
			}
		}
	}
	return list
}

// otherSlash removes the slash at the end of a path, or adds one if there is none. The path may
// have a query, which stays.
func otherSlash(path string) string {
	path, query, found := strings.Cut(path, "?")
	if found {
		query = "?" + query
	}
	if shorter, found := strings.CutSuffix(path, "/"); found {
		return shorter + query
	}
	return path + "/" + query
}

// InOrigin reports whether addresses of an origin, such as http://example.com, may be in the ranges of the
// query.
func (q *Query) InOrigin(origin string) bool {
	// keys of the origin begin with the host, a bracket and a slash
	first := warc.URLKey(origin + "/")
	whole := Range{first, after(first)}
	return slices.ContainsFunc(q.ranges, func(r Range) bool {
		return (r.To == "" || whole.From < r.To) && (whole.To == "" || r.From < whole.To)
	})
}

// InRanges reports whether a key is in the ranges of the query.
func (q *Query) InRanges(key string) bool {
	return slices.ContainsFunc(q.ranges, func(r Range) bool { return r.Contains(key) })
}
