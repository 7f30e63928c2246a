package holdings

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Options configures Holdings.
type Options struct {
	Now func() time.Time // nil means time.Now
	// store no new copies; stored copies stay as earlier versions while the policy permits
	NoPreserve bool
	NoIndex    bool // index nothing; delete the entry of each page that is received
	Requisites bool // report the images and style sheets that browsers load to show the pages
	NoArchive  bool // noarchive and nocache also prohibit preserve (N24)
	// Known returns the policies last read, without requests. Recovery and sweeps use it. nil means
	// the policies of the sources.
	Known terms.Policies

	Budget *memory.Budget // limits the memory of pages that are being processed; nil means a separate budget

	Drawer Drawer // draws thumbnails of received pages; nil means that none is drawn

	// Version returns the version of the policy in force for u. If it is nil, every sweep checks
	// all pages. Otherwise a sweep checks only pages that have changed since the last check, whose
	// policy has changed, or that have reached a time limit.
	Version func(u *url.URL) archive.PolicyVersion
	// For names everything else that the policies of Known depend on: the crawler for which they
	// decide, and the program. If it has changed, the next sweep checks all pages.
	For string

	// called for each panic; a panic makes the processing of one page fail; may be nil
	Defect func(*defect.Error)
	// Swept is called for everything that Rejudge and ReceivePart erase, from several goroutines;
	// may be nil.
	Swept func(Swept)

	// Scarce reports whether the disk is nearly full. If it is, Open does not bring the index up to
	// date. If Scarce is nil, Open assumes that there is enough space.
	Scarce func() bool

	// Erased receives a tombstone for each page that loses its index entry but keeps its copy,
	// because the archive writes no tombstone in that case. Erased may be nil.
	Erased func(archive.Tombstone)

	// Again receives a page that was erased because of something from which its scripts made it, and that should be
	// crawled again soon. It must not wait for anything. It may be nil.
	Again func(page string)
	// Hasten receives pages that should be crawled again soon, because more of them may be stored now. Parts receives
	// the Parts and Missing of the Receipts of pages checked in the background. Both may be nil.
	Hasten func(ctx context.Context, pages []string) error
	Parts  func(ctx context.Context, parts, missing []string) error
}

// Holdings contains the archive and the index, and applies the rules for what may be stored in
// them. It is safe for concurrent use.
type Holdings struct {
	archive *archive.Archive
	indexer *indexer
	sources terms.Sources
	o       Options
	opened  time.Time
	behind  int // the result of Behind
	seed    maphash.Seed
	// locks selected by a hash of the URL: while one is held, no other goroutine changes archive or
	// index for that URL
	locks [256]sync.Mutex

	listing sync.Mutex   // held while pages are listed as due
	checked atomic.Int64 // number of pages that sweeps have decided about, for tests

	background background
	remaking   chan struct{} // limits concurrent remakes, including those that wait for requests
	drawing    drawing
}

// Index makes pages searchable; *index.Index implements it. Changes are durable when a call
// returns. An implementation must be safe for concurrent use.
type Index interface {
	Put(docs ...index.Document) error // replaces documents with the same URLs
	Delete(urls ...string) error
	Has(url string) (bool, error)
	Count() (uint64, error)
	URLs() iter.Seq2[string, error]

	MadeBy() (version string, err error) // index.Version of the program that made all documents
	SetMadeBy(version string) error

	Verify(ctx context.Context) error // returns an error that wraps index.ErrCorrupt if the index is damaged
	Compact(ctx context.Context) error
	Bytes() (int64, error)
	Snapshot() (*index.Snapshot, error)
}

// Open returns Holdings that use the archive a and the index ix. It first repairs differences
// between a and ix that a crash left. The caller must close the Holdings before closing a and ix.
func Open(ctx context.Context, a *archive.Archive, ix Index, s terms.Sources, o Options) (*Holdings, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Budget == nil {
		o.Budget = memory.NewBudget(0)
	}
	if o.Known == nil {
		o.Known = s.Policies
	}
	if o.Again == nil {
		o.Again = func(string) {}
	}
	if o.Hasten == nil {
		o.Hasten = func(context.Context, []string) error { return nil }
	}
	if o.Erased == nil {
		o.Erased = func(archive.Tombstone) {}
	}
	if o.Parts == nil {
		o.Parts = func(context.Context, []string, []string) error { return nil }
	}
	h := &Holdings{archive: a, sources: s, o: o, opened: o.Now().UTC(), seed: maphash.MakeSeed(),
		remaking: make(chan struct{}, remakeBodies)}
	h.background.pending = map[task]bool{}
	h.background.ctx, h.background.stop = context.WithCancel(context.Background())
	// a full disk is not an error: the intents stay in the archive until the disk has space
	if err := h.recover(ctx, ix); err != nil && !disk.Full(err) {
		h.background.stop()
		return nil, fmt.Errorf("archive and index could not be made to agree: %w", err)
	}
	h.indexer = startIndexer(ix, a)
	if err := h.finishEnds(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("data made from required resources that are gone could not be erased: %w",
			err), h.Close())
	}
	return h, nil
}

// Close stops the work started by Rejudge, and writes pending changes to the index.
func (h *Holdings) Close() error { return errors.Join(h.background.stopAndWait(), h.indexer.close()) }

// Flush waits until the index contains everything received before the call, so that searches find
// it.
func (h *Holdings) Flush() error { return h.indexer.drain() }

// Behind returns the number of pages whose last change was not yet in the index when h was opened,
// because the disk was nearly full.
func (h *Holdings) Behind() int { return h.behind }

// Unwritten returns how many bytes of disk the index will need for pages received but not yet
// written to it.
func (h *Holdings) Unwritten() int64 { return h.indexer.unwritten.Load() }

// lock serialises writes to archive and index for one URL. Do not call Policies while holding it:
// Policy may find a take-down request and execute it, which takes the same lock.
func (h *Holdings) lock(address string) *sync.Mutex {
	return &h.locks[maphash.String(h.seed, address)%uint64(len(h.locks))]
}

// applyChange changes the archive by calling fn under the lock of address, and sends c to the index
// if fn returns true. The returned function waits until the index is written, if c requires that.
func (h *Holdings) applyChange(ctx context.Context, address string, c change, fn func(known archive.Resource) (bool,
	error)) (func() error, error) {
	mu := h.lock(address)
	mu.Lock()
	defer mu.Unlock()
	known, _, err := h.archive.Resource(address)
	if err != nil {
		return nil, err
	}
	if concerns, err := fn(known); err != nil || !concerns {
		return func() error { return nil }, err
	}
	return h.indexer.send(c)
}

// drop erases all stored versions of a page, because they may no longer be preserved.
func (h *Holdings) drop(ctx context.Context, address string, s archive.Tombstone) error {
	captures, err := h.archive.Captures(address)
	if err != nil {
		return err
	}
	for _, c := range captures {
		if err := h.archive.EraseCapture(ctx, c.ID, s); err != nil && !errors.Is(err, archive.ErrNotHeld) {
			return err
		}
	}
	return nil
}

// endPages erases data of URLs that no longer return a page of their own, because the page is gone
// or the URL redirects elsewhere. It erases the index entry, and copies that may be kept only until
// the next crawl (H05). Other copies stay as earlier versions.
func (h *Holdings) endPages(ctx context.Context, hops []page.Hop) error {
	now := h.o.Now().UTC()
	for _, hop := range hops {
		known, _, err := h.archive.Resource(hop.URL)
		if err = errors.Join(err, h.stopAwaiting(ctx, hop.URL, everyPart)); err != nil {
			return err
		}
		if known.Current == 0 && !known.Indexed {
			if pictured, err := h.archive.Pictured(hop.URL); err != nil {
				return err
			} else if len(pictured) == 0 {
				continue
			}
		}
		u, err := url.Parse(hop.URL)
		if err != nil {
			return err
		}
		origin, err := h.sources.Policies.Policy(ctx, u)
		if err != nil {
			return err
		}
		facts := acap.Facts{Now: now, FirstPreserved: known.FirstPreserved, Recrawled: true}
		preserve := terms.Held(ctx, origin, u, known.Own, nil, h.sources, facts).Decide(acap.Preserve)
		g := assessment{deposit: archive.Deposit{Resource: archive.Resource{URL: hop.URL, Status: hop.Status,
			Own: known.Own}, Fetched: now}}
		g.plan = decide(&evidence{facts: facts, noPreserve: true, noIndex: true,
			received: &terms.Holding{Preserve: preserve}})
		if err := h.writePage(ctx, &g); err != nil {
			return err
		}
	}
	return nil
}

// aliases returns the redirect chain to a page, starting after the last address that is taken down.
// Nothing may be shown at an address that is taken down, or at addresses that redirect to such an
// address (X66).
func (h *Holdings) aliases(ctx context.Context, hops []page.Hop) ([]string, error) {
	var out, nowhere []string
	for _, hop := range hops {
		u, err := url.Parse(hop.URL)
		if err != nil {
			return nil, err
		}
		origin, err := h.sources.Policies.Policy(ctx, u)
		if err != nil {
			return nil, err
		}
		if out = append(out, hop.URL); terms.TakeDown(origin, u) != nil {
			nowhere, out = append(nowhere, out...), nil
		}
	}
	if len(nowhere) == 0 {
		return out, nil
	}
	return out, h.archive.Mislead(ctx, nowhere)
}

// Lead records that hops redirect to a URL that was received before. The redirects are stored, and
// pages stored at the redirecting addresses lose their index entries and become earlier versions
// (X66). If the URL is taken down, the redirects are recorded without a target.
func (h *Holdings) Lead(ctx context.Context, hops []page.Hop, to string) error {
	if err := h.endPages(ctx, hops); err != nil {
		return err
	}
	aliases, err := h.aliases(ctx, hops)
	if err != nil {
		return err
	}
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	origin, err := h.sources.Policies.Policy(ctx, u)
	switch {
	case err != nil:
		return err
	case terms.TakeDown(origin, u) != nil:
		return h.archive.Mislead(ctx, aliases)
	}
	return errors.Join(h.archive.Lead(ctx, aliases, to), h.keepRedirects(ctx, hops))
}
