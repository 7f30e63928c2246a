package actions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/disk"
)

// Head is the end of a chain. Each receipt and each answer of the channel contains the current
// head. A publisher who stores a head can later check that the chain still contains its entry.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`          // hash of the entry with number Seq, in hexadecimal
	Key  string `json:"key,omitempty"` // thumbprint (RFC 7638) of the key that signed the head
	// Ed25519 over "acapcrawl head 1\n", the number (8 bytes, big-endian) and the hash (32);
	// base64url
	Signature string `json:"signature,omitempty"`
}

// Head returns the current end of the chain.
func (l *Ledger) Head() (h Head, err error) {
	err = l.view(func(t *txn) error {
		h, err = t.head()
		return err
	})
	return h, err
}

var keyHead = []byte("head")

// putHead stores the head in the same transaction as the new entries of the chain. A program
// without the key can extend the chain but cannot sign the head.
func (t *txn) putHead(h Head) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bMeta).Put(keyHead, data)
}

// head returns the stored head, or a zero Head if none is stored.
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

// headFile is the file actions.head. It is written after each transaction. After a crash, its head
// may be older than the end of the chain, but never newer. If the chain ends before the head,
// entries were lost or removed.
type headFile struct {
	path   string
	kept   uint64 // number of the last entry that the file describes
	behind error  // error of the last write
}

func headPath(ledger string) string { return strings.TrimSuffix(ledger, ".db") + ".head" }

// createIfNew makes the file if there is no ledger yet. If the file is missing later, Open notes
// that as a difference.
func (f *headFile) createIfNew(ledger string) error {
	made, err := exists(ledger)
	if err != nil || made {
		return err
	}
	if made, err = exists(f.path); err != nil || made {
		return err
	}
	return f.write(Head{})
}

// keptHead is the content of a head file.
type keptHead struct {
	Head
	known bool  // the file exists
	err   error // the file cannot be read
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

// write replaces the file atomically.
func (f *headFile) write(h Head) (err error) {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return disk.Replace(f.path, append(data, '\n'), 0o600)
}

// writeHead writes the head of a transaction to actions.head. If that fails, the transaction
// remains valid and the file is written after the next one.
func (l *Ledger) writeHead(h Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Seq <= l.head.kept { // another goroutine has already written the head of a later transaction
		return
	}
	if l.head.behind = l.head.write(h); l.head.behind == nil {
		l.head.kept = h.Seq
	}
}

// flushHead writes actions.head again if the last write failed.
func (l *Ledger) flushHead() error {
	if l.head.behind == nil {
		return nil
	}
	h, err := l.Head()
	if err != nil {
		return err
	}
	if l.writeHead(h); l.head.behind != nil {
		return fmt.Errorf("%s could not be written: %w", l.head.path, l.head.behind)
	}
	return nil
}

// difference is the data of eventDiffers: how the chain differed from a stored head.
type difference struct {
	What string `json:"what"`
	Head Head   `json:"head,omitzero"` // the stored head
}

// acknowledgement is the data of eventKnown.
type acknowledgement struct {
	Entry uint64 `json:"entry"` // number of the eventDiffers
}

// Acknowledge notes that the operator knows of the difference in an entry. Verify then reports it
// as acknowledged and not as a break. The error is a *Rejection if the entry is not an
// eventDiffers.
func (l *Ledger) Acknowledge(entry uint64) error {
	return l.update(func(t *txn) error {
		e, known, err := t.entry(entry)
		if err == nil && (!known || e.Event != eventDiffers) {
			err = reject(Malformed, "entry %d records no difference", entry)
		}
		if err != nil {
			return err
		}
		return t.remark(eventKnown, acknowledgement{entry})
	})
}

// restoration is the data of eventRestored.
type restoration struct {
	Made time.Time `json:"made"` // when the backup was made
}

// Restore notes in the ledger at path that it is a copy that Backup wrote at the time made. Entries
// since then are missing from its chain.
func Restore(path string, o Options, made time.Time) error {
	l, err := openFile(path, o)
	if err == nil {
		err = l.reconcileHeads(keptHead{known: true}, &restoration{made.UTC()})
	}
	if err != nil {
		return l.closed(path, err)
	}
	return l.Close()
}

// reconcileHeads compares the end of the chain with both stored heads. It notes differences, a
// restoration and a new key in the chain, and then replaces the heads.
func (l *Ledger) reconcileHeads(outer keptHead, restored *restoration) error {
	var found []difference
	var inner Head
	err := l.view(func(t *txn) (err error) {
		if found, err = l.compare(t, outer); err == nil {
			inner, err = t.head()
		}
		return err
	})
	if errors.Is(err, ErrDamaged) { // do not change a damaged ledger; Verify reports the damage
		return nil
	}
	if err != nil {
		return err
	}
	key := l.keyName()
	if len(found) == 0 && restored == nil && inner.Key == key {
		l.writeHead(inner)
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

// compare returns the differences between the end of the chain, the head in the ledger and the head
// in actions.head.
func (l *Ledger) compare(t *txn, outer keptHead) (found []difference, err error) {
	last, err := t.lastLink()
	if err != nil {
		return nil, err
	}
	inner, err := t.head()
	if err != nil {
		return nil, err
	}
	if what := l.mismatch(t, inner); what != "" {
		found = append(found, difference{"of the head in the ledger: " + what, inner})
	} else if inner.Seq != last.seq {
		found = append(found,
			difference{fmt.Sprintf(
				"the head in the ledger named entry %d and the chain ended with entry %d: another program added to it",
				inner.Seq, last.seq), inner})
	}
	switch {
	case outer.err != nil:
		found = append(found, difference{What: fmt.Sprintf("actions.head could not be read: %v", outer.err)})
	case !outer.known && last.seq > 0:
		found = append(found, difference{What: "actions.head was missing: the ledger may be an older copy"})
	default:
		if what := l.mismatch(t, outer.Head); what != "" {
			found = append(found, difference{"of the head in actions.head: " + what, outer.Head})
		}
	}
	return found, nil
}

// mismatch describes how the chain contradicts the head h. It returns "" if the chain agrees with
// h.
func (l *Ledger) mismatch(t *txn, h Head) string {
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
		return fmt.Sprintf("the chain ended with entry %d and once had entry %d: entries were removed, or an older "+
			"copy was put in the place of the ledger", last.seq, h.Seq)
	case !known:
		return fmt.Sprintf("entry %d was missing", h.Seq)
	case (link{e.Seq, e.Hash}).head().Hash != h.Hash:
		return fmt.Sprintf("entry %d was another one", h.Seq)
	}
	return ""
}
