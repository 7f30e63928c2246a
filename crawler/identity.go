package crawler

import (
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/address"
)

// Link is the address at which a link is followed: its normal form, without the query parameters of
// these names.
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

// drop removes the query parameters of these names from u, of which a final * stands for any
// characters. The rest keeps its order and its spelling; without a rest there is no question mark
// either. Names are compared with their case.
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

// named reports whether one of names is the name of a parameter, as written in a query.
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
