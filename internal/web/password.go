package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// The cost of a hash of HashPassword (RFC 9106): passes, memory in KiB and threads.
const (
	argonTime, argonMemory, argonThreads = 3, 32 << 10, 1
	saltLength, hashLength               = 16, 32
)

// The limits of the cost of a hash in the settings: a login must not stop the server.
const (
	maxArgonTime, maxArgonMemory = 100, 1 << 20
	maxBcryptCost                = 16
)

// HashPassword returns the Argon2id hash of a password, in the form of its reference
// implementation.
func HashPassword(password string) string {
	salt := make([]byte, saltLength)
	rand.Read(salt)
	hash := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, hashLength)
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		text(salt), text(hash))
}

// CheckHash returns an error if hash is not a hash of a password, Argon2id or bcrypt, with an
// acceptable cost. The error does not contain the hash.
func CheckHash(hash string) error {
	if strings.HasPrefix(hash, "$argon2id$") {
		_, err := readArgon(hash)
		return err
	}
	cost, err := bcrypt.Cost([]byte(hash))
	switch {
	case err != nil:
		return errNoHash
	case cost > maxBcryptCost:
		return fmt.Errorf("its cost is %d; at most %d is accepted", cost, maxBcryptCost)
	}
	return nil
}

var errNoHash = errors.New("it is neither a hash printed by serve password nor a bcrypt hash")

// argonHash holds the parts of an Argon2id hash.
type argonHash struct {
	memory, time uint32
	threads      uint8
	salt, hash   []byte
}

func readArgon(text string) (h argonHash, err error) {
	parts := strings.Split(text, "$")
	version := 0
	if len(parts) == 6 {
		_, err = fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &h.memory, &h.time, &h.threads)
	}
	if err != nil || version != argon2.Version || h.time == 0 || h.threads == 0 {
		return h, errNoHash
	}
	if h.time > maxArgonTime || h.memory > maxArgonMemory {
		return h, fmt.Errorf("its cost is m=%d,t=%d; at most m=%d,t=%d is accepted", h.memory, h.time, maxArgonMemory,
			maxArgonTime)
	}
	var errs [2]error
	h.salt, errs[0] = base64.RawStdEncoding.DecodeString(parts[4])
	h.hash, errs[1] = base64.RawStdEncoding.DecodeString(parts[5])
	if errors.Join(errs[:]...) != nil || len(h.salt) < 8 || len(h.hash) < saltLength {
		return h, errNoHash
	}
	return h, nil
}

// passwords checks the password of the operator, one at a time because a check needs much memory
// and time.
type passwords struct {
	hash string
	turn chan struct{}
}

// admits reports whether password is the operator's. If no password is set, none is.
func (p *passwords) admits(ctx context.Context, password string) (bool, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if !strings.HasPrefix(p.hash, "$argon2id$") {
		return p.hash != "" && CheckHash(p.hash) == nil &&
			bcrypt.CompareHashAndPassword([]byte(p.hash), []byte(password)) == nil, nil
	}
	h, err := readArgon(p.hash)
	if err != nil {
		return false, nil //nolint:nilerr // New's caller has checked the hash; a wrong one admits nobody
	}
	is := argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, uint32(len(h.hash)))
	return subtle.ConstantTimeCompare(is, h.hash) == 1, nil
}
