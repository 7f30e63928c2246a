package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// callFor sends a call with the rights of the visitor to the backend. If the credential of a
// publisher is no longer valid, its session ends.
func (s *Server) callFor(r *http.Request, c actions.Call) (actions.Answer, error) {
	in, token, _ := s.session(r)
	if in.role == view.Publisher {
		if wait := s.limits.waitTime(s.client(r), hashToken(in.access)); wait > 0 {
			return actions.Answer{}, tooMany(wait, "too many requests came with this credential")
		}
		s.limits.countValid(hashToken(in.access))
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	a, err := s.o.Backend.Answer(ctx, in.call(c))
	switch {
	case err != nil:
		return a, err
	case a.Code == actions.BadCredential:
		s.sessions.close(token)
		return a, &problem{status: http.StatusForbidden, code: a.Code,
			detail: "your credential is no longer valid; log in with another one"}
	case a.Code != "":
		return a, rejection(a.Code, a.Why)
	}
	return a, nil
}

// requestsView is what the template requests.html shows.
type requestsView struct {
	Requests         []actions.Request
	Next             string // path of the next page; "": none
	Paged            bool   // this is not the first page
	About            string // only requests about this address are listed; "": all
	Key, Action, URL string // the fields of the form
	Problem          string // why a submission was refused
	Contact          string // URL under which publishers reach the operator; "": unknown
	Absent           int    // number of machines of the archive that did not answer
}

// listed is the number of requests on a page.
const listed = 100

// requestsPage shows the requests that the visitor may see.
func (s *Server) requestsPage(w http.ResponseWriter, r *http.Request) error {
	v := requestsView{Key: randomToken()}
	c := newestCall()
	for name, values := range r.URL.Query() {
		var err error
		switch {
		case len(values) != 1:
			return malformed(name + " is given more than once")
		case name == "url":
			c.Filter.URL, v.URL, v.About = values[0], values[0], values[0]
		case name == "before":
			c.Filter.Before, c.At, err = position(values[0])
			v.Paged = true
		default:
			return malformed("a list can be narrowed by url and paged by before, not by " + strconv.Quote(name))
		}
		if err != nil {
			return malformed("before must be a number, or what a link to older requests has")
		}
	}
	return s.writeRequests(w, r, http.StatusOK, c, v)
}

// newestCall returns the call for the first page of requests.
func newestCall() actions.Call {
	return actions.Call{Do: actions.DoList, Filter: actions.Filter{Newest: true, Limit: listed}}
}

func (s *Server) writeRequests(w http.ResponseWriter, r *http.Request, status int, c actions.Call,
	v requestsView) error {
	a, err := s.callFor(r, c)
	if err != nil {
		return err
	}
	v.Requests, v.Contact, v.Absent = a.Requests, s.o.Contact, a.Shards.Missing()
	if before := nextPage(a); before != "" {
		next := url.Values{"before": {before}}
		if v.About != "" {
			next.Set("url", v.About)
		}
		v.Next = "/requests?" + next.Encode()
	}
	return s.o.Frame.Write(w, r, status, "requests.html", "Requests", v)
}

// confirmView is what the template confirm.html shows.
type confirmView struct {
	Request *actions.Request
	Held    actions.Holding
	Key     string
}

// submitForm submits a request and redirects to its page. A take-down erases, so submitForm first shows what it
// erases, with a form to confirm it. If the request is refused, submitForm shows the form again.
func (s *Server) submitForm(w http.ResponseWriter, r *http.Request) error {
	in, _, err := s.checkForm(r)
	if err != nil {
		return err
	}
	get := r.PostForm.Get
	if !wellFormedKey(get("key")) {
		return malformed("the form has no key; load its page again")
	}
	call := actions.Call{Do: actions.DoSubmit, Key: get("key"), Action: get("action"), URL: get("url")}
	if call.Action == acap.TakeDown && get("confirmed") != "yes" {
		call.Do = actions.DoPreview
	}
	a, err := s.callFor(r, call)
	if p, refused := errors.AsType[*problem](err); refused && (p.status == http.StatusUnprocessableEntity ||
		p.code == actions.WrongOrigin || p.code == actions.KeyReused || p.code == actions.Malformed) {
		noteCode(w, p.code)
		return s.writeRequests(w, r, p.status, newestCall(), requestsView{
			Key: randomToken(), Action: get("action"), URL: get("url"),
			Problem: display.Sentence("not submitted: " + p.detail)})
	}
	if err == nil && (a.Request == nil || call.Do == actions.DoPreview && a.Holding == nil) {
		err = errors.New("a submission was answered without a request")
	}
	if err != nil {
		return err
	}
	if call.Do == actions.DoPreview {
		return s.o.Frame.Write(w, r, http.StatusOK, "confirm.html", "Take down a page",
			confirmView{a.Request, *a.Holding, call.Key})
	}
	if !a.Replayed {
		s.recordChange(r, Submitted, in, a.Request)
	}
	return seeRequest(w, r, a.Request)
}

// recordChange adds an entry about a change. The change has already happened, and the ledger
// records it too.
func (s *Server) recordChange(r *http.Request, what string, in session, about *actions.Request) {
	if err := s.record(r, Entry{What: what, Node: about.Node, Request: about.ID}, in); err != nil {
		s.failed(err)
	}
}

func seeRequest(w http.ResponseWriter, r *http.Request, about *actions.Request) error {
	http.Redirect(w, r, "/requests/"+about.Name(), http.StatusSeeOther)
	return nil
}

// requestPage shows one request, with its receipt for the operator and for its publisher.
func (s *Server) requestPage(w http.ResponseWriter, r *http.Request) error {
	about, err := callAbout(r, actions.DoGet)
	if err != nil {
		return err
	}
	a, err := s.callFor(r, about)
	if err != nil {
		return err
	}
	v := struct {
		Request      *actions.Request
		Receipt      string
		Withdrawable bool
	}{Request: a.Request, Withdrawable: withdrawable(view.VisitorOf(r.Context()).Role, a.Request)}
	if in, _, ok := s.session(r); ok && in.role != view.Anyone && !a.Request.Done.IsZero() {
		text, err := s.readReceipt(r)
		if p, is := errors.AsType[*problem](err); is && p.code == actions.NotFound {
			err = nil
		}
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if json.Indent(&out, text, "", "  ") == nil {
			v.Receipt = out.String()
		}
	}
	return s.o.Frame.Write(w, r, http.StatusOK, "request.html", "Request "+a.Request.Name(), v)
}

// withdrawable reports whether a visitor with this role can withdraw r. A request in robots.txt is
// withdrawn there, and only the operator withdraws its own.
func withdrawable(role view.Role, r *actions.Request) bool {
	switch role {
	case view.Operator:
		return r.Standing && (r.From.Credential != "" || r.From.Kind == actions.Operator)
	case view.Publisher:
		return r.Standing && r.From.Credential != "" && r.From.Kind != actions.Operator
	}
	return false
}

func (s *Server) readReceipt(r *http.Request) (json.RawMessage, error) {
	about, err := callAbout(r, actions.DoReceipt)
	if err != nil {
		return nil, err
	}
	a, err := s.callFor(r, about)
	return a.Receipt, err
}

// receiptFile sends a receipt byte for byte, so that its signature can be checked.
func (s *Server) receiptFile(w http.ResponseWriter, r *http.Request) error {
	text, err := s.readReceipt(r)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(r.PathValue("id"), ":", "-") // a colon is not allowed in file names everywhere
	w.Header().Set("Content-Disposition", `attachment; filename="receipt-`+name+`.json"`)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client may have gone
	return nil
}

// withdrawForm withdraws a request and redirects to its page.
func (s *Server) withdrawForm(w http.ResponseWriter, r *http.Request) error {
	in, _, err := s.checkForm(r)
	if err != nil {
		return err
	}
	about, err := callAbout(r, actions.DoWithdraw)
	if err != nil {
		return err
	}
	a, err := s.callFor(r, about)
	if err != nil {
		return err
	}
	if a.Request == nil {
		return errors.New("a withdrawal was answered without a request")
	}
	s.recordChange(r, Withdrew, in, a.Request)
	return seeRequest(w, r, a.Request)
}

// audited is the number of entries of the audit log on its page.
const audited = 500

// auditPage shows the audit log to the operator. Others must log in as the operator.
func (s *Server) auditPage(w http.ResponseWriter, r *http.Request) error {
	switch who := view.VisitorOf(r.Context()).Role; {
	case s.o.Audit == nil:
		return noPage()
	case who == view.Anyone:
		s.askForLogin(w, r)
		return nil
	case who != view.Operator:
		return &problem{status: http.StatusForbidden, code: "operator", detail: "only the operator reads this page"}
	}
	all, err := s.o.Audit.Last(audited)
	if err != nil {
		return err
	}
	return s.o.Frame.Write(w, r, http.StatusOK, "audit.html", "Audit log", all)
}
