package holdings

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/memory"
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

	Version func(u *url.URL) archive.PolicyVersion // returns the version of the policy in force for u; nil if unknown
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

	// Hasten receives pages that should be crawled again soon. Parts receives the Parts and Missing
	// of the Receipts of pages checked in the background. Both may be nil.
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

// Receipt is the result of receiving a page.
type Receipt struct {
	Stored, Indexed bool

	Links []string // absolute URLs of the links that may be followed
	// URLs of images, style sheets and other resources needed to show the page, if they may be
	// followed; nil unless Options.Requisites is set
	Requisites []string
	Parts      []string // other resources that the page requires
	// other required resources that should be requested again soon, because they failed or because
	// a newer answer may exist
	Missing []string
	Cuts    []string // what was too large to be stored, read or indexed; each item is a clause

	Textless  bool      // the page may be indexed, but has no text
	Undrawn   error     // why no thumbnail was made although the policy permits one
	Unchanged bool      // the copy equals the copy stored before
	Since     time.Time // if Unchanged is set, when the earlier copy was received
	Absent    bool      // a 304 response came for a page that is not stored: request it again without a condition

	Refused   []acap.Decision // the decisions that refuse follow, index or preserve
	Discarded bool            // X01: the page itself prohibits crawl, so nothing of the page is used
	TakenDown *acap.Field     // the take-down request in force for the page (P1 2.6, P04); nil if none

	// Decide returns the decision about any usage of the page, including its required resources;
	// nil if the page was not checked.
	Decide func(acap.Usage) acap.Decision
}

// Receive stores what may be stored of a page. The result is durable when it returns. Only a 2xx
// response is stored as a page; redirects are stored as captures of their own addresses. Only 404
// and 410 erase the page: another failure does not mean that it is gone (H05). A 304 response
// confirms the archived copy. The copy is then checked against today's policy and the new headers,
// and no new capture is made (see archive.Renew).
func (h *Holdings) Receive(ctx context.Context, pg *page.Page) (Receipt, error) {
	status, u := pg.Last().Status, pg.URL()
	known, _, err := h.archive.Resource(u.String())
	if err != nil {
		return Receipt{}, err
	}
	origin, err := h.sources.Policies.Policy(ctx, u)
	if err != nil {
		return Receipt{}, err
	}
	gone := status == http.StatusNotFound || status == http.StatusGone
	switch {
	case gone:
		return Receipt{}, errors.Join(h.endPages(ctx, pg.Hops()), h.endParts(ctx, pg), h.keepRedirects(ctx, pg.Hops()))
	case (status < 200 || status > 299) && status != http.StatusNotModified:
		return Receipt{}, h.keepRedirects(ctx, pg.Hops())
	// X02: the policy may have changed since the request; a page that may not be crawled is not
	// read
	case !origin.Decide(acap.Crawl, acap.NewResource(u)).Allowed:
		return Receipt{Discarded: true}, nil
	}
	g, err := h.assessReceived(ctx, origin, pg, known)
	if err != nil || g.Absent {
		return g.Receipt, err
	}
	earlier := pg.Hops()[:len(pg.Hops())-1]
	// erase what is stored at these addresses from the time before they redirected
	if err := h.endPages(ctx, earlier); err != nil {
		return g.Receipt, err
	}
	if g.TakenDown == nil {
		if err := h.keepRedirects(ctx, earlier); err != nil {
			return g.Receipt, err
		}
		if g.deposit.Aliases, err = h.aliases(ctx, earlier); err != nil {
			return g.Receipt, err
		}
	}
	switch err := h.writePage(ctx, &g); {
	case g.renews != 0 && errors.Is(err, archive.ErrNotHeld): // the copy was erased after the decision
		return Receipt{Absent: true}, nil
	case err != nil:
		return g.Receipt, err
	}
	return h.recheckReceived(ctx, origin, u, g.Receipt)
}

// recheckReceived checks a page again if its policy changed while it was received.
func (h *Holdings) recheckReceived(ctx context.Context, judged *acap.Policy, u *url.URL, r Receipt) (Receipt, error) {
	origin, err := h.sources.Policies.Policy(ctx, u)
	if err != nil || !r.Stored && !r.Indexed {
		return r, err
	}
	d, down, err := h.recheck(ctx, u.String(), u, judged, origin, SweepOptions{})
	if r.TakenDown = down; down != nil {
		r.Stored, r.Indexed = false, false
		return r, err
	}
	for _, s := range d.swept {
		r.Stored = r.Stored && (s.capture == 0 || s.capture != d.known.Current)
	}
	r.Indexed = r.Indexed && !d.forget
	return r, err
}

// recheck checks what is stored at an address again if the policy of its origin has changed; judged
// is the policy used for the decision. A concurrent sweep by the new policy may have missed the
// page. recheck returns what was erased, or the take-down request that caused everything to be
// erased.
func (h *Holdings) recheck(ctx context.Context, address string, u *url.URL, judged, origin *acap.Policy,
	o SweepOptions) (d sweepPlan, down *acap.Field, err error) {
	if origin == judged {
		return d, nil, nil
	}
	if down = terms.TakeDown(origin, u); down != nil {
		_, err = h.Erase(ctx, address, takenDown, down.String())
		return d, down, err
	}
	known, _, err := h.archive.Resource(address)
	if err != nil {
		return d, nil, err
	}
	d, err = h.sweepPage(ctx, known, h.withDefaults(o))
	return d, nil, err
}

const takenDown = "taken down at the publisher's request"

// writePage writes to archive and index what was decided about a page. When it returns, the changes
// are durable.
func (h *Holdings) writePage(ctx context.Context, g *assessment) error {
	address := g.deposit.Resource.URL
	wait := g.wait || g.document != nil && len(g.document.Text) > largeText
	written, err := h.applyChange(ctx, address, change{doc: g.document, url: address, wait: wait},
		func(known archive.Resource) (bool, error) {
			return h.writeDeposit(ctx, g, known)
		})
	if err != nil {
		return err
	}
	err = errors.Join(written(), h.noteParts(ctx, g), h.withdrawTakenDown(ctx, g.deposit.Resource.Kept.Sources()),
		h.eraseTakenDownHops(ctx, h.o.Known, g.deposit.Hops))
	if err == nil && g.emptied {
		err = h.sweepIfBare(ctx, address)
	}
	return err
}

// writeDeposit writes the assessment g of a page to the archive; known is the current record of the
// page. indexed reports whether the index must change too.
func (h *Holdings) writeDeposit(ctx context.Context, g *assessment, known archive.Resource) (indexed bool, err error) {
	address := g.deposit.Resource.URL
	if g.from != nil && moved(known, *g.from) {
		return false, errMoved
	}
	g.dropStaleKept(known)
	g.emptied = !g.Stored && !g.Indexed && g.deposit.Picture == nil && (!known.FirstIndexed.IsZero() ||
		!known.FirstPreserved.IsZero())
	if g.earlier.action == toDrop {
		if err := h.drop(ctx, address, g.earlier.ground.tombstone()); err != nil {
			return false, err
		}
	}
	if g.renews != 0 {
		fresh := g.document != nil && !g.entryUnchanged(known)
		return fresh || known.Indexed && !g.Indexed, h.archive.Renew(ctx, g.renews, g.deposit, fresh)
	}
	if again, err := h.justReceived(known, g); err != nil || again {
		return false, errors.Join(err, h.archive.Lead(ctx, g.deposit.Aliases, address))
	}
	_, err = h.archive.Receive(ctx, g.deposit)
	return g.document != nil || known.Indexed && !g.deposit.Stays, err
}

// dropStaleKept removes from the deposit data that was copied from data stored earlier, if the
// earlier data has been erased or changed since it was copied.
func (g *assessment) dropStaleKept(known archive.Resource) {
	d := &g.deposit
	if (g.before == "" || g.before == known.Kept.Digest()) && (!d.Stays || known.Indexed) {
		return
	}
	g.Indexed = g.Indexed && !d.Stays
	d.Index, d.Stays = g.Indexed, false
	if d.Resource.Kept = g.withoutOld; g.depicted {
		d.Picture = nil
	}
}

// eraseTakenDownHops erases the data stored for those redirecting addresses in hops that have been
// taken down since they were requested.
func (h *Holdings) eraseTakenDownHops(ctx context.Context, policies terms.Policies, hops []archive.Via) error {
	var failed []error
	for _, hop := range hops {
		if down := terms.TakenDown(ctx, policies, hop.URL); down != nil {
			_, err := h.Erase(ctx, hop.URL, takenDown, down.String())
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// withdrawTakenDown removes data made from those resources in sources that have been taken down
// since they were fetched.
func (h *Holdings) withdrawTakenDown(ctx context.Context, sources []string) error {
	var failed []error
	for _, source := range sources {
		if terms.TakenDown(ctx, h.o.Known, source) != nil {
			_, err := h.withdraw(ctx, source)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// simultaneous is the time within which identical responses for a page are treated as one response.
const simultaneous = time.Minute

// justReceived reports whether this run has just received the same page. This happens because
// several redirects can reach it at the same time.
func (h *Holdings) justReceived(known archive.Resource, g *assessment) (bool, error) {
	if known.LastCrawled.Before(h.opened) || g.deposit.Fetched.Sub(known.LastCrawled).Abs() > simultaneous ||
		known.Indexed != g.Indexed {
		return false, nil
	}
	same, _, err := h.sameCopy(known, g)
	return same, err
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
