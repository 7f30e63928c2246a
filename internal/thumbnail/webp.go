package thumbnail

import (
	"bytes"
	"errors"
	"image"
	"io"

	"golang.org/x/image/riff"
	"golang.org/x/image/vp8"
	"golang.org/x/image/vp8l"
)

// sizeOfWebP returns the largest size that any chunk of a WebP image declares, up to the chunk with
// the pixels. The decoder allocates memory for each of these sizes.
func sizeOfWebP(src []byte) (size image.Point, err error) {
	err = chunks(src, func(id string, length int, body io.Reader) (bool, error) {
		switch id {
		case "VP8X":
			b := make([]byte, 10)
			if _, err := io.ReadFull(body, b); err != nil {
				return false, err
			}
			if b[0]&2 != 0 {
				return false, errors.New("it is animated")
			}
			size = image.Pt(1+int(b[4])|int(b[5])<<8|int(b[6])<<16, 1+int(b[7])|int(b[8])<<8|int(b[9])<<16)
			return true, nil
		case "VP8 ":
			d := vp8.NewDecoder()
			d.Init(body, length)
			h, err := d.DecodeFrameHeader()
			size = image.Pt(max(size.X, h.Width), max(size.Y, h.Height))
			return false, err
		case "VP8L":
			c, err := vp8l.DecodeConfig(body)
			size = image.Pt(max(size.X, c.Width), max(size.Y, c.Height))
			return false, err
		}
		return true, nil
	})
	return size, err
}

// chunks calls see for each chunk of a WebP image until see returns false or an error.
func chunks(src []byte, see func(id string, length int, body io.Reader) (on bool, err error)) error {
	_, r, err := riff.NewReader(bytes.NewReader(src))
	for on := true; err == nil && on; {
		var id riff.FourCC
		var length uint32
		var body io.Reader
		if id, length, body, err = r.Next(); err == nil {
			on, err = see(string(id[:]), int(length), body)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
