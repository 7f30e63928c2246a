package cluster

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// linger is how long Close waits until the rest is handed to the NATS client. Usually this takes microseconds. Only a
// connection to NATS that is lost or stalled takes longer.
const linger = time.Second

// Read reads received data. It returns io.EOF after the other end called Close or CloseWrite.
func (s *stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed:
			return 0, opError("read", s.subject, net.ErrClosed)
		case s.readBy.passed:
			return 0, opError("read", s.subject, os.ErrDeadlineExceeded)
		case len(b) == 0:
			return 0, nil
		case len(s.queue) > 0:
			return s.consume(b), nil
		case s.finRead || s.ended && s.err == io.EOF:
			return 0, io.EOF
		case s.ended:
			return 0, opError("read", s.subject, s.err)
		}
		s.changed.Wait()
	}
}

// consume moves data of the first message in the queue to b. The caller holds mu.
func (s *stream) consume(b []byte) int {
	first := s.queue[0]
	n := copy(b, first[s.used:])
	if s.used += n; s.used == len(first) {
		s.queue[0] = nil // Free the memory now.
		s.queue, s.used = s.queue[1:], 0
		if s.owed += cost(len(first)); s.owed >= window/4 {
			s.changed.Broadcast() // It is time to grant credit.
		}
	}
	return n
}

// Write sends b. It returns when the other end has granted the credit for all of b, which is before it has read b.
func (s *stream) Write(b []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	n := 0
	for {
		k, err := s.put(b[n:])
		if err != nil {
			return n, opError("write", s.subject, err)
		}
		if n += k; n == len(b) {
			return n, nil
		}
	}
}

// put waits for credit, puts a data frame with the beginning of b into the queue, and returns its length.
func (s *stream) put(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(b), s.chunk)
	for {
		switch {
		case s.closed:
			return 0, net.ErrClosed
		case s.writeBy.passed:
			return 0, os.ErrDeadlineExceeded
		case s.fin || s.ended && s.err == io.EOF:
			return 0, syscall.EPIPE
		case s.ended:
			return 0, s.err
		case n == 0:
			return 0, nil
		case s.credit >= cost(n):
			s.credit -= cost(n)
			if cap(s.spare) < frameHeader+n {
				s.spare = make([]byte, 0, frameHeader+n)
			}
			f := frame{kind: frameData, data: b[:n]}
			s.out = append(s.out, f.append(s.spare))
			s.spare = nil
			s.changed.Broadcast()
			return n, nil
		}
		s.changed.Wait()
	}
}

// CloseWrite ends the data of this direction. A Write that waits returns an error.
func (s *stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return opError("close", s.subject, net.ErrClosed)
	case s.fin || s.ended && s.err == io.EOF:
		return opError("close", s.subject, syscall.EPIPE)
	case s.ended:
		return opError("close", s.subject, s.err)
	}
	s.fin = true
	s.changed.Broadcast()
	return nil
}

// Close ends the stream in both directions. The other end can still read what was sent.
func (s *stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return opError("close", s.subject, net.ErrClosed)
	}
	s.closed, s.queue = true, nil
	s.readBy.set(s, time.Time{})
	s.writeBy.set(s, time.Time{})
	s.end(io.EOF, true)
	s.mu.Unlock()
	if s.release != nil {
		s.release()
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C: // run goes on until the NATS client returns.
	}
	return nil
}

// LocalAddr returns the inbox of this end.
func (s *stream) LocalAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return natsAddr(s.inbox)
}

// RemoteAddr returns the inbox of the other end.
func (s *stream) RemoteAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return natsAddr(s.peer)
}

// SetDeadline implements net.Conn.
func (s *stream) SetDeadline(t time.Time) error { return s.limit(t, &s.readBy, &s.writeBy) }

// SetReadDeadline implements net.Conn.
func (s *stream) SetReadDeadline(t time.Time) error { return s.limit(t, &s.readBy) }

// SetWriteDeadline implements net.Conn.
func (s *stream) SetWriteDeadline(t time.Time) error { return s.limit(t, &s.writeBy) }

func (s *stream) limit(t time.Time, deadlines ...*deadline) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return opError("set", s.subject, net.ErrClosed)
	}
	for _, d := range deadlines {
		d.set(s, t)
	}
	return nil
}

// deadline is a time limit for Read or Write. The stream's mu protects it.
type deadline struct {
	timer  *time.Timer
	passed bool
}

// set replaces the limit; the zero time means none. The caller holds s.mu.
func (d *deadline) set(s *stream, t time.Time) {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer, d.passed = nil, !t.IsZero() && time.Until(t) <= 0
	s.changed.Broadcast()
	if t.IsZero() || d.passed {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(t), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.timer == timer { // A later call has not replaced this one.
			d.passed = true
			s.changed.Broadcast()
		}
	})
	d.timer = timer
}
