package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

func TestManyStreams(t *testing.T) {
	noLeak(t)
	url := natstest.One(t)
	nc := dialTestConn(t, url)
	patient := Streams{Silence: time.Minute} // so many streams are slow on a busy machine
	l, err := patient.Listen(dialTestConn(t, url), "test.many")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer l.Close()
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				if _, err := io.Copy(c, c); err != nil {
					t.Error(err)
				}
			})
		}
	})
	var clients sync.WaitGroup
	for i := range 200 {
		clients.Go(func() {
			c, err := patient.Dial(context.Background(), nc, "test.many")
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			seed := [32]byte{byte(i), byte(i >> 8)}
			clients.Go(func() {
				io.CopyN(c, rand.NewChaCha8(seed), 300_000)
				c.(*stream).CloseWrite()
			})
			compare(t, c, rand.NewChaCha8(seed), 300_000)
			if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("after the end: %d, %v", n, err)
			}
		})
	}
	clients.Wait()
}

func TestTooManyStreams(t *testing.T) {
	noLeak(t)
	p := newPair(t, natstest.One(t), Streams{Max: 2})
	waiting, err := Dial(context.Background(), p.dialerNC, "test.pair")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(context.Background(), p.dialerNC, "test.pair"); !errors.Is(err, ErrBusy) {
		t.Errorf("a third stream: %v", err)
	}
	p.dialed.Close() // does not make room: the other end may still read
	if _, err := Dial(context.Background(), p.dialerNC, "test.pair"); !errors.Is(err, ErrBusy) {
		t.Errorf("a third stream: %v", err)
	}
	p.accepted.Close()
	third, err := Dial(context.Background(), p.dialerNC, "test.pair")
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := p.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	// Close ends the stream that waits, and not the accepted one.
	p.listener.Close()
	if _, err := third.Read(make([]byte, 1)); !errors.Is(err, ErrNobody) {
		t.Errorf("a stream that was not accepted: %v", err)
	}
	go accepted.Write([]byte("x"))
	if n, err := waiting.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("an accepted stream: %v", err)
	}
	accepted.Close()
	waiting.Close()
	third.Close()
	if _, err := p.listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := Dial(context.Background(), p.dialerNC, "test.pair"); !errors.Is(err, ErrNobody) {
		t.Errorf("after Close: %v", err)
	}
}

// A closed connection to NATS ends Accept.
func TestListenerWithoutConnection(t *testing.T) {
	noLeak(t)
	nc := dialTestConn(t, natstest.One(t))
	l, err := Listen(nc, "test.closed")
	if err != nil {
		t.Fatal(err)
	}
	go closeAndWait(nc)
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// An idle stream lives, because heartbeats are sent. Both ends use the shorter silence.
func TestHeartbeats(t *testing.T) {
	noLeak(t)
	url := natstest.One(t)
	p := newPair(t, url, Streams{})
	dialed, accepted := dialPair(t, Streams{Silence: 4 * time.Second}, p.dialerNC, p.listener)
	for _, s := range []*stream{dialed, accepted} {
		waitUntil(t, s, "three heartbeats", func() bool { return s.received >= 4 || s.ended })
	}
	go io.Copy(accepted, accepted)
	if _, err := dialed.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := dialed.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func TestHTTP(t *testing.T) {
	noLeak(t)
	url := natstest.One(t)
	nc := dialTestConn(t, url)
	l, err := Listen(dialTestConn(t, url), "test.http")
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan int)
	mux := http.NewServeMux()
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		for i := range next {
			fmt.Fprintln(w, i)
			http.NewResponseController(w).Flush()
		}
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	canceled := make(chan struct{})
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(canceled)
	})
	server := &http.Server{Handler: mux}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return Dial(ctx, nc, "test.http")
	}}
	client := &http.Client{Transport: transport}
	readLines(t, client, next)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { postLarge(t, client) })
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	request, _ := http.NewRequestWithContext(ctx, "GET", "http://node/wait", nil)
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-canceled // The handler notices that the client has gone.
	answer.Body.Close()
	transport.CloseIdleConnections()
	if err := server.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
}

// readLines lets the handler write a line only after the line before was read.
func readLines(t *testing.T, client *http.Client, next chan int) {
	t.Helper()
	go func() { next <- 0 }()
	answer, err := client.Get("http://node/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for i := range 100 {
		if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
			t.Fatalf("line %d: %q, %v", i, lines.Text(), lines.Err())
		}
		if i < 99 {
			next <- i + 1
		}
	}
	close(next)
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after the last line: %q, %v", lines.Text(), lines.Err())
	}
}

func postLarge(t *testing.T, client *http.Client) {
	body := bytes.Repeat([]byte("ferry"), 100_000)
	answer, err := client.Post("http://node/echo", "text/plain", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Body.Close()
	if b, err := io.ReadAll(answer.Body); !bytes.Equal(b, body) || err != nil {
		t.Errorf("read %d bytes, %v", len(b), err)
	}
}

// The ends are connected to different servers of a NATS cluster.
func TestTwoServers(t *testing.T) {
	noLeak(t)
	servers := twoServers(t)
	nc1, nc2 := dialTestConn(t, servers[0].ClientURL()), dialTestConn(t, servers[1].ClientURL())
	l, err := Listen(nc2, "test.two")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for { // The servers need time to connect to each other.
		c, err := Dial(context.Background(), nc1, "test.two")
		if err == nil {
			c.Close()
			break
		}
		if !errors.Is(err, ErrNobody) {
			t.Fatal(err)
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	for i := range 50 {
		c, err := Dial(context.Background(), nc1, "test.two")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			io.CopyN(c, rand.NewChaCha8([32]byte{byte(i)}), 200_000)
			c.(*stream).CloseWrite()
		}()
		compare(t, c, rand.NewChaCha8([32]byte{byte(i)}), 200_000)
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Error(err)
		}
		c.Close()
	}
}

// twoServers starts two servers of one NATS cluster.
func twoServers(t *testing.T) (servers [2]*server.Server) {
	t.Helper()
	for i := range servers {
		o := &server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, ServerName: fmt.Sprint("s", i),
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: -1}}
		if i > 0 {
			o.Routes = server.RoutesFromStr("nats://" + servers[0].ClusterAddr().String())
		}
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("a NATS server does not start")
		}
		servers[i] = s
	}
	return servers
}
