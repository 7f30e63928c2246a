package archive

import (
	"context"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Judged tells under which version of its policy what is held of an origin was last judged as a
// whole: the time since when that version stands (PolicyVersion.Since). It is zero where that was
// never done.
func (a *Archive) Judged(origin string) (since time.Time, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		k := []byte(origin)
		value := tx.Bucket(bJudged).Get(k)
		if value == nil {
			return nil
		}
		if err := unpack(k, value, &since); err != nil {
			return a.damaged("when the holdings of "+origin+" were judged", err)
		}
		return nil
	})
	return since, err
}

// SetJudged notes that all that is held of an origin has been judged under the version of its
// policy that stands since then.
func (a *Archive) SetJudged(ctx context.Context, origin string, since time.Time) error {
	if err := checkURL(origin); err != nil {
		return err
	}
	return a.do(ctx, 0, func(t *txn) error {
		k := []byte(origin)
		return t.tx.Bucket(bJudged).Put(k, mustPack(k, utc(since)))
	})
}
