package view

import (
	"net/http"
	"time"

	"github.com/acapcrawl/acapcrawl/present"
)

// versionsPage lists the versions of a page by year.
type versionsPage struct {
	Address string
	Count   int
	First   time.Time
	Last    time.Time
	Years   []versionYear
}

type versionYear struct {
	Year     int
	Versions []present.Version
}

// versions shows which versions of a page this reader may see.
func (h *Handler) versions(w http.ResponseWriter, r *request) error {
	page, err := target(r.rest)
	if err != nil {
		return err
	}
	list, state, err := h.o.Presenter.Versions(r.Context(), page, r.visitor.reader())
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return h.absent(state)
	}
	out := versionsPage{Address: page, Count: len(list), First: list[0].Fetched, Last: list[len(list)-1].Fetched}
	for _, v := range list {
		year := v.Fetched.UTC().Year()
		if n := len(out.Years); n == 0 || out.Years[n-1].Year != year {
			out.Years = append(out.Years, versionYear{Year: year})
		}
		last := &out.Years[len(out.Years)-1]
		last.Versions = append(last.Versions, v)
	}
	return h.show(w, r, "versions.html", "Versions of "+page, out)
}
