package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/view"
)

// visitorHeader names the visitor of a request that another process answers. A front server removes it
// from the requests that it receives.
const visitorHeader = "Acapcrawl-Visitor"

// maxReaderConns is the maximum number of connections to the process that answers readers. Each connection
// carries one request at a time.
const maxReaderConns = 16

// otherReaders lets the process that has the data directory open answer readers.
type otherReaders struct{ transport *http.Transport }

func newOtherReaders(o owner) *otherReaders {
	return &otherReaders{&http.Transport{MaxConnsPerHost: maxReaderConns, MaxIdleConnsPerHost: maxReaderConns,
		IdleConnTimeout: 10 * time.Second, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialReaders(ctx, o) }}}
}

func (t *otherReaders) close() { t.transport.CloseIdleConnections() }

// dialReaders returns a connection on which the process o answers HTTP requests of readers.
func dialReaders(ctx context.Context, o owner) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", o.Socket)
	if err != nil {
		return nil, err
	}
	return introduceReaders(conn, request{Token: o.Token, Readers: true})
}

// introduceReaders sends a request for HTTP, and returns the connection when it is accepted. Otherwise it closes it.
func introduceReaders(conn net.Conn, req request) (net.Conn, error) {
	conn.SetDeadline(time.Now().Add(forAnother))
	err := json.NewEncoder(conn).Encode(req)
	if err == nil {
		err = skipLine(conn)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// skipLine reads the message that accepts a guest, and nothing behind it.
func skipLine(r io.Reader) error {
	for b, n := []byte{0}, 0; b[0] != '\n'; n++ {
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		if n > maxRequest {
			return errors.New("the process that has the data directory open sent no answer")
		}
	}
	return nil
}

// serve answers a request. It returns false if the other process cannot be reached; the body of r is then
// not read yet.
func (t *otherReaders) serve(w http.ResponseWriter, r *http.Request) bool {
	out, err := passedOn(r, view.VisitorOf(r.Context()))
	if err != nil { // cannot happen: the fields of a visitor are text
		return false
	}
	body := newKeptBody(r.Body)
	if r.ContentLength != 0 {
		out.Body = body
	} else {
		out.Body = http.NoBody
		body.Close()
	}
	answer, err := t.transport.RoundTrip(out)
	if err != nil {
		<-body.closed
		if !body.read || r.Context().Err() != nil {
			return r.Context().Err() != nil
		}
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Another process has just opened this archive. Send the request again.",
			http.StatusServiceUnavailable)
		return true
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	to := io.Writer(w)
	if answer.ContentLength < 0 { // the beginning may be needed before the end is known
		to = flushing{w, http.NewResponseController(w)}
	}
	if _, err := io.Copy(to, answer.Body); err != nil {
		return interrupted(w, r)
	}
	return true
}

// passedOn returns the request of a visitor as another process receives it.
func passedOn(r *http.Request, who view.Visitor) (*http.Request, error) {
	out := r.Clone(r.Context())
	// Opaque passes the request target on byte for byte
	out.URL, out.RequestURI = &url.URL{Scheme: "http", Host: "reader", Opaque: r.RequestURI}, ""
	text, err := json.Marshal(who)
	if err != nil {
		return nil, err
	}
	out.Header.Set(visitorHeader, string(text))
	for _, name := range []string{"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		out.Header.Del(name)
	}
	return out, nil
}

// interrupted ends an answer of which the other process sent only a part. It returns false if the request can be sent
// again.
func interrupted(w http.ResponseWriter, r *http.Request) bool {
	a, holds := w.(*heldAnswer)
	switch {
	case holds && a.full: // the client gets a problem instead
		return true
	case holds && !a.passing && r.ContentLength == 0 && r.Context().Err() == nil: // the client has received nothing yet
		clear(w.Header())
		return false
	}
	panic(http.ErrAbortHandler) // the client must not take the beginning for the whole
}

// keptBody is the body of a request. Close does not close it, so that it can be sent to another process if
// it was not read.
type keptBody struct {
	io.Reader
	read   bool // valid after closed
	once   sync.Once
	closed chan struct{}
}

func newKeptBody(r io.Reader) *keptBody { return &keptBody{Reader: r, closed: make(chan struct{})} }

// Read notes that the body was read.
func (b *keptBody) Read(p []byte) (int, error) {
	b.read = true
	return b.Reader.Read(p)
}

// Close ends the reading, but leaves the body open.
func (b *keptBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// flushing is a writer that sends at once.
type flushing struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}

// readersHost answers readers on connections of other processes.
type readersHost struct {
	server *http.Server
	own    *ownReaders
	conns  chan net.Conn
	over   context.Context // ends when no more connections are accepted
	end    context.CancelFunc
}

func newReadersHost(h http.Handler) *readersHost {
	rh := &readersHost{conns: make(chan net.Conn), own: newOwnReaders(h)}
	rh.over, rh.end = context.WithCancel(context.Background())
	rh.server = &http.Server{ReadHeaderTimeout: introduce, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			var who view.Visitor
			if err := json.Unmarshal([]byte(r.Header.Get(visitorHeader)), &who); err != nil {
				http.Error(w, fmt.Sprintf("the header %s is not valid", visitorHeader), http.StatusBadRequest)
				return
			}
			if !rh.own.serve(w, r.WithContext(view.WithVisitor(r.Context(), who))) {
				panic(http.ErrAbortHandler) // the other process sends the request again
			}
		})}
	return rh
}

// serve answers requests until close is called.
func (rh *readersHost) serve() { _ = rh.server.Serve(rh) } // the error is always that it was shut down

// take answers requests on conn. It reports whether it took the connection over.
func (rh *readersHost) take(conn net.Conn) bool {
	select {
	case rh.conns <- conn:
		return true
	case <-rh.over.Done():
		return false
	}
}

// Accept implements net.Listener.
func (rh *readersHost) Accept() (net.Conn, error) {
	select {
	case conn := <-rh.conns:
		return conn, nil
	case <-rh.over.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (rh *readersHost) Close() error {
	rh.end()
	return nil
}

// Addr implements net.Listener.
func (rh *readersHost) Addr() net.Addr { return &net.UnixAddr{Name: socketFile, Net: "unix"} }

// close ends idle connections at once, and waits for running requests. After the time d it closes their
// connections. When close returns, no request uses the data directory.
func (rh *readersHost) close(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if rh.server.Shutdown(ctx) != nil {
		_ = rh.server.Close() // the connections are gone in any case
	}
	rh.end()
	rh.own.finish()
}

// lazyView makes the handler of readers when the first request arrives, because most verbs have no
// readers.
type lazyView struct {
	make func() (http.Handler, error)
	once sync.Once
	h    http.Handler
	err  error
}

func (l *lazyView) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.once.Do(func() { l.h, l.err = l.make() })
	if l.err != nil {
		http.Error(w, "the pages of this archive cannot be made", http.StatusInternalServerError)
		return
	}
	l.h.ServeHTTP(w, r)
}
