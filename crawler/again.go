package crawler

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Revisit queues again, at their depth, the addresses beginning with prefix ("" for all) that are not queued and that
// pick wants. It returns their number. pick is called by one goroutine and must not use the frontier.
func (f *Frontier) Revisit(prefix string, pick func(Record) bool) (int, error) {
	return f.revisit(prefix, foundNowhere, pick)
}

// revisit is Revisit; the addresses then count as found from a seed. foundNowhere keeps the seed as
// it was.
func (f *Frontier) revisit(prefix string, seed uint64, pick func(Record) bool) (int, error) {
	n := 0
	for from := ""; ; {
		c := &change{again: pick, prefix: prefix, from: from, found: seed}
		if err := f.wait(c); err != nil {
			return n, err
		}
		n += c.added
		if from = c.next; from == "" {
			return n, nil
		}
	}
}

// Revive queues again, at their depth, the addresses that are due to be visited again by now
// (End.Again), with failed only those that failed, and returns their number. They do not come back
// by themselves.
func (f *Frontier) Revive(now time.Time, failed bool) (int, error) {
	for n := 0; ; {
		c := &change{revive: now, failed: failed}
		err := f.wait(c)
		n += c.added
		if err != nil || !c.more {
			return n, err
		}
	}
}

// requeue queues again what c.again picks among the outcomes, a bounded number at a time.
func (b *batch) requeue(c *change) error {
	var picked []Record
	c.next = ""
	err := each(b.known, c.prefix, c.from, func(r Record) error {
		if len(picked) == maxOffers {
			c.next = r.URL
			return errEnough
		}
		if r.State != Queued && c.again(r) {
			picked = append(picked, r)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	c.added = len(picked)
	for i := range picked {
		picked[i].from = cmp.Or(c.found, picked[i].from)
	}
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

// revive queues what is to be visited again by c.revive, a bounded number at a time, the longest due first.
func (b *batch) revive(c *change) error {
	var picked []Record
	cursor := b.again.Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		at, address := splitTime(k)
		if at > nanos(c.revive) {
			break
		}
		if c.more = len(picked) == maxOffers; c.more {
			break
		}
		r, found, err := b.get(address)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s is to be visited again but is not known", address)
		}
		if !c.failed || r.State == Failed {
			picked = append(picked, r)
		}
	}
	c.added = len(picked)
	return b.enqueueAgain(picked)
}
