package coding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// squeezer packs what is written to it into w.
func squeezer(t *testing.T, kind string, w io.Writer) (packed io.WriteCloser) {
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

func squeeze(t *testing.T, kind string, src []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := squeezer(t, kind, &buf)
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestUndo(t *testing.T) {
	plain := []byte(strings.Repeat("The river rose in the night and fell by noon.\n", 50))
	zipped := squeeze(t, "gzip", plain)
	d := NewDecoders()
	for _, c := range []struct {
		name, codings string
		wire, body    []byte
		short         bool
	}{
		{"none", "identity", plain, plain, false},
		{"gzip", "gzip", zipped, plain, false},
		{"deflate", "deflate", squeeze(t, "zlib", plain), plain, false},
		{"raw deflate", "deflate", squeeze(t, "raw", plain), plain, false},
		{"brotli", "br", squeeze(t, "br", plain), plain, false},
		{"zstd", "zstd", squeeze(t, "zstd", plain), plain, false},
		{"zstd frames", "zstd", append(squeeze(t, "zstd", plain[:100]), squeeze(t, "zstd", plain[100:])...), plain, false},
		{"gzip in brotli", "gzip, br", squeeze(t, "br", zipped), plain, false},
		{"nothing", "gzip", nil, nil, false},
		{"not brotli", "br", []byte{0xff, 0xff, 0xff}, nil, true},
		{"not zstd", "zstd", plain, nil, true},
		{"not gzip", "gzip", plain, nil, true},
		{"broken checksum", "gzip", append(bytes.Clone(zipped[:len(zipped)-8]), 0, 0, 0, 0, 0, 0, 0, 0), plain, true},
	} {
		if body, short := d.Undo(c.wire, List(c.codings), int64(len(plain))); !bytes.Equal(body, c.body) || short != c.short {
			t.Errorf("%s: %d bytes, short %v", c.name, len(body), short)
		}
	}
	if body, short := d.Undo(zipped, []string{"gzip"}, 100); !short || !bytes.Equal(body, plain[:100]) {
		t.Errorf("cut: %d bytes, short %v", len(body), short)
	}
}

func TestNames(t *testing.T) {
	h := http.Header{"Content-Encoding": {"X-GZip, identity", " ,BR"}}
	if got := Of(h); !slices.Equal(got, []string{"gzip", "br"}) || !slices.Equal(List(Join(got)), got) {
		t.Errorf("%q", got)
	}
	if got := Of(http.Header{}); got != nil {
		t.Errorf("%q", got)
	}
	for codings, ok := range map[string]bool{"": true, "gzip, br": true, "zstd": true, "compress": false, "dcb, gzip": false, "gzip, gzip, gzip": false} {
		if err := Check(List(codings)); (err == nil) != ok {
			t.Errorf("%s: %v", codings, err)
		}
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// What a bomb takes in memory depends on the limit, not on what it would become.
func TestBombsTakeBoundedMemory(t *testing.T) {
	const limit, bound = 1 << 18, 18 << 20 // a window of brotli takes up to 16 MiB
	d := NewDecoders()
	for _, coding := range []string{"gzip", "br", "zstd"} {
		var buf bytes.Buffer
		w := squeezer(t, coding, &buf)
		if _, err := io.CopyN(w, zeros{}, 20<<20); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		body, short := d.Undo(buf.Bytes(), []string{coding}, limit)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; len(body) != limit || !short || n > bound {
			t.Errorf("%s: %d bytes, short %v, %d allocated", coding, len(body), short, n)
		}
	}
}
