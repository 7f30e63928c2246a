package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
)

// backupRequest is what backup or restore was asked for, beside the configuration.
type backupRequest struct {
	File  string // as typed
	Force bool
	JSON  bool
}

// backedUp is what archive backup --json prints.
type backedUp struct {
	File     string    `json:"file"`
	Made     time.Time `json:"made"`
	Captures int       `json:"captures"`
	Bytes    int64     `json:"bytes"` // of the file
}

// The files of a backup beside those of the data directory.
const (
	backupAbout  = "backup.json" // the first
	backupSums   = "SHA256SUMS"  // the last: of all others, as sha256sum -c reads them
	backupFormat = 1
)

// aboutBackup is backup.json.
type aboutBackup struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Made    time.Time `json:"made"`
}

func (c *Command) runBackup(ctx context.Context, cfg *config.Config, r backupRequest) (err error) {
	name := c.path(r.File)
	if name == "-" && r.JSON {
		return misuse("a file", "with --json the backup cannot go to standard output")
	}
	if err := backupPlace(cfg.Data, name, r.Force); err != nil {
		return err
	}
	s, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return c.orNothing(r.JSON, nil, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	// What is erased must not be in the backup: until it is compacted, the files of the index still have its words.
	if since, _, err := s.archive.Uncompacted(); err != nil || !since.IsZero() {
		if _, e := s.holdings.Compact(ctx, nil); errors.Join(err, e) != nil {
			return errors.Join(err, e)
		}
	}
	b := &backup{Command: c, store: s, out: backedUp{File: r.File, Made: time.Now().UTC().Truncate(time.Second)}}
	if name == "-" {
		return b.write(ctx, c.raw())
	}
	if err := b.toFile(ctx, name, r.Force); err != nil {
		err = fmt.Errorf("the backup cannot be made: %w", err)
		switch {
		case errors.Is(err, fs.ErrExist):
			return existing(r.File)
		case errors.Is(err, syscall.ENOSPC):
			return failure("the same again with more space, or another file", err)
		}
		return err
	}
	out := b.out
	if r.JSON {
		return c.printJSON(out)
	}
	_, err = fmt.Fprintf(c.Stdout, "%s holds what was held at %s: %s, %s.\n", r.File, out.Made.Format(time.RFC3339), several(out.Captures, "capture"), size(out.Bytes))
	return err
}

// existing is the fault of a file that is not to be replaced.
func existing(name string) error { return misuse("--force, or another name", "%s exists", name) }

// backupPlace refuses a file that exists, one in the data directory, where what is erased must not stay, and one in no directory.
func backupPlace(dir, name string, force bool) error {
	if name == "-" {
		return nil
	}
	if inside, err := within(dir, name); err != nil || inside {
		return errors.Join(err, misuse("a file elsewhere", "%s is in the data directory, where nothing may stay that is erased", name))
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return misuse("another name", "%s cannot be made: there is no directory %s", name, filepath.Dir(name))
	}
	switch info, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return misuse("", "%v", err)
	case !info.Mode().IsRegular():
		return misuse("-, which is standard output, or another name", "%s is no file", name)
	case !force:
		return existing(name)
	}
	return nil
}

// within reports whether the file name is, or would be, in dir or below it.
func within(dir, name string) (bool, error) {
	real := func(path string) (string, error) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return real, nil
		}
		return abs, nil
	}
	root, err := real(dir)
	if err != nil {
		return false, err
	}
	parent, err := real(filepath.Dir(name))
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(root, parent)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)), nil
}

// backup is one on its way.
type backup struct {
	*Command
	store *store
	out   backedUp
}

// toFile writes the backup beside the file that it is to be, and renames it when it is whole and on disk.
func (b *backup) toFile(ctx context.Context, name string, force bool) (err error) {
	draft, err := draftOf(name, func(w io.Writer) error { return b.write(ctx, w) })
	if err != nil {
		return err
	}
	return draft.Publish(name, force)
}

// write writes a tar archive of the data directory. What follows from something else comes before it: a visit that the frontier has done
// is in the archive, an erasure that the ledger has done is done there, and the policies of all that the archive holds are known.
func (b *backup) write(ctx context.Context, w io.Writer) error {
	t := newTarball(ctx, w, b.out.Made)
	about, err := json.Marshal(aboutBackup{Format: backupFormat, Version: programVersion, Made: b.out.Made})
	if err != nil {
		return err
	}
	put := func(name string) func(size int64) (io.Writer, error) {
		return func(size int64) (io.Writer, error) { return t.create(name, size) }
	}
	for _, step := range []func() error{
		func() error { return t.add(backupAbout, append(about, '\n')) },
		func() error { return t.copy(identityFile(b.store.dir), "crawler.json") },
		func() error {
			return b.withFrontier(b.store.dir, 0, func(f *crawler.Frontier) error { return f.Backup(put("frontier.db")) })
		},
		func() error { return b.store.ledger.Backup(put("actions.db")) },
		func() error {
			st, err := b.store.holdings.Backup(ctx, t.create)
			b.out.Captures = st.Captures
			return err
		},
		func() error { return b.store.policy.Backup(put("policy.db")) },
		t.close,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	b.out.Bytes = t.written
	return nil
}

// tarball writes a tar archive with a digest of each file.
type tarball struct {
	w       *tar.Writer
	made    time.Time
	written int64
	name    string    // of the file that is written
	sum     hash.Hash // of its content
	sums    bytes.Buffer
}

func newTarball(ctx context.Context, w io.Writer, made time.Time) *tarball {
	t := &tarball{made: made}
	t.w = tar.NewWriter(writerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := w.Write(p)
		t.written += int64(n)
		return n, err
	}))
	return t
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// create begins a file; its content goes to the writer until the next one begins.
func (t *tarball) create(name string, size int64) (io.Writer, error) {
	t.end()
	t.name, t.sum = name, sha256.New()
	if err := t.w.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: t.made, Format: tar.FormatPAX}); err != nil {
		return nil, err
	}
	return io.MultiWriter(t.w, t.sum), nil
}

// end notes the digest of the file that was written last.
func (t *tarball) end() {
	if t.sum != nil {
		fmt.Fprintf(&t.sums, "%s  %s\n", hex.EncodeToString(t.sum.Sum(nil)), t.name)
	}
	t.sum = nil
}

func (t *tarball) add(name string, content []byte) error {
	w, err := t.create(name, int64(len(content)))
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}

// copy adds a file that nobody writes; one that does not exist is left out.
func (t *tarball) copy(from, name string) error {
	f, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w, err := t.create(name, info.Size())
	if err == nil {
		_, err = io.CopyN(w, f, info.Size())
	}
	return err
}

// close ends the archive with the digests of its files.
func (t *tarball) close() error {
	t.end()
	sums := bytes.Clone(t.sums.Bytes())
	return errors.Join(t.add(backupSums, sums), t.w.Close())
}
