package archive

import (
	"bytes"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// MadeOf returns the URLs of pages for which the archive stores data that was made from source
// (kept.Page.Sources). It does not look at copies of pages.
func (a *Archive) MadeOf(source string) (list []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		list = others(tx.Bucket(bSources), source)
		return nil
	})
	return list, err
}

// putSources lists url under each source in now. It removes url from the lists of sources that are
// in before but not in now.
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
		if slices.Contains(before, source) || checkURL(source) != nil { // skip invalid URLs, which are never requested
			continue
		}
		if err := bucket.Put(pair(source, url), nil); err != nil {
			return err
		}
	}
	return nil
}

// sources checks that a resource is listed under all its sources.
func (v *verifier) sources(url string, sources []string) {
	for _, source := range sources {
		if checkURL(source) != nil || v.tx.Bucket(bSources).Get(pair(source, url)) != nil {
			continue
		}
		v.find(url, "is not listed at "+source+", although data of it was made from that source",
			func(t *txn) (string, error) {
				h, err := t.resource(url)
				// unreadable records are reported separately
				if err != nil || !slices.Contains(h.Kept.Sources(), source) {
					return "", nil
				}
				return "listed", t.tx.Bucket(bSources).Put(pair(source, url), nil)
			})
	}
}

// source checks a page listed under a source: the record of the page must contain that source.
func (v *verifier) source(k, _ []byte) {
	k = bytes.Clone(k)
	source, url, _ := bytes.Cut(k, []byte{0})
	made := func(tx *bolt.Tx) bool {
		value := tx.Bucket(bResources).Get(url)
		if value == nil {
			return false
		}
		r, err := v.a.readResource(url, value)
		// unreadable records are reported separately
		return err != nil || slices.Contains(r.Kept.Sources(), string(source))
	}
	if made(v.tx) {
		return
	}
	v.find(string(url), fmt.Sprintf("is listed at %q, although no data of it was made from that source", source),
		func(t *txn) (string, error) {
			if made(t.tx.Tx) {
				return "", nil
			}
			return "taken off the list", t.tx.Bucket(bSources).Delete(k)
		})
}
