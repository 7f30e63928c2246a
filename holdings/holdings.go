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

// Options configure Holdings.
type Options struct {
	Now        func() time.Time // time.Now
	NoPreserve bool             // keep no copies; those held stay, as earlier versions, as long as policy permits
	NoIndex    bool             // index nothing; the entry of a page that is received is deleted
	Requisites bool             // report what pages are shown with: images and style sheets
	NoArchive  bool             // our reading (N24): noarchive and nocache prohibit preserve too
	// Known answers with the policies last read, without a request. Recovery and sweeps use it;
	// nil: the policies of the sources.
	Known terms.Policies

	Budget *memory.Budget // bounds the memory of pages in progress; nil: a budget of its own

	Drawer Drawer // draws thumbnails of received pages; nil: none is drawn

	Version func(u *url.URL) archive.PolicyVersion // returns the version of the policy in force for u; nil: unknown
	Defect  func(*defect.Error)                    // is called for each panic, which fails one page; may be nil
	// Swept is called for everything that Rejudge and ReceivePart erase, from several goroutines;
	// may be nil.
	Swept func(Swept)

	// Scarce reports whether the disk is so full that what can wait should. Then the index is not
	// brought up to date as Holdings open. nil: there is room.
	Scarce func() bool

	// Erased receives what loses its index entry and keeps its copy, for which the archive writes
	// no tombstone; may be nil.
	Erased func(archive.Tombstone)

	// Hasten is given pages that are to be crawled again soon, and Parts resources as Receipt has
	// them, of pages judged in the background; where it is nil, nobody is.
	Hasten func(ctx context.Context, pages []string) error
	Parts  func(ctx context.Context, parts, missing []string) error
}

// Holdings is what is held, and on what terms. It is safe for concurrent use.
type Holdings struct {
	archive *archive.Archive
	indexer *indexer
	sources terms.Sources
	o       Options
	opened  time.Time
	behind  int // see Behind
	seed    maphash.Seed
	locks   [256]sync.Mutex // by URL: archive and index see the changes of one in the same order

	background background
	remaking   chan struct{} // and as many as pages made anew have: those wait for requests too
	drawing    drawing
}

// Index is where Holdings enter pages so that they are found. An *index.Index is one. Changes are
// durable when a call returns. It must be safe for concurrent use.
type Index interface {
	Put(docs ...index.Document) error // replaces the documents of the same URLs
	Delete(urls ...string) error
	Has(url string) (bool, error)
	Count() (uint64, error)
	URLs() iter.Seq2[string, error]

	MadeBy() (version string, err error) // index.Version of the program that made all its documents
	SetMadeBy(version string) error

	Verify(ctx context.Context) error // wraps index.ErrCorrupt if the index is damaged
	Compact(ctx context.Context) error
	Bytes() (int64, error)
	Snapshot() (*index.Snapshot, error)
}

// Open puts archive and index together and finishes what a crash left between them. It does not own
// them: close Holdings first.
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
	if err := h.recover(ctx, ix); err != nil && !disk.Full(err) { // on a full disk it waits: the intents stay
		h.background.stop()
		return nil, fmt.Errorf("archive and index could not be brought together: %w", err)
	}
	h.indexer = startIndexer(ix, a)
	if err := h.finishEnds(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("what was made of resources that have ended could not be taken away: %w",
			err), h.Close())
	}
	return h, nil
}

// Close ends what Rejudge began, and writes what the index has not got yet.
func (h *Holdings) Close() error { return errors.Join(h.background.end(), h.indexer.close()) }

// Flush returns when the index has everything that was received, so that searches find it.
func (h *Holdings) Flush() error { return h.indexer.drain() }

// Behind returns the number of pages whose last change was not in the index when h was opened,
// since the disk had no room for it.
func (h *Holdings) Behind() int { return h.behind }

// Unwritten returns how many bytes of the disk the index needs for what was received and is not in
// it.
func (h *Holdings) Unwritten() int64 { return h.indexer.unwritten.Load() }

// lock serialises writes to archive and index for one URL. Do not call Policies while holding it: a
// policy that is read may contain a take-down, which takes the same lock.
func (h *Holdings) lock(address string) *sync.Mutex {
	return &h.locks[maphash.String(h.seed, address)%uint64(len(h.locks))]
}

// Receipt says what became of a page.
type Receipt struct {
	Stored, Indexed bool

	Links      []string // that may be followed, absolute
	Requisites []string // what the page is shown with and may be followed; nil unless Options ask for it
	Parts      []string // other resources that the page requires
	Missing    []string // those of Parts to request again soon: they failed, or only an older answer was used
	Cuts       []string // what was too large to be kept, read or indexed, a clause each

	Textless  bool      // the page may be indexed, but has no text
	Undrawn   error     // why no thumbnail was made of a page that may have one
	Unchanged bool      // its copy is the same as the one held before
	Since     time.Time // if Unchanged: when that copy was received
	Absent    bool      // a 304 for a page that is not held: request it again without a condition

	Refused   []acap.Decision // those of follow, index and preserve that policy refused
	Discarded bool            // our reading (X01): the page itself prohibits crawl, so nothing is used
	TakenDown *acap.Field     // P1 2.6 (P04): the take-down request in force for the page

	// Decide answers for any usage of the page, with its required resources; nil: the page was not
	// judged.
	Decide func(acap.Usage) acap.Decision
}

// Receive stores what may be held of a page. When it returns, that is durable. Of an answer with a
// status other than 2xx it stores redirects only, and only 404 and 410 erase anything: a failure is
// no evidence that the page is gone (H05). A 304 stands for the archived page: that is judged again
// by today's policy and by the fresh headers, and no new capture is made (archive.Renew).
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
		return Receipt{}, errors.Join(h.end(ctx, pg.Hops()), h.endParts(ctx, pg), h.keepRedirects(ctx, pg.Hops()))
	case (status < 200 || status > 299) && status != http.StatusNotModified:
		return Receipt{}, h.keepRedirects(ctx, pg.Hops())
	// since it was asked for; what may not be crawled is not looked at (X02)
	case !origin.Decide(acap.Crawl, acap.NewResource(u)).Allowed:
		return Receipt{Discarded: true}, nil
	}
	g, err := h.assess(ctx, origin, pg, known)
	if err != nil || g.Absent {
		return g.Receipt, err
	}
	earlier := pg.Hops()[:len(pg.Hops())-1]
	if err := h.end(ctx, earlier); err != nil { // what stood there before a redirect took its place
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
	switch err := h.hold(ctx, &g); {
	case g.renews != 0 && errors.Is(err, archive.ErrNotHeld): // it went meanwhile
		return Receipt{Absent: true}, nil
	case err != nil:
		return g.Receipt, err
	}
	return h.stillAsked(ctx, origin, u, g.Receipt)
}

// stillAsked checks a page again if the policy that it was judged by changed while it was received.
func (h *Holdings) stillAsked(ctx context.Context, judged *acap.Policy, u *url.URL, r Receipt) (Receipt, error) {
	origin, err := h.sources.Policies.Policy(ctx, u)
	if err != nil || !r.Stored && !r.Indexed {
		return r, err
	}
	d, down, err := h.lookAgain(ctx, u.String(), u, judged, origin, SweepOptions{})
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

// lookAgain judges what is held of an address once more, where the policy it was judged under is no
// longer that of its origin: whoever judged what was held then may have missed it. It gives what
// was ended, or the request for which all was.
func (h *Holdings) lookAgain(ctx context.Context, address string, u *url.URL, judged, origin *acap.Policy,
	o SweepOptions) (d due, down *acap.Field, err error) {
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
	d, err = h.sweepPage(ctx, known, h.settled(o))
	return d, nil, err
}

const takenDown = "taken down at the publisher's request"

// hold writes what was decided of a page to archive and index, and returns when that is durable.
func (h *Holdings) hold(ctx context.Context, g *judged) error {
	address := g.deposit.Resource.URL
	wait := g.wait || g.document != nil && len(g.document.Text) > largeText
	written, err := h.tell(ctx, address, change{doc: g.document, url: address, wait: wait},
		func(known archive.Resource) (bool, error) {
			return h.deposit(ctx, g, known)
		})
	if err != nil {
		return err
	}
	err = errors.Join(written(), h.noteParts(ctx, g), h.recall(ctx, g.deposit.Resource.Kept.Sources()),
		h.recallHops(ctx, h.o.Known, g.deposit.Hops))
	if err == nil && g.emptied {
		err = h.sweepBare(ctx, address)
	}
	return err
}

// deposit writes what g says of a page to the archive, where known is known of it by now. It
// reports whether the index must know.
func (h *Holdings) deposit(ctx context.Context, g *judged, known archive.Resource) (indexed bool, err error) {
	address := g.deposit.Resource.URL
	if g.from != nil && moved(known, *g.from) {
		return false, errMoved
	}
	g.leaveOld(known)
	g.emptied = !g.Stored && !g.Indexed && g.deposit.Picture == nil && (!known.FirstIndexed.IsZero() ||
		!known.FirstPreserved.IsZero())
	if g.earlier.action == toDrop {
		if err := h.drop(ctx, address, g.earlier.ground.tombstone()); err != nil {
			return false, err
		}
	}
	if g.renews != 0 {
		fresh := g.document != nil && !g.stands(known)
		return fresh || known.Indexed && !g.Indexed, h.archive.Renew(ctx, g.renews, g.deposit, fresh)
	}
	if again, err := h.again(known, g); err != nil || again {
		return false, errors.Join(err, h.archive.Lead(ctx, g.deposit.Aliases, address))
	}
	_, err = h.archive.Receive(ctx, g.deposit)
	return g.document != nil || known.Indexed && !g.deposit.Stays, err
}

// leaveOld leaves out of the deposit what was to be carried over from what was stored before, if
// that is gone by now.
func (g *judged) leaveOld(known archive.Resource) {
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

// recallHops erases what is held of addresses that led to a page, and were taken down since they
// did.
func (h *Holdings) recallHops(ctx context.Context, policies terms.Policies, hops []archive.Via) error {
	var failed []error
	for _, hop := range hops {
		if down := terms.TakenDown(ctx, policies, hop.URL); down != nil {
			_, err := h.Erase(ctx, hop.URL, takenDown, down.String())
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// recall withdraws what was made of resources whose publisher has had them taken down since they
// were fetched.
func (h *Holdings) recall(ctx context.Context, sources []string) error {
	var failed []error
	for _, source := range sources {
		if terms.TakenDown(ctx, h.o.Known, source) != nil {
			_, err := h.withdraw(ctx, source)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// simultaneous is the time within which two answers count as one.
const simultaneous = time.Minute

// again reports whether g is what this run has received of the page just now: several redirects can
// lead to it at the same time.
func (h *Holdings) again(known archive.Resource, g *judged) (bool, error) {
	if known.LastCrawled.Before(h.opened) || g.deposit.Fetched.Sub(known.LastCrawled).Abs() > simultaneous ||
		known.Indexed != g.Indexed {
		return false, nil
	}
	same, _, err := h.same(known, g)
	return same, err
}

// tell makes a change of the archive, and passes c on to the index where fn says that the index
// must know. The function returned waits for the index where that is needed.
func (h *Holdings) tell(ctx context.Context, address string, c change, fn func(known archive.Resource) (bool,
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

// drop erases the versions held of a page that may no longer be preserved.
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

// end ends what ends when a URL no longer gives a page of its own, because it is gone or leads
// elsewhere: its index entry, and the copies kept until it is re-crawled (H05). What else is held
// is no longer the current version.
func (h *Holdings) end(ctx context.Context, hops []page.Hop) error {
	now := h.o.Now().UTC()
	for _, hop := range hops {
		known, _, err := h.archive.Resource(hop.URL)
		if err = errors.Join(err, h.unawait(ctx, hop.URL, every)); err != nil {
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
		g := judged{deposit: archive.Deposit{Resource: archive.Resource{URL: hop.URL, Status: hop.Status,
			Own: known.Own}, Fetched: now}}
		g.plan = decide(&evidence{facts: facts, noPreserve: true, noIndex: true,
			received: &terms.Holding{Preserve: preserve}})
		if err := h.hold(ctx, &g); err != nil {
			return err
		}
	}
	return nil
}

// aliases are the URLs that led to a page, each to the next, from behind the last that is taken
// down: what is under such a URL is not shown, wherever it is, and what led to it leads nowhere
// (X66).
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

// Lead notes that requests for hops lead to a URL that was received before: what stood there ends,
// and the redirects are kept (X66), unless to is taken down: then they lead nowhere.
func (h *Holdings) Lead(ctx context.Context, hops []page.Hop, to string) error {
	if err := h.end(ctx, hops); err != nil {
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
