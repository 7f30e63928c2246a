package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"
)

// If a file is not WARC, the error names the format of the file, and the error is not a *Damage.
func TestOtherFormats(t *testing.T) {
	arc := "filedesc://quay.arc 0.0.0.0 20040101000000 text/plain 69\n1 0 Quay\nURL IP-address Archive-date " +
		"Content-type Archive-length\n\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(arc))
	z.Close()
	for name, test := range map[string]struct{ file, want string }{
		"ARC":                 {arc, "ARC"},
		"ARC, packed":         {packed.String(), "ARC"},
		"WACZ":                {"PK\x03\x04\x14\x00", "WACZ"},
		"Zstandard":           {"\x28\xb5\x2f\xfd\x04", "zstd -d"},
		"with its dictionary": {"\x5d\x2a\x4d\x18\x04", "dictionary"},
	} {
		_, err := NewReader(strings.NewReader(test.file)).Next()
		var damage *Damage
		if err == nil || errors.As(err, &damage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
