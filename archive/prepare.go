package archive

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/coding"
)

// body is a body that is ready to be stored.
type body struct {
	wire     []byte // the bytes to store
	sum      []byte // SHA-256 of wire
	encoding string // content codings of wire; "" for none
	packed   []byte // compressed wire; unset if codec is noCodec
	codec    codec
}

func newBody(wire []byte, encoding string) *body {
	sum := sha256.Sum256(wire)
	return &body{wire: wire, sum: sum[:], encoding: encoding, codec: noCodec}
}

// prepared is a deposit that is ready to be stored.
type prepared struct {
	sent     *body  // the body, as sent if possible; nil: none
	digest   string // digest of the deposit's decoded body
	rendered *body  // the rendered document; nil: none
	capture  []byte // compressed captureText
	resource []byte // encoded resourceText; nil if it is empty
}

// bodies returns the bodies that must be stored.
func (p *prepared) bodies() (list []*body) {
	for _, b := range []*body{p.sent, p.rendered} {
		if b != nil {
			list = append(list, b)
		}
	}
	return list
}

// size returns the number of bytes of the compressed bodies.
func (p *prepared) size() (n int) {
	for _, b := range p.bodies() {
		n += len(b.packed)
	}
	return n
}

// prepare does the work that needs no transaction, in the goroutine of the caller. It does not
// compress a body that is already stored.
func (a *Archive) prepare(d *Deposit) (*prepared, error) {
	p := &prepared{}
	var err error
	if p.resource, err = d.Resource.text().encode(); err != nil {
		return nil, fmt.Errorf("the deposit of %s cannot be encoded: %w", d.Resource.URL, err)
	}
	if d.Body == nil {
		return p, nil
	}
	p.digest = Digest(d.Body)
	if p.sent, err = a.chooseWire(d); err != nil {
		return nil, err
	}
	if d.Rendered != nil && !redirects(d.Resource.Status) {
		p.rendered = newBody(d.Rendered, "")
	}
	plain, err := textOf(d).plain()
	if err != nil {
		return nil, fmt.Errorf("the deposit of %s cannot be encoded: %w", d.Resource.URL, err)
	}
	p.capture = packText(a.pack, plain)
	return p, a.packNew(p.bodies())
}

// packNew compresses the bodies that are not stored yet, each of them once.
func (a *Archive) packNew(list []*body) error {
	seen := map[string]bool{}
	err := a.view(func(tx *bolt.Tx) error {
		for _, b := range list {
			seen[string(b.sum)] = tx.Bucket(bDigests).Get(b.sum) != nil
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, b := range list {
		if !seen[string(b.sum)] {
			b.packed, b.codec = a.pack.pack(b.wire, b.encoding != "")
			seen[string(b.sum)] = true
		}
	}
	return nil
}

// chooseWire decides which bytes to store for the body of d. It chooses the bytes as sent if
// decoding them gives the body, and otherwise the decoded body.
func (a *Archive) chooseWire(d *Deposit) (*body, error) {
	if d.Wire == nil || d.Cut || len(d.Wire) == len(d.Body) && bytes.Equal(d.Wire, d.Body) {
		return newBody(d.Body, ""), nil
	}
	codings := coding.List(d.Encoding)
	if err := coding.Check(codings); err != nil || len(codings) == 0 {
		return nil, fmt.Errorf("the deposit of %s has bytes as sent that differ from its body, and %q is not an "+
			"encoding that explains it", d.Resource.URL, d.Encoding)
	}
	if len(codings) > 1 || !d.Undone.Leads(d.Wire, d.Body, codings) {
		again, short := a.pack.undo(d.Wire, codings, int64(len(d.Body)))
		// decode again, because the result of decoding a broken stream depends on the limits of the
		// decoder
		if !bytes.Equal(again, d.Body) || short && !d.Truncated {
			return newBody(d.Body, ""), nil
		}
	}
	return newBody(d.Wire, coding.Join(codings)), nil
}
