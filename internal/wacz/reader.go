package wacz

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Magic is how a ZIP file begins, and thus a WACZ file.
const Magic = "PK\x03\x04"

// File is a WARC file in a WACZ file.
type File struct {
	Name  string // path within the WACZ file
	Bytes int64
	entry *zip.File
}

// Open returns the content of the file.
func (f File) Open() (io.ReadCloser, error) { return f.entry.Open() }

// ErrUnverified means that the content of a file is not as the file describes it, so it was damaged or changed after it
// was written, or its writer has described it wrongly or incompletely.
var ErrUnverified = errors.New("it is not as it describes itself")

// unverified returns an error that wraps ErrUnverified.
func unverified(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnverified, fmt.Sprintf(format, args...))
}

// Open returns the WARC files of a WACZ file of size bytes, in the order of their names. If verify is set, it reads the
// whole file once and compares it with its own description: each entry must be described once, with its size and its
// SHA-256 digest. The error wraps ErrUnverified if that is not so. Other errors say what is missing or cannot be read.
func Open(ctx context.Context, r io.ReaderAt, size int64, verify bool) (list []File, err error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("it is no ZIP file, or is incomplete: %w", err)
	}
	entries := map[string]*zip.File{}
	for _, f := range z.File {
		if entries[f.Name] != nil {
			return nil, fmt.Errorf("it has two entries named %s", f.Name)
		}
		entries[f.Name] = f
	}
	described, err := describedEntries(entries, verify)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(described)) {
		if err := check(ctx, entries, name, described[name], verify); err != nil {
			return nil, err
		}
	}
	for name, f := range entries {
		_, is := described[name]
		if verify && !is && name != description && name != packageDigest && !strings.HasSuffix(name, "/") {
			return nil, unverified("%s does not describe %s", description, name)
		}
		if !strings.HasPrefix(name, archives) || strings.HasSuffix(name, "/") {
			continue
		}
		list = append(list, File{Name: name, Bytes: int64(f.UncompressedSize64), entry: f})
	}
	if len(list) == 0 {
		return nil, errors.New("it has no WARC file in the directory archive")
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// describedEntries returns the descriptions of the entries, by their path.
func describedEntries(entries map[string]*zip.File, verify bool) (map[string]resource, error) {
	text, err := read(entries, description)
	if err != nil {
		return nil, err
	}
	if verify && entries[packageDigest] != nil { // it may be absent
		if err := checkDigest(entries, text); err != nil {
			return nil, err
		}
	}
	var p dataPackage
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", description, err)
	}
	if strings.Contains(p.Profile, "multi-wacz") {
		return nil, errors.New("it is a collection of other WACZ files; import these")
	}
	described := map[string]resource{}
	for _, r := range p.Resources {
		if _, twice := described[r.Path]; twice && verify {
			return nil, unverified("%s describes %s twice", description, r.Path)
		}
		described[r.Path] = r
	}
	return described, nil
}

// checkDigest compares the text of datapackage.json with its digest.
func checkDigest(entries map[string]*zip.File, text []byte) error {
	sum, err := read(entries, packageDigest)
	if err != nil {
		return err
	}
	var d digest
	if err := json.Unmarshal(sum, &d); err != nil {
		return fmt.Errorf("%s cannot be read: %w", packageDigest, err)
	}
	return compare(description, d.Hash, int64(len(text)), bytes.NewReader(text))
}

// read returns a small entry.
func read(entries map[string]*zip.File, name string) ([]byte, error) {
	entry := entries[name]
	if entry == nil {
		return nil, fmt.Errorf("it is no WACZ file: it has no %s", name)
	}
	f, err := entry.Open()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDescribing+1))
	if err == nil && len(text) > maxDescribing {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	return text, nil
}

// check returns an error if an entry is missing or, if verify is set, is not as described.
func check(ctx context.Context, entries map[string]*zip.File, name string, d resource, verify bool) error {
	entry := entries[name]
	if entry == nil {
		return fmt.Errorf("%s describes %s, which is missing", description, name)
	}
	if !verify {
		return nil
	}
	f, err := entry.Open()
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, err)
	}
	defer f.Close()
	return compare(name, d.Hash, d.Bytes, untilDone{ctx, f})
}

// untilDone reads until the context ends.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}

// compare returns an error if content does not have the digest hash, which must be SHA-256, and the size bytes.
func compare(name, hash string, bytes int64, content io.Reader) error {
	kind, digits, _ := strings.Cut(hash, ":")
	if !strings.EqualFold(kind+":", digestPrefix) {
		return unverified("%s has no SHA-256 digest but %.40q", name, hash)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, content)
	switch {
	case err != nil:
		return fmt.Errorf("%s is damaged: %w", name, err)
	case n != bytes:
		return unverified("%s has %d bytes, not %d", name, n, bytes)
	case !strings.EqualFold(digits, hex.EncodeToString(sum.Sum(nil))):
		return unverified("%s has another digest", name)
	}
	return nil
}
