package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/policy"
)

// Who waits for what a publisher asks for to be executed takes over where another had no time left for it.
func TestHeedTakesOver(t *testing.T) {
	s, _ := own(t, filepath.Join(t.TempDir(), "data"), "crawl")
	h := &handler{store: s, holdings: s.holdings, executor: actions.NewExecutor(s.ledger, nil, nil, actions.Limits{}), heeded: map[string]*heeded{}, log: slog.New(slog.DiscardHandler)}
	o := &policy.Origin{Key: "http://example.com"}
	x, first := h.heeding(o)
	if !first {
		t.Fatal("somebody came before")
	}
	waiting := make(chan error)
	go func() { waiting <- h.heed(t.Context(), o) }()
	ended, end := context.WithCancel(t.Context())
	end()
	x.err = ended.Err()
	h.mu.Lock()
	delete(h.heeded, o.Key)
	h.mu.Unlock()
	close(x.done)
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	if x = h.heeded[o.Key]; x == nil || x.err != nil {
		t.Errorf("executed: %+v", x)
	}
}

// Of origins that nobody knows any more, nothing is remembered.
func TestHeedForgets(t *testing.T) {
	h := &handler{heeded: map[string]*heeded{}}
	kept := &policy.Origin{Key: "http://kept.example"}
	h.heeding(kept)
	for i := range 5 * leastCrowd {
		if i%leastCrowd == 0 {
			runtime.GC()
		}
		h.heeding(&policy.Origin{Key: fmt.Sprintf("http://%d.example", i), Digests: map[string]string{}})
	}
	if n := len(h.heeded); n > 3*leastCrowd {
		t.Errorf("%d are remembered", n)
	}
	if _, first := h.heeding(kept); first {
		t.Error("one is forgotten that is known")
	}
	runtime.KeepAlive(kept)
}
