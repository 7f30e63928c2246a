package archive

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
)

// Why a sealed text cannot be read.
var (
	errUnsealed  = errors.New("cannot be opened with its key")
	errDestroyed = errors.New("has lost its key")
)

// A key seals one text and no other, so the nonce need not vary (NIST SP 800-38D 8: unique per
// key).
var nonce [12]byte

// seal encrypts plain with AES-256-GCM and appends it to out, which may be plain[:0]. What it
// belongs to is authenticated with it and must be given to open it.
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

// unsealTo is unseal that appends to out, which may be sealed[:0].
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
