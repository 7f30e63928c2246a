// Package arrivals is a web of many hosts on loopback that checks the politeness of its crawlers,
// for tests. Every host has a loopback address of its own (127.1.x.y, so it needs Linux), and all
// have the same port. The web logs the arrival of every request, and Judge compares the log with
// what the hosts demand.
//
//	arrivals.go  the hosts: start, log, end
//	web.go       which pages there are, and what they link to
//	serve.go     one request
//	stamp_*.go   when a request arrived
//	judge.go     what the hosts demand
//	report.go    what Judge found
package arrivals

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options describe a web. The same options make the same web, except for the port.
type Options struct {
	Hosts int    // 0: 300
	Pages int    // linked pages of each host, with its home page; 0: 10
	Seed  uint64 // selects the links

	CrawlDelay time.Duration // Crawl-delay of every tenth host, in whole seconds; 0: none has one
	// The pause that every fifth host demands once, with 429 or 503, in whole seconds; 0: no host does.
	RetryAfter time.Duration
	// Time that each page of every tenth host takes, and each robots.txt to which another one redirects.
	Slow time.Duration
	// Redirects makes some pages redirect to other hosts, and every tenth robots.txt.
	Redirects bool
	// Credits makes every tenth host require a credit, which another host has, next to its snippets.
	Credits bool
	Markup  int // bytes of nested markup in each page, which cost the client CPU time
}

// Request is a request that a host received.
type Request struct {
	Host  string // address:port
	Path  string
	Start time.Time // when it arrived; on Linux, the time at which the kernel received it
	// when the answer was about to be complete; zero: it is still in progress
	End    time.Time
	Client string // address:port
	Agent  string // User-Agent
	Status int
	// Whole says that the answer was written completely, before the client closed the connection.
	Whole bool

	retryAfter time.Duration
}

// URL returns the URL that was requested.
func (r Request) URL() string { return "http://" + r.Host + r.Path }

// Web is a running web. Its methods may be called concurrently.
type Web struct {
	web
	server *http.Server
	served sync.WaitGroup

	mu     sync.Mutex
	log    []Request
	paused map[string]bool // pages that have already answered with Retry-After
	news   chan struct{}   // closed and replaced when a request arrives or ends
}

// Start starts a web.
func Start(o Options) (*Web, error) {
	if o.Hosts == 0 {
		o.Hosts = 300
	}
	if o.Pages == 0 {
		o.Pages = 10
	}
	listeners, err := listen(o.Hosts)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listeners[0].Addr().String())
	if err != nil {
		return nil, err
	}
	w := &Web{web: newWeb(o, port), paused: map[string]bool{}, news: make(chan struct{})}
	w.server = &http.Server{
		Handler:           http.HandlerFunc(w.serve),
		ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	for _, l := range listeners {
		w.served.Go(func() { w.server.Serve(stampingListener{l}) }) // returns after Close
	}
	return w, nil
}

// Close ends all hosts and the requests in progress.
func (w *Web) Close() error {
	err := w.server.Close()
	w.served.Wait()
	return err
}

// listen listens on the same port of the addresses of all hosts.
func listen(hosts int) ([]net.Listener, error) {
	var err error
	for range 20 { // the port may be in use on another address
		var list []net.Listener
		port := "0"
		for i := range hosts {
			var l net.Listener
			config := net.ListenConfig{Control: stampArrivals}
			if l, err = config.Listen(context.Background(), "tcp", net.JoinHostPort(address(i), port)); err != nil {
				break
			}
			list = append(list, l)
			port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		}
		if err == nil {
			return list, nil
		}
		for _, l := range list {
			l.Close()
		}
	}
	return nil, fmt.Errorf("no port is free on %d loopback addresses: %w", hosts, err)
}

// address returns the address of host i.
func address(i int) string { return fmt.Sprintf("127.1.%d.%d", i/250, 1+i%250) }

// Requests returns the requests so far, in the order of their arrival at the server.
func (w *Web) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// Await waits until match is true for n requests, in progress or ended. It returns an error if ctx
// ends first.
func (w *Web) Await(ctx context.Context, n int, match func(Request) bool) error {
	for {
		w.mu.Lock()
		found, news := 0, w.news
		for _, r := range w.log {
			if match(r) {
				found++
			}
		}
		w.mu.Unlock()
		if found >= n {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%d of %d requests came", found, n), ctx.Err())
		}
	}
}

// update changes the log.
func (w *Web) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.news)
	w.news = make(chan struct{})
}
