package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Picture is a stored thumbnail. A thumbnail is stored if no copy of the page is held, or if it was
// made from another resource.
type Picture struct {
	MIME          string
	Width, Height int
	Body          []byte
	// Other reports that the thumbnail was also made from resources other than the page. Then it is
	// valid only for the current version.
	Other bool
}

// pictureRecord is the unsealed part of a thumbnail record. A sealed pictureText follows it.
type pictureRecord struct {
	Other bool `json:",omitempty"`
	Key   uint64
}

type pictureText struct {
	MIME          string
	Width, Height int
	Body          []byte
}

// Picture returns the stored thumbnail of a version of url. Version 0 means that no copy is held.
func (a *Archive) Picture(url string, version int) (p Picture, held bool, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		k := versionKey(url, version)
		value := tx.Bucket(bPictures).Get(k)
		if held = value != nil; !held {
			return nil
		}
		var rec pictureRecord
		var text pictureText
		sealed, err := unpackSealed(k, value, &rec)
		if err == nil {
			_, err = a.text(ofPicture(k), rec.Key, sealed, &text)
		}
		if err != nil {
			return a.damaged("the thumbnail of "+url, err)
		}
		p = Picture{MIME: text.MIME, Width: text.Width, Height: text.Height, Body: text.Body, Other: rec.Other}
		return nil
	})
	return p, held, err
}

// Pictured returns the versions of url that have a stored thumbnail. The value in the map is true
// if the thumbnail was made from another resource.
func (a *Archive) Pictured(url string) (versions map[int]bool, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		versions = map[int]bool{}
		return eachPicture(tx, url, func(k, value []byte) error {
			var rec pictureRecord
			if _, err := unpackSealed(k, value, &rec); err != nil {
				return a.damaged("the thumbnail of "+url, err)
			}
			versions[versionOfKey(k)] = rec.Other
			return nil
		})
	})
	return versions, err
}

// SetPicture stores p as the thumbnail of a version of url. Version 0 means that no copy is held.
// The error is ErrNotHeld if the version does not exist.
func (a *Archive) SetPicture(ctx context.Context, url string, version int, p Picture) error {
	if err := checkURL(url); err != nil {
		return err
	}
	return a.do(ctx, len(p.Body), func(t *txn) error {
		if !pictured(t.tx.Tx, url, version) {
			return fmt.Errorf("version %d of %s is %w", version, url, ErrNotHeld)
		}
		return t.putPicture(url, version, &p)
	})
}

// ErasePicture removes the stored thumbnail of a version of url, if there is one, and destroys its
// key.
func (a *Archive) ErasePicture(ctx context.Context, url string, version int) error {
	if err := checkURL(url); err != nil {
		return err
	}
	return a.do(ctx, 0, func(t *txn) error { return t.erasePicture(versionKey(url, version)) })
}

// putPicture stores p as the thumbnail of a version, or removes the thumbnail if p is nil.
func (t *txn) putPicture(url string, version int, p *Picture) error {
	k := versionKey(url, version)
	if err := t.erasePicture(k); err != nil || p == nil {
		return err
	}
	text, err := json.Marshal(pictureText{p.MIME, p.Width, p.Height, p.Body})
	if err != nil {
		return err
	}
	sealed, slot, err := t.seal(ofPicture(k), text, nil)
	if err != nil {
		return err
	}
	value, err := packSealed(k, pictureRecord{Other: p.Other, Key: slot}, sealed)
	if err != nil {
		return err
	}
	t.counts.Pictures++
	return errors.Join(t.listPictured(k), t.tx.Bucket(bPictures).Put(k, value))
}

// erasePicture removes a thumbnail. If its record cannot be read, Verify finds the key.
func (t *txn) erasePicture(k []byte) error {
	value := t.tx.Bucket(bPictures).Get(k)
	if value == nil {
		return nil
	}
	var rec pictureRecord
	_, _ = unpackSealed(k, value, &rec)
	t.counts.Pictures--
	return errors.Join(t.condemnKey(rec.Key), t.erased(), t.listPictured(k), t.tx.Bucket(bPictures).Delete(k))
}

// listPictured lists the page of a thumbnail as due.
func (t *txn) listPictured(k []byte) error {
	url, _, _ := bytes.Cut(k, []byte{0})
	return t.list(string(url))
}

// erasePictures removes all thumbnails of url.
func (t *txn) erasePictures(url string) error {
	var keys [][]byte
	err := eachPicture(t.tx.Tx, url, func(k, _ []byte) error {
		keys = append(keys, bytes.Clone(k))
		return nil
	})
	for _, k := range keys {
		err = errors.Join(err, t.erasePicture(k))
	}
	return err
}

// passPicture is called for a version that is no longer current. It removes the thumbnail of that
// version if the thumbnail was made from another resource or belongs to no copy.
func (t *txn) passPicture(url string, version int) error {
	k := versionKey(url, version)
	var rec pictureRecord
	if value := t.tx.Bucket(bPictures).Get(k); value == nil {
		return nil
	} else if _, err := unpackSealed(k, value, &rec); err == nil && !rec.Other && version != 0 {
		return nil
	}
	return t.erasePicture(k)
}

func eachPicture(tx *bolt.Tx, url string, fn func(k, value []byte) error) error {
	prefix := under(url)
	c := tx.Bucket(bPictures).Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return nil
}

func versionOfKey(k []byte) int { return int(binary.BigEndian.Uint32(k[len(k)-4:])) }

// picture checks that a thumbnail can be read and that its page is known.
func (v *verifier) picture(k, value []byte) {
	k = bytes.Clone(k)
	v.count.Pictures++
	where := fmt.Sprintf("the thumbnail %q", k)
	drop := func(t *txn) (string, error) {
		value := t.tx.Bucket(bPictures).Get(k)
		if value == nil {
			return "", nil
		}
		var rec pictureRecord
		if _, err := unpackSealed(k, value, &rec); err == nil {
			if err := v.condemnKey(t, rec.Key); err != nil {
				return "", err
			}
		}
		t.counts.Pictures--
		return "removed", errors.Join(t.erased(), t.tx.Bucket(bPictures).Delete(k))
	}
	url, end, ok := bytes.Cut(k, []byte{0})
	var rec pictureRecord
	sealed, err := unpackSealed(k, value, &rec)
	if err != nil || !ok || len(end) != 4 {
		v.find(where, "has a record that "+errRecord.Error(), drop)
		return
	}
	where = fmt.Sprintf("the thumbnail of %s, version %d,", url, versionOfKey(k))
	v.use(where, rec.Key)
	var text pictureText
	if _, err := v.a.text(ofPicture(k), rec.Key, sealed, &text); err != nil {
		v.unreadable(second, where, err, bPictures, k, value, drop)
	}
	if !pictured(v.tx, string(url), versionOfKey(k)) {
		v.findAt(third, where, "belongs to no stored page", func(t *txn) (string, error) {
			if pictured(t.tx.Tx, string(url), versionOfKey(k)) || t.tx.Bucket(bPictures).Get(k) == nil {
				return "", nil
			}
			return drop(t)
		})
	}
}

// pictured reports whether a version of url is held. For version 0 it reports whether the archive
// knows url.
func pictured(tx *bolt.Tx, url string, version int) bool {
	value := tx.Bucket(bResources).Get([]byte(url))
	var res resourceRecord
	if _, err := unpackSealed([]byte(url), value, &res); value == nil || err != nil {
		return value != nil // unreadable records are reported separately
	}
	if version == 0 {
		return true
	}
	return slices.ContainsFunc(versionsOf(tx, url, res.Current), func(id uint64) bool {
		var rec captureRecord
		_, err := unpackSealed(idKey(id), tx.Bucket(bCaptures).Get(idKey(id)), &rec)
		return err == nil && rec.Version == version
	})
}
