package cluster

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Read reads received data and grants credit for it. It returns io.EOF after the other end called Close or CloseWrite.
func (s *stream) Read(b []byte) (int, error) {
	n, grant, err := s.read(b)
	if grant > 0 {
		if err := s.send(frame{kind: frameCredit, number: uint32(grant)}); err != nil {
			s.fail(err) // The next Read returns it, if data is missing then.
		}
	}
	if err != nil && err != io.EOF {
		err = opError("read", s.subject, err)
	}
	return n, err
}

// read waits for data and returns how much was copied to b, and how much credit to grant.
func (s *stream) read(b []byte) (n, grant int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed:
			return 0, 0, net.ErrClosed
		case s.readBy.passed:
			return 0, 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, 0, nil
		case len(s.queue) > 0:
			n = s.consume(b)
			if s.owed >= window/4 && !s.finRead && !s.ended {
				grant, s.owed = s.owed, 0
				s.granted += grant
			}
			return n, grant, nil
		case s.finRead:
			return 0, 0, io.EOF
		case s.ended:
			return 0, 0, s.err
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
		s.owed += cost(len(first))
	}
	return n
}

// Write sends b. It returns when everything is sent, which is before the other end has read it.
func (s *stream) Write(b []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	n := 0
	for {
		k := min(len(b)-n, s.chunk)
		if err := s.reserve(k); err != nil {
			return n, opError("write", s.subject, err)
		}
		if k == 0 {
			return n, nil
		}
		if err := s.send(frame{kind: frameData, data: b[n : n+k]}); err != nil {
			s.fail(err)
			return n, opError("write", s.subject, s.reserve(0)) // If the stream ended meanwhile, that is the reason.
		}
		if n += k; n == len(b) {
			return n, nil
		}
	}
}

// reserve waits for the credit for a frame of n bytes.
func (s *stream) reserve(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed:
			return net.ErrClosed
		case s.writeBy.passed:
			return os.ErrDeadlineExceeded
		case s.finSent || s.ended && errors.Is(s.err, io.EOF):
			return syscall.EPIPE
		case s.ended:
			return s.err
		case n == 0:
			return nil
		case s.credit >= cost(n):
			s.credit -= cost(n)
			return nil
		}
		s.changed.Wait()
	}
}

// CloseWrite ends the data of this direction. A Write that waits returns an error.
func (s *stream) CloseWrite() error {
	s.mu.Lock()
	err := s.err
	switch {
	case s.closed:
		err = net.ErrClosed
	case err == nil && s.finSent:
		err = syscall.EPIPE
	}
	if err == nil {
		s.finSent = true
		s.changed.Broadcast()
	}
	s.mu.Unlock()
	if err == nil {
		s.writing.Lock() // The frame that a Write is sending comes first.
		defer s.writing.Unlock()
		if err = s.send(frame{kind: frameFin}); err != nil {
			s.fail(err)
		}
	}
	if err != nil {
		return opError("close", s.subject, err)
	}
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
	s.mu.Unlock()
	s.fail(io.EOF)
	if s.release != nil {
		s.release()
	}
	return nil
}

// LocalAddr returns the inbox of this end.
func (s *stream) LocalAddr() net.Addr { return natsAddr(s.inbox) }

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
