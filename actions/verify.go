package actions

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// Break is a place where the ledger differs from what was written.
type Break struct {
	Where string `json:"where"`
	What  string `json:"what"`
}

func (b Break) String() string { return b.Where + ": " + b.What }

// Verification is the result of Verify.
type Verification struct {
	Entries uint64   `json:"entries"`                // number of entries in the chain
	Breaks  []Break  `json:"breaks"`                 // changes that were found; empty if there are none
	More    int      `json:"more,omitempty"`         // number of breaks that are not listed
	Known   []Break  `json:"acknowledged,omitempty"` // differences that the operator has acknowledged
	Head    Head     `json:"head"`                   // head of the checked chain
	Signed  *Signing `json:"signed,omitempty"`       // since when heads are signed; nil: they are not signed
}

// Signing names the first entry of the ledger's chain that is protected by a signature with the
// current key. Entries before it are not protected by that key.
type Signing struct {
	Key   string    `json:"key"`   // thumbprint of the key (RFC 7638)
	Since uint64    `json:"since"` // number of the entry since which heads are signed with this key
	Time  time.Time `json:"time"`
}

// maxBreaks is the maximal number of listed breaks.
const maxBreaks = 100

// Verify checks that each entry of the chain is linked to the previous one, that all other data
// matches the chain, and that the chain contains the heads in the ledger, in actions.head and in
// known. Other goroutines may write meanwhile.
//
// If the whole chain and both heads were rewritten, only a head that somebody else kept shows it,
// or a signature if heads are signed. If older copies of both files were restored, only a head that
// somebody else kept shows it.
func (l *Ledger) Verify(ctx context.Context, known ...Head) (Verification, error) {
	v := &verifier{ledger: l, ctx: ctx, out: Verification{Breaks: []Break{}}, marks: newMarks(),
		grants: map[string]granting{}, readings: map[string]reading{}, known: map[uint64]Entry{}}
	err := v.verify(known)
	if errors.Is(err, ErrDamaged) {
		v.found("the file", "%v", err)
		err = nil
	}
	return v.out, err
}

// verifier reads the chain from its end to its beginning. Therefore the first entry that it reads
// about a request, credential or origin describes the current state.
type verifier struct {
	ledger *Ledger
	ctx    context.Context
	out    Verification

	top      uint64 // the last entry that was checked
	marks    marks
	about    int                 // number of entries about requests
	grants   map[string]granting // by name of a credential: the last entry about that credential
	readings map[string]reading  // by origin: the last entry about the readings of that origin
	restored uint64              // the first eventRestored; 0: none
	known    map[uint64]Entry    // acknowledgements by number of the acknowledged entry
}

// granting is the last entry about a credential.
type granting struct {
	seq    uint64
	digest string // digest of the stored credential
}

// reading is the last entry about the readings of an origin.
type reading struct {
	seq uint64
	sum string
}

// marks are the IDs of requests for which the verifier has read an entry with a state, a receipt or
// a name.
type marks struct{ states, receipts, names bits }

func newMarks() marks { return marks{bits{}, bits{}, bits{}} }

// bits is a set of numbers. It needs little memory if most numbers are close to each other.
type bits map[uint64]uint64

func (b bits) has(n uint64) bool { return b[n/64]&(1<<(n%64)) != 0 }

// add adds n and reports whether n is new.
func (b bits) add(n uint64) bool {
	was := b.has(n)
	b[n/64] |= 1 << (n % 64)
	return !was
}

func (b bits) join(other bits) {
	for k, v := range other {
		b[k] |= v
	}
}

// found adds a break at the place where.
func (v *verifier) found(where, format string, args ...any) {
	if len(v.out.Breaks) >= maxBreaks {
		v.out.More++
		return
	}
	v.out.Breaks = append(v.out.Breaks, Break{where, fmt.Sprintf(format, args...)})
}

// broken adds a break at an entry of the chain.
func (v *verifier) broken(seq uint64, format string, args ...any) {
	v.found(fmt.Sprintf("entry %d", seq), format, args...)
}

func (v *verifier) verify(known []Head) error {
	wrong, err := v.ledger.pages(v.ctx)
	for _, w := range wrong {
		v.found("the file", "%s", w)
	}
	if err != nil || len(wrong) > 0 {
		return err
	}
	err = v.ledger.view(func(t *txn) error {
		end, err := t.lastLink()
		v.top, v.out.Entries = end.seq, end.seq
		return err
	})
	for low := v.top; err == nil && low > 0; {
		err = v.step(func(t *txn) (err error) {
			low, err = v.down(t, low, 0, scanned, v.marks)
			return err
		})
	}
	for _, pass := range []func() error{v.requests, v.names, v.lists, v.receipts, v.credentials, v.heard} {
		if err == nil {
			err = pass()
		}
	}
	if err != nil {
		return err
	}
	return v.heads(known)
}

// step calls fn in a transaction. Before that, it checks the entries that were added to the chain
// since the last step.
func (v *verifier) step(fn func(*txn) error) error {
	return v.ledger.view(func(t *txn) error {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		end, err := t.lastLink()
		if err != nil {
			return err
		}
		if end.seq > v.top {
			since := newMarks()
			if _, err := v.down(t, end.seq, v.top, math.MaxInt, since); err != nil {
				return err
			}
			v.marks.states.join(since.states)
			v.marks.receipts.join(since.receipts)
			v.marks.names.join(since.names)
			v.top, v.out.Entries = end.seq, end.seq
		}
		return fn(t)
	})
}

// down checks entries in descending order, from the number from to the number after to. It checks
// no more than most entries, and returns the number to continue with.
func (v *verifier) down(t *txn, from, to uint64, most int, m marks) (next uint64, err error) {
	c := t.tx.Bucket(bChain).Cursor()
	k, val := c.Seek(number(from))
	if k == nil || !bytes.Equal(k, number(from)) {
		k, val = c.Prev()
	}
	for next = from; k != nil && next > to && most > 0; most-- {
		if len(k) != 8 || binary.BigEndian.Uint64(k) > next {
			return next, fmt.Errorf("%w: the chain is out of order", ErrDamaged)
		}
		seq := max(binary.BigEndian.Uint64(k), to)
		if v.missing(seq, next); seq == to {
			return to, nil
		}
		before, linked := link{}, true
		pk, pval := c.Prev()
		if seq > 1 {
			if linked = bytes.Equal(pk, number(seq-1)) && len(pval) >= len(before.hash); linked {
				before.hash = [len(before.hash)]byte(pval)
			}
		}
		if err := v.entry(t, seq, val, before, linked, m); err != nil {
			return next, err
		}
		k, val, next = pk, pval, seq-1
	}
	if k == nil {
		v.missing(to, next)
		next = to
	}
	return next, nil
}

// missing adds a break if entries are missing: the entries with numbers greater than after, up to
// the number last.
func (v *verifier) missing(after, last uint64) {
	switch {
	case last == after+1:
		v.broken(last, "it is missing")
	case last > after:
		v.broken(after+1, "it and those after it, up to %d, are missing", last)
	}
}

// entry checks one entry. If linked is false, the previous entry is missing or damaged, so the link
// to it cannot be checked.
func (v *verifier) entry(t *txn, seq uint64, val []byte, before link, linked bool, m marks) error {
	e, err := readEntry(val)
	good := true
	switch {
	case len(val) < len(before.hash):
		good = false
		v.broken(seq, "it is cut short")
	case linked && linkHash(before.hash, val[len(before.hash):]) != [len(before.hash)]byte(val):
		good = false
		v.broken(seq, "it, or the hash of the entry before it, was changed")
	case err != nil || e.Seq != seq:
		good = false
		v.broken(seq, "it is not an entry with that number")
	}
	if err != nil {
		return nil
	}
	if e.About != 0 {
		v.about++
		if kept := t.tx.Bucket(bAbout).Get(numbers(e.About, seq)); kept == nil || len(kept) > 0 {
			v.broken(seq, "the list of entries about request %d lacks it", e.About)
		}
	}
	if e.Request != nil && m.states.add(e.About) && good &&
		!bytes.Equal(e.Request, t.tx.Bucket(bRequests).Get(number(e.About))) {
		v.found(fmt.Sprintf("request %d", e.About), "it is not what entry %d says", seq)
	}
	if e.Named {
		if err := v.named(t, seq, e.About, m); err != nil {
			return err
		}
	}
	v.event(t, e, good, m)
	return nil
}

// named checks that a request is found by its name. It reports no break if the name now belongs to
// a later request.
func (v *verifier) named(t *txn, seq, id uint64, m marks) error {
	r, known, err := t.request(id)
	if err != nil || !known {
		return err
	}
	at := t.tx.Bucket(bNames).Get(named(r.Origin, r.Action, r.URL))
	switch {
	case len(at) == 8 && binary.BigEndian.Uint64(at) == id:
		m.names.add(id)
	case len(at) != 8 || !m.names.has(binary.BigEndian.Uint64(at)) && !v.marks.names.has(binary.BigEndian.Uint64(at)):
		v.found(fmt.Sprintf("request %d", id),
			"it is missing from the list by address, but entry %d says that it belongs there", seq)
	}
	return nil
}

// event checks the data of an entry that changes no request.
func (v *verifier) event(t *txn, e Entry, good bool, m marks) {
	switch e.Event {
	case eventReceipt:
		v.receipt(t, e, good, m)
	case eventCredential:
		if of, ok := dataOf[struct{ Name, Digest string }](e); ok && e.Seq > v.grants[of.Name].seq {
			v.grants[of.Name] = granting{e.Seq, of.Digest}
		}
	case eventRead:
		if of, ok := dataOf[observed](e); ok && e.Seq > v.readings[of.Origin].seq {
			v.readings[of.Origin] = reading{e.Seq, of.Sum}
		}
	case eventDiffers:
		if d, ok := dataOf[difference](e); ok {
			v.differed(e, d)
		}
	case eventKnown:
		if of, ok := dataOf[acknowledgement](e); ok && of.Entry < e.Seq && good {
			v.known[of.Entry] = Entry{Seq: e.Seq, Time: e.Time}
		}
	case eventRestored:
		v.restored = e.Seq
	case eventKey:
		v.key(e)
	}
}

// dataOf returns the data of an entry. ok is false if the data cannot be decoded as a T.
func dataOf[T any](e Entry) (data T, ok bool) {
	err := json.Unmarshal(e.Data, &data)
	return data, err == nil
}

// receipt compares the stored receipt of a request with the digest in the last entry about that
// receipt.
func (v *verifier) receipt(t *txn, e Entry, good bool, m marks) {
	of, ok := dataOf[struct{ Digest string }](e)
	if !ok || !m.receipts.add(e.About) || !good {
		return
	}
	if doc := t.tx.Bucket(bReceipts).Get(number(e.About)); doc == nil || digest(doc) != of.Digest {
		v.found(fmt.Sprintf("the receipt of request %d", e.About), "it is not what entry %d says", e.Seq)
	}
}

// key records from which entry on heads are signed with the current key.
func (v *verifier) key(e Entry) {
	of, ok := dataOf[struct{ Key string }](e)
	if ok && of.Key != "" && (v.out.Signed == nil || e.Seq > v.out.Signed.Since) {
		v.out.Signed = &Signing{of.Key, e.Seq, e.Time}
	}
}

// differed adds a break for an eventDiffers, unless the operator has acknowledged it.
func (v *verifier) differed(e Entry, d difference) {
	const when = "when the ledger was opened at %s, %s"
	by, known := v.known[e.Seq]
	if !known {
		v.broken(e.Seq, when, e.Time.Format(time.RFC3339), d.What)
		return
	}
	what := fmt.Sprintf(when+"; entry %d acknowledged that at %s", e.Time.Format(time.RFC3339), d.What, by.Seq,
		by.Time.Format(time.RFC3339))
	v.out.Known = append(v.out.Known, Break{fmt.Sprintf("entry %d", e.Seq), what})
}

// heads compares the chain with the stored heads and with known.
func (v *verifier) heads(known []Head) error {
	// read before the transaction begins, so that the head file is not newer than the chain
	outer := v.ledger.head.read()
	return v.step(func(t *txn) (err error) {
		if v.out.Head, err = t.head(); err != nil {
			return err
		}
		found, err := v.ledger.compare(t, outer)
		if err != nil {
			return err
		}
		for _, d := range found {
			v.found("the end of the chain", "%s", d.What)
		}
		if key := v.ledger.keyName(); key != "" && v.out.Entries > 0 && v.out.Head.Key != key {
			v.found("the end of the chain", "it is not signed with the key of the operator")
		}
		if v.out.Signed != nil && v.out.Head.Key != v.out.Signed.Key {
			v.out.Signed = nil
		}
		for _, h := range known {
			what := v.ledger.mismatch(t, h)
			if what == "" {
				continue
			}
			if v.restored != 0 && v.restored <= h.Seq {
				what += fmt.Sprintf("; the ledger was restored from a backup since, as entry %d says", v.restored)
			}
			v.found(fmt.Sprintf("the head of entry %d", h.Seq), "%s", what)
		}
		return nil
	})
}
