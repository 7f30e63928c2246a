// Package coding undoes the content codings of HTTP (RFC 9110 8.4): gzip, deflate, br and zstd, in bounded memory.
package coding

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unsafe"
)

// Accepted names the codings that can be undone, as Accept-Encoding does.
const Accepted = "gzip, deflate, br, zstd"

// most is the number of codings laid over each other that are undone.
const most = 2

var known = []string{"gzip", "deflate", "br", "zstd"}

// Of gives the content codings that h names, in the order in which they were applied; identity is none.
func Of(h http.Header) []string { return List(strings.Join(h.Values("Content-Encoding"), ",")) }

// List is Of for a field value, and for what Join made.
func List(value string) (codings []string) {
	for _, c := range strings.Split(value, ",") {
		switch c = strings.ToLower(strings.TrimSpace(c)); c {
		case "", "identity":
		case "x-gzip":
			codings = append(codings, "gzip")
		default:
			codings = append(codings, c)
		}
	}
	return codings
}

// Join writes codings as a field value.
func Join(codings []string) string { return strings.Join(codings, ", ") }

// Check reports why codings cannot be undone: a clause that goes on from "the body is".
func Check(codings []string) error {
	for _, c := range codings {
		if !slices.Contains(known, c) {
			return fmt.Errorf("encoded as %q, which cannot be decoded", c)
		}
	}
	if len(codings) > most {
		return fmt.Errorf("encoded %d times", len(codings))
	}
	return nil
}

// Undone is what Undo made of a body as it was sent. Nothing else makes one, so it proves to whom it is handed on what became of what.
type Undone struct {
	Body    []byte
	Short   bool // Body is not all: there is more, or the stream is broken
	wire    []byte
	codings []string
}

// Undo undoes codings, which Check has passed, the last one first, as far as limit bytes at every stage. Without codings, and of
// nothing, it gives wire itself.
func (d *Decoders) Undo(wire []byte, codings []string, limit int64) Undone {
	u := Undone{Body: wire, wire: wire, codings: codings}
	for i := len(codings) - 1; i >= 0 && len(u.Body) > 0; i-- {
		decoded, cut := d.undo(u.Body, codings[i], limit)
		u.Body, u.Short = decoded, u.Short || cut
	}
	return u
}

// Leads reports whether Undo found that codings, undone, lead from these very bytes wire to these very bytes body and to no more. They
// must not have been changed since.
func (u Undone) Leads(wire, body []byte, codings []string) bool {
	return !u.Short && same(u.wire, wire) && same(u.Body, body) && slices.Equal(u.codings, codings)
}

// same reports whether a and b are the same memory.
func same(a, b []byte) bool { return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b) }

// Read takes at most limit bytes from r; expect is a guess of their number. It reports whether that is not all.
func Read(r io.Reader, limit, expect int64) ([]byte, bool) {
	var buf bytes.Buffer
	buf.Grow(int(min(max(expect, 0), limit, part)) + bytes.MinRead)
	r = io.LimitReader(r, limit+1)
	n, err := buf.ReadFrom(io.LimitReader(r, part))
	b := buf.Bytes()
	if n == part && err == nil {
		b, err = readParts(r, b)
	}
	if int64(len(b)) > limit {
		return b[:limit:limit], true
	}
	return b, err != nil
}

// part is how many bytes of a body are read at once. A buffer that doubles would take three times
// as much memory as a large body.
const part = 1 << 20

// readParts reads the rest of what begins with first, and joins it.
func readParts(r io.Reader, first []byte) ([]byte, error) {
	parts := [][]byte{first}
	for {
		next := make([]byte, 0, part)
		var err error
		for n := 0; err == nil && len(next) < part; next = next[:len(next)+n] {
			n, err = r.Read(next[len(next):part])
		}
		parts = append(parts, next)
		if err == io.EOF {
			err = nil
		} else if err == nil {
			continue
		}
		return slices.Concat(parts...), err
	}
}
