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

// Call is one thing that is asked of the channel.
type Call struct {
	Do     string `json:"do"`              // one of those below
	Token  string `json:"token,omitempty"` // of a credential; not for DoStatus
	Key    string `json:"key,omitempty"`   // DoSubmit: of idempotency
	Action string `json:"action,omitempty"`
	URL    string `json:"url,omitempty"`
	ID     uint64 `json:"id,omitempty"`
	Filter Filter `json:"filter,omitzero"` // DoList; its origins are those of the credential
}

// What can be asked of the channel.
const (
	DoSubmit   = "submit"
	DoGet      = "get"
	DoList     = "list"
	DoWithdraw = "withdraw"
	DoReceipt  = "receipt"
	DoStatus   = "status"
)

// Answer is what the channel answers to a Call.
type Answer struct {
	Code     string          `json:"code,omitempty"` // of a Rejection, "" where the call was answered
	Why      string          `json:"why,omitempty"`  // one sentence; it holds no secret
	Request  *Request        `json:"request,omitempty"`
	Requests []Request       `json:"requests,omitempty"`
	Next     uint64          `json:"next,omitempty"` // Filter.After of the next page; 0: there is none
	Replayed bool            `json:"replayed,omitempty"`
	Receipt  json.RawMessage `json:"receipt,omitempty"`
	Head     *Head           `json:"head,omitempty"` // of the ledger: who keeps it is a witness
	Status   *Status         `json:"status,omitempty"`

	Err error `json:"-"` // of Unavailable: for the operator alone
}

// Status is what the operator, and who watches the service, wants to know of the ledger.
type Status struct {
	Open     int       `json:"open"`               // requests about which something is to be done
	Due      int       `json:"due"`                // of them, to be executed
	Waiting  int       `json:"waiting"`            // of them, to be confirmed
	Failed   int       `json:"failed"`             // of them
	TakeDown time.Time `json:"take_down,omitzero"` // when the oldest take-down that is not executed was due
	Erased   time.Time `json:"erased,omitzero"`    // when the oldest was executed of which a file may hold a trace
}

// Answer does what c asks for, as far as its credential reaches. Whatever is refused is noted in the chain.
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
	err = l.noted(nil, func(*rejected) (err error) {
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
		err = l.noted(&by, func(*rejected) error { return l.tell(c, &by, &a) })
	default:
		err = l.noted(&by, func(*rejected) error { return reject(Malformed, "%.40q cannot be asked of the channel", c.Do) })
	}
	if err != nil {
		return a, err
	}
	h, err := l.Head()
	a.Head = &h
	return a, err
}

// tell gives a request, or its receipt, if it is of an origin that by is for; for others it is unknown.
func (l *Ledger) tell(c Call, by *Credential, a *Answer) error {
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

// maxPage is how many requests are listed at once.
const maxPage = 1000

// page lists requests of the origins that by is for, and says after which ID the next page begins.
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

// Status counts what is open.
func (l *Ledger) Status() (s Status, err error) {
	err = l.view(func(t *txn) error {
		return t.tx.Bucket(bOpen).ForEach(func(id, kept []byte) error {
			o, ok := readBrief(kept)
			if !ok {
				return fmt.Errorf("%w: what is open of request %x cannot be read", ErrDamaged, id)
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

// brief is what the list of open requests holds of each: many are counted in a moment.
type brief struct {
	is    byte
	since time.Time
}

const (
	isWaiting = 'w' // to be confirmed
	isErased  = 'e' // of which a file may hold a trace

	isTakeDown, isFailedTakeDown = 't', 'T'
	isReCrawl, isFailedReCrawl   = 'r', 'R'
)

// brief tells what is to be done about r, which is open.
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
