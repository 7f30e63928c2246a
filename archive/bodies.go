package archive

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/coding"
)

// between limits the size of a partly decoded body, in bytes: twice the limit of the decoded body,
// plus between.
const between = 1 << 20

// Bodies stores sealed bodies by number. A number is never used for a second body. The keys are
// stored elsewhere, so a reader of the store learns only the sizes of bodies. Bodies must be safe
// for concurrent use.
type Bodies interface {
	// Put stores a body. The body must be durable when the transaction that refers to it commits. If
	// a failed transaction has left a body with the same number, Put replaces that body. The caller
	// may change sealed when Put has returned.
	Put(ctx context.Context, id uint64, sealed []byte) error

	// Get appends a body to out. If there is no such body, it returns out unchanged.
	Get(ctx context.Context, id uint64, out []byte) ([]byte, error)

	// Delete removes a body. A missing body is not an error. For a store outside the archive,
	// Delete is called after the transaction.
	Delete(ctx context.Context, id uint64) error

	// IDs returns the numbers of all bodies, in ascending order.
	IDs(ctx context.Context) iter.Seq2[uint64, error]
}

// Outside is a store of bodies outside the archive's directory, such as a bucket of an object store.
type Outside interface {
	Bodies

	// Name names the store in messages. The archive keeps the name, and opens with no other store.
	Name() string

	// Claim makes the store that of one archive, which id names. It returns an error if the store
	// belongs to another archive, or must not be used. It is called again in each process before
	// the first body is stored.
	Claim(ctx context.Context, id string) error

	// Sync returns when all bodies are durable for which Put was called, or returns an error of one
	// of them. Only the caller of Put calls it. Get finds a body before that.
	Sync() error
}

// bodies returns the store of bodies for the transaction tx.
func (a *Archive) bodies(tx *bolt.Tx) Bodies {
	if a.outside != nil {
		return a.outside
	}
	return local{a, tx}
}

// bodiesError is an ErrBodies with its cause.
type bodiesError struct{ cause error }

func (e *bodiesError) Error() string        { return ErrBodies.Error() + ": " + e.cause.Error() }
func (e *bodiesError) Is(target error) bool { return target == ErrBodies }
func (e *bodiesError) Unwrap() error        { return e.cause }

// sealedBody appends the sealed bytes of a body to out.
func (a *Archive) sealedBody(tx *bolt.Tx, id uint64, out []byte) ([]byte, error) {
	sealed, err := a.bodies(tx).Get(a.life, id, out)
	if err != nil {
		return nil, &bodiesError{err}
	}
	return sealed, nil
}

// CheckStore checks that bodies may be stored in Options.Bodies. Otherwise this is checked when the
// first body is stored.
func (a *Archive) CheckStore(ctx context.Context) error {
	if a.outside == nil {
		return nil
	}
	return a.do(ctx, 0, func(t *txn) error { return t.claim(ctx) })
}

// claim claims the outside store of bodies, and the copies, unless this process has done so.
func (t *txn) claim(ctx context.Context) error {
	if !t.a.claimed {
		if err := t.a.outside.Claim(ctx, t.a.id); err != nil {
			return &bodiesError{err}
		}
		t.a.claimed = true
	}
	if r := t.a.replica; r != nil && r.detached {
		return &replicaError{ErrReplica}
	} else if r != nil && !r.claimed {
		if err := t.claimCopies(ctx); err != nil {
			return &replicaError{err}
		}
	}
	return nil
}

// putBody stores a body.
func (t *txn) putBody(id uint64, sealed []byte) error {
	if t.a.outside != nil {
		if err := t.claim(t.a.life); err != nil {
			return err
		}
		t.sent = append(t.sent, id)
	}
	return t.a.bodies(t.tx.Tx).Put(t.a.life, id, sealed)
}

// unsend gives up the bodies that a failed transaction sent to the outside store. Their numbers are not used again,
// because a request that was given up may still arrive there and would replace a later body.
func (t *txn) unsend() {
	if t.a.outside == nil {
		return
	}
	_ = t.a.outside.Sync() // waits for what is being sent
	t.a.unnamed = append(t.a.unnamed, t.sent...)
	for _, id := range t.sent {
		t.a.spent = max(t.a.spent, id)
	}
}

// skipSpent makes the next body have a number that was never sent.
func (t *txn) skipSpent() error {
	bodies := t.tx.Bucket(bBodies)
	if bodies.Sequence() >= t.a.spent {
		return nil
	}
	return bodies.SetSequence(t.a.spent)
}

// syncBodies makes the bodies of a transaction durable.
func (a *Archive) syncBodies() error {
	if a.outside != nil {
		if err := a.outside.Sync(); err != nil {
			return &bodiesError{err}
		}
	}
	return a.files.sync(a.fault)
}

// deleteBody deletes a body. A body outside the archive is deleted after the transaction is on
// disk, so that a failed transaction loses nothing.
func (t *txn) deleteBody(id uint64) error {
	if t.a.outside != nil {
		t.unnamed = append(t.unnamed, id)
		return t.tx.Bucket(bRemains).Put(idKey(id), nil)
	}
	return local{t.a, t.tx.Tx}.Delete(t.a.life, id)
}

// deleteUnnamed deletes bodies outside the archive that no record refers to. It waits for readers
// that began earlier. A failed deletion is tried again after the next transaction, by Close, and, if a
// transaction has committed it, when the archive is opened again. The next transaction removes the
// numbers in a.gone from bRemains.
func (a *Archive) deleteUnnamed(ctx context.Context) {
	if len(a.unnamed) == 0 || a.replica.isReplaced() {
		return
	}
	a.readers.Lock()
	ids := a.unnamed
	a.readers.Unlock() // later readers do not see the bodies, so they need not wait for the store
	for i, id := range ids {
		if err := a.outside.Delete(ctx, id); err != nil {
			a.unnamed = ids[i:] // the store does not answer
			return
		}
		a.gone = append(a.gone, id)
	}
	a.unnamed = nil
}

// unnamedBodies returns the bodies outside the archive that an earlier process did not delete.
func (a *Archive) unnamedBodies(tx *bolt.Tx) (list []uint64, err error) {
	if a.outside == nil {
		return nil, nil
	}
	err = tx.Bucket(bRemains).ForEach(func(k, _ []byte) error {
		list = append(list, number(k))
		return nil
	})
	return list, err
}

// local stores bodies in body files, and the place of each body in archive.db. It reads and writes
// the places in the transaction tx.
type local struct {
	a  *Archive
	tx *bolt.Tx
}

// Put adds a body to the last body file. The writer syncs the file before it commits.
func (l local) Put(_ context.Context, id uint64, sealed []byte) error {
	p, err := l.a.files.add(id, sealed)
	if err != nil {
		return err
	}
	if err := l.amendFile(p.File, func(f *fileRecord) {
		f.Size, f.Live = l.a.files.end, f.Live+
			p.taken()
	}); err != nil {
		return err
	}
	return l.tx.Bucket(bBodies).Put(idKey(id), p.pack())
}

// Get appends a body to out. It returns out unchanged if the body file lacks the body.
func (l local) Get(_ context.Context, id uint64, out []byte) ([]byte, error) {
	p, ok := unpackPlace(l.tx.Bucket(bBodies).Get(idKey(id)))
	if !ok {
		return out, nil
	}
	return l.a.files.read(p, out)
}

// Delete deletes the record of where a body is. The next compaction overwrites the body.
func (l local) Delete(_ context.Context, id uint64) error {
	bucket := l.tx.Bucket(bBodies)
	value := bucket.Get(idKey(id))
	if value == nil {
		return nil
	}
	if p, ok := unpackPlace(value); ok {
		err := l.amendFile(p.File, func(f *fileRecord) { f.Live -= min(f.Live, p.taken()) })
		if err := errors.Join(err, l.tx.Bucket(bRemains).Put(p.pack(), nil)); err != nil {
			return err
		}
	}
	return bucket.Delete(idKey(id))
}

// IDs returns the numbers of all bodies. It skips malformed keys.
func (l local) IDs(ctx context.Context) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		c := l.tx.Bucket(bBodies).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if err := ctx.Err(); err != nil {
				yield(0, err)
				return
			}
			if id := number(k); id != 0 && !yield(id, nil) {
				return
			}
		}
	}
}

// fileRecord is the record of a body file: its length, and how many of these bytes are bodies that
// records refer to, with their heads.
type fileRecord struct{ Size, Live uint64 }

func unpackFile(k, value []byte) (f fileRecord, err error) {
	b, err := unframe(k, value)
	if err == nil && len(b) != 16 {
		err = errRecord
	}
	if err != nil {
		return f, err
	}
	return fileRecord{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, nil
}

func (f fileRecord) pack(k []byte) []byte {
	return frame(k, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, 16), f.Size), f.Live))
}

func fileKey(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func fileNumber(k []byte) (uint32, error) {
	if len(k) != 4 {
		return 0, errRecord
	}
	return binary.BigEndian.Uint32(k), nil
}

// amendFile changes the record of a body file, which it makes if necessary.
func (l local) amendFile(n uint32, change func(*fileRecord)) error {
	bucket, k := l.tx.Bucket(bFiles), fileKey(n)
	f, err := l.file(n)
	if err != nil {
		return err
	}
	change(&f)
	return bucket.Put(k, f.pack(k))
}

// file returns the record of a body file; the zero record if there is none. If the record is
// damaged, file returns the length of the file, as if nothing in it were erased; Verify finds that.
func (l local) file(n uint32) (f fileRecord, err error) {
	k := fileKey(n)
	value := l.tx.Bucket(bFiles).Get(k)
	if value == nil {
		return f, nil
	}
	if f, err = unpackFile(k, value); err == nil {
		return f, nil
	}
	size, err := fileSize(l.a.dir, n)
	return fileRecord{uint64(size), uint64(size)}, err
}

// lastFile returns the number and the length of the last body file; 0 if there is none.
func (l local) lastFile() (n uint32, end uint64, err error) {
	k, _ := l.tx.Bucket(bFiles).Cursor().Last()
	if k == nil {
		return 0, 0, nil
	}
	n, err = fileNumber(k)
	if err != nil {
		return 0, 0, l.a.damaged("its list of body files", err)
	}
	f, err := l.file(n)
	return n, f.Size, err
}

// decoded decodes the body of a capture from its bytes as sent. The text of an error continues a
// sentence that begins with "the body of …".
func (a *Archive) decoded(rec captureRecord, wire []byte) ([]byte, error) {
	if rec.Encoding == "" {
		return wire, nil
	}
	body, _ := a.pack.undo(wire, coding.List(rec.Encoding), rec.Bytes)
	if int64(len(body)) != rec.Bytes || Digest(body) != rec.Digest {
		return nil, fmt.Errorf("is no longer the same when %s is decoded", rec.Encoding)
	}
	return body, nil
}

// undo decodes wire, which was sent with codings, and returns at most the first limit bytes. short
// reports that the body is longer or the stream is broken. With several codings, the size of the
// data between two decoding steps is limited too.
func (p *packer) undo(wire []byte, codings []string, limit int64) (body []byte, short bool) {
	if last := len(codings) - 1; last > 0 {
		u := p.coding.Undo(wire, codings[last:], 2*limit+between)
		wire, short, codings = u.Body, u.Short, codings[:last]
	}
	u := p.coding.Undo(wire, codings, limit)
	return u.Body, short || u.Short
}
