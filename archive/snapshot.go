package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	bolt "go.etcd.io/bbolt"
)

// partOfSnapshot is the size of a part of a snapshot in bytes, before it is encrypted.
const partOfSnapshot = 8 << 20

// bigSnapshot is the size in bytes above which not every compaction makes a snapshot.
const bigSnapshot = 64 << 20

func snapshotName(n uint64) string       { return fmt.Sprintf("%s%016x", snapshotsFolder, n) }
func partName(n uint64, part int) string { return fmt.Sprintf("%s/%08x", snapshotName(n), part) }

// renewSnapshot makes a snapshot of all records, and removes the copies of records that it replaces. If now is not set,
// it does nothing if that costs much and replaces little.
func (a *Archive) renewSnapshot(ctx context.Context, now bool) error {
	var seq uint64
	var size int
	err := a.snapshot(func(tx *bolt.Tx) error {
		var record replicaRecord
		err := unpack(kReplica, tx.Bucket(bMeta).Get(kReplica), &record)
		if err != nil || record.Copies == 0 ||
			!now && record.BaseBytes > bigSnapshot && record.Bytes < record.BaseBytes/4 {
			return err
		}
		seq = record.Seq
		size, err = a.writeSnapshot(ctx, tx, seq)
		return err
	})
	if err != nil || seq == 0 {
		return err
	}
	err = a.do(ctx, 0, func(t *txn) error {
		t.recorded = true
		t.rebased = func(r *replicaRecord) {
			r.Base, r.BaseBytes, r.Bytes, r.Copies = seq, uint64(size), 0, 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.replica.dropBefore(ctx, seq)
}

// writeSnapshot copies all records of a transaction as the snapshot with the number seq, and returns
// its size. A snapshot is complete if it has a last part. Parts of an interrupted attempt are the
// same, or are removed first.
func (a *Archive) writeSnapshot(ctx context.Context, tx *bolt.Tx, seq uint64) (size int, err error) {
	r := a.replica
	for name, err := range r.o.Records.List(ctx, snapshotName(seq)+"/") {
		if err == nil {
			err = r.o.Records.Remove(ctx, name)
		}
		if err != nil {
			return 0, err
		}
	}
	part := 0
	c := changes{}
	write := func(last bool) error {
		name := partName(seq, part)
		head := entry{Archive: a.rawID, Process: r.process, Last: last}
		sealed := r.sealEntry(name, head, c.encoded)
		part, size, c.encoded = part+1, size+len(sealed), c.encoded[:0]
		return r.o.Records.Create(ctx, name, sealed)
	}
	for _, name := range buckets {
		err := tx.Bucket(name).ForEach(func(k, value []byte) error {
			if string(name) == string(bMeta) && (string(k) == string(kHeader) || string(k) == string(kReplica)) {
				return nil
			}
			if c.put(name, k, value); len(c.encoded) < partOfSnapshot {
				return nil
			}
			return write(false)
		})
		if err != nil {
			return 0, err
		}
	}
	c.sequences(tx)
	return size, write(true)
}

const filesFolder = "files/"

// HasCopies reports whether records and keys are copied.
func (a *Archive) HasCopies() bool { return a.replica != nil && !a.replica.detached }

// CopyFile stores an encrypted copy of a file that belongs to the archive, and removes earlier copies of it.
func (a *Archive) CopyFile(ctx context.Context, name string, b []byte) error {
	r := a.replica
	var earlier []string
	n := uint64(0)
	for at, err := range r.o.Records.List(ctx, filesFolder+name+"/") {
		if err != nil {
			return err
		}
		if i, ok := numberOf(at, filesFolder+name+"/"); ok {
			earlier, n = append(earlier, at), max(n, i)
		}
	}
	err := fs.ErrExist
	for errors.Is(err, fs.ErrExist) { // the list may be incomplete
		n++
		at := fileName(name, n)
		err = r.o.Records.Create(ctx, at, r.sealEntry(at, entry{Archive: a.rawID, Process: r.process}, b))
	}
	if err != nil {
		return err
	}
	for _, at := range earlier {
		if err := r.o.Records.Remove(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// CopiedFile returns the last copy that CopyFile has stored; nil if there is none.
func CopiedFile(ctx context.Context, o Replica, name string) (b []byte, err error) {
	r, err := newReplica(o, nil)
	if err != nil {
		return nil, err
	}
	last := uint64(0)
	for at, err := range o.Records.List(ctx, filesFolder+name+"/") {
		if err != nil {
			return nil, err
		}
		if n, ok := numberOf(at, filesFolder+name+"/"); ok {
			last = n
		}
	}
	for n := max(last, 1); ; n++ { // the list may lack the newest copy, and still have one that was removed
		_, got, err := r.readEntry(ctx, fileName(name, n))
		switch {
		case errors.Is(err, fs.ErrNotExist) && n > last:
			return b, nil
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			b = got
		}
	}
}

func fileName(name string, n uint64) string { return fmt.Sprintf("%s%s/%016x", filesFolder, name, n) }

// dropBefore removes what the snapshot with the number seq replaces.
func (r *replica) dropBefore(ctx context.Context, seq uint64) error {
	for name, err := range r.o.Records.List(ctx, recordsFolder) {
		if n, ok := numberOf(name, recordsFolder); err == nil && ok && n <= seq {
			err = r.o.Records.Remove(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	for name, err := range r.o.Records.List(ctx, snapshotsFolder) {
		if n, ok := snapshotOf(name); err == nil && ok && n < seq {
			err = r.o.Records.Remove(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// snapshotOf returns the number of the snapshot to which an object belongs.
func snapshotOf(name string) (n uint64, ok bool) {
	if len(name) != len(partName(0, 0)) {
		return 0, false
	}
	return numberOf(name[:len(snapshotName(0))], snapshotsFolder)
}

// latestSnapshot returns the number of the last complete snapshot, and how many parts it has; 0 parts if there is none.
func (r *replica) latestSnapshot(ctx context.Context) (n uint64, parts int, err error) {
	count := map[uint64]int{}
	var order []uint64
	for name, err := range r.o.Records.List(ctx, snapshotsFolder) {
		if err != nil {
			return 0, 0, err
		}
		if n, ok := snapshotOf(name); ok {
			if count[n]++; count[n] == 1 {
				order = append(order, n)
			}
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		n, parts := order[i], count[order[i]]
		e, _, err := r.readEntry(ctx, partName(n, parts-1))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return 0, 0, err
		case e.Last:
			return n, parts, nil
		}
	}
	return 0, 0, nil
}
