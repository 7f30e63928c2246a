package view

import (
	"context"
	"strconv"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
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

// history is the versions of a page that a reader may see, at least one. Version i of versions is list[i].
type history struct {
	list     []present.Version
	versions memento.Versions
	page     memento.Page
}

// history returns the versions of a page that the visitor may see. The error is a *Problem that says why there is
// none, or an error of the archive.
func (h *Handler) history(ctx context.Context, page string, v Visitor) (*history, error) {
	list, state, err := h.o.Presenter.Versions(ctx, page, v.reader())
	if err != nil {
		return nil, err
	}
	return h.historyOf(v, page, list, state)
}

// around is like history, but only of the versions next to the one for the time at.
func (h *Handler) around(ctx context.Context, page string, at time.Time, v Visitor) (*history, error) {
	list, state, err := h.o.Presenter.Around(ctx, page, at, v.reader())
	if err != nil {
		return nil, err
	}
	return h.historyOf(v, page, list, state)
}

func (h *Handler) historyOf(v Visitor, page string, list []present.Version, state present.State) (*history, error) {
	if len(list) == 0 {
		return nil, h.absent(state)
	}
	list = distinct(list)
	return &history{list: list, versions: versionsOf(v, list), page: h.mementoPage(v, page)}, nil
}

// distinct returns the versions with different addresses. Addresses count in seconds: if several
// versions have the same second, only the last of them remains. list is in order of time.
func distinct(list []present.Version) []present.Version {
	out := make([]present.Version, 0, len(list))
	for i, v := range list {
		if i+1 == len(list) || !v.Fetched.Truncate(time.Second).Equal(list[i+1].Fetched.Truncate(time.Second)) {
			out = append(out, v)
		}
	}
	return out
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
