package rewrite

import (
	"context"
	"errors"
)

// Limits on the work for one document, with all documents and style sheets in it.
const (
	maxAddresses = 200_000  // addresses
	maxNew       = 32 << 20 // bytes of the new addresses
	maxOut       = 64 << 20 // bytes of the new document
	maxBase      = 8_000    // bytes of the address in a BASE element; others are ignored
)

// ErrTooMuch means that a document has more addresses, or would become longer, than the limits permit.
var ErrTooMuch = errors.New("it has too many addresses to change them")

// meter counts the work for one document.
type meter struct {
	ctx              context.Context
	addresses, added int
	written          int
	err              error // why the work must end; nil: it may go on
}

// replaced counts an address and its replacement. It reports whether the work may go on.
func (m *meter) replaced(bytes int) bool {
	m.addresses++
	m.added += bytes
	switch {
	case m.err != nil:
	case m.addresses > maxAddresses || m.added > maxNew:
		m.err = ErrTooMuch
	case m.addresses%1000 == 0:
		m.err = m.ctx.Err()
	}
	return m.err == nil
}

// wrote counts a part of a document. It returns why the work must end.
func (m *meter) wrote(bytes int) error {
	if m.written += bytes; m.written > maxOut && m.err == nil {
		m.err = ErrTooMuch
	}
	if m.err == nil {
		m.err = m.ctx.Err()
	}
	return m.err
}
