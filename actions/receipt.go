package actions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Issuer is the operator that executes requests, as named in receipts.
type Issuer struct {
	Crawler string `json:"crawler"`           // the user-agent token for which policies are evaluated
	Contact string `json:"contact,omitempty"` // URL under which the operator can be contacted
	Version string `json:"version,omitempty"` // version of the program
}

// Receipt is the result of a request (P1 2.6). It contains no content of the resource.
type Receipt struct {
	Format    string    `json:"format"` // Format, Ledger and Issuer are set by putReceipt
	ID        uint64    `json:"id"`
	Action    string    `json:"action"`
	URL       string    `json:"url"`
	Origin    string    `json:"origin"`
	Source    Source    `json:"source"`
	Asked     time.Time `json:"asked"`
	Confirmed time.Time `json:"confirmed,omitzero"`
	Done      time.Time `json:"done"`
	// since when no file has contained traces of the taken-down resource
	Gone     time.Time `json:"gone,omitzero"`
	Erased   *Erasure  `json:"erased,omitempty"`   // what a take-down erased
	Verified *Verified `json:"verified,omitempty"` // the check of a take-down
	Visited  *Visited  `json:"visited,omitempty"`  // the visit of a re-crawl
	Standing bool      `json:"standing"`
	*Spread            // nil if this machine crawls alone
	Ledger   Head      `json:"ledger"` // end of the chain when the receipt was written
	Issuer   Issuer    `json:"operator"`
}

// newReceipt returns the receipt of a request without Erased, Verified and Visited.
func newReceipt(r Request) Receipt {
	return Receipt{ID: r.ID, Action: r.Action, URL: r.URL, Origin: r.Origin, Source: r.From, Asked: r.Asked,
		Confirmed: r.Confirmed,
		Done:      r.Done, Gone: r.Gone, Standing: r.Standing, Spread: r.Spread}
}

// Verified is the result of the check after all files were compacted.
type Verified struct {
	At   time.Time `json:"at"`
	How  []string  `json:"how"`
	Left []string  `json:"left"` // what is still stored, in words; empty if nothing is
}

// Visited is the result of a re-crawl.
type Visited struct {
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty"`
}

const receiptFormat = "acapcrawl-receipt/1"

// putReceipt stores the receipt of a request and replaces an earlier receipt. It signs the receipt
// if there is a key, and notes the digest in the chain.
func (l *Ledger) putReceipt(t *txn, r Receipt) error {
	end, err := t.lastLink()
	if err != nil {
		return err
	}
	r.Format, r.Ledger, r.Issuer = receiptFormat, l.sign(end), l.o.Issuer
	payload, err := plain(r)
	if err != nil {
		return err
	}
	doc, err := plain(document{Receipt: payload, JWS: l.jws(payload)})
	if err != nil {
		return err
	}
	if err := t.tx.Bucket(bReceipts).Put(number(r.ID), doc); err != nil {
		return err
	}
	return t.remarkAbout(r.ID, eventReceipt, map[string]string{"digest": digest(doc)})
}

// Receipt returns the receipt of the request with an ID, exactly as it was written.
func (l *Ledger) Receipt(id uint64) (doc json.RawMessage, known bool, err error) {
	err = l.view(func(t *txn) error {
		doc = bytes.Clone(t.tx.Bucket(bReceipts).Get(number(id)))
		return nil
	})
	return doc, doc != nil, err
}

// VerifyReceipt parses a receipt and checks that this ledger issued it, now or earlier. The error
// is a clause about the receipt, unless it wraps ErrDamaged.
func (l *Ledger) VerifyReceipt(text []byte) (Receipt, error) {
	written, r, err := readDocument(text, nil)
	if err != nil {
		return r, err
	}
	history, err := l.History(r.ID)
	if err != nil {
		return r, err
	}
	sum := digest(written)
	for _, e := range history {
		var of struct{ Digest string }
		if e.Event == eventReceipt && json.Unmarshal(e.Data, &of) == nil && of.Digest == sum {
			return r, nil
		}
	}
	if key := l.PublicKey(); key != nil {
		if _, _, err := readDocument(text, key); err == nil {
			return r, errors.New(
				"it is signed with the key of the operator, but it is not in the chain: this ledger is not " +
					"the one that issued it")
		}
	}
	return r, errors.New("it is not in the chain: it was changed, or this ledger did not issue it")
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// plain returns v as JSON without escapes for HTML, which other programs do not write.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("a receipt cannot be written: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
