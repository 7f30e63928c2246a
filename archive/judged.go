package archive

import (
	"context"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Judged returns the version of the policy under which all data held of an origin was last decided.
// The result is PolicyVersion.Since of that version, or zero if SetJudged was never called for the
// origin.
func (a *Archive) Judged(origin string) (since time.Time, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		k := []byte(origin)
		value := tx.Bucket(bJudged).Get(k)
		if value == nil {
			return nil
		}
		if err := unpack(k, value, &since); err != nil {
			return a.damaged("the time when the pages of "+origin+" were last checked", err)
		}
		return nil
	})
	return since, err
}

// SetJudged stores that all data held of an origin has been decided under one version of its
// policy. since is PolicyVersion.Since of that version.
func (a *Archive) SetJudged(ctx context.Context, origin string, since time.Time) error {
	if err := checkURL(origin); err != nil {
		return err
	}
	return a.do(ctx, 0, func(t *txn) error {
		k := []byte(origin)
		return t.tx.Bucket(bJudged).Put(k, mustPack(k, utc(since)))
	})
}
