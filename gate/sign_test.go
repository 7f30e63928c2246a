package gate

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// testKey is the Ed25519 key of RFC 9421 B.1.4.
const testKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
`

func newSigner(t *testing.T, agent string, now func() time.Time) *Signer {
	t.Helper()
	s, err := NewSigner([]byte(testKey), agent, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSignatureVector compares a signature with RFC 9421 B.2.6, and the ID of the key with the
// drafts of Web Bot Auth.
func TestSignatureVector(t *testing.T) {
	s := newSigner(t, "", time.Now)
	covered := []component{
		{`"date"`, "Tue, 20 Apr 2021 02:07:55 GMT"},
		{`"@method"`, "POST"},
		{`"@path"`, "/foo"},
		{`"@authority"`, "example.com"},
		{`"content-type"`, "application/json"},
		{`"content-length"`, "18"},
	}
	base := signatureBase(covered, identifierList(covered)+`;created=1618884473;keyid="test-key-ed25519"`)
	const want = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
	if got := base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, base)); got != want {
		t.Errorf("signature %s of\n%s", got, base)
	}
	if s.id != "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U" {
		t.Errorf("thumbprint %s", s.id)
	}
}

// verify checks the signature of a request as a host would, only from the request itself.
func verify(r *http.Request, key ed25519.PublicKey) error {
	input, ok := strings.CutPrefix(r.Header.Get("Signature-Input"), "sig1=")
	signature, ok2 := strings.CutPrefix(r.Header.Get("Signature"), "sig1=:")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(signature, ":"))
	if !ok || !ok2 || err != nil {
		return fmt.Errorf("header: %v", r.Header)
	}
	var base strings.Builder
	ids, _, _ := strings.Cut(strings.TrimPrefix(input, "("), ")")
	for _, id := range strings.Fields(ids) {
		switch id {
		case `"@authority"`:
			base.WriteString(id + ": " + strings.ToLower(r.Host) + "\n")
		case `"signature-agent";key="sig1"`:
			agent, _ := strings.CutPrefix(r.Header.Get("Signature-Agent"), "sig1=")
			base.WriteString(id + ": " + agent + "\n")
		default:
			return fmt.Errorf("%s is covered", id)
		}
	}
	base.WriteString(`"@signature-params": ` + input)
	if !ed25519.Verify(key, []byte(base.String()), raw) {
		return fmt.Errorf("wrong signature of\n%s", base.String())
	}
	return nil
}

func TestEachHopIsSigned(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	signer := newSigner(t, "https://crawler.example.com", func() time.Time { return now })
	key := signer.key.Public().(ed25519.PublicKey)
	inputs := map[string]bool{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if err := verify(r, key); err != nil {
			t.Errorf("%s: %v", r.URL, err)
		}
		input := r.Header.Get("Signature-Input")
		inputs[input] = true
		m := regexp.MustCompile(`^sig1=\("@authority" "signature-agent";key="sig1"\);created=(\d+);expires=(\d+);` +
			`keyid="poqk[\w-]+";alg="ed25519";nonce="[\w+/=]+";tag="web-bot-auth"$`).FindStringSubmatch(input)
		if m == nil || m[1] != strconv.FormatInt(now.Unix(), 10) ||
			m[2] != strconv.FormatInt(now.Add(signatureLife).Unix(), 10) {
			t.Errorf("input %s", input)
		}
		if len(r.Header.Values("Signature")) != 1 ||
			r.Header.Get("Signature-Agent") != `sig1="https://crawler.example.com"` {
			t.Errorf("header %v", r.Header)
		}
	}
	target := newSite(t, handler)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		handler(w, r)
		if r.URL.Path == "/old" {
			http.Redirect(w, r, target.URL+"/new", http.StatusFound)
		}
	})
	g := newGate(t, Options{Sign: signer}, rule(open), s, target)
	req, err := http.NewRequestWithContext(With(t.Context(), PageRequest, nil), "GET", s.URL+"/old", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: g}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, err := g.Fetch(t.Context(), s.URL+"/robots.txt"); err != nil {
		t.Fatal(err)
	}
	if len(inputs) != 3 { // no two signatures are equal
		t.Errorf("%d signatures of 3 requests", len(inputs))
	}
	if req.Header.Get("Signature") != "" {
		t.Error("the caller's request was changed")
	}
}

func TestSignWithoutAgent(t *testing.T) {
	s := newSigner(t, "", time.Now)
	r := &http.Request{Host: "example.com", Header: http.Header{"Signature-Agent": {"another"}}}
	s.sign(r.Header, r.Host)
	if err := verify(r, s.key.Public().(ed25519.PublicKey)); err != nil || r.Header.Get("Signature-Agent") != "" {
		t.Errorf("%v, %v", err, r.Header)
	}
}

func TestAuthority(t *testing.T) {
	for raw, want := range map[string]string{ // RFC 9421 2.2.3: the host without its default port
		"http://EXAMPLE.com/":       "example.com",
		"http://example.com:80/":    "example.com",
		"https://example.com:443/x": "example.com",
		"https://example.com:80/":   "example.com:80",
		"http://example.com:8080/":  "example.com:8080",
		"https://[2001:DB8::1]/":    "[2001:db8::1]",
		"http://bücher.example/":    "xn--bcher-kva.example",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		key, err := address.Endpoint(u)
		if got := authority(u, key); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", raw, got, err, want)
		}
	}
}

func TestNewSignerRefuses(t *testing.T) {
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	for name, c := range map[string]struct{ key, agent string }{
		"nothing":       {"", ""},
		"no PEM":        {"secret", ""},
		"public key":    {block("PUBLIC KEY", der), ""},
		"broken":        {block("PRIVATE KEY", []byte("x")), ""},
		"other kind":    {block("PRIVATE KEY", der), ""},
		"http agent":    {testKey, "http://example.com"},
		"no host":       {testKey, "https:///x"},
		"user in agent": {testKey, "https://me:secret@example.com"},
		"quote":         {testKey, `https://example.com/"x`},
		"header":        {testKey, "https://example.com/\r\nCookie:x"},
		"mail":          {testKey, "mailto:me@example.com"},
	} {
		if s, err := NewSigner([]byte(c.key), c.agent, time.Now); err == nil || s != nil ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
