package actions

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Entry is one link of the chain. It is never changed, and contains no content of a resource and no
// secret.
type Entry struct {
	Seq   uint64    `json:"seq"`
	Time  time.Time `json:"time"`
	Event string    `json:"event"`           // a state, or one of the events below
	About uint64    `json:"about,omitempty"` // ID of a request
	// the request About is now the last request with its origin, action and URL
	Named   bool              `json:"named,omitempty"`
	Request json.RawMessage   `json:"request,omitempty"` // the request About after the event
	Data    json.RawMessage   `json:"data,omitempty"`    // only if the entry changes no request
	Hash    [sha256.Size]byte `json:"-"`
}

// The events of entries that change no request.
const (
	eventCredential = "credential"
	eventNamed      = "named"        // a line confirms a request of the channel
	eventRead       = "read"         // the requests in an origin's policy have changed
	eventReceipt    = "receipt"      // the digest of a request's receipt
	eventKey        = "key"          // the key that signs heads from now on, "" for none
	eventDiffers    = "differs"      // when the ledger was opened, the end of the chain differed from a stored head
	eventKnown      = "acknowledged" // the operator has acknowledged the difference in an eventDiffers
	eventRestored   = "restored"     // the ledger was restored from a backup; later entries are lost
)

// observed is the data of eventRead.
type observed struct {
	Origin string `json:"origin"`
	Sum    string `json:"sum"` // digest of the requests, see Reading.sum
}

// link is the number and the hash of the last entry of a chain.
type link struct {
	seq  uint64
	hash [sha256.Size]byte
}

func (l link) head() Head { return Head{Seq: l.seq, Hash: hex.EncodeToString(l.hash[:])} }

// linkHash returns the SHA-256 of a domain separator, the hash of the previous entry, the length of
// the entry and the entry as stored.
func linkHash(before [sha256.Size]byte, entry []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write([]byte("acapcrawl ledger 1\n"))
	h.Write(before[:])
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(entry))))
	h.Write(entry)
	h.Sum(sum[:0])
	return sum
}

// lastLink returns the number and the hash of the last entry; both are zero if the chain is empty.
func (t *txn) lastLink() (l link, err error) {
	if t.end != nil {
		return *t.end, nil
	}
	k, v := t.tx.Bucket(bChain).Cursor().Last()
	if k == nil {
		return l, nil
	}
	if len(k) != 8 || len(v) < sha256.Size {
		return l, fmt.Errorf("%w: the chain has no end", ErrDamaged)
	}
	return link{binary.BigEndian.Uint64(k), [sha256.Size]byte(v)}, nil
}

// append adds an entry to the chain.
func (t *txn) append(e Entry) error {
	last, err := t.lastLink()
	if err != nil {
		return err
	}
	e.Seq, e.Time = last.seq+1, t.now
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	sum := linkHash(last.hash, data)
	chain := t.tx.Bucket(bChain)
	chain.FillPercent = 1 // new keys are always larger than all others, so pages can be filled completely
	if err := chain.Put(number(e.Seq), append(sum[:], data...)); err != nil {
		return err
	}
	t.end = &link{e.Seq, sum}
	if e.About == 0 {
		return nil
	}
	return t.tx.Bucket(bAbout).Put(numbers(e.About, e.Seq), nil)
}

// remark adds an entry that changes no request.
func (t *txn) remark(event string, data any) error { return t.remarkAbout(0, event, data) }

// remarkAbout adds an entry about the request with the given ID. The entry does not change the
// request.
func (t *txn) remarkAbout(id uint64, event string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return t.append(Entry{Event: event, About: id, Data: text})
}

// entry returns the entry with a number.
func (t *txn) entry(seq uint64) (e Entry, known bool, err error) {
	v := t.tx.Bucket(bChain).Get(number(seq))
	if v == nil {
		return e, false, nil
	}
	e, err = readEntry(v)
	return e, true, err
}

// readEntry decodes a stored entry. The result is valid until the transaction ends.
func readEntry(v []byte) (e Entry, err error) {
	if len(v) < sha256.Size {
		return e, fmt.Errorf("%w: an entry of the chain is too short", ErrDamaged)
	}
	if err := json.Unmarshal(v[sha256.Size:], &e); err != nil {
		return e, fmt.Errorf("%w: an entry of the chain: %w", ErrDamaged, err)
	}
	e.Hash = [sha256.Size]byte(v)
	return e, nil
}
