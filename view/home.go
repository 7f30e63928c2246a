package view

import "net/http"

// home shows the search form.
func (h *Handler) home(w http.ResponseWriter, r *request) error {
	return h.show(w, r, "home.html", "", nil)
}
