package crawler

import (
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Link returns the address at which the crawler follows a link: the normal form of raw without the
// query parameters called names.
func Link(raw string, names []string) (string, error) {
	u, err := link(raw, names)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

func link(raw string, names []string) (*url.URL, error) {
	u, err := address.Parse(raw)
	if err == nil {
		drop(u, names)
	}
	return u, err
}

// drop removes the query parameters called names from u. A final * in a name matches any
// characters. The other parameters keep their order and spelling. If none remains, the question
// mark is removed too. Names are case-sensitive.
func drop(u *url.URL, names []string) {
	if u.RawQuery == "" || len(names) == 0 {
		return
	}
	var kept []string
	dropped, something := false, false
	for parameter := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if named(name, names) {
			dropped = true
			continue
		}
		kept = append(kept, parameter)
		something = something || parameter != ""
	}
	switch {
	case !dropped:
	case something:
		u.RawQuery = strings.Join(kept, "&")
	default:
		u.RawQuery, u.ForceQuery = "", false
	}
}

// named reports whether name, a parameter as written in a query, matches one of names.
func named(name string, names []string) bool {
	if name == "" {
		return false
	}
	if strings.ContainsAny(name, "%+") {
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
	}
	return slices.ContainsFunc(names, func(wanted string) bool {
		if start, open := strings.CutSuffix(wanted, "*"); open {
			return strings.HasPrefix(name, start)
		}
		return name == wanted
	})
}
