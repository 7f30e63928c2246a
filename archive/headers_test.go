package archive

import (
	"bytes"
	"net/http"
	"reflect"
	"testing"
)

func TestHeader(t *testing.T) {
	for _, h := range []http.Header{
		nil,
		{"A": {"1", "2", ""}, "Latin": {"caf\xe9\x00\r\n"}, "": {"no name"}},
	} {
		if got, err := unpackHeader(packHeader(h)); err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("%q, %v; want %q", got, err, h)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(packHeader(http.Header{"A": {"1", "2"}, "B": {"x"}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := unpackHeader(b)
		if err != nil {
			return
		}
		packed := packHeader(h)
		if again, err := unpackHeader(packed); err != nil || !reflect.DeepEqual(again, h) ||
			!bytes.Equal(packHeader(again), packed) {
			t.Errorf("%q became %q, %v", h, again, err)
		}
	})
}
