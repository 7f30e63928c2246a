package actions

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
)

// thumbprint returns the name of a key: the digest of its JWK (RFC 7638, RFC 8037 2).
func thumbprint(key ed25519.PublicKey) string {
	digest := sha256.Sum256(JWK(key))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// JWK returns a public key in the form that publishers get (RFC 8037 2).
func JWK(key ed25519.PublicKey) []byte {
	return []byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(key) + `"}`)
}

// PrivateKey parses the text of a private key for Options.Key (PEM, PKCS 8, Ed25519). The error is
// a clause about the text.
func PrivateKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("it is not a PRIVATE KEY in PEM (PKCS 8)")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("it is not an Ed25519 key")
	}
	return key, nil
}

// PublicKey parses an Ed25519 public key: PEM as written by openssl pkey -pubout, or JWK (RFC
// 8037). The error is a clause about the text.
func PublicKey(text []byte) (ed25519.PublicKey, error) {
	if block, _ := pem.Decode(text); block != nil {
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if key, ok := parsed.(ed25519.PublicKey); err == nil && ok && block.Type == "PUBLIC KEY" {
			return key, nil
		}
		return nil, errors.New("it is not the PUBLIC KEY of an Ed25519 key in PEM")
	}
	var jwk struct{ Kty, Crv, X string }
	if err := json.Unmarshal(text, &jwk); err != nil || jwk.Kty != "OKP" || jwk.Crv != "Ed25519" {
		return nil, errors.New("it is neither a PUBLIC KEY in PEM nor a JWK of an Ed25519 key")
	}
	key, err := base64.RawURLEncoding.DecodeString(jwk.X)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("its x is not that of an Ed25519 key")
	}
	return key, nil
}

// PublicKey returns the public key of the signatures of heads and receipts, or nil.
func (l *Ledger) PublicKey() ed25519.PublicKey {
	if l.o.Key == nil {
		return nil
	}
	return l.o.Key.Public().(ed25519.PublicKey)
}

// keyName returns the thumbprint of the key that signs heads, or "".
func (l *Ledger) keyName() string {
	if l.o.Key == nil {
		return ""
	}
	return thumbprint(l.PublicKey())
}

// sign returns the head for the end of a chain. The head is signed if the ledger has a key.
func (l *Ledger) sign(end link) Head {
	h := end.head()
	if l.o.Key != nil {
		h.Key = l.keyName()
		h.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(l.o.Key, headText(end)))
	}
	return h
}

// headText returns the text that is signed for a head.
func headText(end link) []byte {
	return append(binary.BigEndian.AppendUint64([]byte("acapcrawl head 1\n"), end.seq), end.hash[:]...)
}

// signed checks the signature of a head if the head names the ledger's key. Heads with other keys
// are not checked.
func (l *Ledger) signed(h Head) error {
	if l.o.Key == nil || h.Key != l.keyName() {
		return nil
	}
	return h.signedBy(l.PublicKey())
}

// signedBy checks that a head was signed with the private key that belongs to key.
func (h Head) signedBy(key ed25519.PublicKey) error {
	hash, err := hex.DecodeString(h.Hash)
	if err != nil || len(hash) != sha256.Size {
		return errors.New("its hash is malformed")
	}
	signature, err := base64.RawURLEncoding.DecodeString(h.Signature)
	if err != nil || !ed25519.Verify(key, headText(link{h.Seq, [sha256.Size]byte(hash)}), signature) {
		return fmt.Errorf("its signature for entry %d is not made with the key of the operator", h.Seq)
	}
	return nil
}
