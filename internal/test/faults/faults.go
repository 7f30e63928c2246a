// Package faults is a hostile web server on 127.0.0.1, for tests. It has one path for each way in
// which a response can be wrong. It writes raw bytes, and each connection carries one response.
// Each response ends when the client disconnects or the server is closed.
package faults

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// End is the result of an exchange for a client that has a time limit and a size limit.
type End string

// The ends of an exchange.
const (
	Whole  End = "whole"  // a complete response, however unusual
	Cut    End = "cut"    // an incomplete response
	Part   End = "part"   // a complete response that contains a part of a page
	Broken End = "broken" // an invalid response; if the request is repeated, the response is the same
	Silent End = "silent" // no response; if the request is repeated, there may be one
	Later  End = "later"  // a response that asks the client to repeat the request later
)

// Fault is one path and its response.
type Fault struct {
	Path     string // path of the URL; begins with a slash
	End      End    // the result for a client that follows up to 10 redirects, but does not follow a loop
	Redirect bool   // the first response is a redirect
	Slow     bool   // the exchange lasts until the client's time limit

	serve func(*exchange)
}

// Size is the decoded size of a bomb in bytes.
const Size = 4 << 20

// Server serves faults at URL. Its methods may be called concurrently.
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
	base string // URL of the server
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

// Faults returns all faults. The page "/slow" links to those that are Slow, "/" to the others.
func (s *Server) Faults() []Fault { return s.all }

// Cookie reports whether any request contained a cookie.
func (s *Server) Cookie() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cookie
}

func (s *Server) answer(c net.Conn) {
	// ends the connection after a minute, even if a test does not close its client
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil { // for example because the client began a TLS handshake
		return
	}
	s.note(req.URL.Path)
	s.mu.Lock()
	s.cookie = s.cookie || req.Header.Get("Cookie") != ""
	s.mu.Unlock()
	x := &exchange{Conn: c, base: s.URL, path: req.URL.Path}
	if f, ok := s.faults[req.URL.Path]; ok {
		f.serve(x)
		// for example /chain/7
	} else if name, _, _ := strings.Cut(req.URL.Path[1:], "/"); s.faults["/"+name].Path != "" && name != "" {
		s.faults["/"+name].serve(x)
	} else if req.URL.Path == "/" || req.URL.Path == "/slow" {
		x.page(s.all, req.URL.Path == "/slow")
	} else {
		x.send("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	}
}

// page sends a page with links. If slow is true, the links lead to the faults that are Slow,
// otherwise to the other faults.
func (x *exchange) page(all []Fault, slow bool) {
	var b strings.Builder
	for _, f := range all {
		if f.Slow == slow {
			fmt.Fprintf(&b, "<a href=%q>%s</a>\n", f.Path, f.Path)
		}
	}
	x.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", b.Len(),
		b.String())
}

// send writes text and reports whether the connection is still open.
func (x *exchange) send(format string, args ...any) bool {
	_, err := fmt.Fprintf(x.Conn, format, args...)
	return err == nil
}

// forever writes text until the client disconnects.
func (x *exchange) forever(text string) {
	b := []byte(strings.Repeat(text, 1+8192/len(text)))
	for {
		if _, err := x.Write(b); err != nil {
			return
		}
	}
}

// drip writes text slowly until the client disconnects.
func (x *exchange) drip(text string) {
	for i := 0; x.send("%s", text[i%len(text):][:1]); i++ {
		time.Sleep(5 * time.Millisecond)
	}
}

// hold waits until the client disconnects.
func (x *exchange) hold() {
	_, _ = x.Read(make([]byte, 1))
}

// reset makes the connection end with RST instead of FIN.
func (x *exchange) reset() {
	if c, ok := x.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
}

// text returns a fault that sends the bytes of answer and closes the connection.
func text(path string, end End, answer string) Fault {
	return Fault{Path: path, End: end, serve: func(x *exchange) { x.send("%s", answer) }}
}
