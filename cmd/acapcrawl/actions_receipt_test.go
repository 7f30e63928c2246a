package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// receiptConfig writes a configuration with a key for receipts to dir, and returns its name.
func receiptConfig(t *testing.T, dir string) (name string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)))
	key, name := filepath.Join(dir, "key.pem"), filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(key, pemOf(t, "PRIVATE KEY", der, err), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("actions:\n  receipt_key: "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// pemOf returns the DER data in PEM form. The argument err is the error of the function that made
// the DER data.
func pemOf(t *testing.T, kind string, der []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// A publisher who has only a receipt and the public key of the operator can verify the receipt. The
// check fails for a changed receipt and for another key.
func TestPublishersReceipt(t *testing.T) {
	t.Parallel()
	site, data := crawled(t, "/a.html", "/b.html")
	origin, dir := strings.TrimSuffix(site.URL, "/"), t.TempDir()
	file := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	config := receiptConfig(t, dir)
	der, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize)).Public())
	other := file("other.pem", pemOf(t, "PUBLIC KEY", der, err))

	made := call(t.Context(), data, "actions", "credentials", "add", "--config", config, "--json", "--name", "newsdesk",
		origin)
	var credential struct{ Token string }
	if err := json.Unmarshal([]byte(made.stdout), &credential); err != nil || credential.Token == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	s, end := startServe(t, data, "--config", config)
	defer end()
	s.token = credential.Token
	status, got := s.ask(t, "POST", "/api/v1/requests", "k1", fmt.Sprintf(`{"action":"take-down","url":%q}`,
		origin+"/a.html?x=1&y=2"))
	if status != 201 {
		t.Fatalf("%d %v", status, got)
	}
	status, got = s.ask(t, "POST", "/api/v1/requests", "k2", fmt.Sprintf(`{"action":"take-down","url":%q}`,
		origin+"/a.html"))
	if status != 201 {
		t.Fatalf("%d %v", status, got)
	}
	id := fmt.Sprint(got["id"])
	if got := call(t.Context(), data, "actions", "run", "--config", config); got.status != statusDone {
		t.Fatalf("%+v", got)
	}
	status, key := s.ask(t, "GET", "/api/v1/key", "", "")
	if status != 200 {
		t.Fatalf("%d %v", status, key)
	}
	status, receipt := s.ask(t, "GET", "/api/v1/requests/"+id+"/receipt", "", "")
	if status != 200 {
		t.Fatalf("%d %v", status, receipt)
	}
	asJSON := func(v any) []byte {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	public := file("key.jwk", asJSON(key))
	kept := filepath.Join(dir, "receipt.json")
	if got := call(t.Context(), data, "actions", "show", id, "--receipt", "-o", kept); got.status != statusDone {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	changed := file("changed.json", bytes.Replace(text, []byte(`"captures":1`), []byte(`"captures":2`), 1))
	verify := func(args ...string) int {
		return call(t.Context(), data, append([]string{"actions", "verify"}, args...)...).status
	}
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"by the key":        {[]string{"--receipt", kept, "--public-key", public}, statusDone},
		"by the ledger":     {[]string{"--config", config, "--receipt", kept}, statusDone},
		"changed":           {[]string{"--receipt", changed, "--public-key", public}, statusNothing},
		"changed, ledger":   {[]string{"--config", config, "--receipt", changed}, statusNothing},
		"another key":       {[]string{"--receipt", kept, "--public-key", other}, statusNothing},
		"no key":            {[]string{"--receipt", kept, "--public-key", kept}, statusUsage},
		"a receipt is none": {[]string{"--receipt", public, "--public-key", public}, statusNothing},
	} {
		if got := verify(c.args...); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
	if !bytes.Contains(text, []byte(`"captures":1`)) {
		t.Errorf("it does not say what was erased: %s", text)
	}
	if got := call(t.Context(), data, "actions", "show", id, "--receipt", "-o", kept); got.status != statusUsage {
		t.Errorf("the file is replaced: %+v", got)
	}
}
