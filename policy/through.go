package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/acapcrawl/acapcrawl/gate"
)

// throughGate fetches policy files through a gate.
type throughGate struct{ *gate.Gate }

// Through returns a Fetcher that sends its requests through the gate g.
func Through(g *gate.Gate) Fetcher { return throughGate{g} }

func (t throughGate) Fetch(ctx context.Context, rawurl string, condition http.Header) (Response, error) {
	h, err := t.FetchIf(ctx, rawurl, condition)
	if r, refused := errors.AsType[*gate.Refusal](err); refused && r.Rule == gate.RuleLease {
		err = fmt.Errorf("%w: %w", ErrNotRequested, err)
	}
	return Response{URL: h.URL, Status: h.Status, Header: h.Header, Body: h.Body, Truncated: h.Truncated}, err
}
