package archive

import (
	"bytes"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// MadeOf lists the URLs of pages of which something that is held beside their copies was made of
// source (kept.Page.Sources).
func (a *Archive) MadeOf(source string) (list []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		list = others(tx.Bucket(bSources), source)
		return nil
	})
	return list, err
}

// putSources lists url at its sources of now, and no longer at those that it had before and has no
// more.
func (t *txn) putSources(url string, before, now []string) error {
	bucket := t.tx.Bucket(bSources)
	for _, source := range before {
		if slices.Contains(now, source) || checkURL(source) != nil {
			continue
		}
		if err := bucket.Delete(pair(source, url)); err != nil {
			return err
		}
	}
	for _, source := range now {
		if slices.Contains(before, source) || checkURL(source) != nil { // what is no key cannot be asked for either
			continue
		}
		if err := bucket.Put(pair(source, url), nil); err != nil {
			return err
		}
	}
	return nil
}

// sources checks that a resource is listed at all that it says it was made of.
func (v *verifier) sources(url string, sources []string) {
	for _, source := range sources {
		if checkURL(source) != nil || v.tx.Bucket(bSources).Get(pair(source, url)) != nil {
			continue
		}
		v.find(url, "is not listed at "+source+", of which something of it was made", func(t *txn) (string, error) {
			h, err := t.resource(url)
			// a record that cannot be read is a finding of its own
			if err != nil || !slices.Contains(h.Kept.Sources(), source) {
				return "", nil
			}
			return "listed", t.tx.Bucket(bSources).Put(pair(source, url), nil)
		})
	}
}

// source checks that what is listed at a source says that it was made of it.
func (v *verifier) source(k, _ []byte) {
	k = bytes.Clone(k)
	source, url, _ := bytes.Cut(k, []byte{0})
	made := func(tx *bolt.Tx) bool {
		value := tx.Bucket(bResources).Get(url)
		if value == nil {
			return false
		}
		r, err := v.a.readResource(url, value)
		// a record that cannot be read is a finding of its own
		return err != nil || slices.Contains(r.Kept.Sources(), string(source))
	}
	if made(v.tx) {
		return
	}
	v.find(string(url), fmt.Sprintf("is listed at %q, of which nothing of it was made", source),
		func(t *txn) (string, error) {
			if made(t.tx) {
				return "", nil
			}
			return "taken off the list", t.tx.Bucket(bSources).Delete(k)
		})
}
