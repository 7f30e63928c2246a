package holdings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Options configure Holdings.
type Options struct {
	Now       func() time.Time // time.Now
	NoArchive bool             // noarchive and nocache prohibit preserve too (N24)
	Known     terms.Policies   // policies without a request, for what a crash left; nil: those of the sources
}

// Holdings is what is held, and on what terms. It is safe for concurrent use.
type Holdings struct {
	archive *archive.Archive
	indexer *indexer
	sources terms.Sources
	o       Options
}

// Open puts archive and index together and finishes what a crash left between them. It does not own them: close Holdings first.
func Open(ctx context.Context, a *archive.Archive, ix *index.Index, s terms.Sources, o Options) (*Holdings, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Known == nil {
		o.Known = s.Policies
	}
	h := &Holdings{archive: a, sources: s, o: o}
	if err := h.recover(ctx, ix); err != nil {
		return nil, fmt.Errorf("archive and index could not be brought together: %w", err)
	}
	h.indexer = startIndexer(ix, a)
	return h, nil
}

// Close writes what the index has not got yet.
func (h *Holdings) Close() error { return h.indexer.close() }

// Receipt says what became of a page.
type Receipt struct {
	Stored, Indexed bool
	Links           []string        // that may be followed, absolute
	Refused         []acap.Decision // of follow, index and preserve, those that were refused
	Discarded       bool            // the page itself prohibits crawl: nothing of it is used (M06, X01)
	TakenDown       *acap.Field     // the standing request that bars the page (P04)
}

// Receive holds what may be held of a page; when it returns, that is durable. Of an answer that is no page (a status other than
// 2xx) nothing is held, and only 404 and 410 end anything: failures are no evidence (H05).
func (h *Holdings) Receive(ctx context.Context, pg *page.Page) (Receipt, error) {
	last := pg.Last()
	u := pg.URL()
	address := u.String()
	known, _, err := h.archive.Resource(address)
	if err != nil {
		return Receipt{}, err
	}
	origin, err := h.sources.Policies.Policy(ctx, u)
	if err != nil {
		return Receipt{}, err
	}
	now := h.o.Now().UTC()
	facts := acap.Facts{Now: now, FirstCrawled: known.FirstCrawled, FirstIndexed: known.FirstIndexed,
		FirstPreserved: known.FirstPreserved, FirstPresented: known.FirstPresented}
	switch {
	case last.Status == http.StatusNotFound || last.Status == http.StatusGone:
		return Receipt{}, h.gone(ctx, origin, u, known, facts)
	case last.Status < 200 || last.Status > 299:
		return Receipt{}, nil
	}
	t := terms.Of(ctx, origin, u, pg, h.sources, facts)
	var r Receipt
	r.Discarded = !t.Policy().Decide(acap.Crawl, acap.NewResource(u)).Allowed
	r.TakenDown = standing(origin, u)
	links, follow := t.Links()
	r.Links = links
	if !follow {
		r.Refused = append(r.Refused, t.Decide(acap.Follow))
	}
	preserve := t.Decide(acap.Preserve)
	if h.o.NoArchive && preserve.Allowed { // N24
		if d := t.Decide(acap.PresentCurrentCopy); !d.Allowed && (d.Reason == acap.ByMeta || d.Reason == acap.ByHeader) {
			preserve = d
		}
	}
	content, mayIndex := t.Text()
	if !preserve.Allowed {
		r.Refused = append(r.Refused, preserve)
	}
	if !mayIndex {
		r.Refused = append(r.Refused, t.Decide(acap.Index))
	}
	keep := preserve.Allowed && r.TakenDown == nil
	mayIndex = mayIndex && r.TakenDown == nil
	d := h.deposit(t, pg, keep, mayIndex)
	d.Replace = preserve.Limits(facts).UntilRecrawled
	if err := h.drop(ctx, address, keep, preserve, r.TakenDown); err != nil {
		return r, err
	}
	if _, err := h.archive.Receive(ctx, d); err != nil {
		return r, err
	}
	r.Stored, r.Indexed = keep, mayIndex
	if !mayIndex {
		if known.Indexed {
			err = h.indexer.remove(ctx, address)
		}
		return r, err
	}
	return r, h.indexer.put(ctx, index.Document{URL: address, Title: content.Title, Text: content.Text, Language: pg.Language(),
		Host: u.Host, Fetched: d.Fetched, Positions: keep}, !keep)
}

// deposit is what the archive gets of a page.
func (h *Holdings) deposit(t *terms.Terms, pg *page.Page, keep, mayIndex bool) archive.Deposit {
	last := pg.Last()
	d := archive.Deposit{Fetched: last.Start.UTC(), Truncated: last.Truncated, Header: last.Header, Index: mayIndex,
		Decided: map[acap.Usage]string{}}
	if d.Fetched.IsZero() {
		d.Fetched = t.Facts().Now
	}
	d.Resource = archive.Resource{URL: pg.URL().String(), Status: last.Status, Own: pg.Own(), MIME: pg.MIME(), Language: pg.Language(),
		ETag: last.Header.Get("ETag"), LastModified: last.Header.Get("Last-Modified")}
	for _, u := range acap.Usages() {
		if why := t.Policy().Decide(u, acap.NewResource(pg.URL())); why.Because != nil {
			d.Decided[u] = why.Because.String()
		}
	}
	for _, hop := range pg.Hops()[:len(pg.Hops())-1] {
		d.Aliases = append(d.Aliases, hop.URL)
		d.Hops = append(d.Hops, archive.Hop{URL: hop.URL, Method: hop.Method, Proto: hop.Proto, Status: hop.Status, Start: hop.Start, Took: hop.Took, Header: hop.Header})
	}
	if keep {
		d.Body, _, _ = t.Copy(acap.Preserve)
		if d.Body == nil {
			d.Body = []byte{}
		}
	}
	if keep || mayIndex && t.Decide(acap.PresentSnippet).Allowed {
		d.Resource.Title = pg.Title(page.Cut{})
	}
	if !keep && mayIndex { // a bounded excerpt instead of a body to cut snippets from
		if s, ok := t.Snippet(acap.PresentSnippet, ""); ok {
			d.Resource.Excerpt = s.Text
		}
	}
	return d
}

// drop erases the versions held of a page that may no longer be preserved.
func (h *Holdings) drop(ctx context.Context, address string, keep bool, preserve acap.Decision, takenDown *acap.Field) error {
	if keep {
		return nil
	}
	why, line := preserve.Why(), preserve.Because
	if takenDown != nil {
		why, line = "taken down at the publisher's request", takenDown
	}
	captures, err := h.archive.Captures(address)
	if err != nil {
		return err
	}
	for _, c := range captures {
		if err := h.archive.EraseCapture(ctx, c.ID, why, line.String()); err != nil && !errors.Is(err, archive.ErrNotHeld) {
			return err
		}
	}
	return nil
}

// gone ends what ends when a resource is no longer there: its index entry, and copies kept until it is re-crawled (H05).
func (h *Holdings) gone(ctx context.Context, origin *acap.Policy, u *url.URL, known archive.Resource, f acap.Facts) error {
	if known.URL == "" {
		return nil
	}
	f.Recrawled = true
	t := terms.Held(ctx, origin, u, known.Own, nil, h.sources, f)
	if d := t.Decide(acap.Preserve); !d.Allowed {
		if err := h.drop(ctx, known.URL, false, d, nil); err != nil {
			return err
		}
	}
	if !known.Indexed {
		return nil
	}
	if _, err := h.archive.Receive(ctx, archive.Deposit{Resource: archive.Resource{URL: known.URL, Status: http.StatusGone, Own: known.Own}, Fetched: f.Now}); err != nil {
		return err
	}
	return h.indexer.remove(ctx, known.URL)
}

// standing gives the take-down request for the page that stands in its origin's robots.txt: while it does, nothing is kept or
// indexed of the page (P04, P05).
func standing(origin *acap.Policy, u *url.URL) *acap.Field {
	address := acap.NewResource(u).URL
	for _, a := range origin.Actions() {
		if a.Action == acap.TakeDown && a.Execute && a.URL == address {
			return a.Field
		}
	}
	return nil
}

// Erase removes all that is held of a URL, and of the URLs that lead to it. It returns the number of copies erased, and may be
// repeated (P04).
func (h *Holdings) Erase(ctx context.Context, rawurl, why, line string) (int, error) {
	n, err := h.archive.Erase(ctx, rawurl, why, line)
	if err != nil {
		return n, err
	}
	return n, h.indexer.remove(ctx, rawurl)
}
