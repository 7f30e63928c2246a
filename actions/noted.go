package actions

import (
	"maps"
	"slices"
)

// Noted returns the current state of each request that has a chain entry with a number greater than
// after, the oldest request first. The list is never nil.
func (l *Ledger) Noted(after uint64) (list []Request, err error) {
	list = []Request{}
	err = l.view(func(t *txn) error {
		ids := map[uint64]bool{}
		c := t.tx.Bucket(bChain).Cursor()
		for k, v := c.Seek(number(after + 1)); k != nil; k, v = c.Next() {
			e, err := readEntry(v)
			if err != nil {
				return err
			}
			ids[e.About] = true
		}
		some, err := t.these(slices.Sorted(maps.Keys(ids)))
		list = append(list, some...)
		return err
	})
	return list, err
}

// Settled reports whether r was executed or refused, or failed in the last attempt.
func (r *Request) Settled() bool {
	return r.State == Done || r.State == Refused || r.State == Failed
}
