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
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

// Restored is the result of Restore.
type Restored struct {
	Data     string            `json:"data"`
	Made     time.Time         `json:"made"` // time when the backup was made
	Due      int               `json:"due"`  // number of items in the restored directory that Sweep would erase
	Problems []archive.Problem `json:"problems"`
}

// BackupFile is a backup to restore.
type BackupFile struct {
	Name string // for error messages
	io.Reader
}

// Restore unpacks backups into the data directory cfg.Data and verifies it. The first backup
// contains all files; each further one was made with the digests of the one before it (see Backup).
// The result is the directory as it was when the last backup was made. The directory must be empty
// or not exist. It appears only when it is complete. If Restore fails, nothing is restored, unless
// moving the files into an existing directory fails. Errors are *UsageError or *FailedError.
func Restore(ctx context.Context, cfg *config.Config, files ...BackupFile) (out Restored, err error) {
	entries, err := os.ReadDir(cfg.Data)
	exists := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return out, err
	case len(entries) > 0:
		return out, usageError("another directory with --data",
			"%s is not empty: a backup is restored into a directory of its own", cfg.Data)
	}
	if _, err := LedgerOptions(cfg); err != nil { // check the settings before anything is written
		return out, err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(cfg.Data)), 0o700); err != nil {
		return out, err
	}
	temporary, err := os.MkdirTemp(nursery(cfg.Data, exists))
	if err != nil {
		return out, fmt.Errorf("nothing was restored: %w", err)
	}
	defer os.RemoveAll(temporary)
	about, err := unpackBackups(ctx, files, temporary)
	if err != nil {
		return out, err
	}
	problems, err := prepareRestored(ctx, cfg, temporary, about.Made)
	if err != nil {
		return out, fmt.Errorf("the contents of %s cannot be used; nothing was restored: %w", files[len(files)-1].Name,
			err)
	}
	if err := moveRestored(temporary, cfg.Data, exists); err != nil {
		return out, fmt.Errorf("%s cannot be made: %w", cfg.Data, err)
	}
	out = Restored{Data: cfg.Data, Made: about.Made, Problems: []archive.Problem{}}
	for _, p := range problems {
		if p.Remedy == holdings.SweepRemedy {
			out.Due++
		} else {
			out.Problems = append(out.Problems, p)
		}
	}
	return out, nil
}

// prepareRestored records in the ledger of the restored directory dir that it was restored, and
// verifies the directory.
func prepareRestored(ctx context.Context, cfg *config.Config, dir string, made time.Time) (problems []archive.Problem,
	err error) {
	there := *cfg
	there.Data = dir
	rules, err := LedgerOptions(&there)
	if err != nil {
		return nil, err
	}
	if err := actions.Restore(ledgerFile(&there), rules, made); err != nil {
		return nil, err
	}
	s, err := Open(&there, Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Verify(ctx, archive.VerifyOptions{}, nil, nil)
}

// nursery returns where to create a temporary directory for a restore, and a pattern for its name.
// If dir does not exist, the place is next to dir. If dir exists, the place is inside dir, because
// dir may be a mount point.
func nursery(dir string, exists bool) (where, pattern string) {
	if exists {
		return dir, "restoring-*"
	}
	return filepath.Dir(filepath.Clean(dir)), filepath.Base(filepath.Clean(dir)) + ".restoring-*"
}

// moveRestored moves a restored data directory from temporary to dir, after all of its files are on
// disk. If dir exists, moveRestored moves the archive last, because a directory without an archive
// is treated as empty.
func moveRestored(temporary, dir string, exists bool) error {
	if err := disk.SyncTree(temporary); err != nil {
		return err
	}
	if !exists {
		return disk.Rename(temporary, dir)
	}
	entries, err := os.ReadDir(temporary)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		last := func(e fs.DirEntry) int { return slices.Index([]string{"keys.db", "archive.db"}, e.Name()) }
		return last(a) - last(b)
	})
	for _, e := range entries {
		if err := disk.Rename(filepath.Join(temporary, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(temporary), disk.Sync(dir))
}

// backupFiles matches the names of files that a backup may contain. Earlier versions of this program wrote
// index_meta.json, which nothing reads.
var backupFiles = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(backup\.json|crawler\.json|SHA256SUMS|` +
		`(archive|keys|policy|actions|frontier)\.db|bodies/[0-9]{8,10}|` +
		`index/(index_meta\.json|store/(root\.bolt|[0-9a-f]{1,32}\.zap)))$`)
})

// leftOut matches the names of files that a backup may leave out if an earlier one contains them.
// These files rarely change.
var leftOut = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(bodies/[0-9]{8,10}|index/store/[0-9a-f]{1,32}\.zap)$`)
})

// needed lists the files that every backup contains.
var needed = []string{"archive.db", "keys.db", "policy.db", "actions.db", "index/store/root.bolt"}

const smallFile = 64 << 20 // smallFile is the maximum size of backup.json and SHA256SUMS in bytes.

// unpackBackups unpacks backups one after another into dir.
func unpackBackups(ctx context.Context, files []BackupFile, dir string) (about aboutBackup, err error) {
	held := map[string]string{} // digests of the files in dir, by name
	for _, f := range files {
		if about, err = unpackBackup(ctx, f, dir, held); err == nil {
			continue
		}
		try := "another backup; nothing was restored"
		switch {
		case errors.Is(err, errUnwritten):
			try = "another directory with --data; nothing was restored"
		case errors.Is(err, errLeftOut):
			try = "the backups before it first, in the order in which they were made; nothing was restored"
		}
		err = fmt.Errorf("%s cannot be restored: %w", f.Name, err)
		if ctx.Err() != nil {
			return about, err
		}
		return about, &FailedError{err, try}
	}
	return about, nil
}

// errLeftOut means that a backup leaves out a file that an earlier backup contains.
var errLeftOut = errors.New("it was made since an earlier backup, which contains the rest")

// unpackBackup writes the files of a backup to dir, and compares each file with its digest. held
// contains the digests of the files that earlier backups have written to dir; unpackBackup updates
// it, and removes the files that do not belong to this backup. A file that does not belong to a
// backup is an error.
func unpackBackup(ctx context.Context, in io.Reader, dir string, held map[string]string) (about aboutBackup,
	err error) {
	t := tar.NewReader(in)
	digests := map[string]string{}
	var sums []byte
	for {
		head, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return about, complete(dir, held, digests, sums)
		case err != nil:
			return about, fmt.Errorf("it is damaged, or no backup: %w", err)
		case sparse(head):
			return about, fmt.Errorf("it is no backup: %q has holes, so a small file would fill the disk", head.Name)
		case head.Typeflag != tar.TypeReg || !backupFiles().MatchString(head.Name):
			return about, fmt.Errorf("it is no backup: it holds %q", head.Name)
		case digests[head.Name] != "" || sums != nil:
			return about, fmt.Errorf("it is no backup: %q comes twice, or after its end", head.Name)
		case about.Format == 0 && head.Name != backupAbout:
			return about, fmt.Errorf("it is no backup: it begins with %q", head.Name)
		}
		switch head.Name {
		case backupSums:
			sums, err = io.ReadAll(io.LimitReader(content{t}, smallFile))
		case backupAbout:
			var text []byte
			if text, err = io.ReadAll(io.LimitReader(content{t}, smallFile)); err == nil {
				about, err = readAbout(text)
				digests[head.Name] = digestOf(text)
			}
		default:
			name := filepath.Join(dir, filepath.FromSlash(head.Name))
			if held[head.Name] != "" {
				err = os.Remove(name)
			}
			if err == nil {
				digests[head.Name], err = unpackFile(ctx, t, name)
			}
		}
		if err != nil {
			return about, err
		}
	}
}

// sparse reports whether head describes a sparse file: a file that is longer than its data in the
// tar archive.
func sparse(head *tar.Header) bool {
	for key := range head.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return head.Typeflag == tar.TypeGNUSparse
}

func readAbout(text []byte) (about aboutBackup, err error) {
	switch err := json.Unmarshal(text, &about); {
	case err != nil || about.Format < 1:
		return about, errors.New("it is damaged, or no backup: backup.json cannot be read")
	case about.Format > backupFormat:
		return about, fmt.Errorf(
			"it was made by version %s of this program, which is newer: its format is %d, this one knows %d",
			about.Version, about.Format, backupFormat)
	}
	return about, nil
}

// errUnwritten means that a file could not be written. The backup itself may be without error.
var errUnwritten = errors.New("cannot be written")

// unpackFile writes one file to disk and returns its digest.
func unpackFile(ctx context.Context, in io.Reader, name string) (digest string, err error) {
	defer func() {
		if err != nil && !errors.Is(err, errDamaged) {
			err = fmt.Errorf("%s %w: %w", filepath.Base(name), errUnwritten, err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	stop := writerFunc(func(p []byte) (int, error) { return len(p), ctx.Err() })
	_, err = io.Copy(io.MultiWriter(f, sum, stop), content{in})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

var errDamaged = errors.New("the backup is damaged or incomplete")

// content reads one file of a backup. Its errors wrap errDamaged, to distinguish them from errors
// of writing.
type content struct{ r io.Reader }

func (c content) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return n, err
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// complete compares the digests of the unpacked files, and of those in held that the backup leaves
// out, with the digests at the end of the backup. It then updates held and dir.
func complete(dir string, held, digests map[string]string, sums []byte) error {
	if sums == nil {
		return errors.New("it is incomplete: its end is missing")
	}
	for _, name := range needed {
		if digests[name] == "" {
			return fmt.Errorf("it is incomplete: %s is missing", name)
		}
	}
	want, err := parseSums(sums)
	if err != nil {
		return err
	}
	for name, sum := range want {
		got := digests[name]
		switch {
		case got == "" && leftOut().MatchString(name) && held[name] != sum:
			return fmt.Errorf("%w: %s", errLeftOut, name)
		case got == "" && leftOut().MatchString(name):
		case got != sum:
			return fmt.Errorf("it is damaged: %s is not what was written", name)
		}
		delete(digests, name)
	}
	if len(digests) > 0 {
		return errors.New("it is damaged: it holds files without a digest")
	}
	for name := range held {
		if want[name] == "" {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return fmt.Errorf("%s %w: %w", name, errUnwritten, err)
			}
		}
	}
	clear(held)
	for name, sum := range want {
		if name != backupAbout {
			held[name] = sum
		}
	}
	return nil
}

// parseSums returns the digests by name. Each line must contain a digest and the name of a file
// that a backup may contain.
func parseSums(sums []byte) (map[string]string, error) {
	digests := map[string]string{}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(sums, []byte("\n")), []byte("\n")) {
		sum, name, _ := strings.Cut(string(line), "  ")
		if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size || !backupFiles().MatchString(name) {
			return nil, fmt.Errorf("it is damaged, or no backup: %s contains the line %q", backupSums, line)
		}
		digests[name] = sum
	}
	return digests, nil
}
