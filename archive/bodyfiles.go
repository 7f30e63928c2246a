package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/acapcrawl/acapcrawl/internal/disk"
)

const (
	bodiesDir  = "bodies" // directory of the body files, next to archive.db
	bodyHead   = 12       // bytes before each body: its ID (8 bytes) and its length (4)
	mostBodies = 16 << 20 // size in bytes at which the next body begins a new file
	mostOpen   = 128      // maximal number of open body files
)

// place is where the sealed bytes of a body are: in which file, at which offset, and how many. The
// head of the body is directly before the offset.
type place struct {
	File           uint32
	Offset, Length uint32
}

func (p place) pack() []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 12), p.File)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, p.Offset), p.Length)
}

func unpackPlace(b []byte) (p place, ok bool) {
	if len(b) != 12 {
		return p, false
	}
	return place{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}, true
}

// taken returns how many bytes of its file a body takes, with its head.
func (p place) taken() uint64 { return uint64(p.Length) + bodyHead }

// bodyFiles is the directory of body files. A file contains bodies one after another, each after a
// head. Bodies are appended to the last file; the bytes of a body change only when they are
// overwritten because the body was erased. archive.db says which bodies are where, and how long
// each file is. What a file contains beyond that length belongs to a transaction that did not
// commit. Only the writer goroutine calls add, sync, reset and finish; the other methods are safe
// for concurrent use.
type bodyFiles struct {
	dir string

	// Only the writer goroutine uses the following fields.
	last   uint32 // number of the file to which bodies are added; 0: there is no file yet
	end    uint64 // where the next body begins
	f      *os.File
	dirty  bool   // f contains bodies that are not synced
	buffer []byte // used again for each body

	mu   sync.RWMutex // held for reading while a file of open is in use
	open map[uint32]*os.File
}

// openBodyFiles opens the directory of an archive. The next body is added to file last at end.
// listed reports whether archive.db lists a file; openBodyFiles removes the others, and the bytes
// after end, because they belong to transactions that did not commit.
func openBodyFiles(dir string, last uint32, end uint64, listed func(uint32) bool) (*bodyFiles, error) {
	b := &bodyFiles{dir: filepath.Join(dir, bodiesDir), open: map[uint32]*os.File{}}
	err := os.Mkdir(b.dir, 0o700)
	if err == nil {
		err = disk.Sync(dir)
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil {
		err = b.removeUnlisted(listed)
	}
	if err == nil {
		err = b.reset(last, end)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("the body files of the archive cannot be opened: %w", err)
	}
	return b, nil
}

func bodyFileName(n uint32) string { return fmt.Sprintf("%08d", n) }

// bodyFileNumber returns the number of the body file with the given name. ok is false if it is not
// the name of a body file.
func bodyFileNumber(name string) (n uint32, ok bool) {
	v, err := strconv.ParseUint(name, 10, 32)
	return uint32(v), err == nil && bodyFileName(uint32(v)) == name
}

func (b *bodyFiles) path(n uint32) string { return filepath.Join(b.dir, bodyFileName(n)) }

// fileSize returns the size of a body file of the archive in dir in bytes; 0 if there is no such
// file.
func fileSize(dir string, n uint32) (size int64, err error) {
	info, err := os.Stat(filepath.Join(dir, bodiesDir, bodyFileName(n)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return info.Size(), nil
}

// add appends a body and returns its place. It is durable after the next call of sync.
func (b *bodyFiles) add(id uint64, sealed []byte) (place, error) {
	if uint64(len(sealed)) > math.MaxUint32 {
		return place{}, fmt.Errorf("a body of %d bytes is too large to be stored", len(sealed))
	}
	if b.last == 0 || b.end >= mostBodies {
		if err := b.finish(); err != nil {
			return place{}, err
		}
	}
	b.buffer = append(appendHead(b.buffer[:0], id, uint32(len(sealed))), sealed...)
	b.dirty = true
	if _, err := b.f.WriteAt(b.buffer, int64(b.end)); err != nil {
		return place{}, err
	}
	p := place{b.last, uint32(b.end + bodyHead), uint32(len(sealed))}
	b.end += uint64(len(b.buffer))
	if cap(b.buffer) > bigBuffer {
		b.buffer = nil
	}
	return p, nil
}

func appendHead(b []byte, id uint64, length uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, id), length)
}

// headed reports whether the head of a body is right. If the file does not contain the head, headed
// returns an error.
func (b *bodyFiles) headed(id uint64, p place) (bool, error) {
	var head [bodyHead]byte
	err := b.use(p.File, func(f *os.File) error {
		_, err := f.ReadAt(head[:], int64(p.Offset)-bodyHead)
		return err
	})
	return bytes.Equal(head[:], appendHead(nil, id, p.Length)), err
}

// writeHead writes the head of a body again.
func (b *bodyFiles) writeHead(id uint64, p place) error {
	err := b.use(p.File, func(f *os.File) error {
		_, err := f.WriteAt(appendHead(nil, id, p.Length), int64(p.Offset)-bodyHead)
		return err
	})
	return errors.Join(err, b.syncFile(p.File))
}

// finish makes the bodies in the last file durable and begins a new file. Later bodies are added to
// the new file.
func (b *bodyFiles) finish() error {
	if err := b.sync(noFault); err != nil {
		return err
	}
	f, err := os.OpenFile(b.path(b.last+1), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := disk.Sync(b.dir); err != nil {
		return errors.Join(err, f.Close())
	}
	if b.f != nil {
		b.f.Close() // synced, so an error has no effect
	}
	b.f, b.last, b.end = f, b.last+1, 0
	return nil
}

// sync makes all added bodies durable.
func (b *bodyFiles) sync(fault func(Step) error) error {
	if !b.dirty {
		return nil
	}
	err := fault(SyncBodies)
	if err == nil {
		err = b.f.Sync()
	}
	b.dirty = err != nil
	return err
}

// reset discards all bodies that were added after the offset end of file last. A file with a higher
// number stays until finish truncates it or removeUnlisted removes it.
func (b *bodyFiles) reset(last uint32, end uint64) error {
	b.dirty = false
	if b.f != nil && b.last != last {
		b.f.Close() // what was added to this file is discarded, so an error has no effect
		b.f = nil
	}
	b.last, b.end = last, end
	if last == 0 {
		return nil
	}
	if b.f == nil {
		f, err := os.OpenFile(b.path(last), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		b.f = f
	}
	info, err := b.f.Stat()
	if err == nil && info.Size() > int64(end) {
		err = b.f.Truncate(int64(end))
	}
	return err
}

// read appends the bytes at a place to out. It returns out unchanged if the file does not contain
// that place.
func (b *bodyFiles) read(p place, out []byte) ([]byte, error) {
	n := len(out)
	if p.taken() > mostBodies {
		// a damaged place could name more bytes than there are: do not allocate memory for them
		if size, err := fileSize(filepath.Dir(b.dir), p.File); err != nil ||
			uint64(p.Offset)+uint64(p.Length) > uint64(size) {
			return out, err
		}
	}
	buf := append(out, make([]byte, p.Length)...)
	err := b.use(p.File, func(f *os.File) error {
		_, err := f.ReadAt(buf[n:], int64(p.Offset))
		return err
	})
	if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	return buf, err
}

// overwrite overwrites the bytes at a place with zeros. A place that the file does not contain is
// no error. The caller must call syncFile afterwards.
func (b *bodyFiles) overwrite(p place) error {
	size, err := fileSize(filepath.Dir(b.dir), p.File)
	if err != nil || int64(p.Offset) >= size {
		return err
	}
	end := min(int64(p.Offset)+int64(p.Length), size)
	zeros := make([]byte, min(int64(p.Length), 1<<20))
	return b.use(p.File, func(f *os.File) error {
		for at := int64(p.Offset); at < end; {
			n, err := f.WriteAt(zeros[:min(int64(len(zeros)), end-at)], at)
			if err != nil {
				return err
			}
			at += int64(n)
		}
		return nil
	})
}

func (b *bodyFiles) syncFile(n uint32) error {
	err := b.use(n, (*os.File).Sync)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeUnlisted removes all body files that archive.db does not list, except the last file. No
// open transaction may refer to such a file.
func (b *bodyFiles) removeUnlisted(listed func(uint32) bool) error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range entries {
		n, ok := bodyFileNumber(e.Name())
		if !ok || listed(n) || n == b.last {
			continue
		}
		if f := b.open[n]; f != nil {
			f.Close()
			delete(b.open, n)
		}
		if err := os.Remove(b.path(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// use calls fn with an open file. It opens the file if necessary, and keeps it open for later
// calls.
func (b *bodyFiles) use(n uint32, fn func(*os.File) error) error {
	b.mu.RLock()
	if f := b.open[n]; f != nil {
		defer b.mu.RUnlock()
		return fn(f)
	}
	b.mu.RUnlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.open[n]
	if f == nil {
		if b.open == nil {
			return ErrClosed
		}
		if len(b.open) >= mostOpen {
			b.closeOpen()
		}
		var err error
		if f, err = os.OpenFile(b.path(n), os.O_RDWR, 0); err != nil {
			return err
		}
		b.open[n] = f
	}
	return fn(f)
}

// closeOpen closes the files that are kept open. The caller must hold b.mu.
func (b *bodyFiles) closeOpen() {
	for n, f := range b.open {
		f.Close() // syncFile opens the file again if its bytes are not synced yet
		delete(b.open, n)
	}
}

// close closes all files. Later reads return ErrClosed.
func (b *bodyFiles) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closeOpen()
	b.open = nil
	if b.f != nil {
		b.f.Close()
		b.f = nil
	}
}

// each calls fn with the ID and place of each body of a file, in order, up to the given end, also
// of bodies that were erased. It returns an error if a body would extend beyond the end.
func (b *bodyFiles) each(n uint32, end uint64, fn func(id uint64, p place) error) error {
	var head [bodyHead]byte
	for at := uint64(0); at < end; {
		if err := b.use(n, func(f *os.File) error {
			_, err := f.ReadAt(head[:], int64(at))
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", b.path(n), err)
		}
		p := place{n, uint32(at + bodyHead), binary.BigEndian.Uint32(head[8:])}
		if at += p.taken(); at > end {
			return fmt.Errorf("%s is %w: a body extends beyond its end", b.path(n), ErrCorrupt)
		}
		if err := fn(binary.BigEndian.Uint64(head[:]), p); err != nil {
			return err
		}
	}
	return nil
}
