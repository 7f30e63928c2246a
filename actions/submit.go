package actions

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Submission is a request that does not come from a file of the publisher.
type Submission struct {
	By     *Credential // a credential from Authenticate; nil: the operator
	Action string      // acap.TakeDown or acap.ReCrawl
	URL    string      // absolute URL of the resource
	Key    string      // idempotency key: a repeated call with the same key has no effect; optional for the operator
}

// Rejection is the error of a call that was refused.
type Rejection struct {
	Code string
	Why  string // one sentence without secrets
}

// The codes of a Rejection.
const (
	Malformed = "malformed" // the call cannot be read
	// the token is missing, unknown, wrong, expired or revoked; the caller does not learn which
	BadCredential  = "credential"
	WrongOrigin    = "origin"      // the credential is not for the origin of the URL
	BadURL         = "url"         // the URL does not name a single resource
	KeyReused      = "key-reused"  // the key was used for another request
	NotFound       = "not-found"   // the request does not exist or belongs to another origin
	LineStands     = "line"        // the request comes from robots.txt: the publisher must withdraw it there
	OperatorStands = "operator"    // a request of the operator can only be withdrawn by the operator
	TooMany        = "limit"       // too many re-crawls are pending, or were requested within 24 hours
	Unavailable    = "unavailable" // the ledger cannot be used now
)

func (r *Rejection) Error() string { return r.Why }

func reject(code, format string, args ...any) error {
	return &Rejection{Code: code, Why: fmt.Sprintf(format, args...)}
}

// The limits of a submission in bytes.
const (
	maxKey = 200
	maxURL = 8000 // RFC 9110 4.1 recommends to support 8000 octets
)

// Submit notes a request. If the key was already used for the same request, Submit returns that
// request in its current state, and replayed is true. If the request is already in force, Submit
// makes no second request. If Submit refuses the request, the error is a *Rejection, and the
// rejection is noted in the chain.
func (l *Ledger) Submit(s Submission) (r Request, replayed bool, err error) {
	r, err = l.checked(s, func(asked Request) (Request, error) {
		err := l.update(func(t *txn) (err error) {
			asked.Asked, asked.State, asked.Standing = t.now, Due, true
			replayed, err = t.submit(&asked, s, l.o)
			return err
		})
		return asked, err
	})
	return r, replayed, err
}

// Preview returns action, URL and origin of the request that Submit would note for s. It makes no request, and
// refuses and notes the same submissions as Submit, except those that depend on earlier requests.
func (l *Ledger) Preview(s Submission) (Request, error) {
	return l.checked(s, func(asked Request) (Request, error) {
		return asked, l.view(func(t *txn) error {
			_, err := t.checkGrant(s.By, asked.Origin)
			return err
		})
	})
}

// checked checks s, calls fn with the request of s, and returns the result. Rejections are noted.
func (l *Ledger) checked(s Submission, fn func(Request) (Request, error)) (r Request, err error) {
	err = l.noteRejection(s.By, func(what *rejected) error {
		if err := s.check(); err != nil {
			return err
		}
		what.Action = s.Action
		address, origin, err := resource(s.Action, s.URL)
		if err != nil {
			return err
		}
		what.URL = address
		r, err = fn(Request{Action: s.Action, URL: address, Origin: origin})
		return err
	})
	if err != nil {
		r = Request{}
	}
	return r, err
}

// check rejects a malformed submission.
func (s *Submission) check() error {
	switch {
	case s.By != nil && s.Key == "":
		return reject(Malformed,
			"the request has no idempotency key: send a key of your own, so that you can repeat the request safely")
	case len(s.Key) > maxKey || strings.ContainsFunc(s.Key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return reject(Malformed, "the key must have at most %d characters, all printable ASCII without blanks",
			maxKey)
	case s.Action != acap.TakeDown && s.Action != acap.ReCrawl:
		return reject(Malformed, "%.40q is not an action: the actions are %s and %s", s.Action, acap.TakeDown,
			acap.ReCrawl)
	}
	return nil
}

// resource parses a URL as if it were in the robots.txt of its origin. It returns the normalised
// URL and the origin. The error is a *Rejection.
func resource(action, rawurl string) (address, origin string, err error) {
	switch {
	case len(rawurl) > maxURL:
		return "", "", reject(BadURL, "the URL is longer than %d octets", maxURL)
	case strings.Contains(rawurl, " "):
		return "", "", reject(BadURL, "the URL contains a blank: write %%20 if the blank belongs to the URL")
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

// Address returns the absolute URL rawurl in the form of requests. The error is a *Rejection.
func Address(rawurl string) (string, error) {
	address, _, err := resource(acap.TakeDown, rawurl)
	return address, err
}

// submit sets r to the result of s: the request with the same key, the same request already in
// force, the request of a line that s confirms, or a new request.
func (t *txn) submit(r *Request, s Submission, o Options) (replayed bool, err error) {
	by, err := t.checkGrant(s.By, r.Origin)
	if err != nil {
		return false, err
	}
	key := storedKey(s.Key, by.id)
	if id := t.requestOfKey(key); id != 0 && s.Key != "" {
		first, _, err := t.request(id)
		switch {
		case err != nil:
			return false, err
		case first.Action != r.Action || first.URL != r.URL:
			return false, reject(KeyReused, "the key was used for another request: choose a new one")
		}
		*r = first
		return true, t.countRejection(rejected{Code: "replayed", Credential: by.Name, Action: r.Action, URL: r.URL})
	}
	if err := t.ask(r, by, o); err != nil || s.Key == "" {
		return false, err
	}
	return false, t.rememberKey(key, r.ID)
}

// ask notes the request r of the credential in by. If by has no ID, the operator requests r.
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
		r.From = Source{Kind: Channel, Credential: by.Name, Text: fmt.Sprintf("%s, requested with the credential %q",
			r.Action, by.Name)}
	}
	if by.id != "" && o.ConfirmWithin > 0 { // P1 2.6 (P07): a line must confirm the request
		if line, known, err := t.last(r.Origin, r.Action, r.URL); err != nil {
			return err
		} else if known && line.Standing && line.State != Refused {
			*r = line
			r.From.Credential = by.Name
			return t.confirm(r)
		}
		r.State, r.Why = Seen, "it waits for its line in robots.txt"
	}
	// P1 2.6 (P09): re-crawls are limited
	if r.Action == acap.ReCrawl && o.Pending > 0 && t.pending(r.Origin) >= o.Pending {
		return reject(TooMany, "%d re-crawls of %s are pending: ask again when some are done", o.Pending, r.Origin)
	}
	r.Source = r.field(t.tx.Bucket(bRequests).Sequence() + 1).String()
	return t.note("submitted", r)
}

// askAgain notes another submission of a request that is already in force.
func (t *txn) askAgain(r *Request, by grant) error {
	if by.id == "" && r.From.File == "" { // the operator's request needs no confirmation
		r.From = operatorOf(r.Action)
		r.Source = r.field(r.ID).String()
		if r.State == Seen {
			r.State, r.Why = Due, ""
		}
	}
	if r.State == Done { // P1 2.6 (P04): a take-down is repeated
		r.State = Due
	}
	return t.note("submitted", r)
}

// countRecrawl counts a re-crawl that a publisher submits. P1 2.6 (P09): countRecrawl rejects the
// re-crawl if the origin has had too many re-crawls within 24 hours.
func (t *txn) countRecrawl(origin string, o Options) error {
	h := t.heard(origin)
	h.roll(t.now)
	if why := h.allowRecrawl(Limits{Day: o.Day}, 0); why != "" {
		return reject(TooMany, "%s: ask again later", why)
	}
	return t.putHeard(origin, h)
}

// operatorOf returns the source of a request of the operator.
func operatorOf(action string) Source {
	return Source{Kind: Operator, Text: action + byOperator}
}

const byOperator = ", requested by the operator"

// Requester returns in words who made the request that is the reason of a decision: "the operator" or "the
// publisher". Unlike the text of the field, this is not secret.
func Requester(f *acap.Field) string {
	if strings.HasSuffix(f.Text, byOperator) {
		return "the operator"
	}
	return "the publisher"
}

// field returns the field that decisions name as their reason if they follow from r. id is the ID
// that r has or will get.
func (r *Request) field(id uint64) *acap.Field {
	return &acap.Field{Source: acap.Request, URL: r.Origin, Line: int(id), Text: r.From.Text}
}

// confirm notes that r was requested both by a line and through the channel, and makes r due.
func (t *txn) confirm(r *Request) error {
	r.State, r.Why, r.Confirmed = Confirmed, "", t.now
	if err := t.note(string(Confirmed), r); err != nil {
		return err
	}
	r.State = Due
	return t.note(string(Due), r)
}

// Withdraw withdraws the submitted request with the given ID. The request must belong to an origin
// of the credential by; if by is nil, the operator withdraws the request, which may belong to any
// origin. A withdrawn take-down no longer blocks its resource, but erased data is not restored. A
// request that is not in force is returned unchanged. The error is a *Rejection.
func (l *Ledger) Withdraw(id uint64, by *Credential) (r Request, err error) {
	err = l.noteRejection(by, func(*rejected) error {
		return l.update(func(t *txn) (err error) {
			known := false
			if r, known, err = t.request(id); err != nil {
				return err
			}
			_, err = t.checkGrant(by, r.Origin)
			switch refused, is := errors.AsType[*Rejection](err); {
			case !known || is && refused.Code == WrongOrigin:
				return unknown(id)
			case err != nil:
				return err
			case !r.Standing:
				return nil
			case !r.announced():
				return reject(LineStands, "request %d comes from a line of robots.txt: remove the line to withdraw it",
					id)
			case by != nil && r.From.Kind == Operator:
				return reject(OperatorStands,
					"request %d comes from the operator, and only the operator can withdraw it", id)
			}
			r.Standing = false
			if r.open() && r.State != Running && r.State != Done {
				r.State, r.Why = Refused, "it was withdrawn before it was executed"
			}
			// delete the stored digest of the reading: if the line is still there, it is noted
			// again
			if r.From.File != "" {
				h := t.heard(r.Origin)
				h.Sum = ""
				if err := t.putHeard(r.Origin, h); err != nil {
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

// unknown returns the error for a request that does not exist or belongs to another origin.
func unknown(id uint64) error { return reject(NotFound, "there is no request %d", id) }

// originOf returns the origin of a URL in the form of policy.Key: scheme and host in lower case,
// the host in punycode, without the default port. The error is a clause.
func originOf(rawurl string) (string, error) {
	u, err := url.Parse(rawurl)
	switch {
	case err != nil:
		return "", errors.New("it is not a URL")
	case strings.Contains(u.Hostname(), "%"):
		return "", errors.New("its host has a zone, which is valid on one machine only")
	}
	return address.Origin(u)
}

// Execute executes the requests with the given IDs that are due. It returns all requests with these
// IDs, in their new state.
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

// these returns the requests with the given IDs. Unknown IDs are skipped.
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
