package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Sync makes durable what a file or directory holds; of a directory, the names in it.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncTree is Sync for everything below root.
func SyncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return Sync(path)
	})
}

// Rename gives a file or directory, which must be durable, another name, durably. What had that name
// is replaced.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Sync(filepath.Dir(filepath.Clean(to)))
}

// Replace gives the file name new content, durably: after a crash it has the old or the new one. It
// writes to name.new first.
func Replace(name string, data []byte, mode fs.FileMode) error {
	part := name + ".new"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
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
