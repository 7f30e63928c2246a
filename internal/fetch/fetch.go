// Package fetch requests what decisions about a page need besides the page itself, through a gate: policy files, and
// the resources that permissions name.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
)

// policyFiles fetches robots.txt and the files that robots.txt refers to, through the gate.
type policyFiles struct{ *gate.Gate }

// PolicyFiles returns a fetcher for robots.txt and the files that it refers to. It sends requests
// through the gate g.
func PolicyFiles(g *gate.Gate) policy.Fetcher { return policyFiles{g} }

func (p policyFiles) Fetch(ctx context.Context, rawurl string, condition http.Header) (policy.Response, error) {
	h, err := p.FetchIf(ctx, rawurl, condition)
	if r, refused := errors.AsType[*gate.Refusal](err); refused && r.Rule == gate.RuleLease {
		err = fmt.Errorf("%w: %w", policy.ErrNotRequested, err)
	}
	return policy.Response{URL: h.URL, Status: h.Status, Header: h.Header, Body: h.Body, Truncated: h.Truncated}, err
}

// PageOf returns the page that the last of the HTTP exchanges in t returned.
func PageOf(t *gate.Trace) *page.Page {
	return page.New(slices.Clone(t.Hops))
}
