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

// maxWindow is how far back a zstd stream may refer, in bytes (RFC 9659 3). The formats of the
// other codings have limits of their own: 16 MiB for brotli (RFC 7932 9.1) and 32 KiB for the
// others.
const maxWindow = 8 << 20

// Decoders decodes content codings, and reuses its decoders. It is safe for concurrent use.
type Decoders struct {
	pools map[string]*sync.Pool // coding → pool of values that implement resetter
}

type resetter interface {
	io.Reader
	Reset(io.Reader) error
}

// NewDecoders returns Decoders, which need not be closed.
func NewDecoders() *Decoders {
	return &Decoders{map[string]*sync.Pool{
		"gzip": {New: func() any { return new(gzip.Reader) }},
		"br":   {New: func() any { return new(brotli.Reader) }},
		"zstd": {New: func() any {
			// NewReader fails only if an option is out of range.
			r, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxWindow))
			return r
		}},
	}}
}

// undo decodes one coding. It returns at most limit bytes, and reports whether the result is
// incomplete.
func (d *Decoders) undo(src []byte, coding string, limit int64) ([]byte, bool) {
	in := bytes.NewReader(src)
	defer in.Reset(nil) // a decoder in the pool must not keep a body in memory
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

// inflate returns a reader of the coding deflate. Some servers send deflate without the zlib
// header, so wrapped says whether the data begins with that header.
func inflate(in io.Reader, wrapped bool) (io.Reader, error) {
	if wrapped {
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil
}

// zlibHeader reports whether src begins with a header of zlib (RFC 1950 2.2).
func zlibHeader(src []byte) bool {
	return len(src) >= 2 && src[0]&0x0f == 8 && (uint(src[0])<<8|uint(src[1]))%31 == 0
}
