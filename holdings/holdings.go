package holdings

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Options configure Holdings.
type Options struct {
	Now        func() time.Time // time.Now
	NoPreserve bool             // keep no copies; those held stay, as earlier versions, as long as policy permits
	NoIndex    bool             // index nothing; what is received goes from the index
	Requisites bool             // tell what pages are shown with
	NoArchive  bool             // noarchive and nocache prohibit preserve too (N24)
	Known      terms.Policies   // policies without a request, for what a crash left and for sweeps; nil: those of the sources

	Version func(u *url.URL) archive.PolicyVersion // the version of policy in force for u; nil: unknown
	Swept   func(Swept)                            // is told what Rejudge ends, one item at a time; may be nil
}

// Holdings is what is held, and on what terms. It is safe for concurrent use.
type Holdings struct {
	archive *archive.Archive
	indexer *indexer
	sources terms.Sources
	o       Options
	opened  time.Time
	seed    maphash.Seed
	locks   [256]sync.Mutex // by URL: archive and index see the changes of one in the same order

	background background
	bodies     chan struct{} // holds as many as sweeps have in memory
	drawing    drawing
}

// Open puts archive and index together and finishes what a crash left between them. It does not own them: close Holdings first.
func Open(ctx context.Context, a *archive.Archive, ix *index.Index, s terms.Sources, o Options) (*Holdings, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Known == nil {
		o.Known = s.Policies
	}
	h := &Holdings{archive: a, sources: s, o: o, opened: o.Now().UTC(), seed: maphash.MakeSeed(), bodies: make(chan struct{}, sweepBodies)}
	h.background.pending = map[string]bool{}
	h.background.ctx, h.background.stop = context.WithCancel(context.Background())
	if err := h.recover(ctx, ix); err != nil {
		h.background.stop()
		return nil, fmt.Errorf("archive and index could not be brought together: %w", err)
	}
	h.indexer = startIndexer(ix, a)
	return h, nil
}

// Close ends what Rejudge began, and writes what the index has not got yet.
func (h *Holdings) Close() error { return errors.Join(h.background.end(), h.indexer.close()) }

// lock is held while archive and index are told of a change of a URL. Policies must not be asked meanwhile: a request found in one
// erases.
func (h *Holdings) lock(address string) *sync.Mutex {
	return &h.locks[maphash.String(h.seed, address)%uint64(len(h.locks))]
}

// Receipt says what became of a page.
type Receipt struct {
	Stored, Indexed bool
	Incomplete      bool            // something that it requires could not be had for a failure: it is to be asked for again soon
	Textless        bool            // it may be indexed, but holds no text
	Links           []string        // that may be followed, absolute
	Requisites      []string        // what the page is shown with, as far as it may be followed; only as Options ask for it
	Unchanged       bool            // its copy is the same as the one held before
	Absent          bool            // a 304 for what is not held: nothing came of it, and the page is to be asked for without condition
	Refused         []acap.Decision // of follow, index and preserve, those that policy refused
	Discarded       bool            // the page itself prohibits crawl: nothing of it is used (M06, X01)
	TakenDown       *acap.Field     // the standing request that bars the page (P04)
}

// Receive holds what may be held of a page; when it returns, that is durable. Of an answer that is no page (a status other than
// 2xx) nothing is held, and only 404 and 410 end anything: failures are no evidence (H05). A 304 is the page held, crawled again: it
// is judged anew by the policy of now and by what it says itself, and makes no capture (archive.Renew).
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
		return Receipt{}, h.end(ctx, pg.Hops())
	case (status < 200 || status > 299) && status != http.StatusNotModified:
		return Receipt{}, nil
	case !origin.Decide(acap.Crawl, acap.NewResource(u)).Allowed: // since it was asked for; what may not be crawled is not looked at (X02)
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
		if g.deposit.Aliases, err = h.aliases(ctx, earlier); err != nil {
			return g.Receipt, err
		}
	}
	switch err := h.hold(ctx, g); {
	case g.renews != 0 && errors.Is(err, archive.ErrNotHeld): // it went meanwhile
		return Receipt{Absent: true}, nil
	case err != nil:
		return g.Receipt, err
	}
	return h.stillAsked(ctx, origin, u, g.Receipt)
}

// stillAsked looks at what was received while the policy changed under which it was judged.
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

// lookAgain judges what is held of an address once more, where the policy it was judged under is no longer that of its origin: whoever
// judged what was held then may have missed it. It gives what was ended, or the request for which all was.
func (h *Holdings) lookAgain(ctx context.Context, address string, u *url.URL, judged, origin *acap.Policy, o SweepOptions) (d due, down *acap.Field, err error) {
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

// hold tells archive and index what g says of a page, and returns when that is durable.
func (h *Holdings) hold(ctx context.Context, g judged) error {
	address := g.deposit.Resource.URL
	written, err := h.tell(ctx, address, change{doc: g.document, url: address, wait: g.wait}, func(known archive.Resource) (bool, error) {
		if g.before != "" && g.before != known.Excerpt || g.stays && !known.Indexed { // what was carried over went meanwhile
			g.stays, g.Indexed, g.deposit.Index = false, g.Indexed && !g.stays, g.Indexed && !g.stays
			describe(&g.deposit.Resource, g.bare)
		}
		if g.drop {
			if err := h.drop(ctx, address, g.why, g.line); err != nil {
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
		_, err := h.archive.Receive(ctx, g.deposit)
		if g.stays && err == nil { // the index holds it already
			h.archive.Done(address)
			return false, nil
		}
		return g.document != nil || known.Indexed, err
	})
	if err != nil {
		return err
	}
	return errors.Join(written(), h.recall(ctx, g.deposit.Resource.Sources))
}

// recall withdraws what was made of resources whose publisher has had them taken down since they were fetched.
func (h *Holdings) recall(ctx context.Context, sources []string) error {
	var failed []error
	for _, source := range sources {
		if terms.TakenDown(ctx, h.o.Known, source) != nil {
			failed = append(failed, h.withdraw(ctx, source))
		}
	}
	return errors.Join(failed...)
}

// simultaneous is within what time two answers count as one.
const simultaneous = time.Minute

// again reports whether g is what this run has received of the page just now: several redirects can lead to it at the same time.
func (h *Holdings) again(known archive.Resource, g judged) (bool, error) {
	if known.LastCrawled.Before(h.opened) || g.deposit.Fetched.Sub(known.LastCrawled).Abs() > simultaneous || known.Indexed != g.Indexed {
		return false, nil
	}
	return h.same(known, g)
}

// tell makes a change of the archive, and passes c on to the index where fn says that the index must know. The function returned
// waits for the index where that is needed.
func (h *Holdings) tell(ctx context.Context, address string, c change, fn func(known archive.Resource) (bool, error)) (func() error, error) {
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
func (h *Holdings) drop(ctx context.Context, address, why, line string) error {
	captures, err := h.archive.Captures(address)
	if err != nil {
		return err
	}
	for _, c := range captures {
		if err := h.archive.EraseCapture(ctx, c.ID, why, line); err != nil && !errors.Is(err, archive.ErrNotHeld) {
			return err
		}
	}
	return nil
}

// end ends what ends when a URL no longer gives a page of its own, because it is gone or leads elsewhere: its index entry, and the
// copies kept until it is re-crawled (H05). What else is held is no longer the current version.
func (h *Holdings) end(ctx context.Context, hops []page.Hop) error {
	now := h.o.Now().UTC()
	for _, hop := range hops {
		known, _, err := h.archive.Resource(hop.URL)
		if err != nil {
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
		g := judged{drop: !preserve.Allowed && preserve.Reason != acap.Unavailable, deposit: archive.Deposit{
			Resource: archive.Resource{URL: hop.URL, Status: hop.Status, Own: known.Own}, Fetched: now}}
		g.why, g.line = grounds(preserve)
		if err := h.hold(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// aliases are the URLs that led to a page, less those that are taken down: what is under such a URL is not shown, wherever it is (X66).
func (h *Holdings) aliases(ctx context.Context, hops []page.Hop) ([]string, error) {
	var out []string
	for _, hop := range hops {
		u, err := url.Parse(hop.URL)
		if err != nil {
			return nil, err
		}
		origin, err := h.sources.Policies.Policy(ctx, u)
		if err != nil {
			return nil, err
		}
		if terms.TakeDown(origin, u) == nil {
			out = append(out, hop.URL)
		}
	}
	return out, nil
}

// Lead notes that requests for from lead to a URL that was received before: what stood there ends, and the record of the redirect
// is kept (X66).
func (h *Holdings) Lead(ctx context.Context, from []string, to string) error {
	hops := make([]page.Hop, len(from))
	for i, address := range from {
		hops[i] = page.Hop{URL: address, Status: http.StatusFound}
	}
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
	if err != nil || terms.TakeDown(origin, u) != nil {
		return err
	}
	return h.archive.Lead(ctx, aliases, to)
}

// Erase removes all that is held of a URL, however it is spelt, and the URLs that lead to it. It returns the number of copies
// erased, and may be repeated (P04).
func (h *Holdings) Erase(ctx context.Context, rawurl, why, line string) (n int, err error) {
	addresses, err := h.spellings(rawurl)
	for _, address := range addresses {
		if err != nil {
			return n, err
		}
		var erased int
		erased, err = h.erase(ctx, address, why, line)
		n += erased
	}
	return n, err
}

// spellings are the addresses that a request for rawurl names: a policy writes "*" and "$" of a URL as %2A and %24 (X33).
func (h *Holdings) spellings(rawurl string) ([]string, error) {
	first := strings.Index(rawurl, "%2")
	if first < 0 {
		return []string{rawurl}, nil
	}
	list := []string{rawurl, strings.NewReplacer("%2A", "*", "%24", "$").Replace(rawurl)}
	want, err := url.Parse(rawurl)
	if err != nil {
		return nil, err
	}
	err = h.archive.EachUnder(rawurl[:first], func(r archive.Resource) error {
		u, err := url.Parse(r.URL)
		if err == nil && acap.NewResource(u).URL == acap.NewResource(want).URL {
			list = append(list, r.URL)
		}
		return nil
	})
	slices.Sort(list)
	return slices.Compact(list), err
}

func (h *Holdings) erase(ctx context.Context, address, why, line string) (n int, err error) {
	final, err := h.archive.Resolve(address)
	if err != nil {
		return 0, err
	}
	if err := h.withdraw(ctx, address); err != nil { // first: cut short, it leaves what asks for the rest
		return 0, err
	}
	if _, known, err := h.archive.Resource(address); err != nil || !known && final == address {
		return 0, err
	}
	var failure error
	forgotten, err := h.tell(ctx, address, change{url: address, wait: true}, func(archive.Resource) (bool, error) {
		n, failure = h.archive.Erase(ctx, address, why, line)
		after, _, err := h.archive.Resource(address)
		return !after.Indexed, err // the records may be gone although it failed
	})
	if err == nil {
		err = forgotten()
	}
	return n, errors.Join(failure, err, h.withdraw(ctx, address))
}
