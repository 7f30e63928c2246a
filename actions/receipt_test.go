package actions

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// receipted returns a ledger and a receipt. The URL in the receipt contains characters that JSON
// encoders escape in different ways.
func receipted(t *testing.T, o Options) (l *Ledger, doc []byte) {
	t.Helper()
	l = openWith(t, filepath.Join(t.TempDir(), "actions.db"), o)
	l.db.NoSync = true
	run(t, l, &crew{}, asks(down+"/x?a=1&b=<ü>"))
	return l, receipt(t, l)
}

func receipt(t *testing.T, l *Ledger) json.RawMessage {
	t.Helper()
	note(t, l, func(x *txn) error {
		r, _, err := x.request(1)
		if err != nil {
			return err
		}
		out := newReceipt(r)
		out.Erased, out.Verified = &Erasure{Captures: 1, Keys: 2}, &Verified{At: x.now, How: []string{"no key"},
			Left: []string{}}
		return l.putReceipt(x, out)
	})
	doc, known, err := l.Receipt(1)
	if err != nil || !known {
		t.Fatal(known, err)
	}
	return doc
}

func TestReceipt(t *testing.T) {
	issuer := Issuer{Crawler: "gazer", Contact: "https://gazer.example/"}
	l, doc := receipted(t, Options{Key: operatorKey(1), Issuer: issuer})
	var indented, escaped bytes.Buffer
	if err := json.Indent(&indented, doc, "", "  "); err != nil {
		t.Fatal(err)
	}
	json.HTMLEscape(&escaped, doc)
	for _, text := range [][]byte{doc, indented.Bytes(), escaped.Bytes()} {
		r, err := ReadReceipt(text, l.PublicKey())
		if err != nil || r.ID != 1 || r.Action != acap.TakeDown || r.Issuer != issuer || r.Erased.Keys != 2 ||
			r.Ledger.Seq == 0 || r.Ledger.signedBy(l.PublicKey()) != nil {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := l.VerifyReceipt(text); err != nil {
			t.Error(err)
		}
		if got := breaks(t, l, r.Ledger); got != "" {
			t.Error(got)
		}
		if _, err := ReadReceipt(text, operatorKey(2).Public().(ed25519.PublicKey)); err == nil {
			t.Error("another key signed it, too")
		}
	}
	receipt(t, l)
	if _, err := l.VerifyReceipt(doc); err != nil {
		t.Errorf("an earlier receipt: %v", err)
	}
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
	other, _ := receipted(t, Options{Key: operatorKey(1)})
	if _, err := other.VerifyReceipt(doc); err == nil || !strings.Contains(err.Error(), "not the one that issued it") {
		t.Error(err)
	}
	if _, known, err := l.Receipt(2); known || err != nil {
		t.Error(known, err)
	}
}

// A receipt is rejected if any byte was changed, if its signature is missing, or if its content was
// replaced.
func TestReceiptChanged(t *testing.T) {
	l, doc := receipted(t, Options{Key: operatorKey(1)})
	for i := range doc {
		changed := bytes.Clone(doc)
		changed[i] ^= 1
		if _, err := ReadReceipt(changed, l.PublicKey()); err == nil {
			t.Errorf("byte %d of %s can be changed", i, doc)
		}
	}
	var d document
	if err := json.Unmarshal(doc, &d); err != nil {
		t.Fatal(err)
	}
	d.JWS = nil
	bare, err := plain(d)
	if err != nil {
		t.Fatal(err)
	}
	doubled := bytes.Replace(doc, []byte(`"id":1,`), []byte(`"id":2,"id":1,`), 1)
	none := bytes.Replace(doc, []byte(d.Receipt), []byte("{}"), 1)
	for _, text := range [][]byte{bare, doubled, none, nil, []byte("{}"), []byte("null"), []byte(`{"receipt":null}`),
		[]byte(`{"receipt":{},"jws":{}}`)} {
		if r, err := ReadReceipt(text, l.PublicKey()); err == nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// A receipt is rejected if another JSON parser may read additional content: duplicate members, or
// names in other letter case.
func TestReceiptBeside(t *testing.T) {
	for _, o := range []Options{{Key: operatorKey(1)}, {}} {
		l, doc := receipted(t, o)
		forged := bytes.Replace(doc[:len(doc)-1], []byte(`"captures":1`), []byte(`"captures":3`), 1)
		forged = forged[1:]
		for _, text := range []string{
			"{" + string(forged) + "," + string(doc[1:]),
			"{" + string(forged) + "," + strings.ReplaceAll(string(doc[1:]), `"receipt":`, `"Receipt":`),
			strings.Replace(string(doc), `"erased":`, `"erased":{"captures":3},"Erased":`, 1),
			strings.Replace(string(doc), `{"receipt":`, `{"note":"3 copies","receipt":`, 1),
			strings.Replace(string(doc), `"id":1,`, `"id":1,"note":"3 copies",`, 1),
		} {
			if !json.Valid([]byte(text)) {
				t.Fatal(text)
			}
			if r, err := l.VerifyReceipt([]byte(text)); err == nil {
				t.Errorf("%s: %+v", text, r)
			}
			if r, err := ReadReceipt([]byte(text), l.PublicKey()); err == nil {
				t.Errorf("%s: %+v", text, r)
			}
		}
	}
}

func TestReceiptUnsigned(t *testing.T) {
	l, doc := receipted(t, Options{})
	if _, err := l.VerifyReceipt(doc); err != nil {
		t.Error(err)
	}
	if _, err := l.VerifyReceipt(bytes.Replace(doc, []byte(`"captures":1`), []byte(`"captures":3`), 1)); err == nil {
		t.Error("it can be changed")
	}
	if _, err := ReadReceipt(doc, operatorKey(1).Public().(ed25519.PublicKey)); err == nil {
		t.Error("it is signed")
	}
}

// The example of RFC 8037 A: the key, its thumbprint, and a signature.
func TestRFC8037(t *testing.T) {
	public, err := PublicKey([]byte(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := thumbprint(public); got != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Error(got)
	}
	s := jws{"eyJhbGciOiJFZERTQSJ9", "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
		"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"}
	if payload, err := s.open(public); err != nil || string(payload) != "Example of Ed25519 signing" {
		t.Errorf("%s, %v", payload, err)
	}
	if again, err := PublicKey(JWK(public)); err != nil || !again.Equal(public) {
		t.Error(err)
	}
}

func TestKeyFiles(t *testing.T) {
	pemOf := func(kind string, der []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	key := operatorKey(1)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if got, err := PrivateKey(pemOf("PRIVATE KEY", der, err)); err != nil || !got.Equal(key) {
		t.Error(err)
	}
	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if got, err := PublicKey(pemOf("PUBLIC KEY", pub, err)); err != nil || !got.Equal(key.Public()) {
		t.Error(err)
	}
	for _, text := range [][]byte{nil, []byte("{}"), []byte("x"), pemOf("PRIVATE KEY", []byte("x"), nil),
		pemOf("PUBLIC KEY", der, nil), pemOf("PRIVATE KEY", pub, nil),
		[]byte(`{"kty":"OKP","crv":"Ed25519","x":"AA"}`)} {
		if _, err := PrivateKey(text); err == nil {
			t.Errorf("%s is a private key", text)
		}
		if _, err := PublicKey(text); err == nil {
			t.Errorf("%s is a public key", text)
		}
	}
}
