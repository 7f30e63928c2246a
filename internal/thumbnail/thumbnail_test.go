package thumbnail

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	red   = color.NRGBA{R: 220, A: 255}
	green = color.NRGBA{G: 200, A: 255}
	blue  = color.NRGBA{B: 220, A: 255}
	white = color.NRGBA{R: 255, G: 255, B: 255, A: 255}
)

// flag returns an image with one colour in each corner: top left, top right, bottom left, bottom
// right.
func flag(w, h int, corners ...color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetNRGBA(x, y, corners[x*2/w+y*2/h*2])
		}
	}
	return img
}

func asPNG(t testing.TB, img image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asGIF(t testing.TB, g *gif.GIF) []byte {
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lossless returns the chunk VP8L of a WebP image of one colour.
func lossless(w, h int, c color.NRGBA) []byte {
	var bits, n uint64
	out := []byte{0x2f}
	put := func(v, width int) {
		bits, n = bits|uint64(v)<<n, n+uint64(width)
		for ; n >= 8; n -= 8 {
			out, bits = append(out, byte(bits)), bits>>8
		}
	}
	put(w-1, 14)
	put(h-1, 14)
	put(1, 1)                                               // the image uses alpha
	put(0, 3)                                               // the version of the format
	put(0, 3)                                               // no transform, no colour cache, one set of codes
	for _, symbol := range []uint8{c.G, c.R, c.B, c.A, 0} { // each code has one symbol
		put(0b101, 3)
		put(int(symbol), 8)
	}
	put(0, 7)
	return riffChunk("VP8L", out)
}

func asWebP(chunks ...[]byte) []byte {
	return riffChunk("RIFF", append([]byte("WEBP"), slices.Concat(chunks...)...))
}

// tiff returns EXIF data with the given orientation.
func tiff(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("II")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM")
	}
	b = order.AppendUint16(b, 42)
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, entry := range [][2]uint16{{0x010f, 7}, {0x0112, orientation}} {
		b = order.AppendUint16(b, entry[0])
		b = order.AppendUint16(b, 3)
		b = order.AppendUint32(b, 1)
		b = order.AppendUint16(b, entry[1])
		b = order.AppendUint16(b, 0)
	}
	return b
}

func turnedJPEG(src, exif []byte) []byte {
	part := append([]byte("Exif\x00\x00"), exif...)
	head := []byte{0xff, 0xd8, 0xff, 0xe1, 0, 0}
	binary.BigEndian.PutUint16(head[4:], uint16(len(part)+2))
	return slices.Concat(head, part, src[2:])
}

func turnedPNG(src, exif []byte) []byte {
	chunk := append([]byte("eXIf"), exif...)
	out := binary.BigEndian.AppendUint32(nil, uint32(len(exif)))
	out = append(out, chunk...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	const header = 8 + 25
	return slices.Concat(src[:header], out, src[header:])
}

func riffChunk(id string, body []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(body)))
	out = append(out, body...)
	if len(body)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

// canvas returns the chunk VP8X of a WebP image of w × h pixels.
func canvas(w, h int, flags byte) []byte {
	return riffChunk("VP8X", []byte{flags, 0, 0, 0, byte(w - 1), byte((w - 1) >> 8), byte((w - 1) >> 16), byte(h - 1),
		byte((h - 1) >> 8), byte((h - 1) >> 16)})
}

// shapedPNG returns a PNG image with another size in its header.
func shapedPNG(src []byte, w, h uint32) []byte {
	src = bytes.Clone(src)
	binary.BigEndian.PutUint32(src[16:], w)
	binary.BigEndian.PutUint32(src[20:], h)
	binary.BigEndian.PutUint32(src[29:], crc32.ChecksumIEEE(src[12:29]))
	return src
}

func moving() *gif.GIF {
	frame := func(r image.Rectangle, c color.Color) *image.Paletted {
		p := image.NewPaletted(r, color.Palette{c, color.Black})
		return p
	}
	return &gif.GIF{Image: []*image.Paletted{frame(image.Rect(0, 0, 400, 200), red),
		frame(image.Rect(0, 0, 10, 10), blue)}, Delay: []int{1, 1},
		Config: image.Config{Width: 400, Height: 200}}
}

func TestMake(t *testing.T) {
	four := flag(640, 320, red, green, blue, white)
	glass := flag(640, 320, red, green, blue, color.NRGBA{})
	corner := moving()
	corner.Image = []*image.Paletted{image.NewPaletted(image.Rect(200, 100, 400, 200), color.Palette{red})}
	corner.Delay = []int{1}
	for _, c := range []struct {
		name    string
		src     []byte
		side    int
		mime    string
		w, h    int
		corners []color.NRGBA // top left, top right, bottom left, bottom right
	}{
		{name: "JPEG", src: asJPEG(t, four), mime: "image/jpeg", w: 320, h: 160,
			corners: []color.NRGBA{red, green, blue, white}},
		{name: "PNG", src: asPNG(t, four), mime: "image/jpeg", w: 320, h: 160,
			corners: []color.NRGBA{red, green, blue, white}},
		{name: "a PNG one can see through", src: asPNG(t, glass), mime: "image/png", w: 320, h: 160,
			corners: []color.NRGBA{red, green, blue, {}}},
		{name: "the first frame", src: asGIF(t, moving()), mime: "image/jpeg", w: 320, h: 160,
			corners: []color.NRGBA{red, red, red, red}},
		{name: "a frame in a corner", src: asGIF(t, corner), mime: "image/png", w: 320, h: 160,
			corners: []color.NRGBA{{}, {}, {}, red}},
		{name: "never enlarged", src: asPNG(t, flag(20, 10, red, green, blue, white)), mime: "image/jpeg", w: 20,
			h: 10},
		{name: "a line", src: asPNG(t, image.NewNRGBA(image.Rect(0, 0, 9000, 2))), mime: "image/png", w: 320, h: 1},
		{name: "tall", src: asPNG(t, flag(10, 3200, red, green, blue, white)), mime: "image/jpeg", w: 1, h: 320},
		{name: "grey", src: asPNG(t, image.NewGray(image.Rect(0, 0, 8, 8))), mime: "image/jpeg", w: 8, h: 8},
		{name: "16 bits", src: asPNG(t, image.NewNRGBA64(image.Rect(0, 0, 8, 8))), mime: "image/png", w: 8, h: 8},
		{name: "another size", src: asPNG(t, four), side: 64, mime: "image/jpeg", w: 64, h: 32},
		{name: "WebP", src: asWebP(lossless(640, 320, red)), mime: "image/jpeg", w: 320, h: 160,
			corners: []color.NRGBA{red, red, red, red}},
		{name: "WebP one can see through", src: asWebP(lossless(4, 4, color.NRGBA{})), mime: "image/png", w: 4, h: 4},
		{name: "WebP, turned right", src: asWebP(canvas(64, 32, 8), lossless(64, 32, green),
			riffChunk("EXIF", tiff(binary.BigEndian, 6))),
			mime: "image/jpeg", w: 32, h: 64, corners: []color.NRGBA{green, green, green, green}},
		{name: "turned right", src: turnedJPEG(asJPEG(t, four), tiff(binary.LittleEndian, 6)), mime: "image/jpeg",
			w: 160, h: 320, corners: []color.NRGBA{blue, red, white, green}},
		{name: "turned right, PNG", src: turnedPNG(asPNG(t, four), tiff(binary.BigEndian, 6)), mime: "image/jpeg",
			w: 160, h: 320, corners: []color.NRGBA{blue, red, white, green}},
		{name: "turned by a number that is none", src: turnedJPEG(asJPEG(t, four), tiff(binary.BigEndian, 9)),
			mime: "image/jpeg", w: 320, h: 160},
		{name: "EXIF that breaks off", src: turnedJPEG(asJPEG(t, four), tiff(binary.BigEndian, 6)[:14]),
			mime: "image/jpeg", w: 320, h: 160},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Make(c.src, Options{Side: c.side})
			if err != nil {
				t.Fatal(err)
			}
			img, kind, err := image.Decode(bytes.NewReader(got.Body))
			if err != nil || "image/"+kind != c.mime || got.MIME != c.mime ||
				img.Bounds() != image.Rect(0, 0, c.w, c.h) || got.Width != c.w || got.Height != c.h {
				t.Fatalf("%s %s of %d × %d in %v, want %s of %d × %d; %v", got.MIME, kind, got.Width, got.Height,
					img.Bounds(), c.mime, c.w, c.h, err)
			}
			if w, h, err := Measure(c.src, Options{Side: c.side}); w != c.w || h != c.h || err != nil {
				t.Errorf("measured %d × %d, %v", w, h, err)
			}
			for i, want := range c.corners {
				if is := img.At(c.w/4+i%2*c.w/2, c.h/4+i/2*c.h/2); !alike(is, want) {
					t.Errorf("corner %d is %v, want %v", i, is, want)
				}
			}
		})
	}
}

func alike(a, b color.Color) bool {
	x, y := color.NRGBAModel.Convert(a).(color.NRGBA), color.NRGBAModel.Convert(b).(color.NRGBA)
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) < 24 }
	return x.A == y.A && (y.A == 0 || near(x.R, y.R) && near(x.G, y.G) && near(x.B, y.B))
}

// Each of the eight orientations moves the right corner to the top left.
func TestUpright(t *testing.T) {
	names := map[color.NRGBA]byte{red: 'R', green: 'G', blue: 'B', white: 'W'}
	for orientation, want := range map[int]string{1: "RG/BW", 2: "GR/WB", 3: "WB/GR", 4: "BW/RG", 5: "RB/GW",
		6: "BR/WG", 7: "WG/BR", 8: "GW/RB"} {
		flagged := image.NewRGBA(image.Rect(0, 0, 6, 4))
		draw.Draw(flagged, flagged.Rect, flag(6, 4, red, green, blue, white), image.Point{}, draw.Src)
		got := upright(flagged, orientation)
		var s strings.Builder
		w, h := got.Rect.Dx(), got.Rect.Dy()
		for _, at := range []image.Point{{0, 0}, {w - 1, 0}, {0, h - 1}, {w - 1, h - 1}} {
			s.WriteByte(names[color.NRGBA(got.RGBAAt(at.X, at.Y))])
		}
		if is := s.String()[:2] + "/" + s.String()[2:]; is != want {
			t.Errorf("%d: %s, want %s", orientation, is, want)
		}
		if turned := orientation > 4; turned != (w == 4) {
			t.Errorf("%d: %d × %d", orientation, w, h)
		}
	}
}

func TestNone(t *testing.T) {
	small := asPNG(t, flag(8, 8, red, green, blue, white))
	photo := asJPEG(t, flag(64, 64, red, green, blue, white))
	for name, c := range map[string]struct {
		src []byte
		why string
	}{
		"nothing":       {nil, "no image"},
		"a page":        {[]byte("<html><p>A quay."), "no image"},
		"SVG":           {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "no image"},
		"a magic alone": {[]byte("\x89PNG\r\n\x1a\n"), "broken"},
		"broken off":    {photo[:len(photo)/2], "broken"},
		"many passes": {append(bytes.Clone(photo), strings.Repeat("\xff\xda", maxScans+1)...),
			"too many scans"},
		"many pixels":               {shapedPNG(small, 5001, 5000), "too large: 5001"},
		"one long side":             {shapedPNG(small, maxSide+1, 1), "too large"},
		"no pixels":                 {shapedPNG(small, 0, 7), "broken"},
		"a canvas that is too wide": {asWebP(canvas(1<<24, 1, 0), lossless(1, 1, red)), "too large"},
		"a frame larger than told":  {asWebP(canvas(1, 1, 0), lossless(16384, 16384, red)), "too large: 16384"},
		"WebP that moves":           {asWebP(canvas(1, 1, 2), lossless(1, 1, red)), "animated"},
		"WebP without pixels":       {asWebP(canvas(1, 1, 0)), "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Make(c.src, Options{})
			if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), c.why) || got.Body != nil {
				t.Errorf("%v, %v; want %q", got, err, c.why)
			}
		})
	}
}

// A thumbnail contains nothing of an image but its pixels.
func TestBare(t *testing.T) {
	const secret = "the photographer's own address"
	for _, src := range [][]byte{
		turnedJPEG(asJPEG(t, flag(8, 8, red, red, red, red)), append(tiff(binary.BigEndian, 1), secret...)),
		turnedPNG(asPNG(t, flag(8, 8, red, red, red, color.NRGBA{})), append(tiff(binary.BigEndian, 1), secret...)),
	} {
		got, err := Make(src, Options{})
		if err != nil || !bytes.Contains(src, []byte(secret)) || bytes.Contains(got.Body, []byte(secret)) ||
			bytes.Contains(got.Body, []byte("Exif")) {
			t.Errorf("%q, %v", got.Body, err)
		}
	}
}

// No more images are decoded at a time than Options.Turns permits.
func TestTurns(t *testing.T) {
	o := Options{Turns: make(chan struct{}, 1)}
	src := asPNG(t, flag(64, 64, red, green, blue, white))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := Make(src, o); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := Make([]byte("x"), o); err == nil || len(o.Turns) != 0 {
		t.Errorf("%v, %d turns taken", err, len(o.Turns))
	}
}

// Measure fails if the header already shows that no thumbnail can be made.
func TestMeasureNone(t *testing.T) {
	for _, src := range [][]byte{nil, []byte("<html>"), []byte("\x89PNG\r\n\x1a\n"),
		asWebP(canvas(1<<24, 1, 0), lossless(1, 1, red))} {
		if w, h, err := Measure(src, Options{}); w != 0 || h != 0 || !errors.Is(err, ErrNone) {
			t.Errorf("%.20q: %d × %d, %v", src, w, h, err)
		}
	}
}

func FuzzMake(f *testing.F) {
	four := flag(33, 17, red, green, blue, color.NRGBA{})
	for _, seed := range [][]byte{asPNG(f, four), asJPEG(f, four), asGIF(f, moving()), asWebP(lossless(3, 2, blue)),
		asWebP(canvas(3, 2, 8), lossless(3, 2, blue), riffChunk("EXIF", tiff(binary.BigEndian, 8))),
		turnedJPEG(asJPEG(f, four), tiff(binary.LittleEndian, 5)), turnedPNG(asPNG(f, four), tiff(binary.BigEndian, 3)),
		{}} {
		f.Add(seed)
	}
	large := func(src []byte) bool { // decoding would take seconds
		defer func() { _ = recover() }() // measure may panic, Make may not
		_, size, err := measure(src)
		return err == nil && size.X*size.Y > 1<<20
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 64<<10 || large(src) {
			t.Skip()
		}
		got, err := Make(src, Options{})
		if err != nil {
			if !errors.Is(err, ErrNone) || got.Body != nil {
				t.Fatalf("%v, %v", got, err)
			}
			return
		}
		c, kind, err := image.DecodeConfig(bytes.NewReader(got.Body))
		if w, h, e := Measure(src, Options{}); w != got.Width || h != got.Height || e != nil {
			t.Fatalf("measured %d × %d, %v", w, h, e)
		}
		if err != nil || c.Width != got.Width || c.Height != got.Height || max(c.Width, c.Height) > usualSide ||
			"image/"+kind != got.MIME {
			t.Fatalf("%s %d × %d in %s %d × %d: %v", kind, c.Width, c.Height, got.MIME, got.Width, got.Height, err)
		}
	})
}
