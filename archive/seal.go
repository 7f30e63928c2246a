package archive

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
)

// Reasons why a sealed text cannot be read.
var (
	errUnsealed  = errors.New("cannot be opened with its key")
	errDestroyed = errors.New("has lost its key")
)

// Each key seals only one text, so all texts can use the same nonce (NIST SP 800-38D 8: unique per
// key).
var nonce [12]byte

// seal encrypts plain with AES-256-GCM and appends the result to out, which may be plain[:0].
// belongs is the name of the owner. The name is authenticated: unseal fails with another name.
func seal(k key, belongs string, plain, out []byte) ([]byte, error) {
	g, err := sealer(k)
	if err != nil {
		return nil, err
	}
	return g.Seal(out, nonce[:], plain, []byte(belongs)), nil
}

func unseal(k key, belongs string, sealed []byte) ([]byte, error) {
	return unsealTo(nil, k, belongs, sealed)
}

// unsealTo is like unseal, but appends the plain text to out, which may be sealed[:0].
func unsealTo(out []byte, k key, belongs string, sealed []byte) ([]byte, error) {
	g, err := sealer(k)
	if err != nil {
		return nil, err
	}
	plain, err := g.Open(out, nonce[:], sealed, []byte(belongs))
	if err != nil {
		return nil, errUnsealed
	}
	return plain, nil
}

func sealer(k key) (cipher.AEAD, error) {
	if k.zero() {
		return nil, errDestroyed
	}
	b, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(b)
}

// randomSealer returns a cipher that puts a random nonce before each text, so that it can encrypt many texts.
func randomSealer(k key) (cipher.AEAD, error) {
	b, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(b)
}
