// Package coding undoes the content codings of HTTP (RFC 9110 8.4): gzip, deflate, br and zstd, in bounded memory.
package coding

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
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

// Undo undoes codings, which Check has passed, the last one first. It gives what can be decoded within limit bytes at every stage; short
// says that this is not all, because there is more or because the stream is broken. Without codings, and of nothing, it gives wire itself.
func (d *Decoders) Undo(wire []byte, codings []string, limit int64) (body []byte, short bool) {
	body = wire
	for i := len(codings) - 1; i >= 0 && len(body) > 0; i-- {
		decoded, cut := d.undo(body, codings[i], limit)
		body, short = decoded, short || cut
	}
	return body, short
}

// Read takes at most limit bytes from r; expect is a guess of their number. It reports whether that is not all.
func Read(r io.Reader, limit, expect int64) ([]byte, bool) {
	var buf bytes.Buffer
	buf.Grow(int(min(max(expect, 0), limit, 1<<20)) + bytes.MinRead)
	_, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	b := buf.Bytes()
	if int64(len(b)) > limit {
		return b[:limit:limit], true
	}
	return b, err != nil
}
