// Package squeeze compresses the bodies that test servers send.
package squeeze

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// To returns a writer that compresses into w. kind is br, zstd, gzip, zlib, or raw for deflate
// without the zlib header.
func To(t testing.TB, kind string, w io.Writer) (packed io.WriteCloser) {
	t.Helper()
	var err error
	switch kind {
	case "br":
		packed = brotli.NewWriterLevel(w, brotli.BestSpeed)
	case "zstd":
		packed, err = zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	case "gzip":
		packed, err = gzip.NewWriterLevel(w, gzip.BestSpeed)
	case "zlib":
		packed = zlib.NewWriter(w)
	case "raw":
		packed, err = flate.NewWriter(w, flate.BestSpeed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// Bytes returns src compressed. For kind see To.
func Bytes(t testing.TB, kind string, src []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := To(t, kind, &buf)
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
