package crawler

import (
	"slices"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// AddSeeds queues addresses that the operator named, and returns their normal forms.
func (f *Frontier) AddSeeds(seeds ...string) (urls []string, err error) {
	var offers []Offer
	for _, s := range seeds {
		u, err := address.Normal(s)
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
		offers = append(offers, Offer{URL: u, Seed: true, State: Queued})
	}
	_, err = f.Offer(offers...)
	return urls, err
}

// Offer queues addresses, or records that they are not visited, and returns when that is durable.
// Seeds are queued ahead of all links; a seed that was fetched is not queued again. Offer returns
// how many addresses were newly queued.
func (f *Frontier) Offer(offers ...Offer) (added int, err error) {
	if f.shared() {
		offers = slices.Clone(offers)
		if err := f.checkOffers(offers); err != nil {
			return 0, err
		}
	} else if err := f.clearFailures(offers); err != nil {
		return 0, err
	}
	if offers = f.fresh(offers); len(offers) == 0 {
		return 0, nil
	}
	c := &change{offers: offers}
	err = f.wait(c)
	return c.added, err
}

// clearFailures resets the failures of hosts that seeds in offers name, so that these hosts are due
// as soon as their delay permits. It changes only the working set; the writer changes the file.
func (f *Frontier) clearFailures(offers []Offer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range offers {
		if !o.Seed {
			continue
		}
		name, err := address.Host(o.URL)
		if err != nil {
			return err
		}
		if h := f.hosts[name]; h != nil && h.failures > 0 {
			h.failures, h.due = 0, h.held
			if h.busy > 0 {
				h.due = later(h.held, h.leased)
			}
			f.offerHost(h)
		}
	}
	return nil
}

// AddListed queues addresses from a sitemap, before links of the same depth, and returns how many
// were new. The parameter visited is a page address, in normal form; the sitemap was read because
// of the visit of that page. The new addresses count as found from the same seed as that page.
// AddListed skips known addresses and addresses that are not http or https. The scope is checked
// when an address is due.
func (f *Frontier) AddListed(visited string, depth int, links ...string) (int, error) {
	from, err := f.foundFrom(visited)
	if err != nil {
		return 0, err
	}
	return f.add(from, depth, links, true)
}

func (f *Frontier) add(from uint64, depth int, links []string, listed bool) (int, error) {
	var offers []Offer
	for _, s := range links {
		if u, err := address.Normal(s); err == nil {
			offers = append(offers, Offer{URL: u, Depth: depth, Listed: listed, From: from, State: Queued})
		}
	}
	return f.Offer(offers...)
}

// fresh returns offers without those that would change nothing, so that the writer does less work.
// An offer of a required resource whose visit is in progress is kept, since the outcome of that
// visit is not known yet.
func (f *Frontier) fresh(offers []Offer) []Offer {
	kept := offers[:0]
	owned := f.ownership()
	visited := f.visited(offers) // read before the transaction begins: a visit may be committed between the two
	err := f.view(func(tx *bbolt.Tx) error {
		known := tx.Bucket(bKnown).Cursor() // one cursor for all lookups is faster than a Get for each
		for _, o := range offers {
			if o.Seed || o.Again || o.Promote || o.Down != "" || !owned(o.URL) {
				kept = append(kept, o)
				continue
			}
			if k, v := known.Seek([]byte(o.URL)); string(k) == o.URL {
				r, err := glance(v)
				if err != nil {
					return err
				}
				if r.State == Queued && f.selects() {
					if r, err = decodeRecord(o.URL, v); err != nil {
						return err
					}
				}
				if !news(&r, &o) && !visited[o.URL] && !f.adopts(r.from, o.From) {
					continue
				}
			}
			kept = append(kept, o)
		}
		return nil
	})
	if err != nil {
		return offers // the writer finds the same error and reports it
	}
	return kept
}

// visited returns the required resources among offers whose visit is under way or not committed.
func (f *Frontier) visited(offers []Offer) (visited map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range offers {
		if _, _, part := partOf(o.URL); part && f.leaseOf(o.URL) != nil {
			if visited == nil {
				visited = map[string]bool{}
			}
			visited[o.URL] = true
		}
	}
	return visited
}
