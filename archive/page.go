package archive

import (
	"net/http"

	"github.com/acapcrawl/acapcrawl/page"
)

// Page gives the page that c holds, with body as Body gave it.
func (c Capture) Page(body []byte) *page.Page {
	return page.New([]page.Hop{{URL: c.URL, Method: http.MethodGet, Status: c.Status, Header: c.Header, Body: body,
		Wire:      body,
		Truncated: c.Truncated, Start: c.Fetched}})
}
