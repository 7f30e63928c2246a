// Package faults is a hostile web server on loopback, for tests: one path for everything that can go wrong with an answer.
// It writes raw bytes, each connection carries one answer, and whatever it does ends when the client goes or with Close.
package faults

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// End is how a fault ends for a client that is patient for a while and takes a bounded number of bytes.
type End string

// The ends of an exchange.
const (
	Whole  End = "whole"  // a complete answer, however odd
	Cut    End = "cut"    // an answer of which something is missing
	Broken End = "broken" // no answer that can be read; it will not be better another time
	Silent End = "silent" // no answer, which may come another time
	Later  End = "later"  // an answer that says so
)

// Fault is one path and what it does.
type Fault struct {
	Path     string // with its slash
	End      End    // with redirects followed, up to 10 and in no circle
	Redirect bool   // the first answer is one
	Slow     bool   // lasts as long as the client's patience

	serve func(*exchange)
}

// Size is the number of bytes that a bomb decodes to.
const Size = 4 << 20

// Server answers at URL. Its methods may be called concurrently.
type Server struct {
	URL string // http://127.0.0.1:port

	*listener
	faults map[string]Fault
	all    []Fault
	cookie bool // guarded by mu
}

// exchange is a request that is being answered.
type exchange struct {
	net.Conn
	base string // the server's URL
	path string
}

// Start serves the faults on 127.0.0.1.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return Serve(l)
}

// Serve serves the faults on l.
func Serve(l net.Listener) (*Server, error) {
	s := &Server{URL: "http://" + l.Addr().String(), listener: newListener(l), faults: map[string]Fault{}}
	bombs, err := bombs()
	if err != nil {
		return nil, err
	}
	for _, list := range [][]Fault{heads(), bodies(), redirects(), bombs} {
		for _, f := range list {
			s.faults[f.Path] = f
			s.all = append(s.all, f)
		}
	}
	s.serve(s.answer)
	return s, nil
}

// Faults lists all. The page "/slow" links to those that are slow, "/" to the others.
func (s *Server) Faults() []Fault { return s.all }

// Cookie reports whether a request brought a cookie back.
func (s *Server) Cookie() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cookie
}

func (s *Server) answer(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // whoever forgets to close a client ends all the same
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil { // TLS, for instance
		return
	}
	s.note(req.URL.Path)
	s.mu.Lock()
	s.cookie = s.cookie || req.Header.Get("Cookie") != ""
	s.mu.Unlock()
	x := &exchange{Conn: c, base: s.URL, path: req.URL.Path}
	if f, ok := s.faults[req.URL.Path]; ok {
		f.serve(x)
	} else if name, _, _ := strings.Cut(req.URL.Path[1:], "/"); s.faults["/"+name].Path != "" && name != "" { // as in /chain/7
		s.faults["/"+name].serve(x)
	} else if req.URL.Path == "/" || req.URL.Path == "/slow" {
		x.page(s.all, req.URL.Path == "/slow")
	} else {
		x.send("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	}
}

// page links to the faults that are slow, or to the others.
func (x *exchange) page(all []Fault, slow bool) {
	var b strings.Builder
	for _, f := range all {
		if f.Slow == slow {
			fmt.Fprintf(&b, "<a href=%q>%s</a>\n", f.Path, f.Path)
		}
	}
	x.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", b.Len(), b.String())
}

// send writes and reports whether the client still takes it.
func (x *exchange) send(format string, args ...any) bool {
	_, err := fmt.Fprintf(x.Conn, format, args...)
	return err == nil
}

// forever writes text until the client has enough.
func (x *exchange) forever(text string) {
	b := []byte(strings.Repeat(text, 1+8192/len(text)))
	for {
		if _, err := x.Write(b); err != nil {
			return
		}
	}
}

// drip writes text slowly until the client has enough.
func (x *exchange) drip(text string) {
	for i := 0; x.send("%s", text[i%len(text):][:1]); i++ {
		time.Sleep(5 * time.Millisecond)
	}
}

// hold waits until the client goes.
func (x *exchange) hold() {
	_, _ = x.Read(make([]byte, 1))
}

// reset ends the connection with RST in place of FIN.
func (x *exchange) reset() {
	if c, ok := x.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
}

// text is a fault that sends bytes and closes the connection.
func text(path string, end End, answer string) Fault {
	return Fault{Path: path, End: end, serve: func(x *exchange) { x.send("%s", answer) }}
}
