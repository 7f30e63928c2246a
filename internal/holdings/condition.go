package holdings

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Condition returns headers that ask the server to send the page at address only if it has changed
// since the current copy was stored (RFC 9110 13.1.2, 13.1.3). It makes no request. It returns nil
// if the page should be requested without a condition. This is so if no complete, undamaged copy is
// stored, if address only redirects to a page, or if today's policy does not permit to preserve the
// whole page.
func (h *Holdings) Condition(address string) http.Header {
	c, ok := h.current(address)
	if !ok {
		return nil
	}
	out := validators(c.Header.Get("ETag"), c.Header.Get("Last-Modified"))
	if out == nil {
		return nil
	}
	release, err := h.o.Budget.Room(context.Background(), page.WeightOf(c.Bytes+c.RenderedBytes, c.MIME))
	if err != nil {
		return nil
	}
	defer release()
	if !h.readBody(&c) || !h.mayStay(c) {
		return nil
	}
	return out
}

// validators returns the conditional request headers for an ETag and a Last-Modified value; nil if
// neither is usable.
func validators(tag, modified string) http.Header {
	out := http.Header{}
	if tag != "" {
		out.Set("If-None-Match", tag)
	}
	if _, err := http.ParseTime(modified); err == nil {
		out.Set("If-Modified-Since", modified)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// copied is the current copy of a page and its archive record.
type copied struct {
	archive.Capture
	known archive.Resource

	body, rendered []byte
}

// page returns the copy as a page, after the last of hops, a 304 response, has confirmed the copy.
func (c copied) page(hops []page.Hop) *page.Page {
	last := hops[len(hops)-1]
	last.Status, last.Header = c.Status, updated(c.Header, last.Header)
	last.Body, last.Wire, last.Rendered = c.body, c.body, c.rendered
	return page.New(append(slices.Clone(hops[:len(hops)-1]), last))
}

// current returns the current copy of the page at address, without its body. ok is false if no copy
// is stored, if address redirects elsewhere now, or if the copy is incomplete. A copy is incomplete
// if the transfer ended early, if it is a part of a page (206, stored by earlier versions of this program), or if parts
// may not be kept.
func (h *Holdings) current(address string) (c copied, ok bool) {
	var err error
	if c.known, _, err = h.archive.Resource(address); err != nil || c.known.Current == 0 {
		return c, false
	}
	c.Capture, err = h.archive.Capture(c.known.Current)
	return c, err == nil && !c.Truncated && !c.Cut && c.Capture.Status != http.StatusPartialContent
}

// readBody reads the body and the rendered document of a copy, and reports whether the digest of the
// body is correct.
func (h *Holdings) readBody(c *copied) bool {
	var err error
	c.body, c.rendered, err = h.archive.Documents(c.ID)
	return err == nil && archive.Digest(c.body) == c.Digest &&
		(c.rendered == nil || archive.Digest(c.rendered) == c.Rendered)
}

// mayStay reports whether the copy may stay unchanged under the last known policy and the last
// statements of the page.
func (h *Holdings) mayStay(c copied) bool {
	u, err := url.Parse(c.URL)
	if err != nil {
		return false
	}
	ctx := context.Background()
	origin, err := h.o.Known.Policy(ctx, u)
	if err != nil || terms.TakeDown(origin, u) != nil {
		return false
	}
	copied := terms.Held(ctx, origin, u, c.known.Own, c.Page(c.body, c.rendered), terms.Sources{Policies: h.o.Known},
		h.factsNow(c.known)).HoldingCopy(h.o.NoArchive)
	return !copied.Cut && decide(&evidence{noPreserve: h.o.NoPreserve, received: &copied}).copy.held()
}

// confirms reports whether a 304 response is about the stored copy. Each validator that occurs in
// both headers must be equal, by weak comparison (RFC 9111 4.3.4).
func confirms(fresh, held http.Header) bool {
	for _, name := range []string{"ETag", "Last-Modified"} {
		is, was := fresh.Get(name), held.Get(name)
		if is != "" && was != "" {
			return strings.TrimPrefix(is, "W/") == strings.TrimPrefix(was, "W/")
		}
	}
	return true
}

// updated returns the header of a copy after a 304 response (RFC 9111 3.2). held is the stored
// header, and fresh is the header of the 304 response. Fields in fresh replace stored fields.
// Stored fields missing from fresh stay, including robots headers (N23). Stored fields that
// describe the body stay too.
func updated(held, fresh http.Header) http.Header {
	out := held.Clone()
	if out == nil {
		out = http.Header{}
	}
	for name, values := range fresh {
		if !ofMessage(name, fresh) {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// ofMessage reports whether the header field called name describes only one message or its body.
// Such a field must not replace a stored field (RFC 9111 3.1, 3.2).
func ofMessage(name string, h http.Header) bool {
	switch name {
	case "Content-Length", "Content-Encoding", "Content-Type", "Content-Range", "Connection", "Keep-Alive", "Te",
		"Trailer",
		"Transfer-Encoding", "Upgrade", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
		"Proxy-Connection":
		return true
	}
	for _, named := range strings.Split(strings.Join(h.Values("Connection"), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(named), name) {
			return true
		}
	}
	return false
}
