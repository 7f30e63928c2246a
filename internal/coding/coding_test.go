package coding

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/squeeze"
)

func TestUndo(t *testing.T) {
	plain := []byte(strings.Repeat("The river rose in the night and fell by noon.\n", 50))
	zipped := squeeze.Bytes(t, "gzip", plain)
	d := NewDecoders()
	for _, c := range []struct {
		name, codings string
		wire, body    []byte
		short         bool
	}{
		{"none", "identity", plain, plain, false},
		{"gzip", "gzip", zipped, plain, false},
		{"deflate", "deflate", squeeze.Bytes(t, "zlib", plain), plain, false},
		{"raw deflate", "deflate", squeeze.Bytes(t, "raw", plain), plain, false},
		{"brotli", "br", squeeze.Bytes(t, "br", plain), plain, false},
		{"zstd", "zstd", squeeze.Bytes(t, "zstd", plain), plain, false},
		{"zstd frames", "zstd", append(squeeze.Bytes(t, "zstd", plain[:100]), squeeze.Bytes(t, "zstd", plain[100:])...),
			plain, false},
		{"gzip in brotli", "gzip, br", squeeze.Bytes(t, "br", zipped), plain, false},
		{"nothing", "gzip", nil, nil, false},
		{"not brotli", "br", []byte{0xff, 0xff, 0xff}, nil, true},
		{"not zstd", "zstd", plain, nil, true},
		{"not gzip", "gzip", plain, nil, true},
		{"broken checksum", "gzip", append(bytes.Clone(zipped[:len(zipped)-8]), 0, 0, 0, 0, 0, 0, 0, 0), plain, true},
	} {
		if u := d.Undo(c.wire, List(c.codings), int64(len(plain))); !bytes.Equal(u.Body, c.body) || u.Short != c.short {
			t.Errorf("%s: %d bytes, short %v", c.name, len(u.Body), u.Short)
		}
	}
	if u := d.Undo(zipped, []string{"gzip"}, 100); !u.Short || !bytes.Equal(u.Body, plain[:100]) {
		t.Errorf("cut: %d bytes, short %v", len(u.Body), u.Short)
	}
}

// Leads is true only for a result of Undo, for the same memory, and only if the body is complete.
func TestLeads(t *testing.T) {
	plain := []byte(strings.Repeat("The river rose in the night and fell by noon.\n", 50))
	wire, codings := squeeze.Bytes(t, "gzip", plain), []string{"gzip"}
	d := NewDecoders()
	u := d.Undo(wire, codings, int64(len(plain)))
	cut := d.Undo(wire, codings, 100)
	for name, proved := range map[string]bool{
		"itself":         u.Leads(wire, u.Body, codings),
		"another body":   !u.Leads(wire, bytes.Clone(u.Body), codings),
		"less of it":     !u.Leads(wire, u.Body[:10], codings),
		"another wire":   !u.Leads(bytes.Clone(wire), u.Body, codings),
		"another coding": !u.Leads(wire, u.Body, []string{"br"}),
		"short":          !cut.Leads(wire, cut.Body, codings),
		"nothing":        !Undone{Body: u.Body}.Leads(wire, u.Body, codings),
	} {
		if !proved {
			t.Error(name)
		}
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
	for codings, ok := range map[string]bool{"": true, "gzip, br": true, "zstd": true, "compress": false,
		"dcb, gzip": false, "gzip, gzip, gzip": false} {
		if err := Check(List(codings)); (err == nil) != ok {
			t.Errorf("%s: %v", codings, err)
		}
	}
}

// zeros is a body of zeros without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// The memory for decoding a bomb depends on the limit, not on the decoded size.
func TestBombsTakeBoundedMemory(t *testing.T) {
	const limit, bound = 1 << 18, 18 << 20 // the window of brotli takes up to 16 MiB
	d := NewDecoders()
	for _, coding := range []string{"gzip", "br", "zstd"} {
		var buf bytes.Buffer
		w := squeeze.To(t, coding, &buf)
		if _, err := io.CopyN(w, zeros{}, 20<<20); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		u := d.Undo(buf.Bytes(), []string{coding}, limit)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; len(u.Body) != limit || !u.Short || n > bound {
			t.Errorf("%s: %d bytes, short %v, %d allocated", coding, len(u.Body), u.Short, n)
		}
	}
}
