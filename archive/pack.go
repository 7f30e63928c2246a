package archive

import (
	_ "embed"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/acapcrawl/acapcrawl/coding"
)

// codec says how a body is packed.
type codec uint8

const (
	stored  codec = 0 // as it is: packing would not make it smaller
	zstd1   codec = 1
	zstdDic codec = 2 // with dictionary
	noCodec codec = 0xff
)

// dictionary is what small bodies are packed with: written by hand, of markup as it is everywhere,
// never taken from content. What was packed with it is read with it, so the file never changes; a
// better one would be another codec.
//
//go:embed dictionary.txt
var dictionary string

const (
	dictionaryID = 0x41434150 // "ACAP"; in every frame packed with it
	small        = 16 << 10   // bytes of what is packed with the dictionary; it saves little of more, and slows reading
	sealRoom     = 16         // bytes that sealing adds
	decodeRoom   = 16         // bytes that zstd wants behind what it decodes, else it copies slowly
	bigBuffer    = 1 << 20    // larger ones are not kept
)

// packer packs and unpacks bodies and texts; safe for concurrent use.
type packer struct {
	enc, small *zstd.Encoder
	dec        *zstd.Decoder
	coding     *coding.Decoders
	buffers    sync.Pool // of *[]byte
}

func newPacker() (*packer, error) {
	p := &packer{coding: coding.NewDecoders()}
	with := func(o ...zstd.EOption) (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, append(o, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
			zstd.WithEncoderCRC(false), zstd.WithWindowSize(512<<10), zstd.WithLowerEncoderMem(true))...)
	}
	var err error
	if p.enc, err = with(); err != nil {
		return nil, err
	}
	if p.small, err = with(zstd.WithEncoderDictRaw(dictionaryID, []byte(dictionary))); err != nil {
		return nil, err
	}
	p.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderDictRaw(dictionaryID, []byte(dictionary)))
	return p, err
}

// pack packs the body b into a buffer of its own that has room to be sealed in place. What is
// encoded already is not packed again.
func (p *packer) pack(b []byte, encoded bool) ([]byte, codec) {
	switch {
	case encoded:
		return p.with(nil, b, stored)
	case len(b) <= small:
		return p.with(p.small, b, zstdDic)
	}
	return p.with(p.enc, b, zstd1)
}

// packText is pack for the text of a capture. It does without the dictionary, which would save a
// fifth of it and take twice as long.
func (p *packer) packText(b []byte) ([]byte, codec) { return p.with(p.enc, b, zstd1) }

// with packs b by enc, where that makes it smaller; nil never does.
func (p *packer) with(enc *zstd.Encoder, b []byte, how codec) ([]byte, codec) {
	out := p.buffer()
	if enc != nil {
		if out = enc.EncodeAll(b, out); len(out) < len(b) {
			return slices.Grow(out, sealRoom), how
		}
	}
	return append(slices.Grow(out[:0], len(b)+sealRoom), b...), stored
}

func (p *packer) buffer() []byte {
	if b, ok := p.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

// reuse takes back a buffer that pack or buffer gave, when nothing refers to it any more.
func (p *packer) reuse(b []byte) {
	if cap(b) > 0 && cap(b) <= bigBuffer {
		p.buffers.Put(&b)
	}
}

// unpack gives what was packed, of size bytes; where it was stored, packed itself. An error is a
// clause.
func (p *packer) unpack(packed []byte, c codec, size uint64) ([]byte, error) {
	out := packed
	switch c {
	case stored:
	case zstd1, zstdDic:
		var err error
		if out, err = p.dec.DecodeAll(packed, make([]byte, 0, min(size, 64<<20)+decodeRoom)); err != nil {
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
	p.small.Close()
	p.dec.Close()
}
