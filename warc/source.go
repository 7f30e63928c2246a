package warc

import (
	"io"
	"slices"
)

// window is the number of octets of the file that a source keeps, so that a search can start before
// the current position. A decompressor notices invalid data within that distance. So no record is
// missed that begins in data which was read in vain.
const window = 256 << 10

// source is the file as a stream that can be rewound by up to window octets. It implements
// io.ByteReader, so that a decompressor does not read beyond the end of its member.
type source struct {
	r     io.Reader
	buf   []byte
	pos   int   // index in buf of the next octet
	base  int64 // offset of buf[0]
	err   error // returned after the last octet of buf
	limit int64 // offset at which reads return io.EOF; 0: no limit
}

func newSource(r io.Reader) *source { return &source{r: r, buf: make([]byte, 0, 16<<10)} }

func (s *source) offset() int64 { return s.base + int64(s.pos) }

// ready reads until n octets are buffered, and reports whether the file has n more octets. n must
// be far less than window.
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

// makeRoom drops the octets before window, or enlarges the buffer until it holds window octets
// before and after pos.
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

// peek returns the next n octets, or fewer at the end of the file.
func (s *source) peek(n int) []byte {
	s.ready(n)
	return s.buf[s.pos:min(s.pos+n, len(s.buf))]
}

// failure returns the error of the underlying reader. It returns nil if there was no error, or only
// io.EOF.
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

// rewind moves to the offset to, or to the nearest buffered offset.
func (s *source) rewind(to int64) {
	s.pos = int(min(max(to-s.base, 0), int64(len(s.buf))))
}
