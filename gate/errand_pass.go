package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"
)

// passesOn reports whether a request that err refused is passed to the machine that owns its host:
// if it is neither a page request nor an errand of another machine. Therefore an errand is never
// passed on, and errands cannot go in a circle.
func (g *Gate) passesOn(err error, p purpose) bool {
	return g.o.Errand != nil && p.kind != PageRequest && p.errand == nil && errors.Is(err, ErrForeign)
}

// passOn passes an admitted request to the machine that owns the host key.
func (g *Gate) passOn(req *http.Request, u *url.URL, key string, p purpose) (Hop, *http.Response, error) {
	ctx := req.Context()
	out := g.outgoing(req, u, key, context.WithoutCancel(ctx))
	e := Errand{Method: out.Method, URL: u.String(), Kind: p.kind, Header: headerFields(errandHeader(out.Header)),
		MaxRaw: g.o.MaxRaw, MaxBody: g.o.MaxBody}
	if p.kind == PolicyFile {
		e.MaxRaw, e.MaxBody = policyCap, policyCap
	}
	e.Confirms = p.trace != nil && p.trace.Confirms == e.URL
	if !utf8.ValidString(e.URL) { // JSON would change it
		return Hop{}, nil, fmt.Errorf("%s %q: the URL is not UTF-8, so it cannot be passed to the owner of %s",
			e.Method, e.URL, key)
	}
	answer, err := g.o.Errand(ctx, key, e)
	switch {
	case ctx.Err() != nil:
		return Hop{}, nil, fmt.Errorf("%s %s: %w", e.Method, e.URL, context.Cause(ctx))
	case errors.Is(err, ErrForeign), errors.Is(err, ErrPaused):
		return Hop{}, nil, leaseRefusal(key, err)
	case err != nil: // says nothing about the host
		return Hop{}, nil, ownerRefusal(key, "cannot be reached", err)
	case answer.Failure != nil:
		return Hop{}, nil, answer.Failure.err(e.URL, key)
	}
	hop, resp, err := g.receiveAnswer(req, p, &e, &answer)
	if err != nil {
		return Hop{}, nil, fmt.Errorf("%s %s: %w", e.Method, e.URL, err)
	}
	return hop, resp, nil
}

// ownerRefusal returns the refusal of a request because the machine that owns the host key does not
// make it now.
func ownerRefusal(key, does string, err error) *Refusal {
	return &Refusal{URL: key, Rule: RuleLease, Why: fmt.Sprintf("the machine that owns %s %s: %v", key, does, err),
		Cause: fmt.Errorf("%w (%w)", ErrPaused, err)}
}

// errandHeader removes from h the fields that the owner sets itself.
func errandHeader(h http.Header) http.Header {
	for _, name := range []string{"User-Agent", "Accept-Encoding", "Signature", "Signature-Input", "Signature-Agent"} {
		h.Del(name)
	}
	return h
}

// receiveAnswer returns the exchange of an answer to the errand e. It reads the body like the body
// of a response to a request of this machine, with the same limits and the same use of memory.
func (g *Gate) receiveAnswer(req *http.Request, p purpose, e *Errand, answer *ErrandAnswer) (Hop, *http.Response,
	error) {
	resp, err := answer.response(e)
	if err != nil {
		return Hop{}, nil, fmt.Errorf("the answer of the machine that owns the host is damaged: %w", err)
	}
	c, err := g.captureBody(req.Context(), resp, e.Method, p)
	if req.Context().Err() != nil {
		err = context.Cause(req.Context())
	}
	if err != nil {
		return Hop{}, nil, err
	}
	hop := Hop{URL: e.URL, Method: e.Method, Status: answer.Status, Proto: answer.Proto, Address: answer.Address,
		Header: resp.Header, Sent: answer.Sent, Head: answer.Head, Wire: c.wire, Body: c.undone.Body,
		Undone: c.undone, Truncated: c.truncated || answer.Truncated, Start: answer.Start, Took: answer.Took}
	return hop, decodedResponse(resp, req, hop.Body), nil
}

// response returns the answer to the errand e as the response of its host, with the body as sent.
func (a *ErrandAnswer) response(e *Errand) (*http.Response, error) {
	major, minor, ok := http.ParseHTTPVersion(a.Proto)
	switch {
	case a.Method != e.Method || a.URL != e.URL:
		return nil, fmt.Errorf("it answers %.10q %.200q", a.Method, a.URL)
	case !ok:
		return nil, fmt.Errorf("%.20q is not a version of HTTP", a.Proto)
	case a.Status < 100 || a.Status > 999:
		return nil, fmt.Errorf("%d is not a status of HTTP", a.Status)
	case int64(len(a.Wire)) > e.MaxRaw:
		return nil, fmt.Errorf("its body has more than %d bytes", e.MaxRaw)
	case len(a.Sent) > maxHead+headSlack || len(a.Head) > maxHead+headSlack:
		return nil, fmt.Errorf("its heads have more than %d bytes", maxHead+headSlack)
	case a.Took < 0 || a.Start.IsZero():
		return nil, errors.New("it has no time")
	}
	header, err := headerOf(a.Header)
	if err != nil {
		return nil, err
	}
	return &http.Response{Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status,
		Proto: a.Proto, ProtoMajor: major, ProtoMinor: minor, Header: header, ContentLength: a.contentLength(header),
		Body: io.NopCloser(bytes.NewReader(a.Wire))}, nil
}

// contentLength returns the length that net/http derives from the header h: the value of
// Content-Length, -1 if there is none, and 0 if there is none because the status excludes a body.
func (a *ErrandAnswer) contentLength(h http.Header) int64 {
	n, err := strconv.ParseUint(h.Get("Content-Length"), 10, 63)
	switch {
	case err == nil:
		return int64(n)
	case a.Method != http.MethodHead && (a.Status == http.StatusNoContent || a.Status == http.StatusNotModified):
		return 0
	}
	return -1
}
