package site

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/policy"
)

// TestExecutionIsTakenOver checks what happens if the context of the caller that executes requests
// has ended: a waiting caller must execute the requests.
func TestExecutionIsTakenOver(t *testing.T) {
	s := open(t, t.TempDir())
	h := &session{site: s, holdings: s.holdings, executor: actions.NewExecutor(s.ledger, nil, nil, actions.Limits{}),
		executions: map[string]*execution{}, log: slog.New(slog.DiscardHandler)}
	o := &policy.Origin{Key: "http://example.com"}
	x, first := h.executionOf(o)
	if !first {
		t.Fatal("somebody came before")
	}
	waiting := make(chan error)
	go func() { waiting <- h.executeRequests(t.Context(), o) }()
	ended, end := context.WithCancel(t.Context())
	end()
	x.err = ended.Err()
	h.mu.Lock()
	delete(h.executions, o.Key)
	h.mu.Unlock()
	close(x.done)
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	if x = h.executions[o.Key]; x == nil || x.err != nil {
		t.Errorf("executed: %+v", x)
	}
}

// TestExecutionsAreForgotten checks that executions of origins that the authority has forgotten are
// removed.
func TestExecutionsAreForgotten(t *testing.T) {
	h := &session{executions: map[string]*execution{}}
	kept := &policy.Origin{Key: "http://kept.example"}
	h.executionOf(kept)
	for i := range 5 * leastCrowd {
		if i%leastCrowd == 0 {
			runtime.GC()
		}
		h.executionOf(&policy.Origin{Key: fmt.Sprintf("http://%d.example", i), Digests: map[string]string{}})
	}
	if n := len(h.executions); n > 3*leastCrowd {
		t.Errorf("%d are remembered", n)
	}
	if _, first := h.executionOf(kept); first {
		t.Error("one is forgotten that is known")
	}
	runtime.KeepAlive(kept)
}
