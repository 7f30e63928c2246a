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

// signatureLife is how long a signature is valid: long enough for clocks that differ, too short for
// somebody else to use the signature.
const signatureLife = 5 * time.Minute

// signatureLabel is the label of the signature in the header of a request (RFC 9421 4.1).
const signatureLabel = "sig1"

// Signer signs requests with an Ed25519 key (RFC 9421) in the form of Web Bot Auth
// (draft-ietf-webbotauth-httpsig-protocol-00). So a host can distinguish this crawler from programs
// that only use its name. It is safe for concurrent use.
type Signer struct {
	key   ed25519.PrivateKey
	id    string
	agent string
	now   func() time.Time
}

// NewSigner returns a Signer with a private key (PEM, PKCS 8). agent is the https URL of the site
// that publishes the public key in /.well-known/http-message-signatures-directory. If agent is "",
// hosts must learn the public key in another way. now returns the time, which must be right to
// about a minute.
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
	if agent != "" && !validAgent(agent) {
		return nil, fmt.Errorf("%q is not an https URL that the signing key can be published at", agent)
	}
	return &Signer{key: private, id: thumbprint(private.Public().(ed25519.PublicKey)), agent: agent, now: now}, nil
}

// validAgent reports whether agent is the https URL of a site and contains only characters that a
// string may contain (RFC 9651 3.3.3).
func validAgent(agent string) bool {
	u, err := url.Parse(agent)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil &&
		!strings.ContainsFunc(agent, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// thumbprint returns the ID of a key: the digest of its JWK (RFC 7638, RFC 8037 2).
func thumbprint(key ed25519.PublicKey) string {
	jwk := `{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(key) + `"}`
	digest := sha256.Sum256([]byte(jwk))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// component is a part of a message that a signature covers: its serialised identifier and its value
// (RFC 9421 2).
type component struct{ id, value string }

// sign adds the headers of a signature to h, the header of a request to the host authority.
func (s *Signer) sign(h http.Header, authority string) {
	covered := []component{{`"@authority"`, authority}}
	h.Del("Signature-Agent")
	if s.agent != "" {
		h.Set("Signature-Agent", signatureLabel+`="`+s.agent+`"`)
		covered = append(covered, component{`"signature-agent";key="` + signatureLabel + `"`, `"` + s.agent + `"`})
	}
	var nonce [32]byte
	_, _ = rand.Read(nonce[:]) // rand.Read never returns an error
	now := s.now()
	params := fmt.Sprintf(`%s;created=%d;expires=%d;keyid="%s";alg="ed25519";nonce="%s";tag="web-bot-auth"`,
		identifierList(covered), now.Unix(), now.Add(signatureLife).Unix(), s.id,
		base64.StdEncoding.EncodeToString(nonce[:]))
	signature := ed25519.Sign(s.key, signatureBase(covered, params))
	h.Set("Signature-Input", signatureLabel+"="+params)
	h.Set("Signature", signatureLabel+"=:"+base64.StdEncoding.EncodeToString(signature)+":")
}

// identifierList returns the identifiers of covered as an inner list (RFC 9421 2.3).
func identifierList(covered []component) string {
	ids := make([]string, len(covered))
	for i, c := range covered {
		ids[i] = c.id
	}
	return "(" + strings.Join(ids, " ") + ")"
}

// signatureBase returns the text that is signed (RFC 9421 2.5). params must begin with the list of
// the identifiers of covered.
func signatureBase(covered []component, params string) []byte {
	var b strings.Builder
	for _, c := range covered {
		b.WriteString(c.id + ": " + c.value + "\n")
	}
	b.WriteString(`"@signature-params": ` + params)
	return []byte(b.String())
}

// authority returns the host of a request as the signature covers it, from the URL and the host key
// (host:port). The port is omitted if it is the default port (RFC 9421 2.2.3).
func authority(u *url.URL, key string) string {
	if u.Scheme == "https" {
		return strings.TrimSuffix(key, ":443")
	}
	return strings.TrimSuffix(key, ":80")
}
