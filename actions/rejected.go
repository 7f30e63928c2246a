package actions

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// rejected is what the chain says of a call that was refused. It holds nothing but what was understood of the call.
type rejected struct {
	Code       string    `json:"code"`
	Credential string    `json:"credential,omitempty"` // its name
	Action     string    `json:"action,omitempty"`
	URL        string    `json:"url,omitempty"`
	Number     int       `json:"number,omitempty"` // of further ones since that time, which are not noted one by one
	Since      time.Time `json:"since,omitzero"`
}

// Of one kind and credential so many rejections have entries of their own within that time; of further ones the number has one.
const (
	maxRejected = 10
	rejectedIn  = time.Minute
)

// tally is how many rejections of one kind there were since Began.
type tally struct {
	Began time.Time `json:"began"`
	Noted int       `json:"noted"`
	More  int       `json:"more"`
}

// noted calls fn, and notes in the chain if it is rejected what by asked for.
func (l *Ledger) noted(by *Credential, fn func(*rejected) error) error {
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
	if err := l.update(func(t *txn) error { return t.count(what) }); err != nil {
		return err
	}
	return refused
}

// count notes a rejection, by an entry of its own unless there are many.
func (t *txn) count(what rejected) error {
	if err := t.sum(); err != nil {
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

// sum ends the tallies whose time is over.
func (t *txn) sum() error {
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
