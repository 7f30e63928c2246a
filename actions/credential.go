package actions

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Credential allows a publisher to submit requests for its origins. It contains no secret.
type Credential struct {
	Name    string    `json:"name"`
	Origins []string  `json:"origins"` // in the form of policy.Key
	Made    time.Time `json:"made"`
	Rotated time.Time `json:"rotated,omitzero"` // when its token was last replaced
	Former  time.Time `json:"former,omitzero"`  // until when the previous token is valid
	Expires time.Time `json:"expires,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`

	id string
}

// Valid reports whether c is neither expired nor revoked at the time at.
func (c *Credential) Valid(at time.Time) bool {
	return c.Revoked.IsZero() && (c.Expires.IsZero() || at.Before(c.Expires))
}

// A token is "acap_", the ID of its credential, "_" and 256 random bits. With so many bits a fast
// hash is safe; a slow one would help attackers who flood the server.
const (
	tokenMark = "acap_"
	idLength  = 8
)

type tokenHash [sha256.Size]byte

func hashOf(token string) tokenHash { return sha256.Sum256([]byte("acapcrawl token 1\n" + token)) }

// grant is a credential as it is stored.
type grant struct {
	Credential
	Hash       []byte `json:"hash"`
	FormerHash []byte `json:"former_hash,omitempty"`
}

// renew sets and returns a new token of g.
func (g *grant) renew() (token string) {
	secret := make([]byte, 32)
	rand.Read(secret)
	token = tokenMark + g.id + "_" + base64.RawURLEncoding.EncodeToString(secret)
	hash := hashOf(token)
	g.Hash = hash[:]
	return token
}

// admits reports whether token is a valid token of g at the time at. The comparison takes constant
// time.
func (g *grant) admits(token string, at time.Time) bool {
	hash, last := hashOf(token), tokenHash{}
	copy(last[:], g.FormerHash)
	current := subtle.ConstantTimeCompare(hash[:], g.Hash)
	former := subtle.ConstantTimeCompare(hash[:], last[:])
	if !at.Before(g.Former) {
		former = 0
	}
	return current|former == 1 && g.Valid(at)
}

// AddCredential makes a credential for origins in the form of policy.Key, and returns its token,
// which is not stored. If expires is zero, the credential is valid until it is revoked. A name
// cannot be used again, because the ledger refers to it. AddCredential, RotateCredential and
// RevokeCredential return a *Rejection for invalid arguments.
func (l *Ledger) AddCredential(name string, origins []string, expires time.Time) (token string, c Credential,
	err error) {
	switch {
	case !goodName(name):
		return "", c, reject(Malformed,
			"%q is not a valid name of a credential: use 1 to 40 letters, digits, dots, hyphens and underscores", name)
	case len(origins) == 0:
		return "", c, reject(Malformed, "a credential needs at least one origin")
	}
	for _, o := range origins {
		if key, err := originOf(o); err != nil || key != o {
			return "", c, reject(Malformed,
				"%q is not an origin: write scheme, host and port as in https://example.com", o)
		}
	}
	slices.Sort(origins)
	err = l.update(func(t *txn) error {
		switch there, err := t.grantOf(name); {
		case err != nil:
			return err
		case there != nil:
			return reject(Malformed, "a credential %q exists or existed: choose another name", name)
		case !expires.IsZero() && !expires.After(t.now):
			return reject(Malformed, "the date of expiry has already passed")
		}
		g := grant{Credential: Credential{Name: name, Origins: slices.Compact(origins), Made: t.now, Expires: expires,
			id: rand.Text()[:idLength]}}
		token = g.renew()
		c = g.Credential
		return t.grant("made", g)
	})
	return token, c, err
}

func goodName(name string) bool {
	return name != "" && len(name) <= 40 &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// RotateCredential gives a credential a new token. The old one stays valid for grace. If expires is
// zero, the expiry is not changed.
func (l *Ledger) RotateCredential(name string, grace time.Duration, expires time.Time) (token string, c Credential,
	err error) {
	err = l.update(func(t *txn) error {
		g, err := t.granted(name)
		if err != nil {
			return err
		}
		if !expires.IsZero() {
			g.Expires = expires
		}
		if !g.Valid(t.now) {
			return reject(Malformed,
				"the credential %q was revoked or has expired; give an expired one a new date of expiry with its "+
					"new token", name)
		}
		g.Rotated, g.Former, g.FormerHash = t.now, t.now.Add(grace), g.Hash
		token = g.renew()
		c = g.Credential
		return t.grant("rotated", g)
	})
	return token, c, err
}

// RevokeCredential ends a credential at once and for good. Requests that were submitted with the
// credential stay in force, but those that wait for confirmation by robots.txt are refused.
func (l *Ledger) RevokeCredential(name string) (c Credential, err error) {
	err = l.update(func(t *txn) error {
		g, err := t.granted(name)
		if err != nil {
			return err
		}
		if g.Revoked.IsZero() {
			g.Revoked, g.Former, g.FormerHash = t.now, time.Time{}, nil
			err = errors.Join(t.grant("revoked", g), t.refuseUnconfirmed(name))
		}
		c = g.Credential
		return err
	})
	return c, err
}

// refuseUnconfirmed refuses the requests of a credential that wait for confirmation.
func (t *txn) refuseUnconfirmed(name string) error {
	var list []Request
	err := t.open(func(r Request) error {
		if r.State == Seen && r.From.Credential == name {
			list = append(list, r)
		}
		return nil
	})
	for _, r := range list {
		r.State, r.Why = Refused, "its credential was revoked before a line of robots.txt confirmed it"
		err = errors.Join(err, t.note(string(Refused), &r))
	}
	return err
}

// Credentials returns all credentials, including revoked ones, sorted by name.
func (l *Ledger) Credentials() (list []Credential, err error) {
	err = l.view(func(t *txn) error {
		return t.grants(func(g grant) error {
			list = append(list, g.Credential)
			return nil
		})
	})
	slices.SortFunc(list, func(a, b Credential) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Authenticate returns the credential to which a token belongs. The error is the same *Rejection
// for every invalid token.
func (l *Ledger) Authenticate(token string) (c Credential, err error) {
	err = l.view(func(t *txn) error {
		g := grant{Hash: make([]byte, sha256.Size)}
		if id, marked := strings.CutPrefix(token, tokenMark); marked && len(id) > idLength {
			if data := t.tx.Bucket(bGrants).Get([]byte(id[:idLength])); data != nil {
				if g, err = readGrant([]byte(id[:idLength]), data); err != nil {
					return err
				}
			}
		}
		if !g.admits(token, l.o.Now()) {
			return reject(BadCredential, invalid)
		}
		c = g.Credential
		return nil
	})
	return c, err
}

const invalid = "the credential is not valid"

// grantOf returns the grant with a name, or nil.
func (t *txn) grantOf(name string) (found *grant, err error) {
	err = t.grants(func(g grant) error {
		if g.Name == name {
			found = &g
		}
		return nil
	})
	return found, err
}

// granted returns the grant with a name. If there is none, the error is a *Rejection.
func (t *txn) granted(name string) (grant, error) {
	g, err := t.grantOf(name)
	if err == nil && g == nil {
		err = reject(NotFound, "there is no credential %q", name)
	}
	if err != nil {
		return grant{}, err
	}
	return *g, nil
}

func (t *txn) grants(fn func(grant) error) error {
	return t.tx.Bucket(bGrants).ForEach(func(id, data []byte) error {
		g, err := readGrant(id, data)
		if err != nil {
			return err
		}
		return fn(g)
	})
}

func readGrant(id, data []byte) (g grant, err error) {
	if err := json.Unmarshal(data, &g); err != nil {
		return g, fmt.Errorf("a credential is damaged: %w", err)
	}
	g.id = string(id)
	return g, nil
}

// grant stores g and adds an entry to the chain. what says what was done with the credential, for
// example "revoked".
func (t *txn) grant(what string, g grant) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if err := t.tx.Bucket(bGrants).Put([]byte(g.id), data); err != nil {
		return err
	}
	t.touched = append(t.touched, g.Origins...)
	return t.remark(eventCredential, struct {
		What string `json:"what"`
		Credential
		Digest string `json:"digest"` // digest of the stored data, which reveals if the token was replaced
	}{what, g.Credential, g.digest(data)})
}

// digest returns the digest of g that is noted in the chain. data is g as stored.
func (g *grant) digest(data []byte) string { return digest(append([]byte(g.id), data...)) }

// checkGrant returns the grant of c if it is still valid and covers origin. If c is nil, which
// means the operator, the grant is empty. The error is a *Rejection.
func (t *txn) checkGrant(c *Credential, origin string) (g grant, err error) {
	if c == nil {
		return g, nil
	}
	data := t.tx.Bucket(bGrants).Get([]byte(c.id))
	if data == nil {
		return g, reject(BadCredential, invalid)
	}
	if g, err = readGrant([]byte(c.id), data); err != nil {
		return g, err
	}
	switch {
	case !g.Valid(t.now):
		return grant{}, reject(BadCredential, invalid)
	case !slices.Contains(g.Origins, origin):
		return grant{}, reject(WrongOrigin, "the credential is not for %s", origin)
	}
	return g, nil
}
