package actions

import (
	"encoding/json"
	"time"
)

// pass records that the readings of all origins were observed.
type pass struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
}

var keyPass = []byte("passed")

// Passed returns the time up to which the requests in all policies have been noted, for readers
// with the name by. Zero means unknown. Policies that were read later may contain requests that are
// not noted.
func (l *Ledger) Passed(by string) (at time.Time, err error) {
	err = l.view(func(t *txn) error {
		var p pass
		// otherwise the clock was set back
		if json.Unmarshal(t.tx.Bucket(bMeta).Get(keyPass), &p) == nil && p.By == by && !p.At.After(l.o.Now()) {
			at = p.At
		}
		return nil
	})
	return at, err
}

// Pass sets the result of Passed.
func (l *Ledger) Pass(by string, at time.Time) error {
	return l.update(func(t *txn) error {
		data, err := json.Marshal(pass{at.UTC(), by})
		if err != nil {
			return err
		}
		return t.tx.Bucket(bMeta).Put(keyPass, data)
	})
}
