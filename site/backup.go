package site

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
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// Names of the files that a backup adds to those of the data directory.
const (
	backupAbout  = "backup.json" // the first file of the archive
	backupSums   = "SHA256SUMS"  // the last file: digests of all others, in the format of sha256sum -c
	backupFormat = 1
)

// aboutBackup is the content of backup.json.
type aboutBackup struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // version of the program
	Made    time.Time `json:"made"`
}

// BackupSummary is the result of Backup.
type BackupSummary struct {
	Made     time.Time
	Captures int
	Bytes    int64 // size of the backup file
}

// Backup writes a tar archive of the data directory to w; a crawl may run at the same time. Archive
// and index are copied in their state at one instant. The order of the files keeps the others
// consistent with them: the archive contains every visit that the queue records as done, every
// erasure that the ledger records as done is done in the archive, and the backup contains the
// policies of all archived pages.
//
// If since is not nil, it contains the digests of the files of an earlier backup (see
// BackupDigests). The new backup then leaves out each body file and index segment of up to 64 MB
// that has the same digest in the earlier backup. Restore needs both backups.
func (s *Site) Backup(ctx context.Context, w io.Writer, since map[string]string) (sum BackupSummary, err error) {
	h, err := s.held(ctx)
	if err != nil {
		return sum, err
	}
	sum.Made = time.Now().UTC().Truncate(time.Second)
	t := newTarball(ctx, w, sum.Made)
	t.since = since
	about, err := json.Marshal(aboutBackup{Format: backupFormat, Version: Version, Made: sum.Made})
	if err != nil {
		return sum, err
	}
	create := func(name string) func(size int64) (io.Writer, error) {
		return func(size int64) (io.Writer, error) { return t.create(name, size) }
	}
	for _, step := range []func() error{
		func() error { return t.add(backupAbout, append(about, '\n')) },
		func() error { return t.copy(identityFile(s.cfg.Data), identityName) },
		func() error {
			return s.withFrontier(func(f *crawler.Frontier) error { return f.Backup(create(frontierName)) })
		},
		func() error { return s.ledger.Backup(create(ledgerName)) },
		func() error {
			st, err := h.Backup(ctx, t.create)
			sum.Captures = st.Captures
			return err
		},
		func() error { return s.policy.Backup(create(policyName)) },
		t.close,
	} {
		if err := step(); err != nil {
			return sum, err
		}
	}
	sum.Bytes = t.written
	return sum, nil
}

// tarball writes a tar archive and computes a digest of each file in it.
type tarball struct {
	w       *tar.Writer
	made    time.Time
	written int64
	name    string    // name in the archive of the file that is being written
	sum     hash.Hash // hash of the content of that file
	sums    bytes.Buffer

	since map[string]string // digests of the files of an earlier backup, by name
	held  *bytes.Buffer     // content of a file that may be left out; nil: the file is written as it comes
}

// maxLeftOut is the size in bytes above which a file is never left out: the whole file must be in
// memory until its digest is known.
const maxLeftOut = 64 << 20

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

// create begins a file. The caller writes its content to the returned writer before the next call
// of create.
func (t *tarball) create(name string, size int64) (io.Writer, error) {
	if err := t.end(); err != nil {
		return nil, err
	}
	t.name, t.sum = name, sha256.New()
	if leftOut().MatchString(name) && t.since[name] != "" && size <= maxLeftOut {
		t.held = &bytes.Buffer{}
		return io.MultiWriter(t.held, t.sum), nil
	}
	return io.MultiWriter(t.w, t.sum), t.begin(size)
}

func (t *tarball) begin(size int64) error {
	return t.w.WriteHeader(&tar.Header{Name: t.name, Size: size, Mode: 0o600, ModTime: t.made, Format: tar.FormatPAX})
}

// end ends the file that was written last, and records its digest.
func (t *tarball) end() error {
	if t.sum == nil {
		return nil
	}
	digest := hex.EncodeToString(t.sum.Sum(nil))
	fmt.Fprintf(&t.sums, "%s  %s\n", digest, t.name)
	held := t.held
	t.sum, t.held = nil, nil
	if held == nil || t.since[t.name] == digest {
		return nil
	}
	err := t.begin(int64(held.Len()))
	if err == nil {
		_, err = held.WriteTo(t.w)
	}
	return err
}

func (t *tarball) add(name string, content []byte) error {
	w, err := t.create(name, int64(len(content)))
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}

// copy adds a file that no other goroutine or process writes to. copy does nothing for a file that
// does not exist.
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

// close writes the digests of all files and ends the archive.
func (t *tarball) close() error {
	err := t.end()
	sums := bytes.Clone(t.sums.Bytes())
	return errors.Join(err, t.add(backupSums, sums), t.w.Close())
}

// BackupDigests returns the digests of the files of a backup by name, also of files that the backup
// leaves out. It does not check the files. It returns an error if the end of the backup is missing.
func BackupDigests(in io.Reader) (map[string]string, error) {
	t := tar.NewReader(in)
	for {
		head, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is incomplete: its end is missing")
		case err != nil:
			return nil, fmt.Errorf("it is damaged, or no backup: %w", err)
		case head.Name != backupSums:
			continue
		}
		sums, err := io.ReadAll(io.LimitReader(content{t}, smallFile))
		if err != nil {
			return nil, err
		}
		return parseSums(sums)
	}
}
