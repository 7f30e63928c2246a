package view

import (
	"strconv"
	"time"

	"github.com/acapcrawl/acapcrawl/memento"
	"github.com/acapcrawl/acapcrawl/present"
)

// mementoPage returns the addresses that belong to the page, as the visitor can request them. page is its
// normal address.
func (h *Handler) mementoPage(v Visitor, page string) memento.Page {
	return memento.Page{
		Original: page,
		TimeGate: v.Base + "/timegate/" + escapeTarget(page),
		TimeMap: func(f memento.Form, n int) string {
			return v.Base + timeMapPath(f, n, page)
		},
	}
}

// timeMapPath returns the path of page n of a TimeMap. The number of the first page is not written.
func timeMapPath(f memento.Form, n int, page string) string {
	path := "/timemap/link/"
	if f == memento.AsJSON {
		path = "/timemap/json/"
	}
	if n > 1 {
		path += strconv.Itoa(n) + "/"
	}
	return path + escapeTarget(page)
}

// versionsOf returns versions with the addresses of their copies. The address is that of the page which
// was archived, also if the versions were requested with an address that redirects to it.
func versionsOf(v Visitor, list []present.Version) memento.Versions {
	out := make([]memento.Version, len(list))
	for i, one := range list {
		out[i] = memento.Version{Time: one.Fetched, Address: v.Base + timedPath("/raw/", one.Fetched, one.URL)}
	}
	return memento.NewVersions(out)
}

// timedPath returns the path of this server with a prefix, a time and the address of a page.
func timedPath(prefix string, at time.Time, page string) string {
	return prefix + memento.Timestamp(at) + "/" + escapeTarget(page)
}
