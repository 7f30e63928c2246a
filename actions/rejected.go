package actions

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// rejected is the data of an entry about a rejected call. It contains only the parts of the call
// that could be read.
type rejected struct {
	Code       string `json:"code"`
	Credential string `json:"credential,omitempty"` // name of the credential
	Action     string `json:"action,omitempty"`
	URL        string `json:"url,omitempty"`
	// number of further rejections after Since that have no entries of their own
	Number int       `json:"number,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// Limits of the entries about rejections. For each code and credential, the first maxRejected
// rejections within rejectedIn have entries; the others are counted.
const (
	maxRejected = 10
	rejectedIn  = time.Minute
)

// tally counts the rejections with one code and one credential since Began.
type tally struct {
	Began time.Time `json:"began"`
	Noted int       `json:"noted"`
	More  int       `json:"more"`
}

// noteRejection calls fn. If fn returns a *Rejection, noteRejection passes the data that fn has set
// to countRejection.
func (l *Ledger) noteRejection(by *Credential, fn func(*rejected) error) error {
	var what rejected
	err := fn(&what)
	refused, is := errors.AsType[*Rejection](err)
	if !is {
		return err
	}
	what.Code = refused.Code
	if by != nil {
		what.Credential = by.Name
	}
	if err := l.update(func(t *txn) error { return t.countRejection(what) }); err != nil {
		return err
	}
	return refused
}

// countRejection adds an entry for a rejection, or only counts it if there are too many.
func (t *txn) countRejection(what rejected) error {
	if err := t.closeTallies(); err != nil {
		return err
	}
	kind := []byte(what.Code + "\x00" + what.Credential)
	var n tally
	bucket := t.tx.Bucket(bRejected)
	if data := bucket.Get(kind); data == nil {
		n.Began = t.now
	} else if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if n.Noted < maxRejected {
		n.Noted++
		if err := t.remark("rejected", what); err != nil {
			return err
		}
	} else {
		n.More++
	}
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return bucket.Put(kind, data)
}

// closeTallies notes the counts of tallies whose time is over, and deletes these tallies.
func (t *txn) closeTallies() error {
	var over []rejected
	bucket := t.tx.Bucket(bRejected)
	err := bucket.ForEach(func(kind, data []byte) error {
		var n tally
		if err := json.Unmarshal(data, &n); err != nil {
			return err
		}
		if age := t.now.Sub(n.Began); age < 0 || age >= rejectedIn {
			code, name, _ := strings.Cut(string(kind), "\x00")
			over = append(over, rejected{Code: code, Credential: name, Number: n.More, Since: n.Began})
		}
		return nil
	})
	for _, what := range over {
		if err == nil && what.Number > 0 {
			err = t.remark("rejected", what)
		}
		if err == nil {
			err = bucket.Delete([]byte(what.Code + "\x00" + what.Credential))
		}
	}
	return err
}
