package site

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/policy"
)

// blockRedirectsTo blocks all addresses in the queue that redirect to a page that is taken down.
func blockRedirectsTo(h *holdings.Holdings, f *crawler.Frontier, down string) error {
	from, err := h.Aliases(down)
	return errors.Join(err, f.BarLed(down, from...))
}

// eraser erases pages for the executor of requests. It looks pages up by the normalized address
// that the crawler uses.
type eraser struct {
	holdings *holdings.Holdings
	frontier *crawler.Frontier // nil if no queue is open
	room     *disk.Room
	// changes the queue now, or, in a cluster, when the servers answer; nil: now
	later func(change func() error) error
}

// Erase erases everything stored of a page, and returns the number of erased copies.
func (e eraser) Erase(ctx context.Context, rawurl, why, line string) (int, error) {
	e.room.Make()
	address, err := address.Normal(rawurl)
	if err != nil {
		return 0, nil // nothing is stored under an invalid address
	}
	if err := e.block(address); err != nil {
		return 0, err
	}
	return e.holdings.Erase(ctx, address, why, line)
}

// block blocks in the queue a page that is taken down. It must be called before the archive erases its records of
// redirects to the page.
func (e eraser) block(address string) error {
	if e.frontier == nil {
		return nil
	}
	spelt, err := e.holdings.Spellings(address)
	if err != nil {
		return err
	}
	led := map[string][]string{}
	for _, down := range spelt {
		if led[down], err = e.holdings.Aliases(down); err != nil {
			return err
		}
	}
	change := func() error {
		for _, down := range spelt {
			if err := errors.Join(e.frontier.Bar(down), e.frontier.BarLed(down, led[down]...)); err != nil {
				return err
			}
		}
		return nil
	}
	if e.later == nil {
		return change()
	}
	return e.later(change)
}

// Holds reports whether anything of a page is stored.
func (e eraser) Holds(rawurl string) (bool, error) {
	address, err := address.Normal(rawurl)
	if err != nil {
		return false, nil
	}
	return e.holdings.Holds(address)
}

// Verify returns what was erased of the page at rawurl after the time since, and what is still
// stored of the page.
func (e eraser) Verify(rawurl string, since time.Time) (v actions.Evidence, err error) {
	address, err := address.Normal(rawurl)
	if err != nil {
		return v, nil
	}
	r, err := e.holdings.Receipt(address)
	if err != nil {
		return v, err
	}
	v.Compacted, v.Settled, v.Pending = r.Compacted, r.Settled(), r.Pending
	for _, t := range r.Erasures {
		if t.TakenDown() && !t.When.Before(since) {
			e := &v.Erased
			e.Captures += t.Captures
			e.Pictures += t.Pictures
			e.Aliases += t.Aliases
			e.Hops += t.Hops
			e.Derived += t.Derived
			e.Keys += len(t.Keys)
			e.Index, e.Excerpt = e.Index || t.Entry, e.Excerpt || t.Known
		}
	}
	for _, p := range r.Left {
		v.Left = append(v.Left, p.Where+" "+p.What)
	}
	return v, nil
}

// recrawler queues pages again for publishers' re-crawl requests.
type recrawler struct {
	*crawler.Frontier
	visits func(rawurl string) bool
}

// Visits reports whether this machine visits the page at rawurl.
func (r recrawler) Visits(rawurl string) bool { return r.visits(rawurl) }

// Visited returns the result of the last visit to a page. visited is false if there was no visit
// since the time since.
func (r recrawler) Visited(rawurl string, since time.Time) (v actions.Visit, visited bool, err error) {
	address, err := address.Normal(rawurl)
	if err != nil {
		return v, false, err
	}
	known, found, err := r.Get(address)
	if err != nil || !found || known.State == crawler.Queued || known.When.Before(since) {
		return v, false, err
	}
	v = actions.Visit{At: known.When, Status: known.Status, Why: known.Why}
	switch known.State {
	case crawler.Fetched:
	case crawler.Unreachable, crawler.Failed:
		v.Failed = true
	default:
		v.Refused = true
	}
	return v, true, nil
}

// noteTakenDown records in the ledger that the page at address was erased because of a take-down
// request. It is called if the request was not executed in the usual way: a sweep found the
// request, or the policy changed while the page was being fetched.
func noteTakenDown(x *actions.Executor, address, line string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	origin, err := policy.Key(u)
	if err != nil {
		return err
	}
	return x.NoteErased(origin, address, line)
}
