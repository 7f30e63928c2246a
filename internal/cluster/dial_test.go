package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// noLeak checks that the test leaves no goroutine. Call it first, so that it checks after all other cleanups. The test
// must not be parallel: the goroutines of others would count.
func noLeak(t *testing.T) {
	t.Helper()
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		start := time.Now()
		err := goleak.Find(current)
		for err != nil && time.Since(start) < time.Minute {
			err = goleak.Find(current)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// dialTestConn connects to a NATS server until the test ends.
func dialTestConn(t testing.TB, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAndWait(nc) })
	return nc
}

// closeAndWait closes nc and waits until its callbacks are done.
func closeAndWait(nc *nats.Conn) {
	if nc.IsClosed() {
		return
	}
	done := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(done) })
	nc.Close()
	<-done
}

// pair is a stream between two connections to NATS.
type pair struct {
	dialed, accepted     *stream
	dialerNC, listenerNC *nats.Conn
	listener             net.Listener
}

func newPair(t testing.TB, url string, o Streams) pair {
	t.Helper()
	p := pair{dialerNC: dialTestConn(t, url), listenerNC: dialTestConn(t, url)}
	var err error
	if p.listener, err = o.Listen(p.listenerNC, "test.pair"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.listener.Close() })
	p.dialed, p.accepted = dialPair(t, o, p.dialerNC, p.listener)
	return p
}

func dialPair(t testing.TB, o Streams, nc *nats.Conn, l net.Listener) (dialed, accepted *stream) {
	t.Helper()
	c1, err := o.Dial(context.Background(), nc, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c2, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c1.Close(); c2.Close() })
	return c1.(*stream), c2.(*stream)
}

func TestNetTest(t *testing.T) {
	noLeak(t)
	url := natstest.One(t)
	nc1, nc2 := dialTestConn(t, url), dialTestConn(t, url)
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		l, err := Listen(nc2, "test.nettest")
		if err != nil {
			return nil, nil, nil, err
		}
		c1, err = Dial(context.Background(), nc1, "test.nettest")
		if err != nil {
			return nil, nil, nil, err
		}
		c2, err = l.Accept()
		return c1, c2, func() { c1.Close(); c2.Close(); l.Close() }, err
	})
}

// 64 MB flow in both directions; the readers begin when the writers wait for credit.
func TestSlowReader(t *testing.T) {
	noLeak(t)
	const total = 64 << 20
	p := newPair(t, natstest.One(t), Streams{})
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for i, c := range []*stream{p.dialed, p.accepted} {
		seed := [32]byte{byte(i)}
		wg.Go(func() {
			if n, err := io.CopyN(c, rand.NewChaCha8(seed), total); err != nil {
				t.Errorf("wrote %d: %v", n, err)
			}
		})
	}
	for _, c := range []*stream{p.dialed, p.accepted} {
		waitUntil(t, c, "the other end has no credit", func() bool { return c.granted < cost(c.chunk) })
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes for two windows of %d", grown, window)
	}
	for i, c := range []*stream{p.accepted, p.dialed} {
		seed := [32]byte{byte(i)}
		wg.Go(func() { compare(t, c, rand.NewChaCha8(seed), total) })
	}
	wg.Wait()
	for _, c := range []*stream{p.dialed, p.accepted} {
		messages, size, err := c.sub.MaxPending()
		if dropped, _ := c.sub.Dropped(); err != nil || dropped != 0 || size > 2*window {
			t.Errorf("%d messages with %d bytes were pending, %d dropped, %v", messages, size, dropped, err)
		}
	}
}

// compare reads size bytes in pieces of varying length, and compares them with want.
func compare(t *testing.T, c io.Reader, want io.Reader, size int) {
	got, expected := make([]byte, 100_000), make([]byte, 100_000)
	for done := 0; done < size; {
		n, err := c.Read(got[:1+rand.IntN(len(got))])
		io.ReadFull(want, expected[:n])
		if !bytes.Equal(got[:n], expected[:n]) {
			t.Errorf("wrong bytes after %d", done)
			return
		}
		if done += n; err != nil {
			t.Errorf("read %d: %v", done, err)
			return
		}
	}
}

// waitUntil waits until condition holds. It checks after each frame that arrives and at the end of the stream.
func waitUntil(t *testing.T, s *stream, what string, condition func() bool) {
	t.Helper()
	expired := false
	timer := time.AfterFunc(time.Minute, func() {
		s.mu.Lock()
		expired = true
		s.changed.Broadcast()
		s.mu.Unlock()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !condition() {
		if expired {
			t.Fatalf("waited too long until %s", what)
		}
		s.changed.Wait()
	}
}

// A write of single bytes uses credit for its messages, too.
func TestSmallWrites(t *testing.T) {
	noLeak(t)
	p := newPair(t, natstest.One(t), Streams{})
	go func() {
		for range 3000 {
			if _, err := p.dialed.Write([]byte{'x'}); err != nil {
				t.Error(err)
			}
		}
		p.dialed.CloseWrite()
	}()
	waitUntil(t, p.accepted, "the credit is used", func() bool { return p.accepted.granted < cost(1) })
	if n := len(p.accepted.queue); n > window/frameCost {
		t.Errorf("%d messages wait", n)
	}
	if b, err := io.ReadAll(p.accepted); len(b) != 3000 || err != nil {
		t.Errorf("read %d bytes, %v", len(b), err)
	}
}

func TestHalfClose(t *testing.T) {
	noLeak(t)
	p := newPair(t, natstest.One(t), Streams{})
	go func() {
		b, err := io.ReadAll(p.accepted)
		if err != nil {
			t.Error(err)
		}
		p.accepted.Write(bytes.ToUpper(b))
		p.accepted.Close()
	}()
	p.dialed.Write([]byte("harbour"))
	if err := p.dialed.CloseWrite(); err != nil {
		t.Error(err)
	}
	if _, err := p.dialed.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("write after CloseWrite: %v", err)
	}
	if err := p.dialed.CloseWrite(); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("second CloseWrite: %v", err)
	}
	if b, err := io.ReadAll(p.dialed); string(b) != "HARBOUR" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if err := p.dialed.Close(); err != nil {
		t.Error(err)
	}
	for _, err := range []error{p.dialed.Close(), p.dialed.CloseWrite(), p.dialed.SetDeadline(time.Now())} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// After the other end closed the stream, the rest of the data can be read, and a write fails.
func TestCloseByPeer(t *testing.T) {
	noLeak(t)
	p := newPair(t, natstest.One(t), Streams{})
	p.accepted.Write([]byte("rest"))
	p.accepted.Close()
	waitUntil(t, p.dialed, "the stream ends", func() bool { return p.dialed.ended })
	if b, err := io.ReadAll(p.dialed); string(b) != "rest" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	var op *net.OpError
	if _, err := p.dialed.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) || !errors.As(err, &op) {
		t.Errorf("write: %v", err)
	}
}

func TestDeadlines(t *testing.T) {
	noLeak(t)
	p := newPair(t, natstest.One(t), Streams{})
	p.dialed.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := p.dialed.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	if _, err := p.dialed.Write([]byte("x")); err != nil {
		t.Errorf("the deadline of Read stops Write: %v", err)
	}
	p.dialed.SetWriteDeadline(time.Now().Add(time.Millisecond))
	for n, err := 1, error(nil); err == nil; {
		if n, err = p.dialed.Write(make([]byte, 2*window)); n > window {
			t.Errorf("wrote %d bytes without credit", n)
		} else if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
	}
	p.accepted.Write([]byte("y"))
	p.dialed.SetDeadline(time.Time{})
	if n, err := p.dialed.Read(make([]byte, 9)); n != 1 || err != nil {
		t.Errorf("read without a deadline: %d, %v", n, err)
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "node-1_B", strings.Repeat("x", 64)} {
		if err := ValidName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "a.b", "a b", "*", ">", "ä", "a\n", "../a", strings.Repeat("x", 65)} {
		if ValidName(name) == nil {
			t.Errorf("%q is valid", name)
		}
	}
}

func BenchmarkThroughput(b *testing.B) {
	p := newPair(b, natstest.One(b), Streams{})
	buf := make([]byte, 1<<20)
	b.SetBytes(int64(len(buf)))
	b.ResetTimer()
	go func() {
		for range b.N {
			p.dialed.Write(buf)
		}
		p.dialed.CloseWrite()
	}()
	n, err := io.Copy(struct{ io.Writer }{io.Discard}, p.accepted)
	if n != int64(b.N)<<20 || err != nil {
		b.Error(n, err)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	p := newPair(b, natstest.One(b), Streams{})
	go io.Copy(p.accepted, p.accepted)
	buf := make([]byte, 100)
	b.ResetTimer()
	for range b.N {
		p.dialed.Write(buf)
		if _, err := io.ReadFull(p.dialed, buf); err != nil {
			b.Fatal(err)
		}
	}
}
