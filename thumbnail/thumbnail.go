// Package thumbnail makes small pictures of images that strangers sent.
//
// An image is known by its first bytes, never by what a server calls it, and measured before it is decoded: a few bytes can stand for
// gigabytes. What comes out is made of pixels alone; nothing else of the image is in it, neither its metadata nor its colour profile.
//
//	thumbnail.go  Make: measured, decoded, scaled, turned upright, written
//	webp.go       how large a WebP image is, whichever of its chunks says so
//	exif.go       which way up an image is
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

// Image is a thumbnail, as JPEG, or as PNG where one can see through it.
type Image struct {
	MIME          string
	Width, Height int
	Body          []byte
}

// Options bound what a thumbnail is and costs. The zero value is right for most.
type Options struct {
	Side  int           // of the square that it fits into, in pixels; 0: 320
	Turns chan struct{} // as many images as it holds are decoded at a time, up to 400 MB each; nil: nobody waits
}

// ErrNone means that no thumbnail can be made of what is given. What wraps it says why, as a sentence without its full stop.
var ErrNone = errors.New("no thumbnail can be made of it")

const (
	usualSide = 320
	maxPixels = 25_000_000
	maxSide   = 32_768
	maxScans  = 64 // of a JPEG: each is a pass over all of it
	quality   = 80
)

// format is one kind of image.
type format struct {
	magic  string // its first bytes; "?" stands for any
	size   func([]byte) (image.Point, error)
	decode func(io.Reader) (image.Image, error)
	exif   func([]byte) []byte // the EXIF in it; nil function: it never has any
}

func formats() []format {
	return []format{
		{"\xff\xd8\xff", sizeOfJPEG, jpeg.Decode, exifOfJPEG},
		{"\x89PNG\r\n\x1a\n", sizeBy(png.DecodeConfig), png.Decode, exifOfPNG},
		{"GIF8?a", sizeBy(gif.DecodeConfig), gif.Decode, nil}, // the first frame
		{"RIFF????WEBPVP8", sizeOfWebP, webp.Decode, exifOfWebP},
	}
}

// Make makes a thumbnail of an image in JPEG, PNG, GIF (its first frame) or WebP; it is never larger than the image. The error wraps
// ErrNone.
func Make(src []byte, o Options) (img Image, err error) {
	if o.Turns != nil {
		o.Turns <- struct{}{}
		defer func() { <-o.Turns }()
	}
	defer func() {
		if r := recover(); r != nil { // of a decoder that trusts its input
			img, err = Image{}, none("the image is broken: %v", r)
		}
	}()
	f, size, err := measure(src)
	if err != nil {
		return Image{}, err
	}
	return f.make(src, size, o.side())
}

// Measure gives the size of what Make makes, without decoding the image: whether it is whole is not known then. The error wraps ErrNone.
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

// sizeOfJPEG refuses one that is drawn in too many scans: a few bytes can ask for another pass over all of it. No data of an image
// holds what a scan begins with.
func sizeOfJPEG(src []byte) (image.Point, error) {
	if bytes.Count(src, []byte("\xff\xda")) > maxScans {
		return image.Point{}, errors.New("it is drawn in too many scans")
	}
	return sizeBy(jpeg.DecodeConfig)(src)
}

// measure says what kind of image src is and how large, if it is one that can be decoded.
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

// turn is which way up an image is, as upright takes it.
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

// fit is the size that an image has within a square.
func fit(size image.Point, side int) image.Point {
	if long := max(size.X, size.Y); long > side {
		return image.Pt(max(1, size.X*side/long), max(1, size.Y*side/long))
	}
	return size
}

// scale fits an image of the given size into a square. A frame may cover a part of it alone.
func scale(full image.Image, size image.Point, side int) *image.RGBA {
	to := fit(size, side)
	small := image.NewRGBA(image.Rectangle{Max: to})
	b := full.Bounds()
	at := image.Rect(b.Min.X*to.X/size.X, b.Min.Y*to.Y/size.Y, (b.Max.X*to.X+size.X-1)/size.X, (b.Max.Y*to.Y+size.Y-1)/size.Y)
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
