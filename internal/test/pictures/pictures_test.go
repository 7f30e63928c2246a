package pictures

import (
	"bytes"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"testing"
)

func TestPicturesArePictures(t *testing.T) {
	for name, b := range map[string][]byte{"jpeg": JPEG(XMP("", "")), "png": PNG(XMP("", "")),
		"packed png": PackedPNG(XMP("", ""))} {
		if img, _, err := image.Decode(bytes.NewReader(b)); err != nil || img.Bounds() != image.Rect(0, 0, 1, 1) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
