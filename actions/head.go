package actions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/disk"
)

// Head says where a chain ends. Who keeps one can tell later whether the chain is still the one that it was: it stands in each receipt and
// in each answer of the channel.
type Head struct {
	Seq       uint64 `json:"seq"`
	Hash      string `json:"hash"`                // of the entry with that number, in hexadecimal
	Key       string `json:"key,omitempty"`       // thumbprint (RFC 7638) of the key that it is signed with
	Signature string `json:"signature,omitempty"` // Ed25519 over "acapcrawl head 1\n", the number (8 bytes, big-endian) and the hash (32); base64url
}

// Head is where the chain ends now.
func (l *Ledger) Head() (h Head, err error) {
	err = l.view(func(t *txn) error {
		h, err = t.head()
		return err
	})
	return h, err
}

var keyHead = []byte("head")

// putHead writes the head with the transaction that it ends: who adds to the chain without the key cannot sign.
func (t *txn) putHead(h Head) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bMeta).Put(keyHead, data)
}

// head reads the head as written; zero for none.
func (t *txn) head() (h Head, err error) {
	data := t.tx.Bucket(bMeta).Get(keyHead)
	if data == nil {
		return h, nil
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return h, fmt.Errorf("%w: its head: %w", ErrDamaged, err)
	}
	return h, nil
}

// headFile is actions.head. It is written after each transaction: after a crash it may be behind the chain, and never ahead, so that a chain
// that ends before it is not the one that was written.
type headFile struct {
	path   string
	kept   uint64 // number of the entry that it names
	behind error  // why it could not be written
}

func headPath(ledger string) string { return strings.TrimSuffix(ledger, ".db") + ".head" }

// begin makes the file for a ledger that is to be made. A ledger of which it is missing later is not what was written.
func (f *headFile) begin(ledger string) error {
	made, err := exists(ledger)
	if err != nil || made {
		return err
	}
	if made, err = exists(f.path); err != nil || made {
		return err
	}
	return f.write(Head{})
}

// keptHead is what a head file says.
type keptHead struct {
	Head
	known bool  // there is a file
	err   error // it cannot be read
}

func (f *headFile) read() (k keptHead) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return k
	}
	if err == nil {
		err = json.Unmarshal(data, &k.Head)
	}
	k.known, k.err = true, err
	return k
}

// write replaces the file by a whole one.
func (f *headFile) write(h Head) (err error) {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return disk.Replace(f.path, append(data, '\n'), 0o600)
}

// keep writes the head of a transaction to its file. Where that fails, what was written stands, and the file is behind until the next one.
func (l *Ledger) keep(h Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Seq <= l.head.kept { // of an earlier transaction
		return
	}
	if l.head.behind = l.head.write(h); l.head.behind == nil {
		l.head.kept = h.Seq
	}
}

// keepLast writes the file that could not be written before.
func (l *Ledger) keepLast() error {
	if l.head.behind == nil {
		return nil
	}
	h, err := l.Head()
	if err != nil {
		return err
	}
	if l.keep(h); l.head.behind != nil {
		return fmt.Errorf("%s could not be written: %w", l.head.path, l.head.behind)
	}
	return nil
}

// difference is the data of an entry that says how the chain differed from what was known of it.
type difference struct {
	What string `json:"what"`
	Head Head   `json:"head,omitzero"` // that was known
}

// acknowledgement is the data of an entry that says that the operator knows of a difference.
type acknowledgement struct {
	Entry uint64 `json:"entry"` // that says how the chain differed
}

// Acknowledge notes that the operator knows of the difference that an entry tells. Verify shows both from then on, and takes it for no
// break. The error is a *Rejection where the entry tells none.
func (l *Ledger) Acknowledge(entry uint64) error {
	return l.update(func(t *txn) error {
		e, known, err := t.entry(entry)
		if err == nil && (!known || e.Event != eventDiffers) {
			err = reject(Malformed, "entry %d tells of no difference", entry)
		}
		if err != nil {
			return err
		}
		return t.remark(eventKnown, acknowledgement{entry})
	})
}

// restoration is the data of an entry that says that a ledger was restored.
type restoration struct {
	Made time.Time `json:"made"` // the backup
}

// Restore notes in the ledger at path, a copy that Backup gave when made, that it is one: what was noted since then is not in the chain.
func Restore(path string, o Options, made time.Time) error {
	l, err := openFile(path, o)
	if err == nil {
		err = l.settle(keptHead{known: true}, &restoration{made.UTC()})
	}
	if err != nil {
		return l.closed(path, err)
	}
	return l.Close()
}

// settle compares the end of the chain with the heads known of it, which are written over from then on, and notes in the chain what
// differs, a restoration, and a new key.
func (l *Ledger) settle(outer keptHead, restored *restoration) error {
	var found []difference
	var inner Head
	err := l.view(func(t *txn) (err error) {
		if found, err = l.compare(t, outer); err == nil {
			inner, err = t.head()
		}
		return err
	})
	if errors.Is(err, ErrDamaged) { // Verify says so
		return nil
	}
	if err != nil {
		return err
	}
	key := l.keyName()
	if len(found) == 0 && restored == nil && inner.Key == key {
		l.keep(inner)
		return nil
	}
	return l.update(func(t *txn) error {
		for _, d := range found {
			if err := t.remark(eventDiffers, d); err != nil {
				return err
			}
		}
		if restored != nil {
			if err := t.remark(eventRestored, restored); err != nil {
				return err
			}
		}
		if inner.Key == key {
			return nil
		}
		return t.remark(eventKey, map[string]string{"key": key})
	})
}

// compare tells how the end of the chain differs from the head in the ledger and the one in actions.head.
func (l *Ledger) compare(t *txn, outer keptHead) (found []difference, err error) {
	last, err := t.lastLink()
	if err != nil {
		return nil, err
	}
	inner, err := t.head()
	if err != nil {
		return nil, err
	}
	if what := l.against(t, inner); what != "" {
		found = append(found, difference{"of the head in the ledger: " + what, inner})
	} else if inner.Seq != last.seq {
		found = append(found, difference{fmt.Sprintf("the head in the ledger named entry %d and the chain ended with entry %d: another program added to it", inner.Seq, last.seq), inner})
	}
	switch {
	case outer.err != nil:
		found = append(found, difference{What: fmt.Sprintf("actions.head could not be read: %v", outer.err)})
	case !outer.known && last.seq > 0:
		found = append(found, difference{What: "actions.head was missing: the ledger may be an older copy"})
	default:
		if what := l.against(t, outer.Head); what != "" {
			found = append(found, difference{"of the head in actions.head: " + what, outer.Head})
		}
	}
	return found, nil
}

// against says how the chain differs from what a head says of it, "" if it does not.
func (l *Ledger) against(t *txn, h Head) string {
	if h.Seq == 0 {
		return ""
	}
	if err := l.signed(h); err != nil {
		return err.Error()
	}
	e, known, err := t.entry(h.Seq)
	last, _ := t.lastLink()
	switch {
	case err != nil:
		return fmt.Sprintf("entry %d could not be read", h.Seq)
	case !known && h.Seq > last.seq:
		return fmt.Sprintf("the chain ended with entry %d and once had entry %d: entries were removed, or an older copy was put in the place of the ledger", last.seq, h.Seq)
	case !known:
		return fmt.Sprintf("entry %d was missing", h.Seq)
	case (link{e.Seq, e.Hash}).head().Hash != h.Hash:
		return fmt.Sprintf("entry %d was another one", h.Seq)
	}
	return ""
}
