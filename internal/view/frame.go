package view

import "net/http"

// Frame makes the pages of the server in front of a Handler: login, and requests of publishers.
// They have the same layout as the pages of Handler. It may be used concurrently.
type Frame struct{ h *Handler }

// NewFrame returns a Frame. It returns an error if an embedded template or asset is invalid.
func NewFrame() (*Frame, error) {
	h := &Handler{}
	var err error
	if h.templates, err = readTemplates(); err != nil {
		return nil, err
	}
	h.assets, err = readAssets()
	return &Frame{h}, err
}

// Write answers with the page that the template with this name makes from body. The context of r
// names the visitor. The page is not stored by the client, because it depends on who is logged in.
// Write returns an error if the template fails; then nothing was written.
func (f *Frame) Write(w http.ResponseWriter, r *http.Request, status int, name, title string, body any) error {
	req := &request{Request: r, visitor: VisitorOf(r.Context())}
	setOwn(w.Header())
	return f.h.showOnce(w, req, status, name, title, body)
}

// WriteProblem answers with a page that describes p.
func (f *Frame) WriteProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	f.h.writeProblem(w, &request{Request: r, visitor: VisitorOf(r.Context())}, p)
}

// setOwn sets the header fields of pages with forms that change something. Browsers send the Origin
// header, which the server checks, only if the referrer policy permits a referrer.
func setOwn(h http.Header) {
	setCommon(h)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Asset answers with the style sheet, script or picture that pages name by /assets/ and this name.
// It returns false if there is none.
func (f *Frame) Asset(w http.ResponseWriter, r *http.Request, name string) bool {
	setCommon(w.Header())
	return f.h.asset(w, &request{Request: r, rest: name}) == nil
}
