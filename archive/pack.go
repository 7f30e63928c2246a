package archive

import (
	_ "embed"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/acapcrawl/acapcrawl/internal/coding"
)

// codec is a method of compressing a body.
type codec uint8

const (
	stored  codec = 0 // not compressed, because compression would not make it smaller
	zstd1   codec = 1
	zstdDic codec = 2 // zstd with dictionary
	noCodec codec = 0xff
)

// dictionary is used to compress small bodies. It was written by hand from common markup, never
// from stored pages. Data that was compressed with the dictionary can only be decompressed with it,
// so the file must never change. A better dictionary would need a new codec.
//
//go:embed dictionary.txt
var dictionary string

const (
	dictionaryID = 0x41434150 // "ACAP"; every zstd frame made with the dictionary contains it
	// maximal size in bytes of data that is compressed with the dictionary; the dictionary saves
	// little for larger data
	small      = 16 << 10
	sealRoom   = 16      // bytes that sealing adds
	decodeRoom = 16      // free bytes that zstd needs after the decoded data to avoid slow copying
	bigBuffer  = 1 << 20 // larger buffers are not reused
)

// packer compresses and decompresses bodies and texts. It is safe for concurrent use.
type packer struct {
	enc, small *zstd.Encoder
	dec        *zstd.Decoder
	coding     *coding.Decoders
	buffers    sync.Pool // contains *[]byte
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

// pack compresses the body b into a new buffer, which has room for sealing in place. If encoded is
// true, b is already compressed, and pack stores b unchanged.
func (p *packer) pack(b []byte, encoded bool) ([]byte, codec) {
	switch {
	case encoded:
		return p.with(nil, b, stored)
	case len(b) <= small:
		return p.with(p.small, b, zstdDic)
	}
	return p.with(p.enc, b, zstd1)
}

// packText compresses the text of a capture. A dictionary would save a fifth of the size, but
// compression would take twice as long, so packText uses none.
func (p *packer) packText(b []byte) ([]byte, codec) { return p.with(p.enc, b, zstd1) }

// with compresses b with enc if that makes b smaller. If enc is nil, b is stored unchanged.
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

// reuse makes a buffer from pack or buffer available again. The caller must not use the buffer any
// more.
func (p *packer) reuse(b []byte) {
	if cap(b) > 0 && cap(b) <= bigBuffer {
		p.buffers.Put(&b)
	}
}

// unpack returns the decompressed data, which has size bytes. If c is the codec stored, unpack
// returns packed itself. The text of an error is a clause.
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
