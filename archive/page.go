package archive

import (
	"net/http"

	"github.com/acapcrawl/acapcrawl/page"
)

// Page returns the page of capture c. body and rendered must be the results of Documents.
func (c Capture) Page(body, rendered []byte) *page.Page {
	return page.New([]page.Hop{{URL: c.URL, Method: http.MethodGet, Status: c.Status, Header: c.Header, Body: body,
		Wire: body, Rendered: rendered,
		Truncated: c.Truncated, Start: c.Fetched}})
}
