package actions

import (
	"encoding/json"
	"time"
)

// pass says that the readings of all origins were observed.
type pass struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
}

var keyPass = []byte("passed")

// Passed tells until when whatever the policies of all origins ask for was noted, as those of them understand it that by names; zero:
// nobody knows. Policies that came into force since may not have been.
func (l *Ledger) Passed(by string) (at time.Time, err error) {
	err = l.view(func(t *txn) error {
		var p pass
		if json.Unmarshal(t.tx.Bucket(bMeta).Get(keyPass), &p) == nil && p.By == by && !p.At.After(l.o.Now()) { // else the clock went back
			at = p.At
		}
		return nil
	})
	return at, err
}

// Pass is what Passed gives from now on.
func (l *Ledger) Pass(by string, at time.Time) error {
	return l.update(func(t *txn) error {
		data, err := json.Marshal(pass{at.UTC(), by})
		if err != nil {
			return err
		}
		return t.tx.Bucket(bMeta).Put(keyPass, data)
	})
}
