package actions

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/address"
)

// Submission is a request that comes by another way than a file of the publisher.
type Submission struct {
	By     *Credential // as Authenticate gives it; nil: the operator
	Action string      // acap.TakeDown or acap.ReCrawl
	URL    string      // absolute
	Key    string      // the same key asks for the same thing once; the operator may leave it empty
}

// Rejection is the error of what is refused of a call.
type Rejection struct {
	Code string
	Why  string // one sentence; it holds no secret
}

// The codes of a Rejection.
const (
	Malformed      = "malformed"   // the call cannot be read
	BadCredential  = "credential"  // there is none, or it is unknown, wrong, expired or revoked: nothing tells which
	WrongOrigin    = "origin"      // the URL is of an origin that the credential is not for
	BadURL         = "url"         // it does not name a single resource
	KeyReused      = "key-reused"  // the key was given with another request
	NotFound       = "not-found"   // there is no such request, or it is of another origin
	LineStands     = "line"        // what robots.txt asks for is withdrawn there
	OperatorStands = "operator"    // what the operator asks for is withdrawn by the operator
	TooMany        = "limit"       // too many are pending
	Unavailable    = "unavailable" // the ledger cannot be used now
)

func (r *Rejection) Error() string { return r.Why }

func reject(code, format string, args ...any) error {
	return &Rejection{Code: code, Why: fmt.Sprintf(format, args...)}
}

// The bounds of what is submitted, in bytes.
const (
	maxKey = 200
	maxURL = 8000 // as RFC 9110 4.1 asks for
)

// Submit notes a request. The same key with the same request gives what became of that one, replayed: a call that is repeated, by
// whomever, has no effect. What stands already gets no second row. The error is a *Rejection where the request is refused, which is noted.
func (l *Ledger) Submit(s Submission) (r Request, replayed bool, err error) {
	err = l.noted(s.By, func(what *rejected) error {
		what.Action = s.Action
		if err := s.check(); err != nil {
			what.Action = ""
			return err
		}
		address, origin, err := resource(s.Action, s.URL)
		if err != nil {
			return err
		}
		what.URL = address
		return l.update(func(t *txn) error {
			r = Request{Action: s.Action, URL: address, Origin: origin, Asked: t.now, State: Due, Standing: true}
			replayed, err = t.submit(&r, s, l.o)
			return err
		})
	})
	if err != nil {
		r = Request{}
	}
	return r, replayed, err
}

// check refuses what cannot be read of s.
func (s *Submission) check() error {
	switch {
	case s.By != nil && s.Key == "":
		return reject(Malformed, "the request has no key: with one of your own it can be repeated without effect")
	case len(s.Key) > maxKey || strings.ContainsFunc(s.Key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return reject(Malformed, "the key is not one of at most %d printable characters of ASCII without blanks", maxKey)
	case s.Action != acap.TakeDown && s.Action != acap.ReCrawl:
		return reject(Malformed, "%.40q is no action: they are %s and %s", s.Action, acap.TakeDown, acap.ReCrawl)
	}
	return nil
}

// resource reads what a request names as a line of the robots.txt of its origin is read, and gives it in the form that such a line
// would have, with that origin. The error is a *Rejection.
func resource(action, rawurl string) (address, origin string, err error) {
	switch {
	case len(rawurl) > maxURL:
		return "", "", reject(BadURL, "the URL is longer than %d octets", maxURL)
	case strings.Contains(rawurl, " "):
		return "", "", reject(BadURL, "the URL holds a blank: write %%20 where one belongs to it")
	}
	a, err := acap.NewAction(action, rawurl, nil)
	if err != nil {
		return "", "", reject(BadURL, "%v", err)
	}
	if origin, err = originOf(rawurl); err != nil {
		return "", "", reject(BadURL, "%q is refused: %v", rawurl, err)
	}
	_, rest, _ := strings.Cut(a.URL, "://")
	return origin + rest[strings.IndexByte(rest, '/'):], origin, nil
}

// Address is rawurl, absolute, as requests have it. The error is a *Rejection.
func Address(rawurl string) (string, error) {
	address, _, err := resource(acap.TakeDown, rawurl)
	return address, err
}

// submit makes r, which s asks for, the request that s gets: one that its key was given with, one that stands already, the line that it
// confirms, or a new one.
func (t *txn) submit(r *Request, s Submission, o Options) (replayed bool, err error) {
	by, err := t.bearer(s.By, r.Origin)
	if err != nil {
		return false, err
	}
	digest := sha256.Sum256([]byte(s.Key))
	key := append(digest[:], by.id...)
	if id := t.keyed(key); id != 0 && s.Key != "" {
		first, _, err := t.request(id)
		switch {
		case err != nil:
			return false, err
		case first.Action != r.Action || first.URL != r.URL:
			return false, reject(KeyReused, "the key was given with another request: take a new one")
		}
		*r = first
		return true, t.count(rejected{Code: "replayed", Credential: by.Name, Action: r.Action, URL: r.URL})
	}
	if err := t.ask(r, by, o); err != nil || s.Key == "" {
		return false, err
	}
	return false, t.keep(key, r.ID)
}

// ask notes what by asks for, the operator where it has no ID.
func (t *txn) ask(r *Request, by grant, o Options) error {
	asked, stands, err := t.standing(r.Origin, r.Action, r.URL)
	if err != nil {
		return err
	}
	if stands {
		*r = asked
		return t.askAgain(r, by)
	}
	if by.id != "" && r.Action == acap.ReCrawl {
		if err := t.countRecrawl(r.Origin, o); err != nil {
			return err
		}
	}
	if by.id == "" {
		r.From = operatorOf(r.Action)
	} else {
		r.From = Source{Kind: Channel, Credential: by.Name, Text: fmt.Sprintf("%s, asked for with the credential %q", r.Action, by.Name)}
	}
	if by.id != "" && o.ConfirmWithin > 0 { // P07
		if line, known, err := t.last(r.Origin, r.Action, r.URL); err != nil {
			return err
		} else if known && line.Standing && line.State != Refused {
			*r = line
			r.From.Credential = by.Name
			return t.confirm(r)
		}
		r.State, r.Why = Seen, "it waits for its line in robots.txt"
	}
	if r.Action == acap.ReCrawl && o.Pending > 0 && t.pending(r.Origin) >= o.Pending { // P09
		return reject(TooMany, "%d re-crawls of %s are pending: ask again when some are done", o.Pending, r.Origin)
	}
	r.Source = r.field(t.tx.Bucket(bRequests).Sequence() + 1).String()
	return t.note("submitted", r)
}

// askAgain notes that by asks for a request that is in force already.
func (t *txn) askAgain(r *Request, by grant) error {
	if by.id == "" && r.From.File == "" { // the operator's request waits for no line, and only the operator withdraws it
		r.From = operatorOf(r.Action)
		r.Source = r.field(r.ID).String()
		if r.State == Seen {
			r.State, r.Why = Due, ""
		}
	}
	if r.State == Done { // P04: repeating a take-down does no harm
		r.State = Due
	}
	return t.note("submitted", r)
}

// countRecrawl counts a re-crawl that a publisher submits, and rejects it if the origin has had too many (P09: an origin
// has a number of re-crawls a day).
func (t *txn) countRecrawl(origin string, o Options) error {
	h := t.heard(origin)
	h.roll(t.now)
	if why := h.crawl(Limits{Day: o.Day}, 0); why != "" {
		return reject(TooMany, "%s: ask again later", why)
	}
	return t.hear(origin, h)
}

// operatorOf is the source of what the operator asks for.
func operatorOf(action string) Source {
	return Source{Kind: Operator, Text: action + ", asked for by the operator"}
}

// field is what answers name that follow from r, whose ID is given.
func (r *Request) field(id uint64) *acap.Field {
	return &acap.Field{Source: acap.Request, URL: r.Origin, Line: int(id), Text: r.From.Text}
}

// confirm notes that a line and the channel ask for r, which is due by that.
func (t *txn) confirm(r *Request) error {
	r.State, r.Why, r.Confirmed = Confirmed, "", t.now
	if err := t.note(string(Confirmed), r); err != nil {
		return err
	}
	r.State = Due
	return t.note(string(Due), r)
}

// Withdraw takes back a request that was submitted, of an origin that by is for; nil is the operator. A take-down then bars nothing any
// more; what was erased is not brought back. What stands no longer is given as it is. The error is a *Rejection where it cannot be.
func (l *Ledger) Withdraw(id uint64, by *Credential) (r Request, err error) {
	err = l.noted(by, func(*rejected) error {
		return l.update(func(t *txn) (err error) {
			known := false
			if r, known, err = t.request(id); err != nil {
				return err
			}
			_, err = t.bearer(by, r.Origin)
			switch refused, is := errors.AsType[*Rejection](err); {
			case !known || is && refused.Code == WrongOrigin:
				return unknown(id)
			case err != nil:
				return err
			case !r.Standing:
				return nil
			case !r.announced():
				return reject(LineStands, "request %d is a line of robots.txt: it is withdrawn by taking that out", id)
			case by != nil && r.From.Kind == Operator:
				return reject(OperatorStands, "request %d is one of the operator, who alone withdraws it", id)
			}
			r.Standing = false
			if r.open() && r.State != Running && r.State != Done {
				r.State, r.Why = Refused, "it was withdrawn before it was executed"
			}
			if r.From.File != "" { // its line may stand: who asks again is asked for it again
				h := t.heard(r.Origin)
				h.Sum = ""
				if err := t.hear(r.Origin, h); err != nil {
					return err
				}
			}
			return t.note("withdrawn", &r)
		})
	})
	if err != nil {
		r = Request{}
	}
	return r, err
}

// unknown is the answer for an ID of nobody, and of others.
func unknown(id uint64) error { return reject(NotFound, "there is no request %d", id) }

// originOf returns the origin of an address. The error is a clause.
func originOf(rawurl string) (string, error) {
	u, err := url.Parse(rawurl)
	switch {
	case err != nil:
		return "", errors.New("it is not a URL")
	case strings.Contains(u.Hostname(), "%"):
		return "", errors.New("its host has a zone, which is of one machine")
	}
	return address.Origin(u)
}

// Execute executes the requests with those IDs about which something is to be done now, and gives all of them as they are then.
func (x *Executor) Execute(ctx context.Context, ids ...uint64) ([]Request, error) {
	all, err := x.ledger.these(ids)
	if err != nil {
		return nil, err
	}
	var due []Request
	for _, r := range all {
		if r.open() && r.State != Done && r.State != Seen {
			due = append(due, r)
		}
	}
	if err := x.execute(ctx, due); err != nil {
		return all, err
	}
	return x.ledger.these(ids)
}

// these gives the requests of some IDs; there may be none of an ID.
func (l *Ledger) these(ids []uint64) (list []Request, err error) {
	err = l.view(func(t *txn) error {
		list, err = t.these(ids)
		return err
	})
	return list, err
}

func (t *txn) these(ids []uint64) (list []Request, err error) {
	for _, id := range ids {
		r, known, err := t.request(id)
		if err != nil {
			return nil, err
		}
		if known {
			list = append(list, r)
		}
	}
	return list, nil
}
