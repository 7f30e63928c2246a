package view

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// maxBody is the maximum length of the body of a request in bytes.
const maxBody = 1 << 20

// decideTime is the time for the answers to the cases of one request.
const decideTime = 20 * time.Second

// apiDecide answers like the verb decide. It sends each answer before it reads the next case.
func (h *Handler) apiDecide(w http.ResponseWriter, r *request, v values) error {
	ctx, cancel := context.WithTimeout(r.Context(), decideTime)
	defer cancel()
	done, err := h.heavy.take(ctx, r.visitor.Reader.IP)
	if err != nil {
		return err
	}
	defer done()
	control := http.NewResponseController(w)
	// Without this, a server of HTTP/1 reads the whole body before it sends the first answer. Not every
	// ResponseWriter can do it; then the client gets the answers later.
	_ = control.EnableFullDuplex()
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
	sent := &sentBytes{ResponseWriter: w}
	out := bufio.NewWriter(sent)
	o := conformance.Oracle{Dialect: v.text("dialect"), MaxLine: maxBody,
		Flush: func() error {
			if err := out.Flush(); err != nil {
				return err
			}
			if err := control.Flush(); !errors.Is(err, http.ErrNotSupported) {
				return err
			}
			return nil
		},
		Defect: func(e *defect.Error) {
			if h.o.Failed != nil {
				h.o.Failed(e)
			}
		}}
	_, err = o.Answer(ctx, http.MaxBytesReader(w, r.Body, maxBody), out)
	if err != nil {
		p := brokenOff(err)
		if !sent.some && out.Buffered() == 0 {
			return p
		}
		if line, err := encode(map[string]string{"id": "", "error": p.Detail}); err == nil {
			out.Write(line)
		}
	}
	out.Flush() // an error means that the client is gone
	return nil
}

// brokenOff returns the problem for cases that were not all answered because of err.
func brokenOff(err error) *Problem {
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "too-large", Title: "The body is too long",
			Detail: fmt.Sprintf("The body is longer than %d bytes; send the other cases in further requests.", maxBody)}
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{Status: http.StatusServiceUnavailable, Code: "too-slow", Title: "This takes too long",
			Detail: "The answers took too long; send the other cases in further requests.", Retry: time.Minute}
	}
	return badRequest("The body is incomplete; send the other cases in further requests.")
}

// sentBytes notes whether something was written.
type sentBytes struct {
	http.ResponseWriter
	some bool
}

func (s *sentBytes) Write(p []byte) (int, error) {
	s.some = true
	return s.ResponseWriter.Write(p)
}
