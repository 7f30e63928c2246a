package warc

import (
	"io"
	"slices"
)

// window is how far back a search can begin when a record turns out to be broken, in octets of the file. A wrong coding is noticed
// within that; the start of the next record is not missed for what was read too far.
const window = 256 << 10

// source is the file as a stream that can go back as far as window. It is an io.ByteReader, so that a decompressor takes no octet
// too many.
type source struct {
	r     io.Reader
	buf   []byte
	pos   int   // of the next octet in buf
	base  int64 // offset of buf[0]
	err   error // after the last octet of buf
	limit int64 // offset at which it seems to end; 0: none
}

func newSource(r io.Reader) *source { return &source{r: r, buf: make([]byte, 0, 16<<10)} }

func (s *source) offset() int64 { return s.base + int64(s.pos) }

// ready reports whether n octets are there to be read, and reads on for them; n is far less than window.
func (s *source) ready(n int) bool {
	for len(s.buf)-s.pos < n && s.err == nil {
		if len(s.buf) == cap(s.buf) {
			s.makeRoom()
		}
		var got int
		got, s.err = s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+got]
	}
	return len(s.buf)-s.pos >= n
}

// makeRoom forgets what is further back than window, or takes more memory until there is as much on either side.
func (s *source) makeRoom() {
	old := s.pos - window
	if old <= 0 || cap(s.buf) < 2*window {
		s.buf = slices.Grow(s.buf, cap(s.buf))
		return
	}
	s.buf = s.buf[:copy(s.buf, s.buf[old:])]
	s.pos -= old
	s.base += int64(old)
}

// peek gives the next n octets, or as many as there are.
func (s *source) peek(n int) []byte {
	s.ready(n)
	return s.buf[s.pos:min(s.pos+n, len(s.buf))]
}

// failure is why the file could not be read on; nil at its end.
func (s *source) failure() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

func (s *source) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.limit > 0 {
		if s.offset() >= s.limit {
			return 0, io.EOF
		}
		p = p[:min(int64(len(p)), s.limit-s.offset())]
	}
	if !s.ready(1) {
		return 0, s.err
	}
	n := copy(p, s.buf[s.pos:])
	s.pos += n
	return n, nil
}

func (s *source) ReadByte() (byte, error) {
	if s.limit > 0 && s.offset() >= s.limit {
		return 0, io.EOF
	}
	if s.pos == len(s.buf) && !s.ready(1) {
		return 0, s.err
	}
	s.pos++
	return s.buf[s.pos-1], nil
}

// rewind goes back to an offset, or as near to it as it can.
func (s *source) rewind(to int64) {
	s.pos = int(min(max(to-s.base, 0), int64(len(s.buf))))
}
