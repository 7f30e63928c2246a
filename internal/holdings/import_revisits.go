package holdings

import (
	"context"
	"errors"
	"sync"

	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/warc"
)

// Revisits is what the imports of several files share, so that a revisit record finds the payload that it repeats in
// any of them, before or after it. The zero value is ready for use.
type Revisits struct {
	mu      sync.Mutex
	taken   map[string]uint64 // payload digest as written in a record → a capture with that payload
	refused map[string]string // payload digest → why the record with that payload was not imported, as a clause
	waiting []*incoming       // revisit records whose payload has not been read yet
	bytes   int64             // that waiting needs
}

// mostWaiting is how many bytes of memory the revisit records need at most whose payload has not been read yet.
const mostWaiting = 64 << 20

// keep keeps a revisit record until ImportRevisits is called. It returns false if there is no room.
func (r *Revisits) keep(x *incoming, told func(Imported)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := x.size() + 1<<10
	if r.bytes+n > mostWaiting {
		return false
	}
	x.told, r.waiting, r.bytes = told, append(r.waiting, x), r.bytes+n
	return true
}

// take notes which capture has the payload of x.
func (r *Revisits) take(x *incoming, id uint64) {
	digest := x.payloadDigest()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken == nil {
		r.taken = map[string]uint64{}
	}
	r.taken[digest] = id
}

// find notes for each revisit record which capture has its payload, as far as it is known. A payload in the same batch
// is not, so the result does not depend on which record is imported first.
func (r *Revisits) find(batch []*incoming) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range batch {
		if x.revisit {
			x.repeats = r.taken[x.digest]
		}
	}
}

// refuse notes that the record x, which has a payload, was not imported.
func (r *Revisits) refuse(x *incoming) {
	if x.revisit || len(x.payload) == 0 || x.result.Outcome == Broken {
		return
	}
	digest := x.payloadDigest()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == nil {
		r.refused = map[string]string{}
	}
	r.refused[digest] = x.url + ", which was not imported: " + x.result.Why
}

// why returns why the payload of the revisit record x was not found.
func (r *Revisits) why(x *incoming) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.refused[x.digest]; why != "" {
		return "it is a revisit of " + why
	}
	return "it is a revisit of a capture that is not stored: " + x.refersURL
}

// payloadDigest returns the digest of the payload, as the record of x writes it if it does.
func (x *incoming) payloadDigest() string {
	if x.verified {
		return x.digest
	}
	return warc.Digest(x.payload)
}

// ImportRevisits imports the revisit records whose payload was not known when Import read them. Call it after the last
// file. It reports each of them to the function that Import got.
func (h *Holdings) ImportRevisits(ctx context.Context, o ImportOptions) (ImportCounts, error) {
	m := h.newImporter(ctx, o, nil)
	m.last = true
	waiting := m.revisits.waiting
	m.revisits.waiting, m.revisits.bytes = nil, 0
	for _, x := range waiting {
		if m.urls[x.url] || len(m.batch) >= importBatch {
			if err := errors.Join(ctx.Err(), m.flush()); err != nil {
				return m.counts, err
			}
		}
		x.waits = false
		m.add(x)
	}
	return m.counts, errors.Join(ctx.Err(), m.flush(), m.drain())
}

// newImporter returns the state of an import.
func (h *Holdings) newImporter(ctx context.Context, o ImportOptions, told func(Imported)) *importer {
	if o.Policies == nil {
		o.Policies = h.o.Known
	}
	if o.Normal == nil {
		o.Normal = func(s string) (string, error) { return s, nil }
	}
	if told == nil {
		told = func(Imported) {}
	}
	if o.Revisits == nil {
		o.Revisits = &Revisits{}
	}
	return &importer{Holdings: h, ctx: ctx, o: o, told: told, decoders: coding.NewDecoders(), urls: map[string]bool{},
		revisits: o.Revisits, methods: methods{h.seed, map[uint64]string{}}}
}

// drain makes searches that begin now find the new pages.
func (m *importer) drain() error {
	if m.counts.Imported == 0 {
		return nil
	}
	return m.indexer.drain()
}
