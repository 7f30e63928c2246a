package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// network lets a test stop and replace the NATS server, and freeze the connection of a client.
type network struct {
	server *server.Server
	addr   atomic.Value
}

func newNetwork(t *testing.T) *network {
	w := &network{}
	w.start(t)
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *network) start(t *testing.T) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	w.addr.Store(s.Addr().String())
	w.server = s
}

func (w *network) stop() {
	w.server.Shutdown()
	w.server.WaitForShutdown()
}

// client is a custom dialer of a *nats.Conn.
type client struct {
	w      *network
	frozen sync.RWMutex // locked while nothing is received or sent
}

func (c *client) Dial(_, _ string) (net.Conn, error) {
	conn, err := net.Dial("tcp", c.w.addr.Load().(string))
	if err != nil {
		return nil, err
	}
	return &frozenConn{conn, c}, nil
}

type frozenConn struct {
	net.Conn
	c *client
}

func (f *frozenConn) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	f.c.frozen.RLock()
	defer f.c.frozen.RUnlock()
	return n, err
}

func (f *frozenConn) Write(b []byte) (int, error) {
	f.c.frozen.RLock()
	defer f.c.frozen.RUnlock()
	return f.Conn.Write(b)
}

func (w *network) connect(t *testing.T) (*nats.Conn, *client) {
	t.Helper()
	c := &client{w: w}
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.SetCustomDialer(c), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // The default one prints.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAndWait(nc) })
	return nc, c
}

// lost checks that err says that the stream broke, and not that it ended.
func lost(t *testing.T, what string, err error) {
	t.Helper()
	var op *net.OpError
	if !errors.As(err, &op) || op.Timeout() || !errors.Is(err, ErrGone) && !errors.Is(err, ErrLost) {
		t.Errorf("%s: %v", what, err)
	}
}

// stage brings a stream into a state, calls ready, and returns what the end alive reports when the other end vanishes.
type stage func(t *testing.T, alive, vanishing *stream, ready func()) error

var stages = map[string]stage{
	"reading": func(_ *testing.T, alive, _ *stream, ready func()) error {
		time.AfterFunc(time.Millisecond, ready)
		_, err := alive.Read(make([]byte, 1))
		return err
	},
	"writing without credit": func(t *testing.T, alive, vanishing *stream, ready func()) error {
		go func() {
			waitUntil(t, vanishing, "the credit is used", func() bool { return vanishing.granted < cost(alive.chunk) })
			ready()
		}()
		_, err := alive.Write(make([]byte, 2*window))
		return err
	},
	"transferring": func(_ *testing.T, alive, vanishing *stream, ready func()) error {
		go io.Copy(vanishing, vanishing)
		go io.Copy(alive, zeros{})
		if _, err := io.CopyN(io.Discard, alive, 1<<20); err != nil {
			return err
		}
		ready()
		_, err := io.Copy(io.Discard, alive)
		return err
	},
	"half closed": func(_ *testing.T, alive, vanishing *stream, ready func()) error {
		alive.CloseWrite()
		io.ReadAll(vanishing)
		time.AfterFunc(time.Millisecond, ready)
		_, err := alive.Read(make([]byte, 1))
		return err
	},
	"half closed by the other end": func(_ *testing.T, alive, vanishing *stream, ready func()) error {
		vanishing.CloseWrite()
		if _, err := io.ReadAll(alive); err != nil {
			return err
		}
		ready()
		_, err := io.Copy(alive, zeros{})
		return err
	},
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestPeerVanishes(t *testing.T) {
	for stage, run := range stages {
		for _, way := range []string{"connection closed", "server stopped", "frozen"} {
			for _, side := range []string{"dialer", "listener"} {
				t.Run(fmt.Sprintf("%s/%s/%s", stage, way, side), func(t *testing.T) { testVanish(t, run, way, side) })
			}
		}
	}
}

// testVanish brings a stream into a state and lets one side vanish.
func testVanish(t *testing.T, run stage, way, side string) {
	noLeak(t)
	w := newNetwork(t)
	aliveNC, _ := w.connect(t)
	otherNC, other := w.connect(t)
	dialer, listener := aliveNC, otherNC
	if side == "dialer" {
		dialer, listener = otherNC, aliveNC
	}
	l, err := Listen(listener, "test.vanish")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	alive, vanishing := dialPair(t, Streams{}, dialer, l)
	if side == "dialer" {
		alive, vanishing = vanishing, alive
	}
	for _, s := range []*stream{alive, vanishing} {
		s.mu.Lock()
		s.silence, s.period = 500*time.Millisecond, 100*time.Millisecond
		s.ticker.Reset(s.period)
		s.mu.Unlock()
	}
	vanish := sync.OnceFunc(func() {
		switch way {
		case "connection closed":
			closeAndWait(otherNC)
		case "server stopped":
			w.stop()
		case "frozen":
			other.frozen.Lock()
		}
	})
	lost(t, "the end that remains", run(t, alive, vanishing, vanish))
	vanish()
	if way == "frozen" {
		defer other.frozen.Unlock()
	}
	// The end that vanished notices, too.
	waitUntil(t, vanishing, "the other end has ended", func() bool { return vanishing.ended })
	lost(t, "the end that vanished", opError("test", "", vanishing.err))
}

// A listener that is there and does not answer.
func TestDialWithoutAnswer(t *testing.T) {
	noLeak(t)
	url := natstest.One(t)
	nc1, nc2 := dialTestConn(t, url), dialTestConn(t, url)
	if _, err := Dial(context.Background(), nc1, "test.nobody"); !errors.Is(err, ErrNobody) {
		t.Errorf("without a listener: %v", err)
	}
	asked := make(chan struct{}, 9)
	if _, err := nc2.Subscribe("test.mute", func(*nats.Msg) { asked <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	nc2.Flush()
	o := Streams{Silence: minSilence}
	if _, err := o.Dial(context.Background(), nc1, "test.mute"); !errors.Is(err, ErrGone) {
		t.Errorf("no answer: %v", err)
	}
	<-asked
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := Dial(ctx, nc1, "test.mute"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	closeAndWait(nc1)
	if _, err := Dial(context.Background(), nc1, "test.mute"); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("connection closed: %v", err)
	}
	if _, err := Listen(nc1, "test.mute"); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("connection closed: %v", err)
	}
}

// The server is replaced while streams transfer. Each reader gets the right bytes and, if not all, an error.
func TestServerRestart(t *testing.T) {
	noLeak(t)
	const total = 16 << 20
	w := newNetwork(t)
	nc1, _ := w.connect(t)
	nc2, _ := w.connect(t)
	l, err := Listen(nc2, "test.restart")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	back1, back2 := nc1.StatusChanged(nats.CONNECTED), nc2.StatusChanged(nats.CONNECTED)
	started := make(chan struct{}, 9)
	var broken atomic.Int32
	var wg sync.WaitGroup
	for i := range 4 {
		seed := [32]byte{byte(i)}
		c1, c2 := dialPair(t, Streams{}, nc1, l)
		wg.Go(func() {
			if n, err := io.CopyN(c1, rand.NewChaCha8(seed), total); err != nil {
				lost(t, fmt.Sprintf("the writer after %d", n), err)
			}
			c1.Close()
		})
		wg.Go(func() {
			want := rand.NewChaCha8(seed)
			compare(t, c2, want, 1<<20)
			started <- struct{}{}
			if err := compareRest(t, c2, want, total-1<<20); err != nil {
				broken.Add(1)
				lost(t, "the reader", err)
			}
			c2.Close()
		})
	}
	for range 4 {
		<-started
	}
	w.stop()
	w.start(t)
	wg.Wait()
	t.Logf("%d of 4 streams broke", broken.Load())
	<-back1
	<-back2
	if err := nc2.Flush(); err != nil {
		t.Fatal(err)
	}
	dialPair(t, Streams{}, nc1, l)
}

// compareRest is like compare for a stream that may break. It returns how it broke.
func compareRest(t *testing.T, c io.Reader, want io.Reader, size int) error {
	got, expected := make([]byte, 10_000), make([]byte, 10_000)
	for done := 0; done < size; {
		n, err := c.Read(got)
		io.ReadFull(want, expected[:n])
		if string(got[:n]) != string(expected[:n]) {
			t.Errorf("wrong bytes after %d", done)
		}
		if done += n; err != nil {
			return err
		}
	}
	return nil
}

// If the connection to NATS stalls, deadlines and contexts hold.
func TestStalledConnection(t *testing.T) {
	noLeak(t)
	w := newNetwork(t)
	nc1, _ := w.connect(t)
	nc2, stalled := w.connect(t)
	o := Streams{Silence: time.Hour}
	l, err := o.Listen(nc1, "test.stall")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := dialPair(t, o, nc2, l)
	stalled.frozen.Lock()
	c.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := io.Copy(c, zeros{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write: %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := o.Dial(ctx, nc2, "test.stall"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial: %v", err)
	}
	c.Close()
	stalled.frozen.Unlock()
	<-c.done
	l.Close()
}
