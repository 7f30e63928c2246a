package archive

import (
	"context"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// Repaired is a problem that Repair has handled.
type Repaired struct {
	Problem
	Done string `json:"done"` // what was done, as a clause that begins with a participle, for example "removed"
}

// String returns a sentence without its full stop.
func (r Repaired) String() string { return r.Problem.String() + ": " + r.Done }

// repairRounds is the maximal number of rounds of Repair. The repairs of one round can expose
// problems for the next round.
const repairRounds = 4

// Repair searches for the problems that Verify finds, and repairs as many as it can. Each round is
// one transaction, so after a crash a round is either done or not done. Lost data is erased: if the
// record, key or body of a capture cannot be read, Repair removes the capture and everything that
// only this capture uses, and writes a tombstone. If only its rendered document is lost, the capture
// stays without it. Unneeded keys are destroyed. Dates are never
// invented: if the date since when a page has been kept is lost, the copies of the page are erased.
// Pages whose index entry may now be wrong are in Intents. Repair calls told after each repair is
// on disk; told may be nil. Calls of Repair and Compact run one after another. Repair returns the
// problems that remain. Other goroutines may write during the repair.
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
		found, err := a.inspect(ctx, &reading{})
		if err != nil {
			return problems(found), err
		}
		done, err := a.repairRound(ctx, found)
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
	return a.Verify(ctx, VerifyOptions{})
}

// repairRound repairs the problems in found in one transaction.
func (a *Archive) repairRound(ctx context.Context, found []finding) (done []Repaired, err error) {
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
		return t.forgetDecider()
	})
	if err == nil && a.stale.Load() {
		err = a.renewRoots(ctx)
	}
	return done, err
}

// inTurn returns the repairable problems of found in the order in which they must be repaired.
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

// renewRoots runs a transaction without changes. Transactions write the two root records in turn,
// so this transaction writes the root record that the last one did not write.
func (a *Archive) renewRoots(ctx context.Context) error {
	if err := a.do(ctx, 0, func(*txn) error { return nil }); err != nil {
		return err
	}
	return a.snapshot(func(tx *bolt.Tx) error {
		a.stale.Store(!spool.RootsValid(a.file, tx.DB().Info().PageSize))
		return nil
	})
}
