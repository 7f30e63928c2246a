package site

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tarballOf returns a complete backup file whose content is not a data directory.
func tarballOf(t *testing.T, format int, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	b := newTarball(t.Context(), &out, time.Now())
	about, err := json.Marshal(aboutBackup{Format: format, Version: "9.9", Made: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.add(backupAbout, about); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := b.add(name, bytes.Repeat([]byte(name), 300)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unpacked(t *testing.T, file []byte) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	_, err = unpackBackup(t.Context(), bytes.NewReader(file), dir, map[string]string{})
	return dir, err
}

func TestUnpackBackup(t *testing.T) {
	whole := tarballOf(t, backupFormat, append(needed, "index/store/00000000000a.zap")...)
	dir, err := unpacked(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range needed {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
			!bytes.Equal(got, bytes.Repeat([]byte(name), 300)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := unpacked(t, tarballOf(t, backupFormat, append(needed, "index/index_meta.json")...)); err != nil {
		t.Errorf("a backup of an earlier version: %v", err)
	}
	for name, file := range map[string][]byte{
		"nothing":          nil,
		"no archive":       []byte("this is no tar archive"),
		"another archive":  other(t, "readme.txt"),
		"out of it":        tarballOf(t, backupFormat, append(needed, "../evil.db")...),
		"below it":         tarballOf(t, backupFormat, append(needed, "index/store/../../x.zap")...),
		"an absolute name": tarballOf(t, backupFormat, append(needed, "/etc/passwd")...),
		"a file of ours":   tarballOf(t, backupFormat, append(needed, "owner.json")...),
		"a file twice":     tarballOf(t, backupFormat, append(needed, "archive.db")...),
		"without keys": tarballOf(t, backupFormat, "archive.db", "policy.db", "actions.db",
			"index/store/root.bolt"),
		"of a newer program": tarballOf(t, backupFormat+1, needed...),
		"of no format":       tarballOf(t, 0, needed...),
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := unpacked(t, file)
			if err == nil {
				t.Error("it was taken")
			}
			if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
				t.Errorf("beside it: %v, %v", entries, err)
			}
		})
	}
}

// TestUnpackDamagedBackup checks that a backup is refused if it is truncated or if a byte other
// than padding is changed.
func TestUnpackDamagedBackup(t *testing.T) {
	whole := tarballOf(t, backupFormat, needed...)
	// the last 3*512 bytes are not needed: a half-empty block and two empty blocks
	for n := 0; n < len(whole)-3*512; n += 997 {
		if _, err := unpacked(t, whole[:n]); err == nil {
			t.Errorf("cut to %d bytes of %d, it was taken", n, len(whole))
		}
	}
	for at := 0; at < len(whole); at += 397 {
		if whole[at] == 0 { // skip padding, and header fields that are not read
			continue
		}
		file := bytes.Clone(whole)
		file[at] ^= 0x20
		dir, err := unpacked(t, file)
		if err != nil {
			continue
		}
		// if the backup was accepted, the changed byte must not be part of a file's content; it may
		// belong to a date or an owner
		for _, name := range needed {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
				!bytes.Equal(got, bytes.Repeat([]byte(name), 300)) {
				t.Errorf("changed at %d, %s is another", at, name)
			}
		}
	}
}

func TestUnpackStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := unpackBackup(ctx, bytes.NewReader(tarballOf(t, backupFormat, needed...)), t.TempDir(),
		map[string]string{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// other returns a tar archive that was not made by this program.
func other(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Name: name, Size: 1, Mode: 0o600})
	if err == nil {
		_, err = io.WriteString(w, "x")
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWithin(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(filepath.Join(data, "index"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(data, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]bool{"data/b.w": true, "data/index/b.w": true, "link/b.w": true, "b.w": false,
		"data.tar": false, "data2/b.w": false} {
		if got, err := isWithin(data, filepath.Join(dir, name)); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestBackupLeavesNothing checks that a failed backup leaves no file, and does not change an
// existing one.
func TestBackupLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "data"))
	name := filepath.Join(dir, "b.w")
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	backup := func(ctx context.Context, force bool) error {
		return WriteFile(name, name, force, func(w io.Writer) error {
			_, err := s.Backup(ctx, w, nil)
			return err
		})
	}
	if err := backup(ctx, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// the file was created after its name was checked
	if err := backup(t.Context(), false); !errors.As(err, new(*UsageError)) {
		t.Error(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := backup(t.Context(), true); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestUnpackSparse checks that a sparse file is refused, because a few kilobytes of archive could
// fill the disk.
func TestUnpackSparse(t *testing.T) {
	var out bytes.Buffer
	b := newTarball(t.Context(), &out, time.Now())
	about, err := json.Marshal(aboutBackup{Format: backupFormat, Version: "9.9", Made: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.add(backupAbout, about); err != nil {
		t.Fatal(err)
	}
	// archive/tar refuses to write the key of sparse files, so the test writes another key and
	// replaces it afterwards
	holes := "1\n0\n1\n" + strings.Repeat("\x00", 506) + "x"
	head := tar.Header{Typeflag: tar.TypeReg, Name: "archive.db", Size: int64(len(holes)), Mode: 0o600,
		Format: tar.FormatPAX,
		PAXRecords: map[string]string{"XYZ.sparse.major": "1", "XYZ.sparse.minor": "0", "XYZ.sparse.name": "archive.db",
			"XYZ.sparse.realsize": "3000000000"}}
	if err := b.w.WriteHeader(&head); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(b.w, holes); err != nil {
		t.Fatal(err)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	dir, err := unpacked(t, bytes.ReplaceAll(out.Bytes(), []byte("XYZ.sparse"), []byte("GNU.sparse")))
	if err == nil || !strings.Contains(err.Error(), "has holes") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "archive.db")); err == nil {
		t.Error("it was written")
	}
}

// A backup whose list of digests names a file that no backup contains is refused, and nothing
// outside the directory is touched.
func TestUnpackForeignNames(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "precious")
	dir := filepath.Join(filepath.Dir(outside), "restored")
	if err := errors.Join(os.WriteFile(outside, nil, 0o600), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"  ../precious\n", strings.Repeat("0", 64) + "  ../precious\n", "\n",
		"x  archive.db\n"} {
		var out bytes.Buffer
		b := newTarball(t.Context(), &out, time.Now())
		about, err := json.Marshal(aboutBackup{Format: backupFormat, Version: "9.9", Made: time.Now()})
		if err == nil {
			err = b.add(backupAbout, about)
		}
		for _, name := range needed {
			err = errors.Join(err, b.add(name, []byte(name)))
		}
		err = errors.Join(err, b.end())
		b.sums.WriteString(line)
		if err = errors.Join(err, b.close()); err != nil {
			t.Fatal(err)
		}
		held := map[string]string{}
		for range 2 {
			if _, err := unpackBackup(t.Context(), bytes.NewReader(out.Bytes()), dir, held); err == nil {
				t.Errorf("a backup with the line %q was accepted", line)
			}
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
