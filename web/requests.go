package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
)

// admit gives the credential that r comes with, unless who sent it has to wait.
func (s *Server) admit(r *http.Request) (string, error) {
	client, t := s.client(r), token(r)
	if wait := s.limits.wait(client, nameOf(t)); wait > 0 {
		return "", tooMany(wait, "too many requests came from this client, or with this credential")
	}
	if t == "" {
		s.limits.failed(client)
		return "", refused(actions.BadCredential, "a credential of this operator is needed, as Authorization: Bearer")
	}
	return t, nil
}

// ask has the backend answer call for whoever sent r.
func (s *Server) ask(r *http.Request, call actions.Call) (a actions.Answer, err error) {
	if call.Token, err = s.admit(r); err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	a, err = s.o.Backend.Answer(ctx, call)
	switch {
	case err != nil:
		return a, err
	case a.Code == actions.BadCredential:
		s.limits.failed(s.client(r))
	default:
		s.limits.good(nameOf(call.Token))
	}
	if a.Code != "" {
		return a, refused(a.Code, a.Why)
	}
	return a, nil
}

// submit takes a request.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.admit(r); err != nil { // no body is read
		return err
	}
	said, err := submission(w, r)
	if err != nil {
		return err
	}
	key := said["key"]
	if header := r.Header.Values("Idempotency-Key"); len(header) > 0 {
		if len(header) > 1 || key != "" && key != header[0] {
			return malformed("there is more than one key")
		}
		key = header[0]
	}
	switch {
	case !wellFormedKey(key):
		return malformed("an Idempotency-Key of up to 200 printable characters of ASCII without blanks is needed, chosen anew for each request and sent again with a repetition")
	case said["action"] == "" || said["url"] == "":
		return malformed("action and url are needed")
	}
	a, err := s.ask(r, actions.Call{Do: actions.DoSubmit, Key: key, Action: said["action"], URL: said["url"]})
	if err != nil {
		return err
	}
	if a.Request == nil {
		return errors.New("a submission was answered without a request")
	}
	status := http.StatusCreated
	if a.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
		status = http.StatusOK
	}
	w.Header().Set("Location", fmt.Sprintf("/v1/requests/%d", a.Request.ID))
	write(w, "application/json", status, one(a))
	return nil
}

// one is the answer about one request.
func one(a actions.Answer) any {
	return struct {
		*actions.Request
		Ledger *actions.Head `json:"ledger,omitempty"`
	}{a.Request, a.Head}
}

// The bounds of a page of a list.
const (
	usualPage = 100
	maxPage   = 1000
)

// list gives the requests of one's origins, the oldest first, a page at a time.
func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	f := actions.Filter{Limit: usualPage}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return malformed("the query cannot be read")
	}
	for name, values := range q {
		if len(values) != 1 {
			return malformed(name + " is given more than once")
		}
		v := values[0]
		switch name {
		case "action":
			f.Action = v
		case "state":
			f.State = actions.State(v)
		case "url":
			f.URL = v
		case "after":
			if f.After, err = strconv.ParseUint(v, 10, 64); err != nil {
				return malformed("after is not a number")
			}
		case "limit":
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > maxPage {
				return malformed("limit is a number from 1 to 1000")
			}
			f.Limit = n
		default:
			return malformed("a list can be narrowed by action, state and url, and paged by after and limit, not by " + strconv.Quote(name))
		}
	}
	a, err := s.ask(r, actions.Call{Do: actions.DoList, Filter: f})
	if err != nil {
		return err
	}
	if a.Requests == nil {
		a.Requests = []actions.Request{}
	}
	write(w, "application/json", http.StatusOK, struct {
		Requests []actions.Request `json:"requests"`
		Next     uint64            `json:"next,omitempty"` // to be given as after
	}{a.Requests, a.Next})
	return nil
}

// number is the request that a path names.
func number(r *http.Request) (uint64, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil || strconv.FormatUint(id, 10) != r.PathValue("id") {
		return 0, refused(actions.NotFound, "there is no such request of your origins")
	}
	return id, nil
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	return s.about(w, r, actions.DoGet)
}

// withdraw takes a request back: it bars no longer.
func (s *Server) withdraw(w http.ResponseWriter, r *http.Request) error {
	return s.about(w, r, actions.DoWithdraw)
}

func (s *Server) about(w http.ResponseWriter, r *http.Request, do string) error {
	id, err := number(r)
	if err != nil {
		return err
	}
	a, err := s.ask(r, actions.Call{Do: do, ID: id})
	if err != nil {
		return err
	}
	write(w, "application/json", http.StatusOK, one(a))
	return nil
}

// receipt gives the receipt of a request, once there is one.
func (s *Server) receipt(w http.ResponseWriter, r *http.Request) error {
	id, err := number(r)
	if err != nil {
		return err
	}
	a, err := s.ask(r, actions.Call{Do: actions.DoReceipt, ID: id})
	if err != nil {
		return err
	}
	write(w, "application/json", http.StatusOK, a.Receipt)
	return nil
}

// key gives the public key that receipts are signed with, as a JWK.
func (s *Server) key(w http.ResponseWriter, _ *http.Request) error {
	if s.o.Key == nil {
		return refused(actions.NotFound, "receipts are not signed here")
	}
	write(w, "application/jwk+json", http.StatusOK, s.o.Key)
	return nil
}

// health remembers how the backend was, for a moment: whoever asks often costs little.
type health struct {
	mu     sync.Mutex
	at     time.Time
	answer actions.Answer
	err    error
}

// healthFor is how long an answer about the backend serves.
const healthFor = 5 * time.Second

// Status tells how the backend is, or was a moment ago; not ok where it could not be asked. It may be called concurrently.
func (s *Server) Status(ctx context.Context) (st actions.Status, ok bool) {
	a, err := s.status(ctx)
	if err != nil || a.Code != "" || a.Status == nil {
		return st, false
	}
	return *a.Status, true
}

// status asks the backend how it is.
func (s *Server) status(ctx context.Context) (actions.Answer, error) {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	if now := s.o.Now(); s.health.at.IsZero() || now.Sub(s.health.at) >= healthFor {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		defer cancel()
		s.health.answer, s.health.err = s.o.Backend.Answer(ctx, actions.Call{Do: actions.DoStatus})
		s.health.at = s.o.Now()
	}
	return s.health.answer, s.health.err
}

// healthz says whether requests can be taken, and whether what was asked for has been done in time.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) error {
	a, err := s.status(r.Context())
	answer := struct {
		Health string        `json:"status"` // ok or failing
		Why    string        `json:"why,omitempty"`
		Ledger *actions.Head `json:"ledger,omitempty"`
		*actions.Status
	}{"ok", "", a.Head, a.Status}
	switch {
	case err != nil || a.Code != "" || a.Status == nil:
		answer.Why = "the ledger cannot be reached"
	default:
		answer.Why = s.late(a.Status)
	}
	status := http.StatusOK
	if answer.Why != "" {
		answer.Health, status = "failing", http.StatusServiceUnavailable
	}
	write(w, "application/json", status, answer)
	return nil
}

// late says what should have been done by now; "" where nothing is late.
func (s *Server) late(st *actions.Status) string {
	before := s.o.Now().Add(-s.o.Late)
	switch {
	case !st.TakeDown.IsZero() && st.TakeDown.Before(before):
		return fmt.Sprintf("a take-down is due since %s", st.TakeDown.UTC().Format(time.RFC3339))
	case !st.Erased.IsZero() && st.Erased.Before(before):
		return fmt.Sprintf("files are not compacted since an erasure at %s", st.Erased.UTC().Format(time.RFC3339))
	}
	return ""
}
