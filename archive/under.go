package archive

import (
	"bytes"
	"errors"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// HoldsUnder reports whether anything is stored about a URL that begins with prefix.
func (a *Archive) HoldsUnder(prefix string) (held bool, err error) {
	err = a.snapshot(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bResources, bAliases, bSources, bPictures, bParts, bPassed} {
			k, _ := tx.Bucket(name).Cursor().Seek([]byte(prefix))
			held = held || bytes.HasPrefix(k, []byte(prefix))
		}
		return nil
	})
	return held, err
}

// EachAddress calls fn for the URL of every resource that begins with prefix, under the conditions of
// Each. It does not read the records.
func (a *Archive) EachAddress(prefix string, fn func(url string) error) error {
	return each(a, bResources, []byte(prefix), func(_ *bolt.Tx, k, _ []byte) (string, error) {
		return string(k), nil
	}, fn)
}

// EachOrigin calls fn for every beginning of URLs that has a resource, such as http://example.com, under the
// conditions of Each. Its cost depends on the number of origins, not on that of resources.
func (a *Archive) EachOrigin(fn func(origin string) error) error {
	for from := []byte{}; from != nil; {
		var list []string
		err := a.view(func(tx *bolt.Tx) error {
			c := tx.Bucket(bResources).Cursor()
			k, _ := c.Seek(from)
			for from = nil; k != nil; k, _ = c.Seek(from) {
				origin := originOf(string(k))
				if len(list) == batch {
					from = bytes.Clone(k)
					return nil
				}
				list = append(list, origin)
				from = []byte(origin + "0") // the first key after those that begin with the origin and a slash
			}
			from = nil
			return nil
		})
		if err != nil {
			return err
		}
		for _, origin := range list {
			if err := fn(origin); err != nil {
				return err
			}
		}
	}
	return nil
}

// HoldsCopy reports whether a capture of a URL of an origin, such as http://example.com, is stored. It returns at the
// first one, so it reads many records only of an origin with many resources and no capture.
func (a *Archive) HoldsCopy(origin string) (held bool, err error) {
	prefix := []byte(origin + "/")
	err = a.view(func(tx *bolt.Tx) error {
		k, _ := tx.Bucket(bEarlier).Cursor().Seek(prefix)
		held = bytes.HasPrefix(k, prefix)
		return nil
	})
	if held || err != nil {
		return held, err
	}
	err = each(a, bResources, prefix, func(_ *bolt.Tx, k, v []byte) (bool, error) {
		var rec resourceRecord
		if _, err := unpackSealed(k, v, &rec); err != nil {
			return false, a.damaged("the record of "+string(k), err)
		}
		return rec.Current != 0, nil
	}, func(current bool) error {
		if current {
			return errFound
		}
		return nil
	})
	if err == errFound {
		return true, nil
	}
	return false, err
}

// errFound ends an iteration.
var errFound = errors.New("found")

// originOf returns a URL up to the slash after its host.
func originOf(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
