package faults

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// H2 is a hostile HTTP/2 server. Its methods may be called concurrently.
type H2 struct {
	URL   string         // https://127.0.0.1:port
	Roots *x509.CertPool // contains the certificate of the server

	*listener
}

// H2Fault is one path of an H2.
type H2Fault struct {
	Path     string
	End      End
	Requests int  // how often a client may request the path in one visit; 0: once
	Slow     bool // the exchange lasts until the client's time limit

	serve func(*stream)
}

// stream is a request that is being answered.
type stream struct {
	net.Conn
	*http2.Framer
	id    uint32
	asked int // number of requests for the path so far, including this one
}

// StartH2 serves the faults of HTTP/2 on a free port of 127.0.0.1.
func StartH2() (*H2, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return ServeH2(l)
}

// ServeH2 serves the faults of HTTP/2 on l, with TLS.
func ServeH2(l net.Listener) (*H2, error) {
	cert, err := certificate()
	if err != nil {
		return nil, err
	}
	l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
	s := &H2{URL: "https://" + l.Addr().String(), Roots: x509.NewCertPool(), listener: newListener(l)}
	s.Roots.AddCert(cert.Leaf)
	s.serve(func(c net.Conn) { _ = s.answer(c) })
	return s, nil
}

// H2Faults returns all faults of an H2.
func H2Faults() []H2Fault {
	ok := []string{":status", "200"}
	return []H2Fault{
		{Path: "/ok", End: Whole, serve: func(x *stream) { x.head(false, ok...); x.data(true, "ok") }},
		{Path: "/hints", End: Whole, serve: func(x *stream) {
			x.head(false, ":status", "103", "link", "</a.css>")
			x.head(false, ok...)
			x.data(true, "ok")
		}},
		{Path: "/trailer", End: Whole, serve: func(x *stream) {
			x.head(false, ok...)
			x.data(false, "ok")
			x.head(true,
				"x-late", "yes")
		}},
		{Path: "/refused", End: Silent, Requests: 3, serve: func(x *stream) {
			_ = x.WriteRSTStream(x.id,
				http2.ErrCodeRefusedStream)
		}},
		{Path: "/going-away", End: Silent, Requests: 3, serve: func(x *stream) {
			_ = x.WriteGoAway(0, http2.ErrCodeNo,
				nil)
			_ = x.Conn.Close()
		}},
		{Path: "/going-wrong", End: Silent, serve: func(x *stream) {
			_ = x.WriteGoAway(x.id, http2.ErrCodeInternal, nil)
			_ = x.Conn.Close()
		}},
		// the first request gets no answer, later ones do
		{Path: "/held", End: Silent, Slow: true, serve: func(x *stream) {
			if x.asked > 1 {
				x.head(false, ok...)
				x.data(true, "ok")
			}
		}},
		// the first request gets half of the answer, later ones get all of it
		{Path: "/half", End: Cut, Slow: true, serve: func(x *stream) {
			x.head(false, ok...)
			if x.data(false, "o"); x.asked > 1 {
				x.data(true, "k")
			}
		}},
		{Path: "/reset", End: Silent, serve: func(x *stream) { _ = x.WriteRSTStream(x.id, http2.ErrCodeInternal) }},
		{Path: "/closed", End: Silent, serve: func(x *stream) { _ = x.Conn.Close() }},
		{Path: "/no-answer", End: Silent, Slow: true, serve: func(*stream) {}},
		{Path: "/no-status", End: Broken, serve: func(x *stream) { x.head(true, "server", "x") }},
		{Path: "/no-frames", End: Broken, serve: func(x *stream) {
			_,
				_ = io.WriteString(x.Conn, "HTTP/1.1 400 Bad Request\r\n\r\nno frames here")
		}},
		{Path: "/no-head", End: Broken, serve: func(x *stream) { x.data(true, "ok") }},
		{Path: "/header-flood", End: Broken, serve: func(x *stream) {
			block := encoded("x-filler", string(bytes.Repeat([]byte("x"), 4000)))
			for err := x.WriteHeaders(http2.HeadersFrameParam{StreamID: x.id,
				BlockFragment: encoded(ok...)}); err == nil; {
				err = x.WriteContinuation(x.id, false, block)
			}
		}},
		{Path: "/header-large", End: Broken, serve: func(x *stream) {
			pairs := ok
			for range 100 {
				pairs = append(pairs, "x-filler", string(bytes.Repeat([]byte("x"), 4000)))
			}
			x.head(true, pairs...)
		}},
		{Path: "/continue-flood", End: Broken, serve: func(x *stream) {
			for x.head(false, ":status", "100", "x-filler", "xxxxxxxxxxxxxxxxxxxx") {
			}
		}},
		{Path: "/pings", End: Silent, Slow: true, serve: func(x *stream) {
			for x.WritePing(false, [8]byte{}) == nil {
			}
		}},
		{Path: "/body-reset", End: Cut, serve: func(x *stream) {
			x.head(false, ok...)
			x.data(false, "a beginning")
			_ = x.WriteRSTStream(x.id, http2.ErrCodeInternal)
		}},
		{Path: "/short", End: Cut, serve: func(x *stream) {
			x.head(false, ":status", "200", "content-length", "100")
			x.data(true, "not a hundred")
		}},
		{Path: "/long", End: Cut, serve: func(x *stream) {
			x.head(false, ":status", "200", "content-length",
				"2")
			x.data(true, "ok and more")
		}},
		{Path: "/stalled", End: Cut, Slow: true, serve: func(x *stream) {
			x.head(false, ok...)
			x.data(false,
				"a beginning")
		}},
		{Path: "/window", End: Cut, serve: func(x *stream) { // sends more than the client's flow control window permits
			x.head(false, ok...)
			for x.data(false, string(make([]byte, 16_000))) {
			}
		}},
	}
}

// answer serves the requests of one connection one after the other.
func (s *H2) answer(c net.Conn) error {
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.CopyN(io.Discard, c, int64(len(http2.ClientPreface))); err != nil {
		return err
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := f.WriteSettings(); err != nil {
		return err
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				err = f.WritePing(true, frame.Data)
			}
		case *http2.MetaHeadersFrame:
			path := frame.PseudoValue("path")
			asked := s.note(path)
			for _, fault := range H2Faults() {
				if fault.Path == path {
					fault.serve(&stream{Conn: c, Framer: f, id: frame.StreamID, asked: asked})
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

// head writes a header, given as names and values in turn. It reports whether the connection is
// still open.
func (x *stream) head(end bool, pairs ...string) bool {
	block := encoded(pairs...)
	first := block[:min(len(block), 16_000)]
	err := x.WriteHeaders(http2.HeadersFrameParam{StreamID: x.id, BlockFragment: first, EndStream: end,
		EndHeaders: len(first) == len(block)})
	for block = block[len(first):]; err == nil && len(block) > 0; {
		next := block[:min(len(block), 16_000)]
		block = block[len(next):]
		err = x.WriteContinuation(x.id, len(block) == 0, next)
	}
	return err == nil
}

func (x *stream) data(end bool, text string) bool {
	return x.WriteData(x.id, end, []byte(text)) == nil
}

// encoded returns the header block of names and values (RFC 7541).
func encoded(pairs ...string) []byte {
	var buf bytes.Buffer
	e := hpack.NewEncoder(&buf)
	e.SetMaxDynamicTableSize(0)
	for i := 0; i+1 < len(pairs); i += 2 {
		// writing to a buffer does not fail
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: true})
	}
	return buf.Bytes()
}

// certificate creates a self-signed certificate for 127.0.0.1.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour),
		NotAfter:    now.Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}
