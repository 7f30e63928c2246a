package archive

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/coding"
)

// body is a body that is ready to be stored, with the encoded texts of its capture and its
// resource.
type body struct {
	wire     []byte // the bytes as sent
	sum      []byte // SHA-256 of wire
	encoding string // content codings of wire; "" if wire is the decoded body
	digest   string // digest of the deposit's decoded body
	packed   []byte // compressed wire; unset if codec is noCodec
	codec    codec
	capture  []byte // compressed captureText
	resource []byte // encoded resourceText; nil if it is empty
}

// prepare does the work that needs no transaction, in the goroutine of the caller. It does not
// compress a body that is already stored.
func (a *Archive) prepare(d *Deposit) (*body, error) {
	b := &body{codec: noCodec}
	var err error
	if b.resource, err = d.Resource.text().encode(); err != nil {
		return nil, fmt.Errorf("the deposit of %s cannot be encoded: %w", d.Resource.URL, err)
	}
	if d.Body == nil {
		return b, nil
	}
	if err := a.chooseWire(d, b); err != nil {
		return nil, err
	}
	plain, err := textOf(d).plain()
	if err != nil {
		return nil, fmt.Errorf("the deposit of %s cannot be encoded: %w", d.Resource.URL, err)
	}
	b.capture = packText(a.pack, plain)
	held := false
	err = a.view(func(tx *bolt.Tx) error {
		held = tx.Bucket(bDigests).Get(b.sum) != nil
		return nil
	})
	if err == nil && !held {
		b.packed, b.codec = a.pack.pack(b.wire, b.encoding != "")
	}
	return b, err
}

// chooseWire decides which bytes to store for the body of d, and computes their digest. It chooses
// the bytes as sent if decoding them gives the body, and otherwise the decoded body.
func (a *Archive) chooseWire(d *Deposit, b *body) error {
	sum := sha256.Sum256(d.Body)
	b.wire, b.sum, b.digest = d.Body, sum[:], digestText(sum[:])
	if d.Wire == nil || d.Cut || len(d.Wire) == len(d.Body) && bytes.Equal(d.Wire, d.Body) {
		return nil
	}
	codings := coding.List(d.Encoding)
	if err := coding.Check(codings); err != nil || len(codings) == 0 {
		return fmt.Errorf("the deposit of %s has bytes as sent that differ from its body, and %q is not an encoding "+
			"that explains it",
			d.Resource.URL, d.Encoding)
	}
	if len(codings) > 1 || !d.Undone.Leads(d.Wire, d.Body, codings) {
		again, short := a.pack.undo(d.Wire, codings, int64(len(d.Body)))
		// decode again, because the result of decoding a broken stream depends on the limits of the
		// decoder
		if !bytes.Equal(again, d.Body) || short && !d.Truncated {
			return nil
		}
	}
	sum = sha256.Sum256(d.Wire)
	b.wire, b.sum, b.encoding = d.Wire, sum[:], coding.Join(codings)
	return nil
}
