package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A Draft is a file that gets its name only when it is complete. If the system supports this, the
// file has no name until then, so that nothing remains if the process is killed.
type Draft struct {
	*os.File
	named bool // the file has a temporary name until it is published
}

// NewDraft creates a draft for the file name, in the same directory.
func NewDraft(name string) (*Draft, error) {
	if f, err := unnamed(filepath.Dir(name)); err == nil {
		return &Draft{File: f}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".part-*")
	return &Draft{File: f, named: true}, err
}

// Publish makes the draft durable and gives it its name. Without replace it fails with fs.ErrExist
// if a file of that name exists. Publish always closes the draft, also if it fails.
func (d *Draft) Publish(name string, replace bool) (err error) {
	defer func() { err = errors.Join(err, d.Discard()) }()
	if err := d.Sync(); err != nil {
		return err
	}
	err = d.link(name)
	if errors.Is(err, fs.ErrExist) && replace { // the system call link does not replace existing files
		part := name
		for i := 0; errors.Is(err, fs.ErrExist); i++ {
			part = fmt.Sprintf("%s.part-%d-%d", name, os.Getpid(), i)
			err = d.link(part)
		}
		if err == nil {
			err = os.Rename(part, name)
		}
	}
	if err != nil {
		return err
	}
	return Sync(filepath.Dir(filepath.Clean(name)))
}

func (d *Draft) link(name string) error {
	if !d.named {
		return giveName(d.File, name)
	}
	err := os.Link(d.Name(), name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(name); err == nil { // the file system has no hard links
		return fs.ErrExist
	}
	return os.Rename(d.Name(), name)
}

// Discard closes the draft and removes its file if the draft was not published. It may be called
// more than once.
func (d *Draft) Discard() error {
	err := d.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	if d.named {
		if gone := os.Remove(d.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
