package view

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/present"
)

// TestStoreFails checks the answer if copies are in a store that does not answer: it is no fault of the archive, the
// reader may try again, and the operator is told the cause, which may name hosts.
func TestStoreFails(t *testing.T) {
	var told error
	h := &Handler{o: Options{Failed: func(err error) { told = err }}}
	cause := fmt.Errorf("%w: 10.0.0.7 refuses", present.ErrBodies)
	p := h.problemOf(cause)
	if p.Status != http.StatusServiceUnavailable || p.Code != "store" || p.Retry == 0 {
		t.Errorf("%+v", p)
	}
	if !errors.Is(told, cause) {
		t.Error(told)
	}
}
