package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hasWire checks that a capture has the given decoded body, body as sent and encoding.
func hasWire(t testing.TB, a *Archive, id uint64, body string, wire []byte, encoding string) {
	t.Helper()
	hasBody(t, a, id, body)
	if got, err := a.Wire(id); err != nil || !bytes.Equal(got, wire) {
		t.Errorf("wire %d: %d bytes, %v; want %d", id, len(got), err, len(wire))
	}
	c, err := a.Capture(id)
	if err != nil || c.Digest != Digest([]byte(body)) || c.Bytes != int64(len(body)) || c.Payload != Digest(wire) ||
		c.Encoding != encoding {
		t.Errorf("capture %+v, %v", c, err)
	}
}

func TestWire(t *testing.T) {
	text := strings.Repeat("The tide turns at noon. ", 400)
	wire := zipped(t, text)
	short := wire[:len(wire)/2]
	a := open(t, t.TempDir(), Options{})
	half := a.pack.coding.Undo(short, []string{"gzip"}, 1<<20).Body
	twice := zipped(t, string(wire))
	// data that becomes larger when the first of its two codings is decoded, and smaller again when
	// the second is
	dense := string(noise("dense", 3000))
	for i, c := range []struct {
		name, body     string
		wire           []byte
		encoding       string
		truncated, cut bool
		want           []byte // the expected body as sent; nil: the same as wire
		as             string
	}{
		{"none", text, nil, "", false, false, []byte(text), ""},
		{"the same", text, []byte(text), "gzip", false, false, []byte(text), ""},
		{"gzip", text, wire, "gzip", false, false, nil, "gzip"},
		{"again, in other words", text, wire, " X-GZIP , identity", false, false, nil, "gzip"},
		{"twice", text, twice, "gzip, gzip", false, false, nil, "gzip, gzip"},
		{"broken off", string(half), short, "gzip", true, false, nil, "gzip"},
		{"broken off, and read otherwise", string(half[:len(half)-9]) + "otherwise", short, "gzip", true, false,
			[]byte(string(half[:len(half)-9]) + "otherwise"), ""},
		{"capped", text[:100], wire, "gzip", true, false, nil, "gzip"},
		{"cut", text[:50], wire, "gzip", false, true, []byte(text[:50]), ""},
		{"twice, and it cannot be packed", dense, []byte(zipped(t, string(zipped(t, dense)))), "gzip, gzip", false,
			false, nil, "gzip, gzip"},
		{"another text", dense, wire, "gzip", false, false, []byte(dense), ""},
		{"more text", text[:200], wire, "gzip", false, false, []byte(text[:200]), ""},
		{"no such coding", text[:300], []byte(text), "gzip", true, false, []byte(text[:300]), ""},
		{"nothing", "", zipped(t, ""), "gzip", false, false, nil, "gzip"},
		{"nothing at all", "", []byte{}, "gzip", false, false, []byte{}, ""},
	} {
		d := deposit("http://example.com/"+c.name, "")
		d.Body, d.Wire, d.Encoding, d.Truncated, d.Cut = []byte(c.body), c.wire, c.encoding, c.truncated, c.cut
		got := put(t, a, d)
		if c.want == nil {
			c.want = c.wire
		}
		hasWire(t, a, uint64(i+1), c.body, c.want, c.as)
		if read, err := a.Capture(got.ID); err != nil || read.Cut != c.cut || read.Payload != got.Payload ||
			read.Encoding != got.Encoding {
			t.Errorf("%s: %+v, %v; Receive gave %+v", c.name, read, err, got)
		}
	}
	// the unencoded text and its gzip form are stored once each
	if s := stats(t, a); s.Bodies != 12 || s.Captures != 15 {
		t.Errorf("%+v", s)
	}
	// Erasing the last capture of a body deletes the body. A form of the body in another encoding
	// remains.
	for _, id := range []uint64{3, 4, 8} {
		if err := a.EraseCapture(context.Background(), id, Tombstone{}); err != nil {
			t.Fatal(err)
		}
	}
	hasBody(t, a, 1, text)
	if s := stats(t, a); s.Bodies != 11 {
		t.Errorf("%+v", s)
	}

	for _, encoding := range []string{"", "identity", "compress", "gzip, gzip, gzip"} {
		d := deposit("http://example.com/x", "")
		d.Wire, d.Encoding = wire, encoding
		if _, err := a.Receive(context.Background(), d); err == nil {
			t.Errorf("%q: received", encoding)
		}
	}
}

// If the stored bytes as sent no longer decode to the body, reading returns an error and never a
// different body.
func TestWireThatDiffers(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	rec := captureRecord{Encoding: "gzip", Digest: Digest([]byte("low water")), Bytes: 9}
	// the value reports whether reading the body succeeds; a longer body was truncated when it was
	// stored
	for text, ok := range map[string]bool{
		"low water": true, "low wader": false, "low": false, "low water!": true,
	} {
		body, err := a.decoded(rec, zipped(t, text))
		if (err == nil) != ok || ok && string(body) != "low water" {
			t.Errorf("%s: %q, %v", text, body, err)
		}
	}
}

// Bodies of all sizes are stored and read back, in several files. An erased body is in no file
// after a compaction, and files of which half is erased are removed.
func TestBodyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	rnd := rand.New(rand.NewPCG(5, 6))
	bodies := map[uint64]string{}
	add := func(size int) {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		d := deposit("http://example.com/"+Digest(b), "")
		d.Body = b
		bodies[put(t, a, d).ID] = string(b)
	}
	check := func() {
		t.Helper()
		for id, want := range bodies {
			if got, err := a.Body(id); err != nil || string(got) != want {
				t.Fatalf("body %d: %d bytes, %v; want %d", id, len(got), err, len(want))
			}
		}
	}
	files := func() int {
		t.Helper()
		list, err := os.ReadDir(filepath.Join(dir, bodiesDir))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for _, size := range []int{0, 1, 40, 1990, 4096, 70_000, mostBodies / 2, mostBodies - 100_000, 3, mostBodies + 9,
		5} {
		add(size)
	}
	for range 100 {
		add(500 + rnd.IntN(900_000))
	}
	check()
	before := files()
	if before < 4 {
		t.Fatalf("there are %d files", before)
	}
	for id := range bodies {
		if id%5 != 0 {
			if err := a.EraseCapture(context.Background(), id, Tombstone{}); err != nil {
				t.Fatal(err)
			}
			delete(bodies, id)
		}
	}
	check()
	compact(t, a)
	check()
	if after := files(); 2*after > before {
		t.Errorf("there are %d files, and there were %d", after, before)
	}
	shut(t, a)
	a = open(t, dir, Options{})
	check()
	add(77)
	check()
}

// The dictionary must never change, because existing archives were compressed with it.
func TestDictionary(t *testing.T) {
	const want = "sha256:399b751f40eb13b03ece3f460716c865b31ee37222864aa55f4cfc6c41288aa4"
	if got := Digest([]byte(dictionary)); got != want {
		t.Errorf("the dictionary has the digest %s", got)
	}
}

// For each kind of body, pack chooses the right codec, and unpack returns the body.
func TestPack(t *testing.T) {
	p, err := newPacker()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	rnd := rand.New(rand.NewPCG(7, 8))
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	page := []byte(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">` +
		`<meta name="viewport" content="width=device-width, initial-scale=1"><title>Tide</title>`)
	for _, c := range []struct {
		name    string
		b       []byte
		encoded bool
		want    codec
	}{
		{"nothing", nil, false, stored},
		{"a page", page, false, zstdDic},
		{"noise", noise, false, stored},
		{"a long page", bytes.Repeat(page, 200), false, zstd1},
		{"encoded", bytes.Repeat(page, 200), true, stored},
	} {
		packed, how := p.pack(c.b, c.encoded)
		if how != c.want {
			t.Errorf("%s: codec %d", c.name, how)
		}
		if got, err := p.unpack(packed, how, uint64(len(c.b))); err != nil || !bytes.Equal(got, c.b) {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
		if len(c.b) > 0 {
			if _, err := p.unpack(packed, how, uint64(len(c.b)-1)); err == nil {
				t.Errorf("%s: another size was believed", c.name)
			}
		}
		if c.want == zstdDic && len(packed) > len(c.b)/2 {
			t.Errorf("%s: %d bytes of %d", c.name, len(packed), len(c.b))
		}
	}
	if _, err := p.unpack(noise, 77, 3000); err == nil {
		t.Error("an unknown codec was read")
	}
}

// If a text was truncated or changed, decoding gives an error or another text, and never panics.
func TestBrokenText(t *testing.T) {
	p, err := newPacker()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	d := deposit("http://example.com/", "x")
	d.Sent, d.Head, d.Hops = []byte("GET"), []byte("HTTP"), []Via{{URL: "http://example.com/a", Head: []byte("H")}}
	plain, err := textOf(&d).plain()
	if err != nil {
		t.Fatal(err)
	}
	sealed := packText(p, plain)
	for i := range sealed {
		var x captureText
		if x.decode(p, sealed[:i]) == nil {
			t.Errorf("%d of %d bytes were read", i, len(sealed))
		}
		changed := bytes.Clone(sealed)
		changed[i] ^= 0x55
		_ = x.decode(p, changed)
	}
	for i := range plain {
		var x captureText
		if x.decode(p, append([]byte{0, byte(i), 0}, plain[:i]...)) == nil && i < 128 {
			t.Errorf("%d of %d bytes were read", i, len(plain))
		}
	}
	var x captureText
	if err := x.decode(p, sealed); err != nil || x.MIME != "text/html" || len(x.exchanges) != 2 ||
		string(x.exchanges[1].head) != "HTTP" {
		t.Errorf("%+v, %v", x, err)
	}
}
