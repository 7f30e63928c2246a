package holdings

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
	"github.com/acapcrawl/acapcrawl/warc"
)

// decodePayload removes the content codings of the payload, up to most bytes, after waiting for
// enough memory. known is false if this program does not know one of the codings.
func (m *importer) decodePayload(ctx context.Context, x *incoming, most int64) (undone coding.Undone, known bool,
	err error) {
	codings := coding.Of(x.message.Header)
	if x.bare {
		codings = nil
	}
	if err := coding.Check(codings); err != nil {
		x.skip("its body is " + err.Error())
		return coding.Undone{}, false, nil
	}
	read := memory.Of(ctx).Begin(ctx)
	defer read.End()
	err = read.Decode(most, func(limit int64) bool {
		undone = m.decoders.Undo(x.payload, codings, limit)
		return !undone.Short || len(codings) == 1 && int64(len(undone.Body)) < limit
	})
	if undone.Short && len(undone.Body) == 0 { // some tools remove the coding but leave the header field
		undone = coding.Undone{Body: x.payload}
	}
	return undone, true, err
}

// page builds the page from a response and the redirects before it; the result is nil if the body
// of the response cannot be read.
func (m *importer) page(ctx context.Context, x *incoming) (*page.Page, error) {
	undone, known, err := m.decodePayload(ctx, x, m.o.MaxBody)
	if err != nil || !known {
		return nil, err
	}
	hops, err := m.lawfulHops(x)
	if err != nil {
		return nil, err
	}
	last := x.hop()
	last.Wire, last.Body, last.Undone, last.Truncated = x.payload, undone.Body, undone, x.truncated || undone.Short
	pg := page.New(append(hops, last))
	if x.rendered == nil {
		return pg, nil
	}
	source, _, err := m.takenDownSource(x)
	if err != nil {
		return nil, err
	}
	if source != "" { // P1 2.6 (P04): what scripts made of it cannot be separated from the rendered document
		x.result.Unrendered = sourceTakenDown + source
		return pg, nil
	}
	last.Rendered, last.Made, last.Ran = x.rendered, x.made, x.ran
	rendered := page.New(append(hops, last))
	if !rendered.Rendered() {
		x.result.Unrendered = "the page is not HTML"
		return pg, nil
	}
	return rendered, nil
}

// takenDownSource looks for a script, or for data, that the rendered document of x was made from and that is taken
// down or was taken down after x was received. It returns its address and the ground, or "". It ignores resources
// whose policy is not known.
func (m *importer) takenDownSource(x *incoming) (source string, why ground, err error) {
	for _, source := range slices.Concat(x.made, x.ran) {
		if down := terms.TakenDown(m.ctx, m.o.Policies, source); down != nil {
			return source, byTakeDown(down), nil
		}
		stone, down, err := m.erasedSince(source, x.at, archive.Tombstone.TakenDown)
		if err != nil || down {
			return source, ground{archive.ReasonTakenDown, stone.Why, stone.Line, true}, err
		}
	}
	return "", why, m.ctx.Err()
}

// lawfulHops returns those redirects before x that may be crawled. If an address of the chain is
// taken down, only the redirects after this address are returned (X66).
func (m *importer) lawfulHops(x *incoming) (hops []page.Hop, err error) {
	for _, hop := range x.hops {
		lawful, down, err := m.mayCrawlHop(hop)
		switch {
		case err != nil:
			return nil, err
		case down: // the chain starts again after an address that is taken down
			hops = nil
		case lawful:
			hops = append(hops, hop.hop())
		}
	}
	return hops, nil
}

// mayCrawlHop reports whether today's policy permits to crawl the address of a redirect, and the operator has not
// erased the redirect, and whether that address is taken down now or was taken down after the redirect was received.
func (m *importer) mayCrawlHop(hop *incoming) (lawful, down bool, err error) {
	u, err := url.Parse(hop.url)
	if err != nil {
		return false, false, err
	}
	origin, err := m.o.Policies.Policy(m.ctx, u)
	if err != nil {
		return false, false, m.ctx.Err()
	}
	if terms.TakeDown(origin, u) != nil {
		return false, true, nil
	}
	allowed := origin.Decide(acap.Crawl, acap.NewResource(u)).Allowed
	_, down, err = m.erasedSince(hop.url, hop.at, archive.Tombstone.TakenDown)
	if err != nil || down || m.o.Forgotten {
		return allowed, down, err
	}
	_, forgotten, err := m.erasedSince(hop.url, hop.at, archive.Tombstone.Forgotten)
	return allowed && !forgotten, false, err
}

func (x *incoming) hop() page.Hop {
	h := page.Hop{URL: x.url, Method: http.MethodGet, Status: x.message.Status(), Proto: x.message.Proto(),
		Header:  x.message.Header,
		Address: x.address, Head: warc.Complete(x.message.Head), Start: x.at}
	if x.request != nil {
		h.Sent = x.request.head
	}
	return h
}
