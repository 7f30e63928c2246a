package actions

import (
	"encoding/json"
	"errors"
	"slices"
)

// Call is one call of the channel.
type Call struct {
	Do     string `json:"do"`              // DoSubmit, DoGet, ...
	As     Caller `json:"as,omitempty"`    // whose rights the call has
	Token  string `json:"token,omitempty"` // token of a credential; not used with DoStatus
	Key    string `json:"key,omitempty"`   // DoSubmit: the idempotency key
	Action string `json:"action,omitempty"`
	URL    string `json:"url,omitempty"`
	ID     uint64 `json:"id,omitempty"`
	Filter Filter `json:"filter,omitzero"` // used by DoList; a publisher sees only its own origins
	// with AsOrigins: the origins whose requests may be read
	Origins []string `json:"origins,omitempty"`

	// For callers of several machines. They send the call to the ledgers without these fields, and a ledger
	// refuses them.
	Node string    `json:"node,omitempty"` // the machine in whose ledger the request has ID; "": the only machine
	At   Positions `json:"at,omitempty"`   // DoList: instead of Filter.After or Filter.Before; nil: the whole list
}

// Caller says whose rights a call has. The sender of a Call has to make sure that it is true.
type Caller string

// The callers.
const (
	AsCredential Caller = ""         // the credential whose token is in the call
	AsOperator   Caller = "operator" // may do everything
	AsAnyone     Caller = "anyone"   // may read what robots.txt makes public
	// may read all requests of Call.Origins, because the ledger of another machine has accepted a credential for them
	AsOrigins Caller = "origins"
)

// The values of Call.Do.
const (
	DoSubmit   = "submit"
	DoPreview  = "preview" // returns what DoSubmit would record, and changes nothing
	DoRepeat   = "repeat"  // returns the request that was submitted with the key, and changes nothing
	DoGet      = "get"
	DoList     = "list"
	DoWithdraw = "withdraw"
	DoReceipt  = "receipt"
	DoStatus   = "status"
	DoIdentify = "identify" // returns the credential of the call
	// returns the credential of the call. A token that is unknown here is not noted: another ledger may know it
	DoFind = "find"
)

// Answer is the channel's answer to a Call.
type Answer struct {
	Code     string    `json:"code,omitempty"` // code of a Rejection; "" if the call succeeded
	Why      string    `json:"why,omitempty"`  // one sentence; it holds no secret
	Request  *Request  `json:"request,omitempty"`
	Requests []Request `json:"requests,omitempty"`
	Next     uint64    `json:"next,omitempty"` // Filter.After of the next page; 0: no more pages
	Replayed bool      `json:"replayed,omitempty"`
	// what is archived at the URL of DoPreview; the ledger does not know this, so its caller sets it
	Holding *Holding        `json:"holding,omitempty"`
	Receipt json.RawMessage `json:"receipt,omitempty"`
	// head of the ledger: a caller that keeps it can later prove a change
	Head       *Head       `json:"head,omitempty"`
	Status     *Status     `json:"status,omitempty"`
	Credential *Credential `json:"credential,omitempty"`

	Err error `json:"-"` // cause of Unavailable; only for the operator

	// If several machines were called:
	NextAt Positions `json:"-"` // Call.At of the next page; nil: no more pages
	Shards *Shards   `json:"-"` // how many machines have answered; nil: one machine crawls alone
}

// Shards counts the machines that have answered.
type Shards struct{ Answered, Total int }

// Missing returns the number of machines that have not answered.
func (s *Shards) Missing() int {
	if s == nil {
		return 0
	}
	return s.Total - s.Answered
}

// Answer executes c with the rights of the credential whose token is in c, or of c.As. Every
// rejection of a credential and of a change is noted in the chain.
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
	switch {
	case c.Do == DoStatus:
		s, err := l.Status()
		return Answer{Status: &s}, err
	case c.Do == DoFind:
		by, err := l.Authenticate(c.Token)
		return Answer{Credential: &by}, err
	case c.Node != "":
		return a, unknown(c.ID)
	case c.At != nil:
		return a, reject(Malformed, "the list continues after a number")
	}
	who, err := l.rightsOf(c)
	if err != nil {
		return a, err
	}
	switch c.Do {
	case DoSubmit, DoPreview, DoWithdraw:
		a.Request = new(Request)
		*a.Request, a.Replayed, err = l.change(c, who)
	case DoRepeat:
		err = l.noteFor(who, func() (err error) {
			if who.by == nil && !who.operator {
				return reject(BadCredential, "only the operator and publishers repeat requests")
			}
			a.Request = new(Request)
			*a.Request, err = l.repeated(c.Key, who.by)
			return err
		})
	case DoList:
		a.Requests, a.Next, err = l.page(c.Filter, who)
	case DoGet, DoReceipt:
		err = l.noteFor(who, func() error { return l.answerAbout(c, who, &a) })
	case DoIdentify:
		a.Credential = who.by
	default:
		err = l.noteFor(who, func() error { return reject(Malformed, "%.40q is not a call of the channel", c.Do) })
	}
	if err != nil {
		return a, err
	}
	h, err := l.Head()
	a.Head = &h
	return a, err
}

// rights say what a caller may see and change.
type rights struct {
	by       *Credential // nil: not a publisher of this ledger
	origins  []string    // those of which a publisher sees all requests
	operator bool
}

// all reports whether the caller sees everything of the requests that it may see.
func (who rights) all() bool { return who.operator || len(who.origins) > 0 }

// rightsOf returns the rights of the caller of c.
func (l *Ledger) rightsOf(c Call) (who rights, err error) {
	switch c.As {
	case AsOperator:
		return rights{operator: true}, nil
	case AsAnyone:
		return rights{}, nil
	case AsOrigins:
		if len(c.Origins) == 0 {
			return who, reject(Malformed, "the call names no origins")
		}
		return rights{origins: c.Origins}, nil
	case AsCredential:
		err = l.noteRejection(nil, func(*rejected) error {
			by, err := l.Authenticate(c.Token)
			who.by, who.origins = &by, by.Origins
			return err
		})
		return who, err
	}
	return who, reject(Malformed, "%.40q is not a caller of the channel", c.As)
}

// sees reports whether a caller with these rights may see r.
func (who rights) sees(r *Request) bool {
	if len(who.origins) > 0 {
		return slices.Contains(who.origins, r.Origin)
	}
	return who.operator || r.From.File != ""
}

// show returns r as a caller with these rights may see it.
func (who rights) show(r Request) Request {
	if who.all() {
		return r
	}
	return r.public()
}

// noteFor calls fn, and notes its rejection if the caller uses a credential. What readers and the
// operator read leaves no trace in the chain.
func (l *Ledger) noteFor(who rights, fn func() error) error {
	if who.by == nil {
		return fn()
	}
	return l.noteRejection(who.by, func(*rejected) error { return fn() })
}

// change submits or withdraws a request, or checks a submission.
func (l *Ledger) change(c Call, who rights) (r Request, replayed bool, err error) {
	if who.by == nil && !who.operator {
		return r, false, reject(BadCredential, "only the operator and publishers change requests")
	}
	if c.Do == DoWithdraw {
		r, err = l.Withdraw(c.ID, who.by)
		return r, false, err
	}
	s := Submission{By: who.by, Action: c.Action, URL: c.URL, Key: c.Key}
	if c.Do == DoPreview {
		r, err = l.Preview(s)
		return r, false, err
	}
	return l.Submit(s)
}

// answerAbout sets a to a request or its receipt. If the caller may not see the request,
// answerAbout reports the request as unknown. Receipts are only for the operator and publishers:
// they say what was archived.
func (l *Ledger) answerAbout(c Call, who rights, a *Answer) error {
	r, known, err := l.Get(c.ID)
	switch {
	case err != nil:
		return err
	case !known || !who.sees(&r):
		return unknown(c.ID)
	case c.Do == DoGet:
		r = who.show(r)
		a.Request = &r
		return nil
	case !who.all():
		return reject(NotFound, "the receipt of request %d is only for its publisher", c.ID)
	}
	if a.Receipt, known, err = l.Receipt(c.ID); err == nil && !known {
		err = reject(NotFound, "there is no receipt of request %d yet", c.ID)
	}
	return err
}

// maxPage is the maximal number of requests on a page of a list.
const maxPage = 1000

// page lists the requests that the caller may see. next is the value of After, or with
// Filter.Newest of Before, for the next page, or 0.
func (l *Ledger) page(f Filter, who rights) (list []Request, next uint64, err error) {
	f.inFile = !who.all()
	if len(who.origins) > 0 {
		wanted := f.Origins
		f.Origins = slices.DeleteFunc(slices.Clone(who.origins), func(o string) bool {
			return len(wanted) > 0 && !slices.Contains(wanted, o)
		})
		if len(f.Origins) == 0 {
			return nil, 0, nil
		}
	}
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
		list = append(list, who.show(r))
		return nil
	})
	return list, next, err
}
