package coding

import (
	"bytes"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is how far back a zstd stream may refer, in bytes (RFC 9659 3). That of the other codings is bounded by their form:
// 32 KiB, and 16 MiB for brotli (RFC 7932 9.1).
const maxWindow = 8 << 20

// Decoders undo content codings and are used again. They are safe for concurrent use.
type Decoders struct {
	pools map[string]*sync.Pool // of resetters, by coding
}

type resetter interface {
	io.Reader
	Reset(io.Reader) error
}

// NewDecoders makes Decoders. They hold nothing that must be closed.
func NewDecoders() *Decoders {
	return &Decoders{map[string]*sync.Pool{
		"gzip": {New: func() any { return new(gzip.Reader) }},
		"br":   {New: func() any { return new(brotli.Reader) }},
		"zstd": {New: func() any {
			// It fails for options out of range alone.
			r, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			return r
		}},
	}}
}

// undo undoes one coding. It returns what could be decoded within limit bytes, and whether that is not all.
func (d *Decoders) undo(src []byte, coding string, limit int64) ([]byte, bool) {
	in := bytes.NewReader(src)
	defer in.Reset(nil) // a decoder that is kept keeps no body
	var r io.Reader
	var err error
	if pool := d.pools[coding]; pool != nil {
		kept := pool.Get().(resetter)
		defer pool.Put(kept)
		r, err = kept, kept.Reset(in)
	} else {
		r, err = inflate(in, zlibHeader(src))
	}
	if err != nil {
		return nil, true
	}
	return Read(r, limit, 4*int64(len(src)))
}

// inflate undoes deflate, which some servers send without its wrapper.
func inflate(in io.Reader, wrapped bool) (io.Reader, error) {
	if wrapped {
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil
}

// zlibHeader reports whether src starts as RFC 1950 says.
func zlibHeader(src []byte) bool {
	return len(src) >= 2 && src[0]&0x0f == 8 && (uint(src[0])<<8|uint(src[1]))%31 == 0
}
