package gate

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// accepted names the content codings that are asked for.
const accepted = "gzip, deflate, br, zstd"

// codings are those that can be undone.
var codings = []string{"gzip", "deflate", "br", "zstd"}

// maxCodings is the number of content codings laid over each other that are undone.
const maxCodings = 2

// capture is a body as it was sent and as it is meant.
type capture struct {
	wire      []byte
	body      []byte
	truncated bool // something of it is missing: capped, cut off, or a broken stream
}

// take reads the body of resp, at most raw bytes as sent and most bytes decoded. A body that breaks off is truncated, not an
// error; a coding that cannot be undone is one.
func (ds decoders) take(resp *http.Response, raw, most int64) (capture, error) {
	applied := codingsOf(resp.Header)
	for _, c := range applied {
		if !slices.Contains(codings, c) {
			return capture{}, fmt.Errorf("the body is encoded as %q, which was not asked for and cannot be decoded", c)
		}
	}
	if len(applied) > maxCodings {
		return capture{}, fmt.Errorf("the body is encoded %d times", len(applied))
	}
	if len(applied) == 0 {
		raw = min(raw, most)
	}
	wire, short := read(resp.Body, raw, resp.ContentLength)
	c := capture{wire: wire, body: wire, truncated: short}
	for i := len(applied) - 1; i >= 0 && len(c.body) > 0; i-- {
		decoded, broken := ds.decode(c.body, applied[i], most)
		c.body, c.truncated = decoded, c.truncated || broken
	}
	return c, nil
}

// codingsOf gives the content codings in the order in which they were applied.
func codingsOf(h http.Header) []string {
	var codings []string
	for _, c := range strings.Split(strings.Join(h.Values("Content-Encoding"), ","), ",") {
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

// read takes at most most bytes from r; expect is a guess of their number. It reports whether that is not all.
func read(r io.Reader, most, expect int64) ([]byte, bool) {
	var buf bytes.Buffer
	buf.Grow(int(min(max(expect, 0), most, 1<<20)) + bytes.MinRead)
	_, err := buf.ReadFrom(io.LimitReader(r, most+1))
	b := buf.Bytes()
	if int64(len(b)) > most {
		return b[:most:most], true
	}
	return b, err != nil
}
