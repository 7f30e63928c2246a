package crawler

import (
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// bar is an address that is not visited while what is at down is taken down: the same, or where it
// leads.
type bar struct{ address, down string }

// Bar notes of those addresses, which are in normal form, that they are taken down (P1 2.6.1), as
// far as they were visited, as pages or as what pages require: Lift queues them again.
func (f *Frontier) Bar(down ...string) error {
	var bars []bar
	for _, address := range down {
		bars = append(bars, bar{address, address})
	}
	return f.bar(bars)
}

// BarLed is Bar for addresses that led to one that is taken down.
func (f *Frontier) BarLed(down string, led ...string) error {
	var bars []bar
	for _, address := range led {
		bars = append(bars, bar{address, down})
	}
	return f.bar(bars)
}

// bar leaves out what need not be written.
func (f *Frontier) bar(bars []bar) error {
	if len(bars) == 0 {
		return nil
	}
	c := &change{}
	err := f.view(func(tx *bbolt.Tx) error {
		known := tx.Bucket(bKnown)
		note := func(address, down string, v []byte) error {
			r, err := decodeRecord(address, v)
			if err == nil && r.canBeBarred() {
				c.bars = append(c.bars, bar{address, down})
			}
			return err
		}
		parts := known.Cursor()
		for _, bar := range bars {
			if v := known.Get([]byte(bar.address)); v != nil {
				if err := note(bar.address, bar.down, v); err != nil {
					return err
				}
			}
			if bar.address != bar.down {
				continue
			}
			for k, v := parts.Seek([]byte(required + bar.down)); hasPrefix(k, required+bar.down); k, v = parts.Next() {
				address, _, _ := partOf(string(k))
				if address != bar.down {
					break
				}
				if err := note(string(k), bar.down, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil || len(c.bars) == 0 {
		return err
	}
	return f.wait(c)
}

// canBeBarred reports whether r is to be queued again when a take-down goes that stands now. What
// is queued tells that when its turn comes.
func (r *Record) canBeBarred() bool {
	return r.State != Queued && !notAskedFor(r.State) && r.Led == "" && r.TakenDown == ""
}

func (b *batch) bar(bars []bar) error {
	for _, bar := range bars {
		r, found, err := b.get(bar.address)
		if err != nil {
			return err
		}
		if !found || !r.canBeBarred() {
			continue
		}
		if _, _, part := partOf(bar.address); !part && bar.down != bar.address {
			r.Led = bar.down
		}
		r.TakenDown = bar.down
		if err := b.put(&r, r.State, true); err != nil {
			return err
		}
	}
	return nil
}

// Barred returns the addresses that are taken down, if others are not visited for that. See Queue.
func (f *Frontier) Barred(prefix, after string) (down []string, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bBarred).Cursor()
		for k, _ := cursor.Seek([]byte(max(prefix, after+"\x01"))); k != nil && hasPrefix(k, prefix) &&
			len(down) < maxBarred; {
			address, _, _ := strings.Cut(string(k), "\x00")
			down = append(down, address)
			k, _ = cursor.Seek([]byte(address + "\x01"))
		}
		return nil
	})
	return down, err
}

// maxBarred is how many addresses Barred returns at once.
const maxBarred = 1000

// Lift queues again, at their depth, the addresses that were barred by a take-down that stands no
// longer. It asks stands about the addresses that are taken down and begin with prefix, "" for all.
// It returns the number of addresses queued.
func (f *Frontier) Lift(prefix string, stands func(address string) bool) (int, error) {
	return lift(f, prefix, stands)
}

func lift(q Queue, prefix string, stands func(address string) bool) (n int, err error) {
	for after := ""; ; {
		down, err := q.Barred(prefix, after)
		if err != nil || len(down) == 0 {
			return n, err
		}
		after = down[len(down)-1]
		if down = slices.DeleteFunc(down, stands); len(down) == 0 {
			continue
		}
		added, err := q.Requeue(Filter{Barred: down})
		if n += added; err != nil {
			return n, err
		}
	}
}

// lift queues what the take-downs of c.requeue barred, a bounded number at a time.
func (b *batch) lift(c *change) error {
	var picked []Record
	for _, down := range c.requeue.Barred {
		prefix := down + "\x00"
		cursor := b.barred.Cursor()
		for k, _ := cursor.Seek([]byte(prefix)); k != nil && hasPrefix(k, prefix); k, _ = cursor.Next() {
			if len(picked) == maxOffers {
				c.next = down
				break
			}
			r, found, err := b.get(string(k[len(prefix):]))
			if err != nil {
				return err
			}
			if found && r.TakenDown == down && c.requeue.matches(&r) {
				picked = append(picked, r)
			}
		}
	}
	c.added = len(picked)
	return b.enqueueAgain(picked)
}

// mark keeps the list of what take-downs bar in step with r.
func (b *batch) mark(r *Record) error {
	if r.marked != "" {
		if err := b.barred.Delete(barKey(r.marked, r.URL)); err != nil {
			return err
		}
	}
	if r.marked = r.TakenDown; r.TakenDown == "" {
		return nil
	}
	return b.barred.Put(barKey(r.TakenDown, r.URL), nil)
}

// barKey is the address that is taken down, NUL, the address of the record.
func barKey(down, address string) []byte { return []byte(down + "\x00" + address) }
