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
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/view"
	"github.com/acapcrawl/acapcrawl/policy"
)

// readToken returns the access token of the HTTP request r. It returns an error if the client must
// wait or sends no token.
func (s *Server) readToken(r *http.Request) (string, error) {
	client, t := s.client(r), token(r)
	if wait := s.limits.waitTime(client, hashToken(t)); wait > 0 {
		return "", tooMany(wait, "too many wrong tokens were sent, or too many requests with this credential")
	}
	if t == "" { // not a failed authentication: other sites can make browsers send such requests
		return "", rejection(actions.BadCredential,
			"this needs a credential, which the operator of this archive gives to publishers, in the header "+
				"Authorization: Bearer TOKEN")
	}
	return t, nil
}

// callBackend sends call with the access token of r to the backend, and returns the answer. It
// counts valid and invalid tokens for the rate limits.
func (s *Server) callBackend(r *http.Request, call actions.Call) (a actions.Answer, err error) {
	if call.Token, err = s.readToken(r); err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	a, err = s.o.Backend.Answer(ctx, call)
	switch {
	case err != nil:
		return a, err
	case a.Code == actions.BadCredential:
		s.limits.countFailed(s.client(r))
	default:
		s.limits.countValid(hashToken(call.Token))
	}
	if a.Code != "" {
		return a, rejection(a.Code, a.Why)
	}
	return a, nil
}

// read sends a call that changes nothing with the access token of r to the backend. Without a token it has the rights
// of the session, or those of everybody.
func (s *Server) read(r *http.Request, call actions.Call) (actions.Answer, error) {
	if len(r.Header.Values("Authorization")) > 0 {
		return s.callBackend(r, call)
	}
	in, token, ok := s.session(r)
	if s.o.LoginToRead && (!ok || !s.reconfirm(r, &in, token)) {
		_, err := s.readToken(r)
		return actions.Answer{}, err
	}
	return s.callFor(r, call)
}

// submit handles an HTTP request that submits an action request.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.readToken(r); err != nil { // check token and rates before the body is read
		return err
	}
	said, err := submission(w, r)
	if err != nil {
		return err
	}
	key := said["key"]
	if header := r.Header.Values("Idempotency-Key"); len(header) > 0 {
		if len(header) > 1 || key != "" && key != header[0] {
			return malformed("the request has more than one idempotency key")
		}
		key = header[0]
	}
	switch {
	case !wellFormedKey(key):
		return malformed("an Idempotency-Key of up to 200 printable characters of ASCII without blanks is needed, " +
			"a new one for each request, and the same one again if a request is repeated")
	case said["action"] == "" || said["url"] == "":
		return malformed("action and url are needed")
	}
	a, err := s.callBackend(r, actions.Call{Do: actions.DoSubmit, Key: key, Action: said["action"], URL: said["url"]})
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
	w.Header().Set("Location", "/api/v1/requests/"+a.Request.Name())
	writeJSON(w, "application/json", status, requestAnswer(a))
	return nil
}

// requestAnswer returns the value to encode as JSON for an answer about one action request.
func requestAnswer(a actions.Answer) any {
	return struct {
		*actions.Request
		Ledger *actions.Head `json:"ledger,omitempty"`
	}{a.Request, a.Head}
}

// The limits of a page of the list.
const (
	usualPage = 100
	maxPage   = 1000
)

// list writes one page of the list of requests that the client may see, the oldest request first. It answers like the
// verb actions ls with --json. If there are more requests, the header Link has the address of the next page.
func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return malformed("the query cannot be read")
	}
	call, err := listCall(q)
	if err != nil {
		return err
	}
	a, err := s.read(r, call)
	if err != nil {
		return err
	}
	if a.Requests == nil {
		a.Requests = []actions.Request{}
	}
	if next := nextPage(a); next != "" {
		q.Set("after", next)
		w.Header().Set("Link", "</api/v1/requests?"+q.Encode()+`>; rel="next"`)
	}
	if in := a.Shards; in != nil {
		view.SetShards(w.Header(), in.Answered, in.Total)
	}
	writeJSON(w, "application/json", http.StatusOK, a.Requests)
	return nil
}

// nextPage returns the position of the next page of a list, "" if there is none.
func nextPage(a actions.Answer) string {
	switch {
	case a.NextAt != nil:
		return a.NextAt.String()
	case a.Next > 0:
		return strconv.FormatUint(a.Next, 10)
	}
	return ""
}

// position returns the position of a page: a number, or several if there are several machines.
func position(text string) (number uint64, at actions.Positions, err error) {
	if number, err = strconv.ParseUint(text, 10, 64); err == nil {
		return number, nil, nil
	}
	at, ok := actions.ParsePositions(text)
	if !ok {
		return 0, nil, err
	}
	return 0, at, nil
}

// listCall returns the call for the list that the parameters describe.
func listCall(q url.Values) (c actions.Call, err error) {
	c.Do = actions.DoList
	f := &c.Filter
	f.Limit = usualPage
	for name, values := range q {
		if len(values) != 1 && name != "origin" {
			return c, malformed(name + " is given more than once")
		}
		v := values[0]
		switch name {
		case "origin":
			f.Origins, err = originKeys(values)
		case "action":
			f.Action = v
		case "state":
			f.State = actions.State(v)
		case "url":
			f.URL = v
		case "since":
			f.Since, err = time.Parse(time.RFC3339, v)
		case "standing":
			f.Standing, err = strconv.ParseBool(v)
		case "after":
			f.After, c.At, err = position(v)
		case "limit":
			if f.Limit, err = strconv.Atoi(v); err == nil && (f.Limit < 1 || f.Limit > maxPage) {
				err = errLimit
			}
		default:
			return c, malformed("a list can be narrowed by origin, action, state, url, since and standing, and paged " +
				"by after and limit, not by " + strconv.Quote(name))
		}
		if err != nil {
			return c, malformed(name + " must be " + formOf[name])
		}
	}
	return c, nil
}

// originKeys returns the keys of the sites at these addresses.
func originKeys(list []string) (keys []string, err error) {
	for _, one := range list {
		u, err := address.Parse(one)
		if err != nil {
			return nil, err
		}
		key, err := policy.Key(u)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

var errLimit = errors.New("too few or too many requests")

// formOf says what the values of parameters must be.
var formOf = map[string]string{"origin": "the address of a site", "since": "a time as in 2026-01-31T12:00:00Z",
	"standing": "true or false",
	"after":    "a number, or what the header Link of an earlier answer has", "limit": "a number from 1 to 1000"}

// callAbout returns a call about the action request that the path of r names.
func callAbout(r *http.Request, do string) (c actions.Call, err error) {
	node, id, ok := actions.ParseName(r.PathValue("id"))
	if !ok {
		return c, rejection(actions.NotFound, "there is no such request of your origins")
	}
	return actions.Call{Do: do, Node: node, ID: id}, nil
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	return s.answerAbout(w, r, actions.DoGet, s.read, requestAnswer)
}

// withdraw withdraws an action request. A withdrawn take-down no longer blocks the resource.
func (s *Server) withdraw(w http.ResponseWriter, r *http.Request) error {
	return s.answerAbout(w, r, actions.DoWithdraw, s.callBackend, requestAnswer)
}

// answerAbout lets call execute the operation do for the action request that the path names, and
// writes the part of the answer that value returns.
func (s *Server) answerAbout(w http.ResponseWriter, r *http.Request, do string,
	call func(*http.Request, actions.Call) (actions.Answer, error), value func(actions.Answer) any) error {
	about, err := callAbout(r, do)
	if err != nil {
		return err
	}
	a, err := call(r, about)
	if err != nil {
		return err
	}
	writeJSON(w, "application/json", http.StatusOK, value(a))
	return nil
}

// receipt writes the receipt of an action request, or a problem if there is no receipt yet.
func (s *Server) receipt(w http.ResponseWriter, r *http.Request) error {
	return s.answerAbout(w, r, actions.DoReceipt, s.read, func(a actions.Answer) any { return a.Receipt })
}

// key writes the public key of receipts as a JWK.
func (s *Server) key(w http.ResponseWriter, _ *http.Request) error {
	if s.o.Key == nil {
		return rejection(actions.NotFound, "receipts are not signed here")
	}
	writeJSON(w, "application/jwk+json", http.StatusOK, s.o.Key)
	return nil
}

// health caches the last answer of the backend about its status, so that frequent health checks
// cost little.
type health struct {
	mu     sync.Mutex
	at     time.Time
	answer actions.Answer
	err    error
}

// healthFor is how long an answer of the backend about its status is cached.
const healthFor = 5 * time.Second

// Status returns the status of the backend, which may be up to healthFor old. ok is false if the
// backend could not be reached. Status may be called concurrently.
func (s *Server) Status(ctx context.Context) (st actions.Status, ok bool) {
	a, err := s.status(ctx)
	if err != nil || a.Code != "" || a.Status == nil {
		return st, false
	}
	return *a.Status, true
}

// status returns the cached answer of the backend about its status. If the cached answer is too
// old, it requests a new one.
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

// readyz answers whether readers can be answered now.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	if s.o.Ready != nil {
		if err := s.o.Ready(); err != nil {
			return &problem{status: http.StatusServiceUnavailable, code: "not-ready", detail: err.Error(),
				retry: time.Second}
		}
	}
	writeJSON(w, "application/json", http.StatusOK, map[string]string{"status": "ready"})
	return nil
}

// healthz answers whether action requests can be accepted, and whether all of them were executed in
// time.
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
		answer.Why = s.overdue(a.Status)
	}
	status := http.StatusOK
	if answer.Why != "" {
		answer.Health, status = "failing", http.StatusServiceUnavailable
	}
	writeJSON(w, "application/json", status, answer)
	return nil
}

// overdue describes work that should have been done by now, or returns "" if nothing is overdue.
func (s *Server) overdue(st *actions.Status) string {
	before := s.o.Now().Add(-s.o.Late)
	switch {
	case !st.TakeDown.IsZero() && st.TakeDown.Before(before):
		return fmt.Sprintf("a take-down has been due since %s", st.TakeDown.UTC().Format(time.RFC3339))
	case !st.Erased.IsZero() && st.Erased.Before(before):
		return fmt.Sprintf("files have not been compacted since the erasure at %s",
			st.Erased.UTC().Format(time.RFC3339))
	}
	return ""
}
