package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Auto is the value of Options.Least that means the smaller of 256 MB and 2 % of the file system.
const Auto = -1

const (
	autoLeast   = 256_000_000
	mostReserve = 8 << 20
	reserveName = "reserve"
)

// Options configure a Room. With zero Options, a crawl may use all free space.
type Options struct {
	Least int64 // bytes that a crawl leaves free; Auto: depends on the size of the file system

	// Free returns the free bytes and the size of the file system of a directory; nil: the function
	// asks the system.
	Free func(dir string) (free, total int64, err error)
}

// Room measures the free space on the file system of a data directory. It keeps a reserve there: a
// file that it deletes when there is no space left for a take-down. It is safe for concurrent use.
// If the system does not report how much space is free, Check never returns an error.
type Room struct {
	dir string
	o   Options
	mu  sync.Mutex
}

// NewRoom returns the Room of dir, which must exist.
func NewRoom(dir string, o Options) *Room {
	if o.Free == nil {
		o.Free = free
	}
	return &Room{dir: dir, o: o}
}

func (r *Room) name() string { return filepath.Join(r.dir, reserveName) }

// reserve returns the size of the reserve on a file system of total bytes.
func reserve(total int64) int64 { return min(mostReserve, total/16) }

// measure returns the free bytes without the reserve, how many bytes a crawl must leave free, the
// size that the reserve has, and the size that it should have. Space for a missing reserve does not
// count as free.
func (r *Room) measure() (available, least, held, wanted int64, err error) {
	now, total, err := r.o.Free(r.dir)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	if info, err := os.Stat(r.name()); err == nil {
		held = info.Size()
	}
	if least = r.o.Least; least == Auto {
		least = min(autoLeast, total/50)
	}
	wanted = reserve(total)
	return now - max(wanted-held, 0), least, held, wanted, nil
}

// Low is the error of Check: the disk has less free space than a crawl must leave.
type Low struct {
	Dir         string
	Free, Least int64
}

// Error returns one sentence.
func (l *Low) Error() string {
	return fmt.Sprintf("the disk of %s has %s free, and min_free is %s: free space there, "+
		"or set min_free lower, and run again; nothing is lost",
		l.Dir, size(l.Free), size(l.Least))
}

func size(n int64) string {
	if n = max(n, 0); n < 1_000_000 {
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}

// Check returns a *Low if the space left after writing unwritten more bytes is less than
// Options.Least.
func (r *Room) Check(unwritten int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	available, least, _, _, err := r.measure()
	if available -= unwritten; err != nil || available >= least {
		return nil
	}
	return &Low{Dir: r.dir, Free: available, Least: least}
}

// Scarce reports whether less space is free than a crawl must leave. If it returns true, work that
// is not urgent should wait.
func (r *Room) Scarce() bool { return r.Check(0) != nil }

// Make deletes the reserve if less space is free than the size of the reserve, so that a take-down
// can be recorded and executed. Call it before anything is written for a take-down. A nil Room has
// no reserve.
func (r *Room) Make() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, total, err := r.o.Free(r.dir)
	if err == nil && now < reserve(total) {
		os.Remove(r.name()) // if removing fails, the next write reports that the disk is full
	}
}

// Keep creates the reserve if there is space for twice its size.
func (r *Room) Keep() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, total, err := r.o.Free(r.dir)
	wanted := reserve(total)
	if err != nil || now < 2*wanted {
		return nil
	}
	if info, err := os.Stat(r.name()); err == nil && info.Size() == wanted {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.fill(wanted); err != nil {
		os.Remove(r.name())
		if Full(err) {
			return nil
		}
		return err
	}
	return nil
}

// fill creates the reserve. It writes or allocates every block, since a sparse file reserves no
// space.
func (r *Room) fill(wanted int64) error {
	f, err := os.OpenFile(r.name(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	done, err := allocate(f, wanted)
	block := make([]byte, 1<<16)
	for i := range block { // data that a file system cannot compress
		block[i] = byte(i*i>>7 + i)
	}
	for left := wanted; left > 0 && err == nil && !done; left -= int64(len(block)) {
		_, err = f.Write(block[:min(int64(len(block)), left)])
	}
	return errors.Join(err, f.Sync(), f.Close())
}
