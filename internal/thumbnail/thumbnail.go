// Package thumbnail makes small pictures of images from untrusted sources.
//
// The format of an image is taken from its first bytes, never from what the server says. Its size
// is checked before it is decoded, because a few bytes can expand to gigabytes. A thumbnail
// contains only pixels: neither metadata nor a colour profile is copied.
//
//	thumbnail.go  Make: checks the size, decodes, scales, turns upright and encodes
//	webp.go       the size of a WebP image, from all chunks that contain one
//	exif.go       the orientation of an image
package thumbnail

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// Image is a thumbnail, as PNG if it has transparent pixels, otherwise as JPEG.
type Image struct {
	MIME          string
	Width, Height int
	Body          []byte
}

// Options limit the size and cost of a thumbnail. The zero value is right for most uses.
type Options struct {
	Side  int           // side of the square that the thumbnail fits into, in pixels; 0: 320
	Turns chan struct{} // its capacity limits how many images are decoded at a time, up to 400 MB each; nil: no limit
}

// ErrNone means that no thumbnail can be made of the data. An error that wraps it gives the reason;
// its text has no full stop.
var ErrNone = errors.New("no thumbnail can be made of it")

const (
	usualSide = 320
	maxPixels = 25_000_000
	maxSide   = 32_768
	maxScans  = 64 // maximum number of scans of a JPEG image: the decoder passes over all pixels for each scan
	quality   = 80
)

// format is one format of images.
type format struct {
	magic  string // first bytes of such an image; "?" matches any byte
	size   func([]byte) (image.Point, error)
	decode func(io.Reader) (image.Image, error)
	exif   func([]byte) []byte // returns the EXIF data; nil if the format has none
}

func formats() []format {
	return []format{
		{"\xff\xd8\xff", sizeOfJPEG, jpeg.Decode, exifOfJPEG},
		{"\x89PNG\r\n\x1a\n", sizeBy(png.DecodeConfig), png.Decode, exifOfPNG},
		{"GIF8?a", sizeBy(gif.DecodeConfig), gif.Decode, nil}, // decodes the first frame of an animation
		{"RIFF????WEBPVP8", sizeOfWebP, webp.Decode, exifOfWebP},
	}
}

// Make returns a thumbnail of a JPEG, PNG, GIF (first frame) or WebP image. It is never larger than
// the image. Errors wrap ErrNone.
func Make(src []byte, o Options) (img Image, err error) {
	if o.Turns != nil {
		o.Turns <- struct{}{}
		defer func() { <-o.Turns }()
	}
	defer func() {
		if r := recover(); r != nil { // panic of a decoder on invalid data
			img, err = Image{}, none("the image is broken: %v", r)
		}
	}()
	f, size, err := measure(src)
	if err != nil {
		return Image{}, err
	}
	return f.make(src, size, o.side())
}

// Measure returns the size of the thumbnail that Make would return. It does not decode the image,
// so it does not notice all damage. Errors wrap ErrNone.
func Measure(src []byte, o Options) (width, height int, err error) {
	defer func() {
		if r := recover(); r != nil {
			width, height, err = 0, 0, none("the image is broken: %v", r)
		}
	}()
	f, size, err := measure(src)
	if err != nil {
		return 0, 0, err
	}
	size = fit(size, o.side())
	if f.turn(src) > 4 {
		return size.Y, size.X, nil
	}
	return size.X, size.Y, nil
}

func (o Options) side() int {
	if o.Side == 0 {
		return usualSide
	}
	return o.Side
}

func none(why string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrNone, fmt.Errorf(why, args...))
}

func begins(src []byte, magic string) bool {
	if len(src) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && src[i] != magic[i] {
			return false
		}
	}
	return true
}

func sizeBy(config func(io.Reader) (image.Config, error)) func([]byte) (image.Point, error) {
	return func(src []byte) (image.Point, error) {
		c, err := config(bytes.NewReader(src))
		return image.Pt(c.Width, c.Height), err
	}
}

// sizeOfJPEG returns the size of a JPEG image. It fails if the image has too many scans: a few
// bytes can make the decoder pass over all pixels again. The marker of a scan never occurs in image
// data, so counting markers is exact or too high.
func sizeOfJPEG(src []byte) (image.Point, error) {
	if bytes.Count(src, []byte("\xff\xda")) > maxScans {
		return image.Point{}, errors.New("it consists of too many scans")
	}
	return sizeBy(jpeg.DecodeConfig)(src)
}

// measure returns the format and size of an image. It fails if the image cannot be decoded within
// the limits.
func measure(src []byte) (f format, size image.Point, err error) {
	for _, f = range formats() {
		if !begins(src, f.magic) {
			continue
		}
		size, err = f.size(src)
		switch {
		case err != nil:
			err = none("the image is broken: %w", err)
		case size.X <= 0 || size.Y <= 0:
			err = none("the image is empty")
		case size.X > maxSide || size.Y > maxSide || size.X*size.Y > maxPixels:
			err = none("the image is too large: %d × %d pixels", size.X, size.Y)
		}
		return f, size, err
	}
	return f, size, none("it is no image in JPEG, PNG, GIF or WebP")
}

// turn returns the EXIF orientation of an image, 1 to 8.
func (f format) turn(src []byte) int {
	if f.exif == nil {
		return 1
	}
	return orientation(f.exif(src))
}

func (f format) make(src []byte, size image.Point, side int) (Image, error) {
	full, err := f.decode(bytes.NewReader(src))
	if err != nil {
		return Image{}, none("the image is broken: %w", err)
	}
	return write(upright(scale(full, size, side), f.turn(src)))
}

// fit returns the size of an image after it was scaled to fit into a square. It never enlarges an
// image. size is the original size, and side the side of the square.
func fit(size image.Point, side int) image.Point {
	if long := max(size.X, size.Y); long > side {
		return image.Pt(max(1, size.X*side/long), max(1, size.Y*side/long))
	}
	return size
}

// scale scales an image of the given size into a square. The bounds of full may be only a part of
// that size, as a frame of a GIF.
func scale(full image.Image, size image.Point, side int) *image.RGBA {
	to := fit(size, side)
	small := image.NewRGBA(image.Rectangle{Max: to})
	b := full.Bounds()
	at := image.Rect(b.Min.X*to.X/size.X, b.Min.Y*to.Y/size.Y, (b.Max.X*to.X+size.X-1)/size.X,
		(b.Max.Y*to.Y+size.Y-1)/size.Y)
	if at.Size() == b.Size() {
		draw.Draw(small, at, full, b.Min, draw.Src)
	} else {
		draw.CatmullRom.Scale(small, at, full, b, draw.Src, nil)
	}
	return small
}

func write(small *image.RGBA) (Image, error) {
	img := Image{MIME: "image/jpeg", Width: small.Rect.Dx(), Height: small.Rect.Dy()}
	var out bytes.Buffer
	var err error
	if small.Opaque() {
		err = jpeg.Encode(&out, small, &jpeg.Options{Quality: quality})
	} else {
		img.MIME = "image/png"
		err = png.Encode(&out, small)
	}
	if err != nil {
		return Image{}, none("it cannot be written: %w", err)
	}
	img.Body = out.Bytes()
	return img, nil
}
