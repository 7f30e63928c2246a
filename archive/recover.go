package archive

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Recover makes the archive of a lost directory again in dir, which must have none, from the copies in o.Replica and
// the bodies in o.Bodies. Afterwards the lost directory, should it appear again, can no longer change the archive.
// The error wraps ErrNoCopies, ErrSecret or ErrCorrupt. The archive must be repaired before it is used: keys or bodies
// that are missing were erased.
func Recover(ctx context.Context, dir string, o Options) (held Stats, err error) {
	r, err := newReplica(*o.Replica, nil)
	if err != nil {
		return held, err
	}
	w, err := r.findCopies(ctx)
	if err != nil {
		return held, err
	}
	if r.keys, err = derivedCipher(o.Replica.Secret, w.archive, "keys"); err != nil {
		return held, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return held, err
	}
	path := filepath.Join(dir, "archive.db")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return held, fmt.Errorf("%s exists already", path)
	}
	a := &Archive{dir: dir, outside: o.Bodies, replica: r, rawID: w.archive, id: hex.EncodeToString(w.archive)}
	if a.db, err = bolt.Open(path, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType}); err != nil {
		return held, err
	}
	defer func() { err = errors.Join(err, a.db.Close()) }()
	if err := a.outside.Claim(ctx, a.id); err != nil {
		return held, err
	}
	var c counts
	if c, err = a.recoverRecords(ctx, w); err != nil {
		return held, err
	}
	needless, err := a.recoverKeys(ctx, c.Keys)
	if err != nil {
		return held, err
	}
	if err := a.takeOver(ctx, w); err != nil {
		return held, err
	}
	for some := range slices.Chunk(needless, keysAtOnce) {
		if err := r.o.Keys.Remove(ctx, some); err != nil {
			return held, err
		}
	}
	return c.stats(), a.db.Sync()
}

// way is how copies lead to the state of an archive.
type way struct {
	archive  []byte
	snapshot uint64 // number of the snapshot to begin with
	parts    int    // number of its parts; 0: begin with an empty archive
	chain    []uint64
	next     uint64 // number of the next copy
}

// tip returns the number of the last copy.
func (w way) tip() uint64 {
	if n := len(w.chain); n > 0 {
		return w.chain[n-1]
	}
	return w.snapshot
}

// link is the place of a copy among the others.
type link struct {
	archive []byte
	prev    uint64 // see entry
	changes bool   // it has changes
}

func (r *replica) readLink(ctx context.Context, n uint64) (link, error) {
	e, encoded, err := r.readEntry(ctx, entryName(n))
	return link{e.Archive, e.Prev, len(encoded) > 0}, err
}

// readLinks returns the links of the copies after the snapshot, by number, and the number of the last one. That is the
// number of the snapshot if there is none. The store may list new objects late, so readLinks also asks for the next
// numbers.
func (r *replica) readLinks(ctx context.Context, snapshot uint64) (links map[uint64]link, last uint64, err error) {
	numbers, err := r.entriesAfter(ctx, snapshot)
	if err != nil {
		return nil, 0, err
	}
	links, last = map[uint64]link{}, snapshot
	for _, n := range numbers {
		if links[n], err = r.readLink(ctx, n); err != nil {
			return nil, 0, err
		}
		last = n
	}
	for {
		l, err := r.readLink(ctx, last+1)
		if errors.Is(err, fs.ErrNotExist) {
			return links, last, nil
		} else if err != nil {
			return nil, 0, err
		}
		last++
		links[last] = l
	}
}

// findCopies finds the copies of which the state of the archive consists.
func (r *replica) findCopies(ctx context.Context) (w way, err error) {
	if w.snapshot, w.parts, err = r.latestSnapshot(ctx); err != nil {
		return w, err
	}
	links, last, err := r.readLinks(ctx, w.snapshot)
	if err != nil {
		return w, err
	}
	switch {
	case last > w.snapshot:
		w.archive = links[last].archive
	case w.parts == 0:
		return w, ErrNoCopies
	default:
		e, _, err := r.readEntry(ctx, partName(w.snapshot, 0))
		if err != nil {
			return w, err
		}
		w.archive = e.Archive
	}
	w.next = last + 1
	for n := last; n > w.snapshot; n = links[n].prev {
		l, known := links[n]
		if !known { // it was not listed
			if l, err = r.readLink(ctx, n); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return w, err
			}
			links[n], known = l, err == nil
		}
		switch {
		case !known || l.prev >= n:
			return w, fmt.Errorf("the copies of records are %w: number %d is missing", ErrCorrupt, n)
		case l.prev < w.snapshot:
			return w, fmt.Errorf("the copies of records are %w: number %d does not follow the snapshot %d", ErrCorrupt,
				n, w.snapshot)
		case l.changes:
			w.chain = append(w.chain, n)
		}
	}
	slices.Reverse(w.chain)
	return w, nil
}

// recoverRecords makes archive.db.
func (a *Archive) recoverRecords(ctx context.Context, w way) (c counts, err error) {
	a.replica.record = replicaRecord{Check: a.replica.check, Generation: rand.Text(), Seq: w.next, Based: true,
		Base: w.snapshot}
	h := header{Format: formatCopied, ID: w.archive, Store: a.outside.Name()}
	if err := a.create(h); err != nil {
		return c, err
	}
	var names []string
	for part := range w.parts {
		names = append(names, partName(w.snapshot, part))
	}
	for _, n := range w.chain {
		names = append(names, entryName(n))
	}
	for _, name := range names {
		_, encoded, err := a.replica.readEntry(ctx, name)
		if err == nil {
			err = a.db.Update(func(tx *bolt.Tx) error { return applyChanges(tx, encoded) })
		}
		if err != nil {
			return c, fmt.Errorf("the copy %s cannot be used: %w", name, err)
		}
	}
	err = a.db.Update(func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucketIfNotExists(bUnsent); err != nil {
			return err
		}
		if c, err = readCounts(tx); err != nil {
			return err
		}
		if c.Rendered > 0 { // a snapshot does not contain the header
			h.Format = formatRendered
			if err := tx.Bucket(bMeta).Put(kHeader, mustPack(kHeader, h)); err != nil {
				return err
			}
		}
		bodies := tx.Bucket(bBodies) // see claimCopies
		if err := bodies.SetSequence(max(bodies.Sequence(), w.next<<24)); err != nil {
			return err
		}
		return a.replica.record.put(tx)
	})
	return c, err
}

// recoverKeys makes keys.db, with the keys up to the number used, and returns the others.
func (a *Archive) recoverKeys(ctx context.Context, used uint64) (needless []uint64, err error) {
	keys, err := openKeys(filepath.Join(a.dir, "keys.db"), a.rawID, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, keys.close()) }()
	if err := keys.f.Truncate(int64(used+1) * slot); err != nil {
		return nil, err
	}
	for found, err := range a.replica.o.Keys.All(ctx) {
		if err != nil {
			return nil, err
		}
		if found.ID == 0 || found.ID > used {
			needless = append(needless, found.ID)
			continue
		}
		k, err := a.replica.keys.Open(nil, nil, found.Sealed, idKey(found.ID))
		if err != nil || len(k) != slot {
			return nil, fmt.Errorf("the copy of key %d is %w", found.ID, ErrCorrupt)
		}
		if _, err := keys.f.WriteAt(k, int64(found.ID)*slot); err != nil {
			return nil, err
		}
	}
	return needless, keys.sync(noFault)
}

// takeOver stores a copy without changes, after which no other directory can store one.
func (a *Archive) takeOver(ctx context.Context, w way) error {
	name, e := entryName(w.next), a.head()
	e.Prev = w.tip()
	err := a.replica.o.Records.Create(ctx, name, a.replica.sealEntry(name, e, nil))
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the archive was changed while it was recovered: end the process that uses it, and try "+
			"again (%w)", err)
	}
	return err
}
