package coding

import (
	"bytes"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/squeeze"
)

// A body that Undo decodes completely within one limit is decoded to the same bytes with any higher
// limit and with its own length as the limit. The archive uses the length of the body, a crawl its
// maximum.
func FuzzUndo(f *testing.F) {
	plain := bytes.Repeat([]byte("The river rose in the night.\n"), 40)
	for _, c := range []struct{ coding, made string }{{"gzip", "gzip"}, {"deflate", "zlib"}, {"deflate", "raw"},
		{"br", "br"}, {"zstd", "zstd"}} {
		wire := squeeze.Bytes(f, c.made, plain)
		f.Add(c.coding, wire)
		f.Add(c.coding, append(bytes.Clone(wire), wire...))
		f.Add(c.coding, append(bytes.Clone(wire), "behind the end"...))
		f.Add(c.coding, wire[:len(wire)-1])
	}
	d := NewDecoders()
	f.Fuzz(func(t *testing.T, codings string, wire []byte) {
		list := List(codings)
		if Check(list) != nil {
			return
		}
		const most = 1 << 20
		u := d.Undo(wire, list, most)
		if len(u.Body) > most && len(list) > 0 {
			t.Errorf("%d bytes of at most %d", len(u.Body), most)
		}
		if u.Short || len(list) > 1 {
			return
		}
		for _, limit := range []int64{int64(len(u.Body)), int64(len(u.Body)) + 1, 1 << 24} {
			if again := d.Undo(wire, list, limit); again.Short || !bytes.Equal(again.Body, u.Body) {
				t.Errorf("within %d: %d bytes of %d, short %v", limit, len(again.Body), len(u.Body), again.Short)
			}
		}
	})
}
