package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Sync makes the content of a file, or the names in a directory, durable.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncTree calls Sync for everything below root.
func SyncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return Sync(path)
	})
}

// Rename renames a file or directory durably. The content must be durable already. A file with the
// new name is replaced.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Sync(filepath.Dir(filepath.Clean(to)))
}

// Replace replaces the content of a file durably: after a crash the file has the old or the new
// content. It writes the data to name.new first.
func Replace(name string, data []byte, mode fs.FileMode) error {
	part := name + ".new"
	// this file remained after a process was killed
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = Rename(part, name)
	}
	if err != nil {
		os.Remove(part)
	}
	return err
}
