package actions

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// document is a receipt with its signature.
type document struct {
	Receipt json.RawMessage `json:"receipt"`
	JWS     *jws            `json:"jws,omitempty"`
}

// jws is a signature in the flattened form of RFC 7515 7.2.2.
type jws struct {
	Protected string `json:"protected"`
	Payload   string `json:"payload"`
	Signature string `json:"signature"`
}

// jwsHeader is the decoded content of Protected (RFC 8037 3.1).
type jwsHeader struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"` // thumbprint of the key
	Typ string `json:"typ"`
}

// jws signs the text of a receipt. It returns nil if there is no key.
func (l *Ledger) jws(payload []byte) *jws {
	if l.o.Key == nil {
		return nil
	}
	// encoding three strings cannot fail
	header, _ := json.Marshal(jwsHeader{Alg: "EdDSA", Kid: l.keyName(), Typ: "acapcrawl-receipt+json"})
	s := &jws{Protected: base64.RawURLEncoding.EncodeToString(header),
		Payload: base64.RawURLEncoding.EncodeToString(payload)}
	s.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(l.o.Key, s.text()))
	return s
}

// text returns the signed text (RFC 7515 5.1).
func (s *jws) text() []byte { return []byte(s.Protected + "." + s.Payload) }

// ReadReceipt parses a receipt, which other programs may have indented. If key is not nil, the
// receipt must be signed with the private key that belongs to key. The error is a clause about the
// text.
func ReadReceipt(text []byte, key ed25519.PublicKey) (r Receipt, err error) {
	_, r, err = readDocument(text, key)
	return r, err
}

// readDocument is like ReadReceipt, but also returns the document as it was written.
func readDocument(text []byte, key ed25519.PublicKey) (written []byte, r Receipt, err error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil || d.Receipt == nil {
		return nil, r, errors.New("it is not a receipt")
	}
	switch {
	case d.JWS == nil && key != nil:
		return nil, r, errors.New("it is not signed")
	case d.JWS != nil:
		payload, err := d.JWS.open(key)
		if err != nil {
			return nil, r, err
		}
		if !sameJSON(payload, d.Receipt) {
			return nil, r, errors.New("its content is not what was signed")
		}
		d.Receipt = payload
	}
	if err := json.Unmarshal(d.Receipt, &r); err != nil || r.Format != receiptFormat {
		return nil, r, fmt.Errorf("it is not a receipt of the format %s", receiptFormat)
	}
	if d.JWS == nil {
		if d.Receipt, err = plain(r); err != nil {
			return nil, r, err
		}
	}
	// the text has additional content, which another parser may read as the receipt
	if written, err = plain(d); err == nil && !sameJSON(text, written) {
		err = errors.New("it contains something in addition to a receipt")
	}
	return written, r, err
}

// open returns the signed text. If key is not nil, the text must be signed with the private key
// that belongs to key.
func (s *jws) open(key ed25519.PublicKey) (payload []byte, err error) {
	var header map[string]any
	text, err := base64.RawURLEncoding.DecodeString(s.Protected)
	if err != nil || json.Unmarshal(text, &header) != nil || header["alg"] != "EdDSA" || header["crit"] != nil {
		return nil, errors.New("its signature is not one of Ed25519")
	}
	payload, err = base64.RawURLEncoding.DecodeString(s.Payload)
	signature, err2 := base64.RawURLEncoding.DecodeString(s.Signature)
	if err != nil || err2 != nil {
		return nil, errors.New("its signature cannot be read")
	}
	if key != nil && !ed25519.Verify(key, s.text(), signature) {
		if header["kid"] != thumbprint(key) {
			return nil, fmt.Errorf("it is signed with another key, %v", header["kid"])
		}
		return nil, errors.New("its signature is wrong")
	}
	return payload, nil
}

// sameJSON reports whether two texts differ only in white space and in escapes of characters.
func sameJSON(a, b []byte) bool {
	x, y := json.NewDecoder(bytes.NewReader(a)), json.NewDecoder(bytes.NewReader(b))
	x.UseNumber()
	y.UseNumber()
	for {
		s, errX := x.Token()
		t, errY := y.Token()
		if errX != nil || errY != nil {
			return errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF)
		}
		if s != t {
			return false
		}
	}
}
