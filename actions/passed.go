package actions

import (
	"encoding/json"
	"time"
)

// pass records that all requests in the policies of all origins, as read up to a time, have been
// noted.
type pass struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
}

var keyPass = []byte("passed")

// Passed returns the time up to which the requests in all policies have been noted. by is the name
// that the caller gave to Pass. Zero means that the time is unknown. Policies that were read after
// that time may contain requests that are not noted.
func (l *Ledger) Passed(by string) (at time.Time, err error) {
	err = l.view(func(t *txn) error {
		var p pass
		// a time later than the current time shows that the clock was set back, so the time is not
		// used
		if json.Unmarshal(t.tx.Bucket(bMeta).Get(keyPass), &p) == nil && p.By == by && !p.At.After(l.o.Now()) {
			at = p.At
		}
		return nil
	})
	return at, err
}

// Pass stores the time that Passed returns for the name by.
func (l *Ledger) Pass(by string, at time.Time) error {
	return l.update(func(t *txn) error {
		data, err := json.Marshal(pass{at.UTC(), by})
		if err != nil {
			return err
		}
		return t.tx.Bucket(bMeta).Put(keyPass, data)
	})
}
