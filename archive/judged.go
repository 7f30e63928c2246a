package archive

import (
	"time"

	bolt "go.etcd.io/bbolt"
)

// EachJudged calls fn with the origins whose policies have decided about pages, until fn returns an
// error. Each comes with the version of its policy by which all pages were decided that EachDue
// does not list. The time of the version is zero if ListOrigin was interrupted.
func (a *Archive) EachJudged(fn func(PolicyVersion) error) error {
	return each(a, bJudged, nil, func(_ *bolt.Tx, k, v []byte) (PolicyVersion, error) {
		since, err := a.readJudged(k, v)
		return PolicyVersion{Origin: string(k), Since: since}, err
	}, fn)
}

// judged returns the version of a policy, as EachJudged does. known is false if the policy has
// decided about no page.
func (a *Archive) judged(origin string) (since time.Time, known bool, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		k := []byte(origin)
		value := tx.Bucket(bJudged).Get(k)
		if known = value != nil; known {
			since, err = a.readJudged(k, value)
		}
		return err
	})
	return since, known, err
}

func (a *Archive) readJudged(k, value []byte) (since time.Time, err error) {
	if err := unpack(k, value, &since); err != nil {
		return since, a.damaged("the time when the pages of "+string(k)+" were last checked", err)
	}
	return since, nil
}

// setJudged records the version of a policy, as EachJudged returns it.
func (t *txn) setJudged(v PolicyVersion) error {
	k := []byte(v.Origin)
	return t.tx.Bucket(bJudged).Put(k, mustPack(k, utc(v.Since)))
}
