package archive

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Why a sealed text cannot be read.
var (
	errUnsealed  = errors.New("cannot be opened with its key")
	errDestroyed = errors.New("has lost its key")
)

// A key seals one text and no other, so the nonce need not vary (NIST SP 800-38D 8: unique per key).
var nonce [12]byte

// seal encrypts plain with AES-256-GCM and appends it to out, which may be plain[:0]. What it belongs to is authenticated
// with it and must be given to open it.
func seal(k key, belongs string, plain, out []byte) ([]byte, error) {
	g, err := sealer(k)
	if err != nil {
		return nil, err
	}
	return g.Seal(out, nonce[:], plain, []byte(belongs)), nil
}

func unseal(k key, belongs string, sealed []byte) ([]byte, error) {
	g, err := sealer(k)
	if err != nil {
		return nil, err
	}
	plain, err := g.Open(nil, nonce[:], sealed, []byte(belongs))
	if err != nil {
		return nil, errUnsealed
	}
	return plain, nil
}

func sealer(k key) (cipher.AEAD, error) {
	if k.zero() {
		return nil, errDestroyed
	}
	b, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(b)
}

// codec says how a body is packed.
type codec uint8

const (
	stored  codec = 0 // as it is: packing would not make it smaller
	zstd1   codec = 1
	noCodec codec = 0xff
)

// packer packs and unpacks bodies; safe for concurrent use.
type packer struct {
	enc     *zstd.Encoder
	dec     *zstd.Decoder
	buffers sync.Pool // of *[]byte
}

const (
	sealRoom  = 16      // bytes that sealing adds
	bigBuffer = 1 << 20 // larger ones are not kept
)

func newPacker() (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(512<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &packer{enc: enc, dec: dec}, nil
}

// pack packs body into a buffer of its own that has room to be sealed in place.
func (p *packer) pack(body []byte) ([]byte, codec) {
	var out []byte
	if b, ok := p.buffers.Get().(*[]byte); ok {
		out = (*b)[:0]
	}
	out = p.enc.EncodeAll(body, out)
	if len(out) < len(body) {
		return slices.Grow(out, sealRoom), zstd1
	}
	return append(slices.Grow(out[:0], len(body)+sealRoom), body...), stored
}

// reuse takes back a buffer that pack gave, when nothing refers to it any more.
func (p *packer) reuse(b []byte) {
	if cap(b) > 0 && cap(b) <= bigBuffer {
		p.buffers.Put(&b)
	}
}

func (p *packer) unpack(packed []byte, c codec, size uint64) ([]byte, error) {
	out := packed
	switch c {
	case stored:
	case zstd1:
		var err error
		if out, err = p.dec.DecodeAll(packed, make([]byte, 0, min(size, 64<<20))); err != nil {
			return nil, fmt.Errorf("cannot be unpacked: %w", err)
		}
	default:
		return nil, fmt.Errorf("is packed in a way that this program does not know (%d)", c)
	}
	if uint64(len(out)) != size {
		return nil, fmt.Errorf("has %d bytes and should have %d", len(out), size)
	}
	return out, nil
}

func (p *packer) close() {
	p.enc.Close()
	p.dec.Close()
}
