package gate

import (
	"fmt"
	"net/http"

	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/internal/memory"
)

// capture is a body as sent and decoded.
type capture struct {
	wire      []byte
	undone    coding.Undone
	truncated bool // the body is incomplete: too long, cut off, or invalidly encoded
}

// readBody reads the body of resp, at most raw bytes as sent and most bytes decoded. If the body
// ends early, the result is marked as truncated. A content coding that is not supported is an
// error.
func readBody(d *coding.Decoders, resp *http.Response, raw, most int64, x *memory.Exchange) (capture, error) {
	c, err := receiveBody(resp, raw, most, x)
	if err != nil {
		return capture{}, err
	}
	codings := coding.Of(resp.Header)
	if len(codings) == 0 {
		c.undone = d.Undo(c.wire, nil, most)
		return c, nil
	}
	err = x.Decode(most, func(limit int64) bool {
		c.undone = d.Undo(c.wire, codings, limit)
		// if the coding is invalid, a higher limit does not make the body longer
		return !c.undone.Short || len(codings) == 1 && int64(len(c.undone.Body)) < limit
	})
	c.truncated = c.truncated || c.undone.Short
	return c, err
}

// receiveBody reads the body of resp within the limits of readBody, and does not decode it.
func receiveBody(resp *http.Response, raw, most int64, x *memory.Exchange) (capture, error) {
	codings := coding.Of(resp.Header)
	if err := coding.Check(codings); err != nil {
		return capture{}, fmt.Errorf("the body is %w", err)
	}
	if len(codings) == 0 {
		raw = min(raw, most)
	}
	wire, short := coding.Read(x.Received(resp.Body), raw, resp.ContentLength)
	return capture{wire: wire, truncated: short}, nil
}
