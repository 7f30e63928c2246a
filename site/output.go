package site

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/disk"
)

// CheckOutput checks the name of an output file. It returns a *UsageError in three cases: the file
// exists and force is not set; the directory of the file does not exist; or the file would be in
// the data directory, where erased data must disappear from all files. The name "-" is standard
// output.
func (s *Site) CheckOutput(name string, force bool) error {
	return CheckOutput(s.cfg.Data, name, force)
}

// CheckOutput checks the name of an output file, as Site.CheckOutput does, for the data directory
// dir.
func CheckOutput(dir, name string, force bool) error {
	if name == "-" {
		return nil
	}
	if inside, err := isWithin(dir, name); err != nil || inside {
		return errors.Join(err,
			usageError("a file elsewhere", "%s is in the data directory, where nothing may stay that is erased", name))
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return usageError("another name", "%s cannot be made: there is no directory %s", name, filepath.Dir(name))
	}
	switch info, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usageError("", "%v", err)
	case !info.Mode().IsRegular():
		return usageError("-, which is standard output, or another name", "%s is no file", name)
	case !force:
		return existsError(name)
	}
	return nil
}

// existsError returns the error for an existing file that must not be replaced.
func existsError(name string) error { return usageError("--force, or another name", "%s exists", name) }

// publishError returns the error of existsError if err means that another process created the file
// after CheckOutput. Otherwise it returns err.
func publishError(err error, name string) error {
	if errors.Is(err, fs.ErrExist) {
		return existsError(name)
	}
	return err
}

// isWithin reports whether the file called name is in the directory dir or below it. The file need
// not exist.
func isWithin(dir, name string) (bool, error) {
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

// WriteFile writes the output of fn to a file. The file appears only when all of its content is on
// disk. shown is the name of the file in errors.
func WriteFile(name, shown string, force bool, fn func(io.Writer) error) error {
	draft, err := draftOf(name, fn)
	if err != nil {
		return err
	}
	return publishError(draft.Publish(name, force), shown)
}

// draftOf returns a temporary file for name, filled with the output of fn.
func draftOf(name string, fn func(io.Writer) error) (*disk.Draft, error) {
	d, err := disk.NewDraft(name)
	if err != nil {
		return nil, err
	}
	if err := fn(d); err != nil {
		return nil, errors.Join(err, d.Discard())
	}
	return d, nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
