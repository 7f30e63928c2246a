package archive

import (
	"net/http"

	"github.com/acapcrawl/acapcrawl/page"
)

// Page returns the page of capture c. body must be the result of Body.
func (c Capture) Page(body []byte) *page.Page {
	return page.New([]page.Hop{{URL: c.URL, Method: http.MethodGet, Status: c.Status, Header: c.Header, Body: body,
		Wire:      body,
		Truncated: c.Truncated, Start: c.Fetched}})
}
