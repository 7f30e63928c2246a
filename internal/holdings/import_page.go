package holdings

import (
	"cmp"
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
	g, err := m.sourceErased(x)
	if err != nil {
		return nil, err
	}
	if g != nil { // P1 2.6 (P04): what scripts made of it cannot be separated from the rendered document
		x.result.Unrendered = g.why
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

// sourceErased returns why the rendered document of x must not be imported, or nil. A script, or data, that it was
// made from is taken down, or was taken down or erased by the operator after x was received; or the page was erased
// since because of a take-down. sourceErased ignores resources whose policy is not known.
func (m *importer) sourceErased(x *incoming) (*ground, error) {
	for _, source := range slices.Concat(x.made, x.ran) {
		if down := terms.TakenDown(m.ctx, m.o.Policies, source); down != nil {
			g := byTakeDown(down).of(source)
			return &g, nil
		}
		stone, gone, err := m.erasedSince(source, x.at, func(t archive.Tombstone) bool {
			return t.TakenDown() || t.Reason == archive.ReasonForgotten && !m.o.Forgotten
		})
		if err != nil || gone {
			g := groundOf(stone).of(source)
			return &g, err
		}
	}
	// if the resource was not stored here, only the tombstone of the page says that it was taken down
	stone, gone, err := m.erasedSince(x.url, x.at, func(t archive.Tombstone) bool {
		return t.Reason == archive.ReasonDerived && t.Asked
	})
	if err != nil || !gone {
		return nil, cmp.Or(err, m.ctx.Err())
	}
	g := groundOf(stone)
	g.why = "the page was erased since: " + g.why
	return &g, nil
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
