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
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/holdings"
)

// restored is what archive restore --json prints.
type restored struct {
	Data     string            `json:"data"`
	Made     time.Time         `json:"made"` // when the backup was made
	Due      int               `json:"due"`  // things that sweep would end
	Problems []archive.Problem `json:"problems"`
}

func (c *Command) runRestore(ctx context.Context, cfg *config.Config, r backupRequest) error {
	entries, err := os.ReadDir(cfg.Data)
	exists := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(entries) > 0:
		return misuse("another directory with --data", "%s is not empty: a backup is restored into a directory of its own", cfg.Data)
	}
	in, err := c.openBackup(r.File)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(cfg.Data)), 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(nursery(cfg.Data, exists))
	if err != nil {
		return fmt.Errorf("nothing was restored: %w", err)
	}
	defer os.RemoveAll(made)
	about, err := unpackBackup(ctx, in, made)
	if err != nil {
		try := "another backup; nothing was restored"
		if errors.Is(err, errUnwritten) {
			try = "another directory with --data; nothing was restored"
		}
		err = fmt.Errorf("%s cannot be restored: %w", r.File, err)
		if ctx.Err() != nil {
			return err
		}
		return failure(try, err)
	}
	there := *cfg
	there.Data = made
	rules, err := ledgerOptions(&there)
	if err != nil {
		return err
	}
	if err := actions.Restore(filepath.Join(made, "actions.db"), rules, about.Made); err != nil {
		return fmt.Errorf("what %s holds cannot be used; nothing was restored: %w", r.File, err)
	}
	problems, err := c.verify(ctx, &there, false, nil)
	if err != nil {
		return fmt.Errorf("what %s holds cannot be used; nothing was restored: %w", r.File, err)
	}
	if err := settleIn(made, cfg.Data, exists); err != nil {
		return fmt.Errorf("%s cannot be made: %w", cfg.Data, err)
	}
	return c.tellRestored(restored{Data: cfg.Data, Made: about.Made, Problems: problems}, r.JSON)
}

func (c *Command) openBackup(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.Stdin), nil
	}
	f, err := os.Open(c.path(name))
	if err != nil {
		return nil, misuse("", "the backup cannot be read: %v", err)
	}
	return f, nil
}

// nursery is where, and under what name, a data directory is made before it is known to be whole: beside its place, or in it where that
// exists, which may be the mount of a disk.
func nursery(dir string, exists bool) (where, pattern string) {
	if exists {
		return dir, "restoring-*"
	}
	return filepath.Dir(filepath.Clean(dir)), filepath.Base(filepath.Clean(dir)) + ".restoring-*"
}

// settleIn moves what was made to where it is to be, after all of it is on disk. Where the directory exists already, the archive comes
// last, without which it is none.
func settleIn(made, dir string, exists bool) error {
	if err := disk.SyncTree(made); err != nil {
		return err
	}
	if !exists {
		return disk.Rename(made, dir)
	}
	entries, err := os.ReadDir(made)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		last := func(e fs.DirEntry) int { return slices.Index([]string{"keys.db", "archive.db"}, e.Name()) }
		return last(a) - last(b)
	})
	for _, e := range entries {
		if err := disk.Rename(filepath.Join(made, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(made), disk.Sync(dir))
}

func (c *Command) tellRestored(out restored, asJSON bool) error {
	out.Problems = slices.DeleteFunc(append([]archive.Problem{}, out.Problems...), func(p archive.Problem) bool {
		if p.Remedy == holdings.SweepRemedy {
			out.Due++
			return true
		}
		return false
	})
	var err error
	if asJSON {
		err = c.printJSON(out)
	} else {
		for _, p := range out.Problems {
			fmt.Fprintln(c.Stdout, p)
		}
		_, err = fmt.Fprintf(c.Stdout, "%s holds what was held at %s.\n", out.Data, out.Made.Format(time.RFC3339))
	}
	if err != nil {
		return err
	}
	if len(out.Problems) > 0 {
		return findings(out.Problems, false)
	}
	if out.Due > 0 {
		fmt.Fprintf(c.Stderr, "Notice: %s may no longer be held.\n", several(out.Due, "thing"))
	}
	fmt.Fprintln(c.Stderr, "Notice: what publishers have asked for since then is not known yet.\nTry: acapcrawl sweep --refresh")
	return nil
}

// backupFiles are the names that a backup may hold.
var backupFiles = regexp.MustCompile(`^(backup\.json|crawler\.json|SHA256SUMS|(archive|keys|policy|actions|frontier)\.db|index/(index_meta\.json|store/(root\.bolt|[0-9a-f]{1,32}\.zap)))$`)

// needed are the files without which a backup is none.
var needed = []string{"archive.db", "keys.db", "policy.db", "actions.db", "index/index_meta.json", "index/store/root.bolt"}

const smallFile = 64 << 20 // bytes of backup.json and SHA256SUMS at most

// unpackBackup writes the files of a backup to dir, and compares each with its digest. Nothing else than what a backup holds is written.
func unpackBackup(ctx context.Context, in io.Reader, dir string) (about aboutBackup, err error) {
	t := tar.NewReader(in)
	digests := map[string]string{}
	var sums []byte
	for {
		head, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return about, checkSums(digests, sums)
		case err != nil:
			return about, fmt.Errorf("it is damaged, or no backup: %w", err)
		case sparse(head):
			return about, fmt.Errorf("it is no backup: %q has holes, so a small file would fill the disk", head.Name)
		case head.Typeflag != tar.TypeReg || !backupFiles.MatchString(head.Name):
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
			digests[head.Name], err = unpackFile(ctx, t, filepath.Join(dir, filepath.FromSlash(head.Name)))
		}
		if err != nil {
			return about, err
		}
	}
}

// sparse reports whether a file of a tar archive is longer than what the archive holds of it.
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
		return about, fmt.Errorf("it was made by version %s of this program, which is newer: its format is %d, this one knows %d", about.Version, about.Format, backupFormat)
	}
	return about, nil
}

// errUnwritten says that it is not the backup that is at fault.
var errUnwritten = errors.New("cannot be written")

// unpackFile writes one file to disk and gives its digest.
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

// content is a file of a backup, whose errors are told from those of what takes it.
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

// checkSums compares the digests of the files with those that the backup ends with.
func checkSums(digests map[string]string, sums []byte) error {
	if sums == nil {
		return errors.New("it is incomplete: its end is missing")
	}
	for _, name := range needed {
		if digests[name] == "" {
			return fmt.Errorf("it is incomplete: %s is missing", name)
		}
	}
	lines := bytes.Split(bytes.TrimSuffix(sums, []byte("\n")), []byte("\n"))
	for _, line := range lines {
		sum, name, _ := bytes.Cut(line, []byte("  "))
		if digests[string(name)] != string(sum) || len(sum) == 0 {
			return fmt.Errorf("it is damaged: %s is not what was written", name)
		}
	}
	if len(lines) != len(digests) {
		return errors.New("it is damaged: it holds files without a digest")
	}
	return nil
}
