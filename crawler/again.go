package crawler

import (
	"cmp"
	"errors"
	"fmt"
)

// Requeue queues again, at their depth, the addresses that match a filter, and returns their
// number.
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

// requeue queues again what matches c.requeue, a bounded number at a time.
func (b *batch) requeue(c *change) error {
	switch {
	case c.requeue.Barred != nil:
		return b.lift(c)
	case !c.requeue.DueBy.IsZero():
		return b.revive(c)
	}
	return b.requeueKnown(c)
}

// requeueKnown looks at everything that is known from c.from on.
func (b *batch) requeueKnown(c *change) error {
	var picked []Record
	err := each(b.known, c.requeue.Prefix, c.from, func(r Record) error {
		if len(picked) == maxOffers {
			c.next = r.URL
			return errEnough
		}
		if c.requeue.matches(&r) {
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

// revive looks at what is due to be visited again, the longest due first.
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
			return fmt.Errorf("%s is to be visited again but is not known", address)
		}
		if hasPrefix([]byte(address), c.requeue.Prefix) && c.requeue.matches(&r) {
			picked = append(picked, r)
		}
	}
	c.added = len(picked)
	return b.enqueueAgain(picked)
}
