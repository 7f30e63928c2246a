package thumbnail

import (
	"bytes"
	"encoding/binary"
	"image"
	"io"
)

// upright returns src turned and mirrored according to the EXIF orientation, 1 to 8.
func upright(src *image.RGBA, orientation int) *image.RGBA {
	if orientation == 1 {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	to := image.Pt(w, h)
	if orientation > 4 {
		to = image.Pt(h, w)
	}
	out := image.NewRGBA(image.Rectangle{Max: to})
	for y := range h {
		for x := range w {
			at := image.Pt(x, y)
			switch orientation {
			case 2:
				at = image.Pt(w-1-x, y)
			case 3:
				at = image.Pt(w-1-x, h-1-y)
			case 4:
				at = image.Pt(x, h-1-y)
			case 5:
				at = image.Pt(y, x)
			case 6:
				at = image.Pt(h-1-y, x)
			case 7:
				at = image.Pt(h-1-y, w-1-x)
			case 8:
				at = image.Pt(y, w-1-x)
			}
			copy(out.Pix[out.PixOffset(at.X, at.Y):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return out
}

// orientation returns the tag Orientation of the first directory of EXIF data; 1 (upright) if it
// cannot be read.
func orientation(exif []byte) int {
	const tag, short = 0x0112, 3
	exif = bytes.TrimPrefix(exif, []byte("Exif\x00\x00"))
	if len(exif) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if exif[0] == 'M' {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(exif[4:]))
	if at+2 > uint64(len(exif)) {
		return 1
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			if way := int(order.Uint16(entries[8:])); way <= 8 {
				return max(1, way)
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

func exifOfJPEG(src []byte) []byte {
	const app1, scan = 0xe1, 0xda
	for src = src[2:]; len(src) >= 4 && src[0] == 0xff && src[1] != scan; {
		if src[1] == 0xff { // a fill byte
			src = src[1:]
			continue
		}
		n := int(binary.BigEndian.Uint16(src[2:]))
		if n < 2 || 2+n > len(src) {
			return nil
		}
		if part := src[4 : 2+n]; src[1] == app1 && bytes.HasPrefix(part, []byte("Exif\x00\x00")) {
			return part
		}
		src = src[2+n:]
	}
	return nil
}

func exifOfPNG(src []byte) []byte {
	for src = src[8:]; len(src) >= 12; {
		n := uint64(binary.BigEndian.Uint32(src))
		if n+12 > uint64(len(src)) {
			return nil
		}
		if string(src[4:8]) == "eXIf" {
			return src[8 : 8+n]
		}
		src = src[12+n:]
	}
	return nil
}

func exifOfWebP(src []byte) (exif []byte) {
	// an unreadable image has no EXIF data
	_ = chunks(src, func(id string, _ int, body io.Reader) (on bool, err error) {
		if id == "EXIF" {
			exif, err = io.ReadAll(body)
		}
		return id != "EXIF", err
	})
	return exif
}
