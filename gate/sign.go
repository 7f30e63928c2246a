package gate

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// signatureLife is how long a signature counts: long enough for clocks that differ, too short to be
// of use to others.
const signatureLife = 5 * time.Minute

// signatureLabel names our signature among those of a message (RFC 9421 4.1).
const signatureLabel = "sig1"

// Signer signs requests with an Ed25519 key (RFC 9421), as Web Bot Auth has it
// (draft-ietf-webbotauth-httpsig-protocol-00), so that a host can tell this crawler from those who
// only use its name. It is safe for concurrent use.
type Signer struct {
	key   ed25519.PrivateKey
	id    string
	agent string
	now   func() time.Time
}

// NewSigner takes a private key (PEM, PKCS 8) and the https URL of the site that publishes its
// other half in /.well-known/http-message-signatures-directory; with "" the key is known to those
// who verify it by other means. now is the clock, which must be right to a minute or so.
func NewSigner(key []byte, agent string, now func() time.Time) (*Signer, error) {
	block, _ := pem.Decode(key)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("the signing key is not a PRIVATE KEY in PEM (PKCS 8)")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the signing key cannot be read: %w", err)
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("the signing key is not an Ed25519 key")
	}
	if agent != "" && !publishes(agent) {
		return nil, fmt.Errorf("%q is not an https URL that the signing key can be published at", agent)
	}
	return &Signer{key: private, id: thumbprint(private.Public().(ed25519.PublicKey)), agent: agent, now: now}, nil
}

// publishes reports whether agent can be the site of a directory, and stand in a string (RFC 9651
// 3.3.3).
func publishes(agent string) bool {
	u, err := url.Parse(agent)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil &&
		!strings.ContainsFunc(agent, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// thumbprint is the name of a key: the digest of its JWK (RFC 7638, RFC 8037 2).
func thumbprint(key ed25519.PublicKey) string {
	jwk := `{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(key) + `"}`
	digest := sha256.Sum256([]byte(jwk))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// component is a part of a message that a signature covers: its identifier as serialised, and its
// value (RFC 9421 2).
type component struct{ id, value string }

// sign adds the headers of a signature to h, which goes to the authority.
func (s *Signer) sign(h http.Header, authority string) {
	covered := []component{{`"@authority"`, authority}}
	h.Del("Signature-Agent")
	if s.agent != "" {
		h.Set("Signature-Agent", signatureLabel+`="`+s.agent+`"`)
		covered = append(covered, component{`"signature-agent";key="` + signatureLabel + `"`, `"` + s.agent + `"`})
	}
	var nonce [32]byte
	_, _ = rand.Read(nonce[:]) // never fails
	now := s.now()
	params := fmt.Sprintf(`%s;created=%d;expires=%d;keyid="%s";alg="ed25519";nonce="%s";tag="web-bot-auth"`,
		list(covered), now.Unix(), now.Add(signatureLife).Unix(), s.id, base64.StdEncoding.EncodeToString(nonce[:]))
	signature := ed25519.Sign(s.key, signatureBase(covered, params))
	h.Set("Signature-Input", signatureLabel+"="+params)
	h.Set("Signature", signatureLabel+"=:"+base64.StdEncoding.EncodeToString(signature)+":")
}

// list is the inner list of the identifiers.
func list(covered []component) string {
	ids := make([]string, len(covered))
	for i, c := range covered {
		ids[i] = c.id
	}
	return "(" + strings.Join(ids, " ") + ")"
}

// signatureBase is what is signed (RFC 9421 2.5); params begins with the list of the covered
// components.
func signatureBase(covered []component, params string) []byte {
	var b strings.Builder
	for _, c := range covered {
		b.WriteString(c.id + ": " + c.value + "\n")
	}
	b.WriteString(`"@signature-params": ` + params)
	return []byte(b.String())
}

// authority is the host of a request as it is signed, from its URL and host key: without the port
// where it is the usual one (RFC 9421 2.2.3).
func authority(u *url.URL, key string) string {
	if u.Scheme == "https" {
		return strings.TrimSuffix(key, ":443")
	}
	return strings.TrimSuffix(key, ":80")
}
