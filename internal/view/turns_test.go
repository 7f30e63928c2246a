package view

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// TestTurns checks that a client with too many waiting requests is refused, while others wait, and that an ended turn
// is given to the next request.
func TestTurns(t *testing.T) {
	one := newTurns(1)
	first, second := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	done, err := one.take(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range mostWaiting {
		go func() {
			_, err := one.take(ctx, first)
			errs <- err
		}()
	}
	for one.count(first) <= mostWaiting { // until all wait
		runtime.Gosched()
	}
	problem := (*Problem)(nil)
	if _, err := one.take(t.Context(), first); !errors.As(err, &problem) || problem.Status != 429 {
		t.Errorf("too many requests: %v", err)
	}
	cancel()
	for range mostWaiting {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	next := make(chan error)
	go func() {
		done, err := one.take(t.Context(), second)
		if err == nil {
			done()
		}
		next <- err
	}()
	done()
	if err := <-next; err != nil {
		t.Error(err)
	}
	if len(one.clients) > 0 || len(one.slots) > 0 {
		t.Errorf("left: %v", one.clients)
	}
}

func (t *turns) count(client netip.Addr) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clients[client]
}

// TestHeavyCopy checks that a page whose addresses would become too long is offered unchanged, to save, and that
// nothing is made for a client that went away.
func TestHeavyCopy(t *testing.T) {
	s, h := stocked(t)
	base := "http://quay.example/" + strings.Repeat("d/", 1000)
	body := "<!doctype html><base href=" + base + `><a ping="` + strings.Repeat("a ", 100_000) + `">x</a>`
	hold(s, "/a", "text/html", body)
	w := ask(h, "GET", at("/raw/", "/a"))
	if w.Code != 200 || w.Header().Get("Content-Disposition") != "attachment" || w.Body.String() != body {
		t.Errorf("%d %v, %d bytes", w.Code, w.Header(), w.Body.Len())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hold(s, "/b", "text/html", "<!doctype html><a href=x>x</a>")
	if w := askWithin(ctx, h, Visitor{Reader: acap.Target{}, Base: base}, "GET", at("/raw/", "/b")); w.Code != 503 {
		t.Errorf("the client went away: %d", w.Code)
	}
}
