package crawler

import (
	"cmp"
	"errors"
	"fmt"
)

// Requeue queues the known addresses that match the filter again, each at its recorded depth. It
// returns how many addresses it queued.
func (f *Frontier) Requeue(filter Filter) (n int, err error) {
	m, err := filter.matcher(f.visits)
	if err != nil {
		return 0, err
	}
	for from := ""; ; {
		c := &change{requeue: m, from: from}
		err := f.wait(c)
		n += c.added
		if from = c.next; err != nil || from == "" {
			return n, err
		}
	}
}

// requeue queues the addresses that match the filter c.requeue again. One call queues at most
// maxOffers addresses and sets c.next if more remain.
func (b *batch) requeue(c *change) error {
	switch {
	case c.requeue.Barred != nil:
		return b.lift(c)
	case !c.requeue.DueBy.IsZero():
		return b.revive(c)
	}
	return b.requeueKnown(c)
}

// requeueKnown looks through all known addresses, starting at the address c.from, and queues those
// that match the filter c.requeue again.
func (b *batch) requeueKnown(c *change) error {
	var picked []Record
	err := each(b.known, c.requeue.Prefix, c.from, func(r Record) error {
		if len(picked) == maxOffers {
			c.next = r.URL
			return errEnough
		}
		if c.requeue.matches(&r) && b.owns(r.URL) {
			r.from = cmp.Or(c.requeue.From, r.from)
			picked = append(picked, r)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	c.added = len(picked)
	return b.enqueueAgain(picked)
}

func (b *batch) enqueueAgain(picked []Record) error {
	for i := range picked {
		r := &picked[i]
		old := r.State
		r.Tries, r.Status, r.Why, r.Led = 0, 0, "", ""
		if err := b.enqueue(r, old, true, ordinary, r.rank()); err != nil {
			return err
		}
	}
	return nil
}

// revive queues addresses again whose next visit is due. It begins with the address that has been
// due longest.
func (b *batch) revive(c *change) error {
	var picked []Record
	cursor := b.again.Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		at, address := splitTime(k)
		if at > nanos(c.requeue.DueBy) {
			break
		}
		if len(picked) == maxOffers {
			c.next = address
			break
		}
		r, found, err := b.get(address)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s is in the index of revisits but has no record", address)
		}
		if hasPrefix([]byte(address), c.requeue.Prefix) && c.requeue.matches(&r) && b.owns(address) {
			picked = append(picked, r)
		}
	}
	c.added = len(picked)
	return b.enqueueAgain(picked)
}
