package oneway

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// limit ends a test that hangs.
const limit = time.Minute

// short is how long a test waits for bytes that must not come.
const short = 50 * time.Millisecond

// server accepts connections. It gives them to the test, which reads and writes on both ends.
func server(t *testing.T) (p *Proxy, accepted <-chan net.Conn) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ch, over := make(chan net.Conn, 8), make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			ch <- c
		}
	}()
	t.Cleanup(func() { l.Close(); <-over })
	if p, err = Start(l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, ch
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn, want string) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(limit))
	got := make([]byte, len(want)+1)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want+"\n" {
		t.Fatalf("%q came, %v, want %q", got, err, want)
	}
}

// silence fails the test if anything comes, also an end of the connection.
func silence(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(short))
	got := make([]byte, 100)
	if n, err := c.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%q came, %v, want nothing", got[:n], err)
	}
}

// gone fails the test if the connection is not reset or closed.
func gone(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(limit))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection is open: %v", err)
	}
}

func TestForward(t *testing.T) {
	p, accepted := server(t)
	c := dial(t, p)
	s := <-accepted
	send(t, c, "to")
	receive(t, s, "to")
	send(t, s, "back")
	receive(t, c, "back")

	// Much data, and half-closed connections.
	text := strings.Repeat("much ", 1<<20)
	go func() {
		_, _ = io.WriteString(s, text)
		s.Close()
	}()
	_ = c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(bufio.NewReader(c)); err != nil || string(got) != text {
		t.Errorf("%d bytes of %d came, %v", len(got), len(text), err)
	}
}

func TestDropOneDirection(t *testing.T) {
	for _, d := range []Direction{ToServer, ToClient} {
		p, accepted := server(t)
		c := dial(t, p)
		s := <-accepted
		from, to := c, s
		if d == ToClient {
			from, to = s, c
		}
		send(t, from, "before")
		receive(t, to, "before")
		p.Drop(d)
		send(t, from, "lost")
		silence(t, to)
		send(t, to, "other direction")
		receive(t, from, "other direction")
		p.Heal()
		gone(t, c) // it lost something
		gone(t, s)

		c = dial(t, p)
		s = <-accepted
		send(t, c, "after")
		receive(t, s, "after")
		p.Drop(d) // loses nothing
		p.Heal()
		send(t, s, "still open")
		receive(t, c, "still open")
	}
}

func TestNewConnections(t *testing.T) {
	p, accepted := server(t)
	p.Drop(ToServer)
	c := dial(t, p)
	for range 100 { // more than the buffers hold
		send(t, c, strings.Repeat("lost", 1<<15))
	}
	silence(t, c)
	if len(accepted) > 0 {
		t.Error("the connection reached the server")
	}
	p.Heal()
	gone(t, c)

	p.Drop(ToClient)
	c = dial(t, p)
	s := <-accepted
	send(t, c, "to")
	receive(t, s, "to")
	send(t, s, "lost")
	silence(t, c)
}

// The end of a connection is swallowed, too.
func TestDropEnd(t *testing.T) {
	p, accepted := server(t)
	c := dial(t, p)
	s := <-accepted
	p.Drop(Both)
	c.Close()
	silence(t, s)
	p.Heal()
	gone(t, s)
}

func TestHold(t *testing.T) {
	p, accepted := server(t)
	c := dial(t, p)
	s := <-accepted
	p.Hold(ToServer)
	send(t, c, "late")
	late := dial(t, p)
	send(t, late, "new")
	silence(t, s)
	if len(accepted) > 0 {
		t.Error("the new connection reached the server")
	}
	send(t, s, "back")
	receive(t, c, "back")
	p.Heal()
	receive(t, s, "late")
	receive(t, <-accepted, "new")
}

func TestDelay(t *testing.T) {
	p, accepted := server(t)
	c := dial(t, p)
	s := <-accepted
	p.Delay(ToServer, 2*short)
	begin := time.Now()
	send(t, c, "one")
	send(t, c, "two")
	send(t, s, "back")
	receive(t, c, "back")
	receive(t, s, "one")
	receive(t, s, "two")
	if d := time.Since(begin); d < 2*short {
		t.Errorf("it came after %v", d)
	}
	p.Delay(ToServer, time.Hour)
	send(t, c, "never")
	silence(t, s)
	p.Reset()
	gone(t, c)
	gone(t, s)
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p, err := Start(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // the reset may come earlier
		defer c.Close()
		gone(t, c)
	}
}
