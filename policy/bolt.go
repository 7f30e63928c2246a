package policy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// The names of the buckets of the file. If an origin has several entries in a bucket, each key
// begins with the origin and a zero byte.
var (
	lastBucket     = []byte("last")     // origin → Document of the last attempt, JSON
	versionsBucket = []byte("versions") // origin 0 time → Version, JSON
	textsBucket    = []byte("texts")    // origin 0 digest → text
)

// disk is a Store in a bbolt file.
type disk struct {
	db   *bolt.DB
	path string
}

// Open opens the store in the file at path. It creates the file if it does not exist. It fails if
// another process uses the file or if the file is damaged.
func Open(path string) (Store, error) {
	d := &disk{path: path}
	err := d.guard(func() (err error) {
		d.db, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType})
		if errors.Is(err, berrors.ErrTimeout) {
			return fmt.Errorf("the policy store %s is in use by another process", path)
		}
		if err != nil {
			return fmt.Errorf("the policy store %s cannot be opened (delete it: the policies are read again from "+
				"the sites): %w", path, err)
		}
		return d.db.Update(func(tx *bolt.Tx) error {
			for _, b := range [][]byte{lastBucket, versionsBucket, textsBucket} {
				if _, err := tx.CreateBucketIfNotExists(b); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		if d.db != nil {
			_ = d.guard(d.db.Close)
		}
		return nil, err
	}
	return d, nil
}

// guard calls f, which uses the database. If the file turns out to be damaged, the database panics,
// and guard returns an error.
func (d *disk) guard(f func() error) error {
	return spool.Guard(f, func(cause any) error {
		return fmt.Errorf("the policy store %s is damaged (delete it: the policies are read again from the sites): %v",
			d.path,
			cause)
	})
}

func (d *disk) view(f func(tx *bolt.Tx) error) error {
	return d.guard(func() error { return d.db.View(f) })
}

func (d *disk) Close() error { return d.guard(d.db.Close) }

func (d *disk) Load(origin string) (r Record, ok bool, err error) {
	err = d.view(func(tx *bolt.Tx) error {
		src := tx.Bucket(lastBucket).Get([]byte(origin))
		if src == nil {
			return nil
		}
		ok = true
		if err := json.Unmarshal(src, &r.Last); err != nil {
			return d.unreadable(origin, err)
		}
		_, src = newest(tx, origin)
		if src == nil {
			return nil
		}
		r.Held, err = d.version(tx, origin, src)
		return err
	})
	return r, ok, err
}

func (d *disk) unreadable(origin string, err error) error {
	return fmt.Errorf("the policy store %s contains an invalid record of %s (delete the file: the policies are read "+
		"again from the sites): "+
		"%w", d.path, origin, err)
}

// newest returns key and value of the last version of an origin, or nil if there is none.
func newest(tx *bolt.Tx, origin string) (key, value []byte) {
	c := tx.Bucket(versionsBucket).Cursor()
	prefix := prefixOf(origin)
	if k, _ := c.Seek(append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 9)...)); k == nil {
		key, value = c.Last()
	} else {
		key, value = c.Prev()
	}
	if !bytes.HasPrefix(key, prefix) {
		return nil, nil
	}
	return key, value
}

func prefixOf(origin string) []byte { return append([]byte(origin), 0) }

func versionKey(origin string, since time.Time) []byte {
	return binary.BigEndian.AppendUint64(prefixOf(origin), uint64(since.UnixNano()))
}

func textKey(origin, digest string) []byte { return append(prefixOf(origin), digest...) }

// version decodes a Version and reads the texts of its documents.
func (d *disk) version(tx *bolt.Tx, origin string, src []byte) (*Version, error) {
	v := &Version{}
	if err := json.Unmarshal(src, v); err != nil {
		return nil, d.unreadable(origin, err)
	}
	for _, doc := range v.documents() {
		if doc.Digest == "" {
			continue
		}
		doc.Text = bytes.Clone(tx.Bucket(textsBucket).Get(textKey(origin, doc.Digest)))
		if digest(doc.Text) != doc.Digest {
			return nil, d.unreadable(origin, fmt.Errorf("the stored text of %s does not match its digest", doc.URL))
		}
	}
	return v, nil
}

func (v *Version) documents() []*Document {
	docs := []*Document{&v.Robots}
	for i := range v.References {
		docs = append(docs, &v.References[i])
	}
	return docs
}

func (d *disk) Save(origin string, r Record) error {
	return d.guard(func() error {
		err := d.db.Update(func(tx *bolt.Tx) error { return save(tx, origin, r) })
		if err != nil {
			return fmt.Errorf("the policy of %s could not be written to %s: %w", origin, d.path, err)
		}
		return nil
	})
}

func save(tx *bolt.Tx, origin string, r Record) error {
	last, err := json.Marshal(r.Last)
	if err != nil {
		return err
	}
	if err := tx.Bucket(lastBucket).Put([]byte(origin), last); err != nil || r.Held == nil {
		return err
	}
	texts := tx.Bucket(textsBucket)
	for _, doc := range r.Held.documents() {
		key := textKey(origin, doc.Digest)
		if doc.Digest == "" || texts.Get(key) != nil {
			continue
		}
		if err := texts.Put(key, doc.Text); err != nil {
			return err
		}
	}
	v, err := json.Marshal(r.Held)
	if err != nil {
		return err
	}
	if err := tx.Bucket(versionsBucket).Put(versionKey(origin, r.Held.Since), v); err != nil {
		return err
	}
	return prune(tx, origin)
}

// prune deletes all versions of an origin except the last maxVersions, and all texts that no
// version names.
func prune(tx *bolt.Tx, origin string) error {
	prefix := prefixOf(origin)
	versions := tx.Bucket(versionsBucket)
	var keys [][]byte
	used := map[string]bool{}
	c := versions.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for i, k := range keys {
		if i < len(keys)-maxVersions {
			if err := versions.Delete(k); err != nil {
				return err
			}
			continue
		}
		var v Version
		if err := json.Unmarshal(versions.Get(k), &v); err != nil {
			return err
		}
		for _, doc := range v.documents() {
			used[doc.Digest] = true
		}
	}
	texts := tx.Bucket(textsBucket)
	var unused [][]byte
	c = texts.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if !used[string(k[len(prefix):])] {
			unused = append(unused, bytes.Clone(k))
		}
	}
	for _, k := range unused {
		if err := texts.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) History(origin string) (vs []Version, err error) {
	err = d.view(func(tx *bolt.Tx) error {
		prefix := prefixOf(origin)
		c := tx.Bucket(versionsBucket).Cursor()
		for k, src := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, src = c.Next() {
			v, err := d.version(tx, origin, src)
			if err != nil {
				return err
			}
			vs = append(vs, *v)
		}
		return nil
	})
	return vs, err
}

func (d *disk) Since(origin string) (since time.Time, err error) {
	err = d.view(func(tx *bolt.Tx) error {
		if key, _ := newest(tx, origin); key != nil {
			since = time.Unix(0, int64(binary.BigEndian.Uint64(key[len(key)-8:]))).UTC()
		}
		return nil
	})
	return since, err
}

func (d *disk) Each(after string, fn func(Attempt) error) error {
	return d.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(lastBucket).Cursor()
		for k, src := c.Seek(prefixOf(after)); k != nil; k, src = c.Next() {
			a, err := d.attempt(tx, string(k), src)
			if err == nil {
				err = fn(a)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// attempt decodes the last attempt at an origin, without the texts of its files.
func (d *disk) attempt(tx *bolt.Tx, origin string, src []byte) (Attempt, error) {
	var last Document
	if err := json.Unmarshal(src, &last); err != nil {
		return Attempt{}, d.unreadable(origin, err)
	}
	_, src = newest(tx, origin)
	if src == nil {
		return attempt(origin, last, nil), nil
	}
	held := &Version{}
	if err := json.Unmarshal(src, held); err != nil {
		return Attempt{}, d.unreadable(origin, err)
	}
	return attempt(origin, last, held), nil
}
