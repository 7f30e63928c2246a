package actions

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Call is one call of the channel.
type Call struct {
	Do     string `json:"do"`              // DoSubmit, DoGet, ...
	Token  string `json:"token,omitempty"` // token of a credential; not used with DoStatus
	Key    string `json:"key,omitempty"`   // DoSubmit: the idempotency key
	Action string `json:"action,omitempty"`
	URL    string `json:"url,omitempty"`
	ID     uint64 `json:"id,omitempty"`
	Filter Filter `json:"filter,omitzero"` // used by DoList; Origins are replaced by the origins of the credential
}

// The values of Call.Do.
const (
	DoSubmit   = "submit"
	DoGet      = "get"
	DoList     = "list"
	DoWithdraw = "withdraw"
	DoReceipt  = "receipt"
	DoStatus   = "status"
)

// Answer is the channel's answer to a Call.
type Answer struct {
	Code     string          `json:"code,omitempty"` // code of a Rejection; "" if the call succeeded
	Why      string          `json:"why,omitempty"`  // one sentence; it holds no secret
	Request  *Request        `json:"request,omitempty"`
	Requests []Request       `json:"requests,omitempty"`
	Next     uint64          `json:"next,omitempty"` // Filter.After of the next page; 0: no more pages
	Replayed bool            `json:"replayed,omitempty"`
	Receipt  json.RawMessage `json:"receipt,omitempty"`
	// head of the ledger: a caller that keeps it can later prove a change
	Head   *Head   `json:"head,omitempty"`
	Status *Status `json:"status,omitempty"`

	Err error `json:"-"` // cause of Unavailable; only for the operator
}

// Status describes the open requests of the ledger, for the operator and for monitoring.
type Status struct {
	Open     int       `json:"open"`               // number of requests that are not finished
	Due      int       `json:"due"`                // number of open requests that wait for execution
	Waiting  int       `json:"waiting"`            // number of open requests that wait for confirmation
	Failed   int       `json:"failed"`             // number of open requests that failed in the last attempt
	TakeDown time.Time `json:"take_down,omitzero"` // when the oldest unexecuted take-down became due
	// when the oldest executed take-down that may still have left traces in the files was executed
	Erased time.Time `json:"erased,omitzero"`
}

// Answer executes c with the rights of the credential whose token is in c. Every rejection is noted
// in the chain.
func (l *Ledger) Answer(c Call) Answer {
	a, err := l.answer(c)
	if err == nil {
		return a
	}
	if r, is := errors.AsType[*Rejection](err); is {
		return Answer{Code: r.Code, Why: r.Why}
	}
	return Answer{Code: Unavailable, Why: "the ledger of action requests cannot be used now", Err: err}
}

func (l *Ledger) answer(c Call) (a Answer, err error) {
	if c.Do == DoStatus {
		s, err := l.Status()
		return Answer{Status: &s}, err
	}
	var by Credential
	err = l.noteRejection(nil, func(*rejected) (err error) {
		by, err = l.Authenticate(c.Token)
		return err
	})
	if err != nil {
		return a, err
	}
	switch c.Do {
	case DoSubmit:
		a.Request = new(Request)
		*a.Request, a.Replayed, err = l.Submit(Submission{By: &by, Action: c.Action, URL: c.URL, Key: c.Key})
	case DoWithdraw:
		a.Request = new(Request)
		*a.Request, err = l.Withdraw(c.ID, &by)
	case DoList:
		a.Requests, a.Next, err = l.page(c.Filter, &by)
	case DoGet, DoReceipt:
		err = l.noteRejection(&by, func(*rejected) error { return l.answerAbout(c, &by, &a) })
	default:
		err = l.noteRejection(&by,
			func(*rejected) error { return reject(Malformed, "%.40q is not a call of the channel", c.Do) })
	}
	if err != nil {
		return a, err
	}
	h, err := l.Head()
	a.Head = &h
	return a, err
}

// answerAbout sets a to a request or its receipt. If the request belongs to an origin for which the
// credential by is not valid, answerAbout reports the request as unknown.
func (l *Ledger) answerAbout(c Call, by *Credential, a *Answer) error {
	r, known, err := l.Get(c.ID)
	switch {
	case err != nil:
		return err
	case !known || !slices.Contains(by.Origins, r.Origin):
		return unknown(c.ID)
	case c.Do == DoGet:
		a.Request = &r
		return nil
	}
	if a.Receipt, known, err = l.Receipt(c.ID); err == nil && !known {
		err = reject(NotFound, "there is no receipt of request %d yet", c.ID)
	}
	return err
}

// maxPage is the maximal number of requests on a page of a list.
const maxPage = 1000

// page lists requests of the origins of the credential by. next is the value of After for the next
// page, or 0.
func (l *Ledger) page(f Filter, by *Credential) (list []Request, next uint64, err error) {
	f.Origins = by.Origins
	if f.Limit <= 0 || f.Limit > maxPage {
		f.Limit = maxPage
	}
	if address, err := Address(f.URL); err == nil {
		f.URL = address
	}
	limit := f.Limit
	f.Limit++
	err = l.Each(f, func(r Request) error {
		if len(list) == limit {
			next = list[limit-1].ID
			return nil
		}
		list = append(list, r)
		return nil
	})
	return list, next, err
}

// Status returns the numbers of open requests.
func (l *Ledger) Status() (s Status, err error) {
	err = l.view(func(t *txn) error {
		return t.tx.Bucket(bOpen).ForEach(func(id, kept []byte) error {
			o, ok := readBrief(kept)
			if !ok {
				return fmt.Errorf("%w: the summary of the open request %x cannot be read", ErrDamaged, id)
			}
			s.add(o)
			return nil
		})
	})
	return s, err
}

func (s *Status) add(o brief) {
	oldest := func(is *time.Time) {
		if is.IsZero() || o.since.Before(*is) {
			*is = o.since
		}
	}
	s.Open++
	switch o.is {
	case isWaiting:
		s.Waiting++
		return
	case isErased:
		oldest(&s.Erased)
		return
	case isFailedTakeDown, isFailedReCrawl:
		s.Failed++
	}
	s.Due++
	if o.is == isTakeDown || o.is == isFailedTakeDown {
		oldest(&s.TakeDown)
	}
}

// brief is the summary of an open request, stored in the bucket bOpen. Counting open requests needs
// only the summaries.
type brief struct {
	is    byte
	since time.Time
}

const (
	isWaiting = 'w' // waits for confirmation
	isErased  = 'e' // executed, but files may contain traces

	isTakeDown, isFailedTakeDown = 't', 'T'
	isReCrawl, isFailedReCrawl   = 'r', 'R'
)

// brief returns the summary of r, which must be open.
func (r *Request) brief() brief {
	since := r.Asked
	if since.Before(r.Confirmed) {
		since = r.Confirmed
	}
	switch {
	case r.State == Seen:
		return brief{isWaiting, since}
	case r.State == Done:
		return brief{isErased, r.Done}
	case r.Action == acap.TakeDown && r.State == Failed:
		return brief{isFailedTakeDown, since}
	case r.Action == acap.TakeDown:
		return brief{isTakeDown, since}
	case r.State == Failed:
		return brief{isFailedReCrawl, since}
	}
	return brief{isReCrawl, since}
}

func (b brief) bytes() []byte {
	return binary.BigEndian.AppendUint64([]byte{b.is}, uint64(b.since.UnixNano()))
}

func readBrief(kept []byte) (b brief, known bool) {
	if len(kept) != 9 {
		return b, false
	}
	return brief{kept[0], time.Unix(0, int64(binary.BigEndian.Uint64(kept[1:]))).UTC()}, true
}
