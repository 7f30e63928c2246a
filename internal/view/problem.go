package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/policy"
)

// Problem is an answer that is not the requested one. It is shown as a page or as a problem document (RFC
// 9457).
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"` // does not change between versions of the program
	Title  string `json:"title"`
	Detail string `json:"detail"` // one sentence: what happened, and what to do

	// The line that decided, if one did: address of its document, line number from 1, and the field.
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Field string `json:"field,omitempty"`
	// PolicyRead is when the policy was read that contains the line.
	PolicyRead time.Time `json:"policy_read,omitzero"`

	Retry   time.Duration `json:"-"` // for the header Retry-After; 0: none
	Allow   string        `json:"-"` // for the header Allow; empty: none
	Address string        `json:"-"` // the requested page, archived or not; empty: none
	Page    string        `json:"-"` // the archived page whose terms can be explained; empty: none
	Down    bool          `json:"-"` // a take-down is in force
}

func (p *Problem) Error() string { return p.Detail }

func badRequest(detail string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "malformed", Title: "This request cannot be read",
		Detail: detail}
}

// notFound returns the problem for a page that was never archived. It is identical for an archived
// page if this reader may not learn that it is archived.
func notFound() *Problem {
	return &Problem{Status: http.StatusNotFound, Code: "not-found", Title: "Not in this archive",
		Detail: "Nothing that you may see is archived under this address."}
}

// refused returns the problem for a refusal: status 451, or 503 if today's policy could not be read.
func (h *Handler) refused(d acap.Decision) *Problem {
	d = policy.PublicDecision(d.AboutFor())
	if by := d.Because; by != nil && by.Source == acap.Request { // the ledger has no lines
		return &Problem{Status: http.StatusUnavailableForLegalReasons, Code: string(d.Reason),
			Title: "Archived, but may not be shown", Detail: sentence("It was taken down by " + requestWords(by))}
	}
	p := &Problem{Status: http.StatusUnavailableForLegalReasons, Code: string(d.Reason),
		Title: "Archived, but may not be shown", Detail: "The publisher does not permit this: " + d.Why()}
	if d.Reason == acap.Unavailable {
		p.Status, p.Code, p.Retry = http.StatusServiceUnavailable, "unavailable", time.Minute
		p.Title = "The publisher's terms cannot be read now"
		p.Detail = "Without them this archive shows nothing of the page: " + d.Why()
	}
	if d.Because != nil {
		p.File, p.Line, p.Field = d.Because.URL, d.Because.Line, d.Because.Text
		if h.o.PolicyRead != nil {
			p.PolicyRead = h.o.PolicyRead(d.Because.URL)
		}
	}
	p.endSentence()
	return p
}

// absent returns the problem for an address of which nothing can be shown (RFC 7725, RFC 9110 15.5.11).
func (h *Handler) absent(s present.State) *Problem {
	switch s.Availability {
	case present.Unavailable, present.Withheld:
		return h.refused(s.Decision)
	case present.Erased:
		if s.Decision.Because != nil {
			return h.takenDown(s)
		}
		p := &Problem{Status: http.StatusGone, Code: "erased", Title: "Erased from this archive"}
		p.Detail = "It was erased on " + atTime(s.Erased.When) + ": " + s.Erased.Why
		p.Field = s.Erased.Line
		if parts := placed().FindStringSubmatch(s.Erased.Line); parts != nil {
			if n, err := strconv.Atoi(parts[2]); err == nil {
				p.File, p.Line, p.Field = parts[1], n, parts[3]
			}
		} else if strings.HasPrefix(p.Field, "request ") { // of the ledger, which has no lines
			number, _, _ := strings.Cut(p.Field, ": ")
			p.Detail, p.Field = p.Detail+" ("+number+")", ""
		}
		p.endSentence()
		return p
	}
	return notFound()
}

// placed matches a line with its document and number, as in "http://example.com/robots.txt:3: Disallow: /".
var placed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(https?://\S+):([0-9]+): (.+)$`) })

// endSentence adds a full stop to the detail, unless it ends with the line that decided: the full stop would look like
// a part of it.
func (p *Problem) endSentence() {
	if p.Field == "" || !strings.HasSuffix(p.Detail, p.Field) {
		p.Detail = sentence(p.Detail)
	}
}

// takenDown returns the problem for a page with a take-down in force: who asked, and when the page
// was erased.
func (h *Handler) takenDown(s present.State) *Problem {
	down := h.refused(s.Decision)
	p := &Problem{Status: http.StatusGone, Code: "erased", Title: "Erased from this archive", Down: true,
		Detail: "The publisher asked for it to be taken down", File: down.File, Line: down.Line, Field: down.Field,
		PolicyRead: down.PolicyRead}
	if by := s.Decision.Because; by.Source == acap.Request {
		p.Detail = "It was taken down by " + requestWords(by)
	}
	if !s.Erased.When.IsZero() {
		p.Detail += "; it was erased on " + atTime(s.Erased.When)
	}
	p.Detail = sentence(p.Detail)
	return p
}

// requestWords says who made a request in the ledger, and its number. The text of f may name a credential, which is
// not public.
func requestWords(f *acap.Field) string {
	return fmt.Sprintf("%s (request %d)", actions.Requester(f), f.Line)
}

// atTime returns a time within a sentence.
func atTime(t time.Time) string { return t.UTC().Format("2 January 2006 at 15:04 UTC") }

// sentence returns s with a full stop at its end.
func sentence(s string) string {
	if s != "" && s[len(s)-1] != '.' {
		return s + "."
	}
	return s
}

// problemOf returns the problem that describes err.
func (h *Handler) problemOf(err error) *Problem {
	p, is := errors.AsType[*Problem](err)
	refused, barred := errors.AsType[*acap.Refused](err)
	wrong, bad := errors.AsType[*fieldError](err)
	switch {
	case is:
		return p
	case bad:
		return badRequest(wrong.Error())
	case barred:
		return h.refused(refused.Decision)
	case errors.Is(err, present.ErrNotHeld):
		return notFound()
	case errors.Is(err, present.ErrQuery):
		return badRequest(sentence("The search cannot be made: " + err.Error()))
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Problem{Status: http.StatusServiceUnavailable, Code: "too-slow", Title: "This takes too long",
			Detail: "The answer could not be made in time; ask for less, or try again later.", Retry: time.Minute}
	}
	if h.o.Failed != nil {
		h.o.Failed(err)
	}
	if errors.Is(err, present.ErrBodies) {
		return &Problem{Status: http.StatusServiceUnavailable, Code: "store", Title: "The copies cannot be read now",
			Detail: "The store of the copies does not answer; try again later.", Retry: time.Minute}
	}
	return &Problem{Status: http.StatusInternalServerError, Code: "failed", Title: "This archive has a fault",
		Detail: "The answer could not be made; the operator's log says why."}
}

// setHeader sets the header fields that say what happened.
func (p *Problem) setHeader(head http.Header, shard bool) {
	switch {
	case shard && p.Down:
		head.Set(ReasonHeader, ReasonDown)
	case shard:
		head.Set(ReasonHeader, p.Code)
	}
	if p.Retry > 0 {
		head.Set("Retry-After", strconv.Itoa(int(p.Retry.Seconds())))
	}
	if p.Allow != "" {
		head.Set("Allow", p.Allow)
	}
	if p.Status == http.StatusUnavailableForLegalReasons && p.File != "" {
		head.Add("Link", "<"+originOf(p.File)+`>; rel="blocked-by"`)
	}
	head.Set("Cache-Control", "no-store")
}

// refuses reports whether the terms refuse the visitor the page that a request is about.
func (h *Handler) refuses(r *request) bool {
	page := targetIn(cmp.Or(r.rest, r.query.Get("url")))
	return page != "" && h.o.Refuses != nil && h.o.Refuses(r.Context(), page, r.visitor.reader())
}

// writeProblem answers with p: as a problem document if the route is part of the API, otherwise as a page.
func (h *Handler) writeProblem(w http.ResponseWriter, r *request, p *Problem) {
	head := w.Header()
	for name := range head {
		if name != "Vary" {
			head.Del(name)
		}
	}
	setCommon(head)
	where := placeOf(r)
	inFrame := r.copies && (where == viewer || where == framed)
	switch {
	case inFrame:
		head.Set("Content-Security-Policy", framedPolicyFor(r.visitor))
	case r.copies: // a browser that does not say where it puts the answer may show it in the frame, too
		policy := strings.TrimSuffix(ownPolicy, "'none'") + "'self'" // frame-ancestors
		head.Set("Content-Security-Policy", policyFor(r.visitor, policy))
	}
	p.setHeader(head, r.visitor.Shard)
	if r.visitor.Shard && p.Status == http.StatusNotFound && h.refuses(r) {
		head.Set(ReasonHeader, ReasonRefused)
	}
	if r.api {
		body, err := json.Marshal(struct {
			Type string `json:"type"`
			*Problem
		}{"urn:acapcrawl:problem:" + p.Code, p})
		if err != nil { // cannot happen: the fields are text and numbers
			body = []byte("{}")
		}
		writeBody(w, r, p.Status, "application/problem+json", append(body, '\n'))
		return
	}
	p.Address = cmp.Or(p.Address, targetIn(r.rest))
	// A request in the ledger decides without a line in a document; its status is 410.
	if h.o.Explainer != nil && !inFrame && (p.File != "" || p.Field != "" || p.Status == http.StatusGone) {
		p.Page = p.Address
	}
	var body []byte
	var err error
	if inFrame {
		body, err = h.executeFramed(r, framedPage{Problem: p, Followed: where == framed})
	} else {
		body, err = h.execute(r, "problem.html", p.Title, p)
	}
	if err != nil {
		body = []byte(p.Detail)
	}
	writeBody(w, r, p.Status, "text/html; charset=utf-8", body)
}
