package actions

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Entry is one link of the chain: nothing of it is ever changed. It holds no content of a resource, and no secret.
type Entry struct {
	Seq     uint64            `json:"seq"`
	Time    time.Time         `json:"time"`
	Event   string            `json:"event"`             // a state, or what else was noted
	About   uint64            `json:"about,omitempty"`   // ID of a request
	Named   bool              `json:"named,omitempty"`   // that request is the last of its name from then on
	Request json.RawMessage   `json:"request,omitempty"` // that request as it is from then on
	Data    json.RawMessage   `json:"data,omitempty"`    // of an entry that changes no request
	Hash    [sha256.Size]byte `json:"-"`
}

// The events of entries that change no request.
const (
	eventCredential = "credential"
	eventNamed      = "named"        // a line belongs to a request that the channel made
	eventRead       = "read"         // what an origin asks for is another than before
	eventReceipt    = "receipt"      // of the request that it is about: the digest of its receipt
	eventKey        = "key"          // the key that heads are signed with from now on, "" for none
	eventDiffers    = "differs"      // on opening, the chain was not what was known of it
	eventKnown      = "acknowledged" // the operator knows of an entry that differs
	eventRestored   = "restored"     // what was noted after a backup was made is not in the chain
)

// observed is the data of an entry that says that a reading was noted.
type observed struct {
	Origin string `json:"origin"`
	Sum    string `json:"sum"` // of what it asks for
}

// link is the end of a chain: the number of an entry, and its hash.
type link struct {
	seq  uint64
	hash [sha256.Size]byte
}

func (l link) head() Head { return Head{Seq: l.seq, Hash: hex.EncodeToString(l.hash[:])} }

// linkHash is SHA-256 over a domain, the hash of the entry before, the length of the entry and the entry as stored.
func linkHash(before [sha256.Size]byte, entry []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write([]byte("acapcrawl ledger 1\n"))
	h.Write(before[:])
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(entry))))
	h.Write(entry)
	h.Sum(sum[:0])
	return sum
}

// last is where the chain ends; zero where it is empty.
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
	chain.FillPercent = 1 // entries are added at the end alone
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

// remarkAbout is remark for an entry about the request with an ID.
func (t *txn) remarkAbout(id uint64, event string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return t.append(Entry{Event: event, About: id, Data: text})
}

// entry gives the entry with a number.
func (t *txn) entry(seq uint64) (e Entry, known bool, err error) {
	v := t.tx.Bucket(bChain).Get(number(seq))
	if v == nil {
		return e, false, nil
	}
	e, err = readEntry(v)
	return e, true, err
}

// readEntry reads an entry as stored. What it holds is valid until the transaction ends.
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
