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
// other codings limit this themselves: to 32 KiB, and for brotli to 16 MiB (RFC 7932 9.1).
const maxWindow = 8 << 20

// Decoders decode content codings. Pools reuse the decoders. It is safe for concurrent use.
type Decoders struct {
	pools map[string]*sync.Pool // pools of resetter, by coding
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

// undo decodes one coding. It returns at most limit bytes, and whether the result is incomplete.
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

// inflate returns a reader of the coding deflate. Some servers send it without the zlib header.
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
