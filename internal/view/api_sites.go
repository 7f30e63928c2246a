package view

import "net/http"

// apiSites returns the data of the pages of sites.
func (h *Handler) apiSites(w http.ResponseWriter, r *request, v values) error {
	if h.o.Sites == nil {
		return noPage()
	}
	full := r.visitor.Role == Operator
	if v.given.Has("host") {
		if v.given.Has("after") || v.given.Has("limit") {
			return badRequest("The parameters after and limit are for lists of sites: give them without host.")
		}
		host, err := normalHost(v.text("host"))
		if err != nil {
			return err
		}
		list, err := h.o.Sites.Host(r.Context(), host, full)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return noSite()
		}
		return writeJSON(w, r, list)
	}
	list, more, err := h.o.Sites.Sites(r.Context(), v.text("after"), v.number("limit"), full)
	if err != nil {
		return err
	}
	if n := len(list); more && n > 0 {
		v.given.Set("after", list[n-1].Origin)
		w.Header().Set("Link", "</api/v1/sites?"+v.given.Encode()+`>; rel="next"`)
	}
	if list == nil {
		list = []Site{}
	}
	return writeJSON(w, r, list)
}
