package archive

import (
	"encoding/binary"
	"net/http"
	"slices"
)

// packHeader encodes a header byte for byte, because its values may be invalid UTF-8. Each name and
// each value is preceded by its length, and names are sorted.
func packHeader(h http.Header) []byte {
	names := make([]string, 0, len(h))
	size := 0
	for name, values := range h {
		names = append(names, name)
		for _, v := range values {
			size += len(name) + len(v) + 6
		}
	}
	slices.Sort(names)
	out := make([]byte, 0, size)
	put := func(s string) { out = append(binary.AppendUvarint(out, uint64(len(s))), s...) }
	for _, name := range names {
		for _, v := range h[name] {
			put(name)
			put(v)
		}
	}
	return out
}

func unpackHeader(b []byte) (http.Header, error) {
	if len(b) == 0 {
		return nil, nil
	}
	take := func() (string, bool) {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return "", false
		}
		s := string(b[w : w+int(n)])
		b = b[w+int(n):]
		return s, true
	}
	h := http.Header{}
	for len(b) > 0 {
		name, ok := take()
		value, more := take()
		if !ok || !more {
			return nil, errRecord
		}
		h[name] = append(h[name], value)
	}
	return h, nil
}
