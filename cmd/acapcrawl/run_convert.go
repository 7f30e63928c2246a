package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/acapcrawl/acapcrawl/check"
	"github.com/acapcrawl/acapcrawl/display"
)

// runConvert converts a file. What changes for crawlers is told on standard error, whatever becomes of the result.
func (c *Command) runConvert(r convertRequest) error {
	src, err := c.readChecked(r.Name)
	if err != nil {
		return err
	}
	convert, other := check.ToACAP, "--to conventional"
	if r.To == toConventional {
		convert, other = check.ToConventional, "--to acap"
	}
	out, err := convert(src, r.Convert)
	name := called(r.Name)
	switch {
	case errors.Is(err, check.ErrSpeaksACAP), errors.Is(err, check.ErrNoACAP):
		return misuse(other, "%s: %w", name, err)
	case err != nil:
		return failure("", fmt.Errorf("%s: %w", name, err))
	}
	if r.Dir != "" {
		if err := c.writeConverted(r, out); err != nil {
			return err
		}
	}
	switch {
	case r.JSON:
		if out.Remarks == nil {
			out.Remarks = []check.Remark{}
		}
		err = c.printJSON(out)
	case r.Dir == "":
		_, err = io.WriteString(c.raw(), out.Robots)
	}
	if err != nil {
		return err
	}
	for _, remark := range out.Remarks {
		fmt.Fprintln(c.Stderr, display.Line(name+": "+remark.String()))
	}
	if out.Exact() {
		return nil
	}
	return nothing("")
}

// writeConverted writes the files into a directory, which is made where it is not there. Files that are there stay. What robots.txt
// refers to is there before it.
func (c *Command) writeConverted(r convertRequest, out *check.Conversion) error {
	dir := c.path(r.Dir)
	type file struct{ name, text string }
	files := []file{{filepath.Join(dir, "robots.txt"), out.Robots}}
	if r.Reference != "" {
		files = []file{{filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(r.Reference, "/"))), out.Reference}, files[0]}
	}
	for _, f := range files {
		if _, err := os.Lstat(f.name); !errors.Is(err, fs.ErrNotExist) {
			return misuse("another directory", "%s is there already, and is not overwritten", f.name)
		}
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.name), 0o755); err != nil {
			return fmt.Errorf("the result could not be written: %w", err)
		}
		if err := createFile(f.name, []byte(f.text)); err != nil {
			return fmt.Errorf("the result could not be written: %w", err)
		}
	}
	return nil
}

// localFile reports whether a path with slashes, as of a URL, names a file below any directory.
func localFile(path string) bool {
	return path != "" && !strings.HasSuffix(path, "/") && !strings.ContainsAny(path, "\\%?#* \t\r\n") && filepath.IsLocal(filepath.FromSlash(path))
}
