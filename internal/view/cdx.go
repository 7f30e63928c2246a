package view

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/cdx"
	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/warc"
)

// mostScans is the number of CDX queries for several pages that are answered at a time. Others wait.
const mostScans = 2

// cdx lists the versions of pages that this reader may see, with the parameters of pywb's CDX server.
func (h *Handler) cdx(w http.ResponseWriter, r *request) error {
	_, sent, _ := strings.Cut(r.RequestURI, "?")
	values, err := url.ParseQuery(sent)
	if err != nil {
		return badQuery()
	}
	q, err := cdx.Parse(values)
	if err != nil {
		return badRequest(sentence("The query cannot be answered: " + err.Error()))
	}
	l := cdxListing(q, values)
	if l.Addresses == nil {
		done, err := h.scans.take(r.Context(), r.visitor.Reader.IP)
		if err != nil {
			return err
		}
		defer done()
	}
	w.Header().Set("Content-Type", q.ContentType())
	w.Header().Set("Cache-Control", "private, no-store") // terms and versions can change at any moment
	out := &begun{ResponseWriter: w, silent: r.Method == http.MethodHead}
	err = q.Write(out, h.records(r.Context(), l, r.visitor), func(c cdx.Record) string {
		return r.visitor.Base + "/raw/" + c.Timestamp + "/" + escapeTarget(c.URL)
	})
	switch mistake, is := errors.AsType[*cdx.Error](err); {
	case is:
		return badRequest(sentence("The query cannot be answered: " + mistake.Error()))
	case err != nil && out.written:
		panic(http.ErrAbortHandler) // the client must not take a part of the list for the whole
	}
	return err
}

// records returns the listed versions as records. Addresses of copies count in seconds: of several versions of a page
// with the same second, only the last one has a record.
func (h *Handler) records(ctx context.Context, l present.Listing, v Visitor) cdx.Records {
	return func(yield func(cdx.Record, error) bool) {
		var held *cdx.Record
		for one, err := range h.o.Presenter.List(ctx, l, v.reader()) {
			if err != nil {
				yield(cdx.Record{}, err)
				return
			}
			next := recordOf(one)
			if held != nil && (held.URL != next.URL || held.Timestamp != next.Timestamp) && !yield(*held, nil) {
				return
			}
			held = &next
		}
		if held != nil {
			yield(*held, nil)
		}
	}
}

func recordOf(v present.Version) cdx.Record {
	return cdx.Record{URLKey: warc.URLKey(v.URL), Timestamp: memento.Timestamp(v.Fetched), URL: v.URL, MIME: v.MIME,
		Status: strconv.Itoa(v.Status), Digest: v.Digest, Length: strconv.FormatInt(v.Bytes, 10)}
}

// begun remembers whether a part of the answer was written. A silent one, for HEAD, writes no body.
type begun struct {
	http.ResponseWriter
	written, silent bool
}

func (b *begun) Write(p []byte) (int, error) {
	if b.silent {
		return len(p), nil
	}
	b.written = true
	return b.ResponseWriter.Write(p)
}
