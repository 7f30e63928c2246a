// Package coding decodes the content codings of HTTP (RFC 9110 8.4), gzip, deflate, br and zstd, in
// bounded memory.
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

// Accepted is the value of Accept-Encoding for the codings that this package decodes.
const Accepted = "gzip, deflate, br, zstd"

// most is how many codings may be applied to one body.
const most = 2

var known = []string{"gzip", "deflate", "br", "zstd"}

// Of returns the content codings that h names, in the order in which they were applied, without
// identity.
func Of(h http.Header) []string { return List(strings.Join(h.Values("Content-Encoding"), ",")) }

// List is Of for the value of a field, or for the result of Join.
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

// Join returns codings as the value of a field.
func Join(codings []string) string { return strings.Join(codings, ", ") }

// Check returns an error if codings cannot be decoded. Its text continues the sentence "the body
// is".
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

// Undone is the result of Undo. Other packages cannot create one, so it proves which bytes were
// decoded to which.
type Undone struct {
	Body    []byte
	Short   bool // Body is incomplete: it was larger than the limit, or the stream is broken
	wire    []byte
	codings []string
}

// Undo decodes codings, the last one first. Check must have returned nil for them. Each step
// returns at most limit bytes. If there are no codings or wire is empty, Body is wire itself.
func (d *Decoders) Undo(wire []byte, codings []string, limit int64) Undone {
	u := Undone{Body: wire, wire: wire, codings: codings}
	for i := len(codings) - 1; i >= 0 && len(u.Body) > 0; i-- {
		decoded, cut := d.undo(u.Body, codings[i], limit)
		u.Body, u.Short = decoded, u.Short || cut
	}
	return u
}

// Leads reports whether u is the result of decoding codings from the same memory wire to the same
// memory body, and Body is complete. Nothing may have changed the bytes since.
func (u Undone) Leads(wire, body []byte, codings []string) bool {
	return !u.Short && same(u.wire, wire) && same(u.Body, body) && slices.Equal(u.codings, codings)
}

// same reports whether a and b are the same memory.
func same(a, b []byte) bool { return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b) }

// Read reads at most limit bytes from r. expect is an estimate of their number. The second result
// is true if there is more or reading failed.
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

// part is how many bytes of a body are read at once. A buffer that doubles its size would take
// three times the memory of a large body.
const part = 1 << 20

// readParts reads the rest of a body that begins with first, and returns the whole body.
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
