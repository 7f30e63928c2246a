package archive

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/acapcrawl/acapcrawl/internal/disk"
)

// keys is the file keys.db. It consists of slots of 32 bytes: the first slot is a header, and each
// other slot contains the key of one sealed text. A slot of zeros is a destroyed key. Slots are
// used once and in order. Keys are written to disk in advance, so that sealing a text needs no
// write for its key. Only the writer goroutine calls take, reset and overwrite; read is safe for
// concurrent use.
type keys struct {
	path  string
	f     *os.File
	next  uint64 // the next slot to use
	spare []byte // keys for the next slots: already written to the file and not used yet
	ahead int    // number of keys that are written in advance at a time; 0: reserve

	closing sync.Once
}

const (
	slot     = 32
	reserve  = 4096 // number of keys that are written in advance at a time
	keyMagic = "acapcrawl keys 1"
)

type key [slot]byte

func (k key) zero() bool { return k == key{} }

// openKeys opens the key file of the archive with the given ID. If fresh is true, openKeys makes a
// new key file.
func openKeys(path string, id []byte, fresh bool) (*keys, error) {
	want := append([]byte(keyMagic), id...)
	flag := os.O_RDWR
	if fresh {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flag, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: the archive next to it cannot be read without it (%w)", path, ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("the keys of the archive cannot be opened: %w", err)
	}
	k := &keys{path: path, f: f, next: 1}
	if fresh {
		err = k.create(want)
	} else {
		err = k.check(want)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return k, nil
}

func (k *keys) create(head []byte) error {
	info, err := k.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > slot {
		return fmt.Errorf("%s belongs to an archive that is no longer next to it: move it away to start again (%w)",
			k.path, ErrCorrupt)
	}
	if _, err := k.f.WriteAt(head, 0); err != nil {
		return fmt.Errorf("%s cannot be written: %w", k.path, err)
	}
	if err := k.sync(noFault); err != nil {
		return err
	}
	return disk.Sync(filepath.Dir(k.path))
}

func (k *keys) check(want []byte) error {
	got := make([]byte, slot)
	_, err := k.f.ReadAt(got, 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("%s cannot be read: %w", k.path, err)
	case err != nil || !bytes.Equal(got[:len(keyMagic)], want[:len(keyMagic)]):
		return fmt.Errorf("%s is %w: it is not a file of keys", k.path, ErrCorrupt)
	case !bytes.Equal(got, want):
		return fmt.Errorf("%s is %w: it belongs to another archive", k.path, ErrCorrupt)
	}
	return nil
}

// reset sets the next slot to the slot after used. It drops the keys in later slots, because a
// transaction that did not commit may have used one of them.
func (k *keys) reset(used uint64) error {
	k.next, k.spare = used+1, nil
	info, err := k.f.Stat()
	if err == nil && info.Size() > int64(k.next*slot) {
		err = k.f.Truncate(int64(k.next * slot))
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", k.path, err)
	}
	return nil
}

// slots returns the number of slots that the file has, with that of the header.
func (k *keys) slots() (uint64, error) {
	info, err := k.f.Stat()
	if err != nil {
		return 0, fmt.Errorf("%s cannot be read: %w", k.path, err)
	}
	return uint64(info.Size()) / slot, nil
}

// take returns an unused key that is on disk, and the number of its slot.
func (k *keys) take(fault func(Step) error) (id uint64, out key, err error) {
	if len(k.spare) == 0 {
		if err := k.refill(fault); err != nil {
			return 0, key{}, fmt.Errorf("%s cannot be written: %w", k.path, err)
		}
	}
	id = k.next
	copy(out[:], k.spare)
	k.next++
	k.spare = k.spare[slot:]
	return id, out, nil
}

func (k *keys) refill(fault func(Step) error) error {
	if err := fault(ReserveKeys); err != nil {
		return err
	}
	fresh := make([]byte, cmp.Or(k.ahead, reserve)*slot)
	if _, err := rand.Read(fresh); err != nil {
		return err
	}
	if _, err := k.f.WriteAt(fresh, int64(k.next*slot)); err != nil {
		return err
	}
	if err := fault(SyncKeys); err != nil {
		return err
	}
	if err := k.f.Sync(); err != nil {
		return err
	}
	k.spare = fresh
	return nil
}

// read returns the key in a slot. The key is zero if it was destroyed or never made.
func (k *keys) read(id uint64) (out key, err error) {
	if id == 0 || id > 1<<56 {
		return key{}, nil
	}
	_, err = k.f.ReadAt(out[:], int64(id*slot))
	switch {
	case errors.Is(err, io.EOF):
		return key{}, nil
	case errors.Is(err, fs.ErrClosed):
		return key{}, ErrClosed
	case err != nil:
		return key{}, fmt.Errorf("%s cannot be read: %w", k.path, err)
	}
	return out, nil
}

// overwrite overwrites keys with zeros. The caller must sync the file afterwards.
func (k *keys) overwrite(ids []uint64) error {
	var none key
	for _, id := range ids {
		if _, err := k.f.WriteAt(none[:], int64(id*slot)); err != nil {
			return fmt.Errorf("%s cannot be written: %w", k.path, err)
		}
	}
	return nil
}

func (k *keys) sync(fault func(Step) error) error {
	err := fault(SyncKeys)
	if err == nil {
		err = k.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", k.path, err)
	}
	return nil
}

func (k *keys) close() (err error) {
	k.closing.Do(func() { err = k.f.Close() })
	return err
}
