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

// most is the maximum number of codings of one body.
const most = 2

var known = []string{"gzip", "deflate", "br", "zstd"}

// Of returns the content codings that h names, in the order in which they were applied, without
// identity.
func Of(h http.Header) []string { return List(strings.Join(h.Values("Content-Encoding"), ",")) }

// List is like Of, but takes the value of a header field, or a result of Join.
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

// Join returns codings in the form of the value of a header field.
func Join(codings []string) string { return strings.Join(codings, ", ") }

// Check returns an error if codings cannot be decoded. The error text continues a sentence that
// begins with "the body is".
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

// Undone is the result of Undo. Other packages cannot create an Undone, so an Undone proves that
// some bytes are the decoded form of others.
type Undone struct {
	Body    []byte
	Short   bool // Body is incomplete: it was larger than the limit, or the stream is broken
	wire    []byte
	codings []string
}

// Undo decodes the body wire, which has the given codings, the last one first. Check must have
// returned nil for these codings. Each step returns at most limit bytes. If there are no codings or
// wire is empty, Body is wire itself.
func (d *Decoders) Undo(wire []byte, codings []string, limit int64) Undone {
	u := Undone{Body: wire, wire: wire, codings: codings}
	for i := len(codings) - 1; i >= 0 && len(u.Body) > 0; i-- {
		decoded, cut := d.undo(u.Body, codings[i], limit)
		u.Body, u.Short = decoded, u.Short || cut
	}
	return u
}

// Leads reports whether u is the complete result of decoding wire, which has the given codings, and
// whether that result is body. It compares the addresses in memory, not the bytes, so the bytes
// must not have changed since Undo.
func (u Undone) Leads(wire, body []byte, codings []string) bool {
	return !u.Short && same(u.wire, wire) && same(u.Body, body) && slices.Equal(u.codings, codings)
}

// same reports whether a and b are the same piece of memory.
func same(a, b []byte) bool { return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b) }

// Read reads at most limit bytes from r. expect is an estimate of the number of bytes. The second
// result is true if r has more bytes or if reading failed.
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

// part is the number of bytes of a body that are read at once. A buffer that doubles its size would
// take three times the memory of a large body.
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
