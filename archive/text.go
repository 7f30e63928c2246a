package archive

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/netip"

	"github.com/acapcrawl/acapcrawl/acap"
)

// captureText is the sealed part of a capture, which derives from the page. It is stored as
// compressed JSON followed by the exchanges.
type captureText struct {
	MIME    string                `json:",omitempty"`
	Address netip.Addr            `json:",omitzero"`
	Hops    []Via                 `json:",omitempty"`
	Policy  PolicyVersion         `json:",omitzero"`
	Own     acap.Own              `json:",omitzero"`
	Decided map[acap.Usage]string `json:",omitempty"`
	Cuts    []string              `json:",omitempty"`

	exchanges []exchange // an exchange for each hop, and then one for the capture itself
}

// exchange contains the heads of a request and its answer, byte for byte.
type exchange struct {
	sent, head []byte // the heads as sent
	header     []byte // header of the answer, encoded by packHeader
}

// textOf returns the part of the deposit d that must be sealed.
func textOf(d *Deposit) captureText {
	t := captureText{MIME: d.Resource.MIME, Address: d.Address, Hops: d.Hops, Policy: d.Policy.utc(),
		Own: d.Resource.Own, Decided: d.Decided, Cuts: d.Cuts}
	for _, h := range d.Hops {
		t.add(h.Sent, h.Head, h.Header)
	}
	t.add(d.Sent, d.Head, d.Header)
	return t
}

func (t *captureText) add(sent, head []byte, h http.Header) {
	t.exchanges = append(t.exchanges, exchange{sent, head, packHeader(h)})
}

// plain returns the encoded text before compression.
func (t captureText) plain() ([]byte, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	size := len(text) + 8
	for _, x := range t.exchanges {
		size += len(x.sent) + len(x.head) + len(x.header) + 12
	}
	out := appendField(make([]byte, 0, size), text)
	for _, x := range t.exchanges {
		out = appendField(appendField(appendField(out, x.sent), x.head), x.header)
	}
	return out, nil
}

// packText compresses plain, a text in encoded form.
func packText(p *packer, plain []byte) []byte {
	packed, how := p.packText(plain)
	defer p.reuse(packed)
	out := binary.AppendUvarint(append(make([]byte, 0, len(packed)+8), byte(how)), uint64(len(plain)))
	return append(out, packed...)
}

// decode decodes a text after it was unsealed.
func (t *captureText) decode(p *packer, sealed []byte) error {
	if len(sealed) == 0 {
		return errRecord
	}
	size, w := binary.Uvarint(sealed[1:])
	if w <= 0 {
		return errRecord
	}
	plain, err := p.unpack(sealed[1+w:], codec(sealed[0]), size)
	if err != nil {
		return err
	}
	text, rest, ok := cutField(plain)
	if !ok || json.Unmarshal(text, t) != nil {
		return errRecord
	}
	for len(rest) > 0 {
		var x exchange
		for _, field := range []*[]byte{&x.sent, &x.head, &x.header} {
			if *field, rest, ok = cutField(rest); !ok {
				return errRecord
			}
		}
		t.exchanges = append(t.exchanges, x)
	}
	return nil
}

// appendField appends the length of b and then b itself.
func appendField(out, b []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(b))), b...)
}

// cutField returns the first field of b, as written by appendField, and the rest. An empty field is
// nil.
func cutField(b []byte) (field, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, false
	}
	field, rest = b[w:w+int(n):w+int(n)], b[w+int(n):]
	if n == 0 {
		field = nil
	}
	return field, rest, true
}
