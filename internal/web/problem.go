package web

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// problem is the answer to a request that is refused, as a problem document (RFC 9457).
type problem struct {
	status int
	code   string // the code of the problem, which does not change between versions
	detail string // a sentence, without a full stop and a capital letter
	retry  time.Duration
}

func (p *problem) Error() string { return p.detail }

// title returns a short sentence for this kind of problem.
func (p *problem) title() string {
	switch p.status {
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return "This request cannot be read"
	case http.StatusUnauthorized:
		return "A login is needed"
	case http.StatusForbidden:
		return "You may not do this"
	case http.StatusNotFound:
		return "Not found"
	case http.StatusMethodNotAllowed:
		return "This method is not allowed here"
	case http.StatusConflict:
		return "This conflicts with an earlier request"
	case http.StatusRequestEntityTooLarge:
		return "The body is too large"
	case http.StatusMisdirectedRequest:
		return "This server has another name"
	case http.StatusTooManyRequests:
		return "Too many requests"
	}
	return "This cannot be done now"
}

// statusOf returns the HTTP status for a code with which the ledger rejects a call.
func statusOf(code string) int {
	switch code {
	case actions.Malformed:
		return http.StatusBadRequest
	case actions.BadCredential:
		return http.StatusUnauthorized
	case actions.WrongOrigin:
		return http.StatusForbidden
	case actions.NotFound:
		return http.StatusNotFound
	case actions.KeyReused, actions.LineStands, actions.OperatorStands:
		return http.StatusConflict
	case actions.BadURL:
		return http.StatusUnprocessableEntity
	case actions.TooMany:
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

// needsLogin reports whether p can be solved by a login in the browser.
func (p *problem) needsLogin() bool {
	return p.code == codeLogin || p.code == actions.BadCredential && p.status == http.StatusForbidden
}

// codeLogin is the code of the problem that nobody is logged in.
const codeLogin = "login"

// rejection returns the problem for a call that the ledger rejected.
func rejection(code, why string) *problem {
	p := &problem{status: statusOf(code), code: code, detail: why}
	switch p.status {
	case http.StatusTooManyRequests:
		p.retry = time.Hour
	case http.StatusServiceUnavailable:
		p.retry = 10 * time.Second
	}
	return p
}

func tooMany(retry time.Duration, why string) *problem {
	return &problem{status: http.StatusTooManyRequests, code: "rate", detail: why, retry: retry}
}

// writeProblem writes err as a problem document, and returns the code of the problem.
func writeProblem(w http.ResponseWriter, err error) string {
	p, is := errors.AsType[*problem](err)
	if !is { // an internal error: its text is not sent to publishers
		p = &problem{status: http.StatusServiceUnavailable, code: actions.Unavailable,
			retry:  10 * time.Second,
			detail: "the request could not be answered now; send it again later with the same key"}
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retry.Seconds()))))
	}
	if p.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="acapcrawl"`)
	}
	writeJSON(w, "application/problem+json", p.status, map[string]any{
		"type": "urn:acapcrawl:problem:" + p.code, "title": p.title(),
		"status": p.status, "code": p.code, "detail": display.Sentence(p.detail),
	})
	return p.code
}

// writeJSON writes value as JSON with the media type kind.
func writeJSON(w http.ResponseWriter, kind string, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil { // cannot happen: all values are valid JSON
		status, data = http.StatusInternalServerError, []byte(`{}`)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
	w.WriteHeader(status)
	w.Write(append(data, '\n'))
}
