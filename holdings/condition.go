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

// Condition gives the header that asks for a page only if it has changed (RFC 9110 13.1.2, 13.1.3),
// from the validators of the current copy. It is nil where the page itself is wanted: where no copy
// is held that is whole and unharmed, where address only leads to a page, and where the policy of
// today does not permit to preserve all of it. It makes no request.
func (h *Holdings) Condition(address string) http.Header {
	c, ok := h.current(address)
	if !ok {
		return nil
	}
	out := validators(c.Header.Get("ETag"), c.Header.Get("Last-Modified"))
	if out == nil {
		return nil
	}
	release, err := h.o.Budget.Room(context.Background(), page.WeightOf(c.Bytes, c.MIME))
	if err != nil {
		return nil
	}
	defer release()
	if !h.complete(&c) || !h.keeps(c) {
		return nil
	}
	return out
}

// validators gives the header that asks whether something has changed of which these are known; nil
// for none.
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

// copied is the current copy of a page with what is known of it.
type copied struct {
	archive.Capture
	known archive.Resource
	body  []byte
}

// page is the page that the copy was made from, as a 304 on the way of hops confirms it.
func (c copied) page(hops []page.Hop) *page.Page {
	last := hops[len(hops)-1]
	last.Status, last.Header = c.Status, updated(c.Header, last.Header)
	last.Body, last.Wire = c.body, c.body
	return page.New(append(slices.Clone(hops[:len(hops)-1]), last))
}

// current gives the current copy of the page at address, without its body; false where none is
// held, where address has led elsewhere since, or where it was cut, by the server or for its terms.
func (h *Holdings) current(address string) (c copied, ok bool) {
	var err error
	if c.known, _, err = h.archive.Resource(address); err != nil || c.known.Current == 0 {
		return c, false
	}
	c.Capture, err = h.archive.Capture(c.known.Current)
	return c, err == nil && !c.Truncated && !c.Cut
}

// complete reads the body of a copy, and reports whether it verifies.
func (h *Holdings) complete(c *copied) bool {
	var err error
	c.body, err = h.archive.Body(c.ID)
	return err == nil && archive.Digest(c.body) == c.Digest
}

// keeps reports whether the copy may stay as it is, under the policy last known and what the page
// said last.
func (h *Holdings) keeps(c copied) bool {
	u, err := url.Parse(c.URL)
	if err != nil {
		return false
	}
	ctx := context.Background()
	origin, err := h.o.Known.Policy(ctx, u)
	if err != nil || terms.TakeDown(origin, u) != nil {
		return false
	}
	copied := terms.Held(ctx, origin, u, c.known.Own, c.Page(c.body), terms.Sources{Policies: h.o.Known},
		h.factsNow(c.known)).HoldingCopy(h.o.NoArchive)
	return !copied.Cut && decide(&evidence{noPreserve: h.o.NoPreserve, received: &copied}).copy.held()
}

// confirms reports whether a 304 speaks of the copy with the header held: a validator that both
// name must be the same (RFC 9111 4.3.4, by weak comparison).
func confirms(fresh, held http.Header) bool {
	for _, name := range []string{"ETag", "Last-Modified"} {
		is, was := fresh.Get(name), held.Get(name)
		if is != "" && was != "" {
			return strings.TrimPrefix(is, "W/") == strings.TrimPrefix(was, "W/")
		}
	}
	return true
}

// updated is the header of a copy after a 304 (RFC 9111 3.2): what the 304 names replaces what was
// held, what it does not name stays, robots headers too (N23), and what says how the body is made
// stays as well.
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

// ofMessage reports whether a field of h belongs to its message or to the body, and not to what is
// held (RFC 9111 3.1, 3.2).
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
