package archive

import (
	"context"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/spool"
)

// Repaired is a problem that was dealt with.
type Repaired struct {
	Problem
	Done string `json:"done"` // a participle, and what goes with it: "removed"
}

// String is a sentence without its full stop.
func (r Repaired) String() string { return r.Problem.String() + ": " + r.Done }

// repairRounds bounds how often Repair looks: what one round repairs can bring to light what the
// next one has to.
const repairRounds = 4

// Repair finds what Verify finds and repairs what can be: each round in one transaction, so that a
// crash leaves it done or not done. What was lost is erased: a capture of which the record, its key
// or the body cannot be read goes with a tombstone, and with it what it alone referred to; keys
// that nothing needs are destroyed. Dates are never made up: where it is lost since when a page has
// been kept, its copies go. Pages whose index entry may be wrong now are among Intents. told hears
// of each repair after it is on disk; it may be nil. Calls, and those of Compact, follow one
// another. Repair gives what is left, as Verify would find it; while others write, too.
func (a *Archive) Repair(ctx context.Context, told func(Repaired)) (left []Problem, err error) {
	select {
	case a.compacting <- struct{}{}:
		defer func() { <-a.compacting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.quit:
		return nil, ErrClosed
	}
	ctx, release := a.whileOpen(ctx)
	defer release()
	defer func() { err = ended(ctx, err) }()
	for range repairRounds {
		found, err := a.inspect(ctx)
		if err != nil {
			return problems(found), err
		}
		done, err := a.mend(ctx, found)
		if err != nil {
			return problems(found), err
		}
		if len(done) == 0 {
			return problems(found), nil
		}
		for _, r := range done {
			if told != nil {
				told(r)
			}
		}
	}
	return a.Verify(ctx)
}

// mend repairs what was found in one transaction.
func (a *Archive) mend(ctx context.Context, found []finding) (done []Repaired, err error) {
	list := inTurn(found)
	if len(list) == 0 {
		return nil, nil
	}
	err = a.do(ctx, groupBytes, func(t *txn) error {
		done = nil
		for _, f := range list {
			did, err := f.fix(t)
			if err != nil {
				return err
			}
			if did != "" {
				done = append(done, Repaired{f.Problem, did})
			}
		}
		return nil
	})
	if err == nil && a.stale.Load() {
		err = a.renewRoots(ctx)
	}
	return done, err
}

// inTurn gives what can be repaired, in the order in which it is.
func inTurn(found []finding) (list []finding) {
	for at := range turns {
		for _, f := range found {
			if f.fix != nil && f.turn == at {
				list = append(list, f)
			}
		}
	}
	return list
}

// renewRoots writes the root record that the last transaction did not write.
func (a *Archive) renewRoots(ctx context.Context) error {
	if err := a.do(ctx, 0, func(*txn) error { return nil }); err != nil {
		return err
	}
	return a.snapshot(func(tx *bolt.Tx) error {
		a.stale.Store(!spool.RootsValid(a.fileOf(tx), tx.DB().Info().PageSize))
		return nil
	})
}
