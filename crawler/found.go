package crawler

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// foundKey returns a key of bFound: the number of a seed, then a host.
func foundKey(from uint64, host string) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(host)), from), host...)
}

func splitFound(k []byte) (from uint64, host string) {
	return binary.BigEndian.Uint64(k), string(k[8:])
}

// updateFound updates the counts of queued addresses by seed and host when r has changed.
func (b *batch) updateFound(r *Record) error {
	queued := r.State == Queued
	if r.filed == queued && (!queued || r.filedFrom == r.from) {
		return nil
	}
	host, err := address.Host(r.URL)
	if err != nil {
		return err
	}
	if r.filed {
		if err := b.countFound(foundKey(r.filedFrom, host), -1); err != nil {
			return err
		}
	}
	if r.filed, r.filedFrom = queued, r.from; !queued {
		return nil
	}
	return b.countFound(foundKey(r.from, host), 1)
}

// countFound adds d to the count under key, and removes a count of zero.
func (b *batch) countFound(key []byte, d int) error {
	n := d
	if v := b.found.Get(key); len(v) == 8 {
		n += int(binary.BigEndian.Uint64(v))
	}
	if n == 0 {
		return b.found.Delete(key)
	}
	return b.found.Put(key, number(uint64(n)))
}

// seedNumber decodes the number of a seed. It returns NoSeed if v is not a number.
func seedNumber(v []byte) uint64 {
	if len(v) != 8 {
		return NoSeed
	}
	return binary.BigEndian.Uint64(v)
}

// selection says which addresses a run visits: the addresses that were found from the seeds that
// the run names. The zero value selects everything.
type selection struct {
	from map[uint64]bool // numbers of the seeds whose addresses are selected; nil: every address is selected
}

func (s selection) holds(from uint64) bool { return s.from == nil || s.from[from] }

// adopts reports whether a queued address that was found from the seed old should from now on count
// as found from another seed. old and by are the numbers of the two seeds. adopts returns true if
// this run visits addresses found from by, but not addresses found from old.
func (f *Frontier) adopts(old, by uint64) bool {
	return !f.visits(old) && f.visits(by)
}

// selects reports whether this run leaves out some queued addresses because they were found from
// other seeds.
func (f *Frontier) selects() bool {
	s := f.selected.Load()
	return s != nil && s.from != nil
}

// visits reports whether this run visits addresses found from the seed with the number from.
func (f *Frontier) visits(from uint64) bool {
	s := f.selected.Load()
	return s == nil || s.holds(from)
}

// selectFrom returns the selection for a run that names seeds, in normal form. Everything is
// selected if seeds is empty, or if no other address is queued and no other seed was ever named.
func (f *Frontier) selectFrom(seeds []string) (s selection, err error) {
	if len(seeds) == 0 {
		return s, nil
	}
	s.from = map[uint64]bool{RequiredByPages: true}
	others := false
	err = f.view(func(tx *bbolt.Tx) error {
		bucket, named := tx.Bucket(bSeeds), map[string]bool{}
		for _, seed := range seeds {
			s.from[seedNumber(bucket.Get([]byte(seed)))], named[seed] = true, true
		}
		delete(s.from, NoSeed)
		err := bucket.ForEach(func(k, _ []byte) error {
			others = others || !named[string(k)]
			return nil
		})
		if f.shared() { // other machines have queued addresses too, so only the seeds count
			return err
		}
		n, countErr := countOthers(tx, s)
		others = others || n > 0
		return cmp.Or(err, countErr)
	})
	if !others {
		s.from = nil
	}
	return s, err
}

// countOthers returns how many queued addresses s does not select.
func countOthers(tx *bbolt.Tx, s selection) (n int, err error) {
	err = tx.Bucket(bFound).ForEach(func(k, v []byte) error {
		if from, _ := splitFound(k); !s.holds(from) {
			n += int(binary.BigEndian.Uint64(v))
		}
		return nil
	})
	return n, err
}

// Others returns the number of queued addresses that this run does not visit.
func (f *Frontier) Others() (n int, err error) {
	s := f.selected.Load()
	if s == nil || s.from == nil {
		return 0, nil
	}
	err = f.view(func(tx *bbolt.Tx) error {
		n, err = countOthers(tx, *s)
		return err
	})
	return n, err
}

// foundFrom returns the number of the seed from which the page at address, in normal form, was
// found.
func (f *Frontier) foundFrom(address string) (uint64, error) {
	r, _, err := f.Get(address)
	return r.from, err
}

// seed returns the number of the seed at address, which is in normal form.
func (f *Frontier) seed(address string) (n uint64, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		n = seedNumber(tx.Bucket(bSeeds).Get([]byte(address)))
		return nil
	})
	return n, err
}

// revisitSeeds queues fetched seeds again if an earlier run found them from another seed. After the
// new visit their links count as found from these seeds.
func (f *Frontier) revisitSeeds(seeds []string) error {
	c := &change{}
	for _, seed := range seeds {
		r, _, err := f.Get(seed)
		if err != nil {
			return err
		}
		own, err := f.seed(seed)
		if err != nil {
			return err
		}
		if r.State == Fetched && r.from != own {
			c.offers = append(c.offers, Offer{URL: seed, Again: true, From: own})
		}
	}
	return f.wait(c)
}

// waitingSelected is like waiting for a run that visits only the addresses that s selects.
func (f *Frontier) waitingSelected(tx *bbolt.Tx, s selection) iter.Seq2[int64, string] {
	names := map[string]bool{}
	found := tx.Bucket(bFound).Cursor()
	for from := range s.from {
		prefix := number(from)
		for k, _ := found.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = found.Next() {
			names[string(k[8:])] = true
		}
	}
	_ = tx.Bucket(bAsked).ForEach(func(k, _ []byte) error { // the callback returns no error, so ForEach returns none
		name, _, _ := strings.Cut(string(k), "\x00")
		names[name] = true
		return nil
	})
	hosts := tx.Bucket(bHosts)
	all := make([]hostDue, 0, len(names))
	for name := range names {
		// a damaged record is reported when the host is loaded
		if h, _ := decodeHost(hosts.Get([]byte(name))); h.ready != 0 {
			all = append(all, hostDue{h.ready, name})
		}
	}
	slices.SortFunc(all, func(a, b hostDue) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name)) })
	return func(yield func(int64, string) bool) {
		for _, d := range all {
			if !yield(d.at, d.name) {
				return
			}
		}
	}
}

// foundCounts compares the counts by seed and host with the queued addresses.
func (c *checker) foundCounts() error {
	kept := map[string]int{}
	err := c.tx.Bucket(bFound).ForEach(func(k, v []byte) error {
		kept[string(k)] = int(binary.BigEndian.Uint64(v))
		return nil
	})
	for key, n := range c.found {
		if err == nil && kept[key] != n {
			from, host := splitFound([]byte(key))
			err = fmt.Errorf("%d addresses of %s found from seed %d are queued, but their count is %d", n, host, from,
				kept[key])
		}
	}
	if err == nil && len(kept) != len(c.found) {
		err = fmt.Errorf("addresses of %d pairs of seed and host are queued, but %d pairs are counted", len(c.found),
			len(kept))
	}
	return err
}
