package archive

import (
	"errors"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// rebuildText returns a repair that rebuilds the lost text of a resource. The repair reads the
// statements of the page from the newest copy. Without a current copy it is unknown under which
// statements the page was indexed, so the repair removes the page from the index.
func (v *verifier) rebuildText(url string) fixer {
	return func(t *txn) (string, error) {
		k := []byte(url)
		var rec resourceRecord
		sealed, err := unpackSealed(k, t.tx.Bucket(bResources).Get(k), &rec)
		if err != nil {
			return "", nil
		}
		if _, err := t.a.text(ofResource(k), rec.Key, sealed, &resourceText{}); err == nil {
			return "", nil
		}
		if err := v.condemnKey(t, rec.Key); err != nil {
			return "", err
		}
		if rec.Indexed {
			if err := errors.Join(t.intend(url), t.erased()); err != nil {
				return "", err
			}
		}
		rec.Indexed = rec.Indexed && rec.Current != 0
		if err := t.erasePictures(url); err != nil { // the statements under which the thumbnails were made are lost
			return "", err
		}
		return "rebuilt from its copies", v.putText(t, url, rec, versionsOf(t.tx.Tx, url, rec.Current))
	}
}

// rebuildRecord returns a repair that rebuilds the lost record of a URL from its copies. If the
// first copy still exists, its date says since when the page has been kept. Otherwise no time limit
// could be computed, so the repair erases the copies.
func (v *verifier) rebuildRecord(url string, ids []uint64) fixer {
	return func(t *txn) (string, error) {
		k := []byte(url)
		if _, err := unpackSealed(k, t.tx.Bucket(bResources).Get(k), &resourceRecord{}); err == nil {
			return "", nil // the record can be read again: the next repair round checks it
		}
		var res resourceRecord
		held, whole := map[uint64]captureRecord{}, false
		for _, id := range ids {
			rec, _, err := t.a.captureRecord(t.tx.Tx, id)
			if err != nil {
				continue
			}
			held[id] = rec
			whole = whole || rec.Version == 1
			if res.FirstCrawled.IsZero() || rec.Fetched.Before(res.FirstCrawled) {
				res.FirstCrawled, res.FirstPreserved = rec.Fetched, rec.Fetched
			}
			if !redirects(rec.Status) && rec.Fetched.After(res.LastCrawled) {
				res.LastCrawled, res.Status = rec.Fetched, rec.Status
			}
			res.Versions = max(res.Versions, rec.Version)
		}
		switch {
		case len(held) == 0:
			return "", nil
		case !whole:
			for id, rec := range held {
				if err := v.eraseLost(t, id, rec); err != nil {
					return "", err
				}
			}
			return "its copies erased, with tombstones: the date since which they were kept is lost", t.intend(url)
		}
		for id, rec := range held {
			at := versionKey(url, rec.Version)
			if t.tx.Bucket(bEarlier).Get(at) == nil {
				if err := t.tx.Bucket(bEarlier).Put(at, idKey(id)); err != nil {
					return "", err
				}
			}
		}
		t.counts.Resources++
		if err := t.erasePictures(url); err != nil {
			return "", err
		}
		return "rebuilt from its copies", errors.Join(t.intend(url), t.erased(), v.putText(t, url, res, ids))
	}
}

// putText stores the record of a resource with a new text. The text contains the statements of the
// page in its newest capture.
func (v *verifier) putText(t *txn, url string, rec resourceRecord, ids []uint64) error {
	var text resourceText
	if own, ok := v.own(t.tx.Tx, rec.Current, ids); ok {
		text.Own = own
	}
	plain, err := text.encode()
	if err != nil {
		return err
	}
	k := []byte(url)
	rec.Key = 0
	var sealed []byte
	if plain != nil {
		if sealed, rec.Key, err = t.seal(ofResource(k), plain, nil); err != nil {
			return err
		}
	}
	value, err := packSealed(k, rec, sealed)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bResources).Put(k, value)
}

// own returns the statements of the page in its newest capture. The newest capture is the current
// one, or if there is none, the last one that was fetched. If the capture record contains no
// statements, own reads them from the copy.
func (v *verifier) own(tx *bolt.Tx, current uint64, ids []uint64) (own acap.Own, ok bool) {
	var newest time.Time
	for _, id := range ids {
		k := idKey(id)
		rec, sealed, err := v.a.captureRecord(tx, id)
		if err != nil || ok && id != current && rec.Fetched.Before(newest) {
			continue
		}
		var text captureText
		if _, err := v.a.text(ofCapture(k), rec.Key, sealed, &text); err != nil {
			continue
		}
		newest, own, ok = rec.Fetched, text.Own, true
		if own.URL == "" {
			own = v.ownOf(tx, id, rec, text)
		}
		if id == current {
			break
		}
	}
	return own, ok
}

// ownOf reads the statements of the page from the copy of a capture. If the rendered document is
// lost, ownOf reads only the page as sent.
func (v *verifier) ownOf(tx *bolt.Tx, id uint64, rec captureRecord, text captureText) (own acap.Own) {
	c, err := captureOf(id, rec, text, 0)
	if err != nil {
		return own
	}
	wire, err := v.a.storedBody(tx, rec.payload())
	if err != nil {
		return own
	}
	body, err := v.a.decoded(rec, wire)
	if err != nil {
		return own
	}
	rendered, err := v.a.rendered(tx, id, rec)
	if err != nil {
		rendered = nil
	}
	return c.Page(body, rendered).Own()
}

// amendResource changes the unsealed part of a resource's record if it can be read. The sealed text
// does not change.
func amendResource(t *txn, url string, fn func(*resourceRecord)) error {
	k := []byte(url)
	var rec resourceRecord
	sealed, err := unpackSealed(k, t.tx.Bucket(bResources).Get(k), &rec)
	if err != nil {
		return nil
	}
	fn(&rec)
	value, err := packSealed(k, rec, sealed)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bResources).Put(k, value)
}
