package disk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unnamed creates a file without a name in dir. It fails if the file system does not support that.
func unnamed(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(handle(f)); err != nil { // without /proc the file could not get a name later
		f.Close()
		return nil, err
	}
	return f, nil
}

// giveName gives a name to a file that has none.
func giveName(f *os.File, name string) error {
	if err := unix.Linkat(unix.AT_FDCWD, handle(f), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: f.Name(), New: name, Err: err}
	}
	return nil
}

func handle(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
