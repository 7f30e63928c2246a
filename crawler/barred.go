package crawler

import (
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// bar is an address that is not visited while what is at down is taken down: the same, or where it leads.
type bar struct{ address, down string }

// Bar notes of those addresses, which are in normal form, that they are taken down (P1 2.6.1), as far as they were visited, as pages or as
// what pages require: Lift queues them again.
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

// canBeBarred reports whether r is to be queued again when a take-down goes that stands now. What is queued tells that when its turn comes.
func (r *Record) canBeBarred() bool {
	return r.State != Queued && !notAskedFor(r.State) && r.Led == "" && r.barred == ""
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
		r.barred = bar.down
		if err := b.put(&r, r.State, true); err != nil {
			return err
		}
	}
	return nil
}

// Lift queues again, at their depth, the addresses that were barred by the take-down of one that begins with prefix ("" for all) and of
// which stands says that it stands no longer. It returns their number.
func (f *Frontier) Lift(prefix string, stands func(address string) bool) (n int, err error) {
	for from := []byte(prefix); ; {
		var keys []string
		err := f.view(func(tx *bbolt.Tx) error {
			cursor := tx.Bucket(bBarred).Cursor()
			for k, _ := cursor.Seek(from); k != nil && hasPrefix(k, prefix) && len(keys) < maxOffers; k, _ = cursor.Next() {
				keys = append(keys, string(k))
			}
			return nil
		})
		if err != nil || len(keys) == 0 {
			return n, err
		}
		from = append([]byte(keys[len(keys)-1]), 0)
		last, gone := "", false
		c := &change{lift: slices.DeleteFunc(keys, func(key string) bool {
			if down, _, _ := strings.Cut(key, "\x00"); down != last {
				last, gone = down, !stands(down)
			}
			return !gone
		})}
		if len(c.lift) == 0 {
			continue
		}
		if err := f.wait(c); err != nil {
			return n, err
		}
		n += c.added
	}
}

func (b *batch) lift(c *change) error {
	var picked []Record
	for _, key := range c.lift {
		down, address, _ := strings.Cut(key, "\x00")
		r, found, err := b.get(address)
		if err != nil {
			return err
		}
		if found && r.barred == down {
			picked = append(picked, r)
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
	if r.marked = r.barred; r.barred == "" {
		return nil
	}
	return b.barred.Put(barKey(r.barred, r.URL), nil)
}

// barKey is the address that is taken down, NUL, the address of the record.
func barKey(down, address string) []byte { return []byte(down + "\x00" + address) }
