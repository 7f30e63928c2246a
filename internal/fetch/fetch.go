// Package fetch requests through a gate what decisions about a page need besides the page and policy files: the
// resources that permissions name.
package fetch

import (
	"slices"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
)

// PageOf returns the page that the last of the HTTP exchanges in t returned.
func PageOf(t *gate.Trace) *page.Page {
	return page.New(slices.Clone(t.Hops))
}
