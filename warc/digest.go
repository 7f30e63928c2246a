package warc

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strings"
)

// Digest returns the SHA-256 of the concatenated parts, preceded by the name of the algorithm.
func Digest(parts ...[]byte) string {
	return "sha256:" + hex.EncodeToString(sum(sha256.New(), parts))
}

func sum(h hash.Hash, parts [][]byte) []byte {
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// Matches reports whether digest is the digest of the concatenated parts. digest consists of the
// name of an algorithm, a colon, and the value, which is in hexadecimal, base32 or base64 (RFC
// 4648). known is false if the algorithm is not supported.
func Matches(digest string, parts ...[]byte) (matches, known bool) {
	name, value, labelled := strings.Cut(digest, ":")
	h := algorithm(name)
	if h == nil || !labelled {
		return false, false
	}
	value = strings.TrimRight(strings.TrimSpace(value), "=")
	for _, decode := range []func(string) ([]byte, error){
		func(s string) ([]byte, error) { return hex.DecodeString(s) },
		func(s string) ([]byte, error) {
			return base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(s))
		},
		base64.RawStdEncoding.DecodeString,
		base64.RawURLEncoding.DecodeString,
	} {
		if want, err := decode(value); err == nil && len(want) == h.Size() {
			return bytes.Equal(sum(h, parts), want), true
		}
	}
	return false, true
}

func algorithm(name string) hash.Hash {
	switch strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "") {
	case "md5":
		return md5.New()
	case "sha1":
		return sha1.New()
	case "sha256":
		return sha256.New()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// Check compares the digests of a record with its block and its payload. payloads are the possible
// payloads: tools differ in whether they compute the digest before or after undoing a transfer
// coding. Check returns a clause that describes the first digest that does not match, or "" if all
// match.
func (r *Record) Check(block []byte, payloads ...[]byte) string {
	if d := r.Fields.Get(fieldBlockDigest); d != "" {
		if ok, known := Matches(d, block); known && !ok {
			return "its block does not have the digest " + d
		}
	}
	d := r.Fields.Get(fieldPayloadDigest)
	if d == "" {
		return ""
	}
	for _, p := range payloads {
		if ok, known := Matches(d, p); ok || !known {
			return ""
		}
	}
	if len(payloads) > 0 {
		return "its payload does not have the digest " + d
	}
	return ""
}

// PayloadDigest returns the labelled digest of the payload, or "".
func (r *Record) PayloadDigest() string { return r.Fields.Get(fieldPayloadDigest) }
