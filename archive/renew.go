package archive

import (
	"bytes"
	"context"
	"fmt"
)

// Renew records that a crawl found the current capture of a URL unchanged (RFC 9110 15.4.5). It
// makes no new capture. The capture keeps its dates, heads and body. It gets a new header, page
// statements, policy version, deciding lines and thumbnail from d. Renew updates the resource in
// the same way as Receive, and ignores the other fields of d. If entry is true, Renew logs an
// intent, because the index must update its entry. If d.Replace is set, Renew erases earlier
// versions. The error is ErrNotHeld if the capture is not the current one of the URL.
func (a *Archive) Renew(ctx context.Context, id uint64, d Deposit, entry bool) error {
	if err := checkURL(d.Resource.URL); err != nil {
		return err
	}
	text, err := d.Resource.text().encode()
	if err != nil {
		return fmt.Errorf("what is known of %s cannot be encoded: %w", d.Resource.URL, err)
	}
	return a.do(ctx, 0, func(t *txn) error { return t.renew(id, &d, entry, text) })
}

func (t *txn) renew(id uint64, d *Deposit, entry bool, text []byte) error {
	url := d.Resource.URL
	h, err := t.resource(url)
	if err != nil {
		return err
	}
	if id == 0 || h.Current != id {
		return fmt.Errorf("capture %d is %w as the current one of %s", id, ErrNotHeld, url)
	}
	if err := t.renewCapture(id, d); err != nil {
		return err
	}
	if err := t.putPicture(url, t.versionOf(id), d.Picture); err != nil {
		return err
	}
	if d.Replace {
		if err := t.eraseVersions(url, 0); err != nil {
			return err
		}
	}
	return t.putPage(h, d.crawled(h.Resource, true), d.Aliases, entry || d.Index != h.Indexed, text)
}

// renewCapture updates a capture from d. If the text of the capture changes, renewCapture seals the
// text with a new key.
func (t *txn) renewCapture(id uint64, d *Deposit) error {
	rec, text, err := t.a.openCapture(t.tx.Tx, id)
	if err != nil {
		return err
	}
	was, err := text.plain()
	if err != nil {
		return err
	}
	n := min(len(text.Hops), len(text.exchanges))
	own := exchange{header: packHeader(d.Header)}
	if n < len(text.exchanges) {
		own.sent, own.head = text.exchanges[n].sent, text.exchanges[n].head
	}
	text.exchanges = append(text.exchanges[:n:n], own)
	text.Decided, text.Policy, text.Own = d.Decided, d.Policy.utc(), d.Resource.Own
	is, err := text.plain()
	if err != nil || bytes.Equal(is, was) {
		return err
	}
	return t.resealCapture(id, rec, is)
}

// resealCapture replaces the text of a capture and seals it with a new key.
func (t *txn) resealCapture(id uint64, rec captureRecord, plain []byte) error {
	if err := t.condemnKey(rec.Key); err != nil {
		return err
	}
	k := idKey(id)
	sealed, slot, err := t.seal(ofCapture(k), packText(t.a.pack, plain), nil)
	if err != nil {
		return err
	}
	rec.Key = slot
	value, err := packSealed(k, rec, sealed)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bCaptures).Put(k, value)
}
