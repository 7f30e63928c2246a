package main

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

var updatePictures = flag.Bool("update-pictures", false, "write the pictures of docs/pictures")

// pictureDir has two pictures of each page: NAME-light.png and NAME-dark.png.
const pictureDir = "../../docs/pictures"

// TestPictures checks that docs/web.md shows each picture, and that each picture it shows exists. With the flag
// -update-pictures it makes the pictures again.
func TestPictures(t *testing.T) {
	t.Parallel()
	if *updatePictures {
		takePictures(t)
	}
	page, err := os.ReadFile("../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(pictureDir + "/*")
	if err != nil || len(files) < 2*10 {
		t.Error(files, err)
	}
	for _, file := range files {
		if !strings.Contains(string(page), `"pictures/`+filepath.Base(file)+`"`) {
			t.Errorf("docs/web.md does not show %s", file)
		}
	}
	if n := strings.Count(string(page), `"pictures/`); n != len(files) {
		t.Errorf("docs/web.md shows %d pictures, but there are %d", n, len(files))
	}
}

// takePictures takes pictures of pages about the newspaper of the demo and the harbour.
func takePictures(t *testing.T) {
	b := pagecheck.Browse(t)
	s, newspaper := crawlNewspaper(t)
	demo, operator := serveReaders(t, s, view.Anyone), serveReaders(t, s, view.Operator)
	h, data := crawlHarbour(t)
	harbour, end := startServe(t, data)
	defer end()
	ferry := newspaper + "/news/ferry.html"
	stamps := story{s: harbour, h: h, t: t}.stamps("/timemap/link/" + h.URL + "/news/ferry.html")
	for _, scheme := range []string{"light", "dark"} {
		take := func(name, address string, prepare func()) {
			b.Open(address)
			prepare()
			if err := os.WriteFile(filepath.Join(pictureDir, name+"-"+scheme+".png"), small(t, b.Picture()),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
		nothing := func() {}
		b.Resize(900, scheme)
		take("home", demo+"/", nothing)
		take("search", demo+"/search?q=harbour", nothing)
		take("versions", harbour.at+"/versions/"+h.URL+"/news/tide.html", nothing)
		take("compare", harbour.at+"/compare/"+stamps[0]+"/"+stamps[1]+"/"+h.URL+"/news/ferry.html", nothing)
		take("copy", harbour.at+"/copy/"+stamps[1]+"/"+h.URL+"/news/ferry.html", func() {
			b.Click("More about this copy")
			b.AwaitColour("iframe", ferryColour)
			pagecheck.Eval[bool](b, "(scrollTo(0, 0), true)")
		})
		take("refused", demo+"/versions/"+newspaper+"/special/noarchive.html", nothing)
		take("explain", demo+"/explain?url="+url.QueryEscape(ferry), nothing)
		take("site", operator+"/sites/"+strings.TrimPrefix(newspaper, "http://"), nothing)
		take("requests", harbour.at+"/requests", nothing)
		b.Resize(360, scheme)
		take("phone", demo+"/search?q=ferry", func() { b.Click("Why it is shown like this") })
	}
}

// small returns a picture with its 256 most frequent colours.
func small(t *testing.T, text []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	pixels := map[color.Color]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			pixels[img.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(pixels), func(a, b color.Color) int {
		return cmp.Compare(pixels[b], pixels[a])
	})
	to := image.NewPaletted(img.Bounds(), colours[:min(len(colours), 256)])
	draw.Draw(to, img.Bounds(), img, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
