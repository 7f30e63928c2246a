package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/convert"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// runConvert converts a file. It prints to standard error what changes for crawlers, even if the
// result cannot be written.
func (c *Command) runConvert(r convertRequest) error {
	src, err := c.readChecked(r.Name)
	if err != nil {
		return err
	}
	name := called(r.Name)
	if r.From, err = r.source(name, src); err != nil {
		return err
	}
	out, err := r.translate(src)
	switch {
	case errors.Is(err, convert.ErrSpeaksACAP), errors.Is(err, convert.ErrNoACAP),
		errors.Is(err, convert.ErrSpeaksAlready), errors.Is(err, convert.ErrSaysNothing):
		return misuse(r.otherWay(err), "%s: %w", name, err)
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
			out.Remarks = []convert.Remark{}
		}
		err = c.printJSON(out)
	case r.Dir == "":
		_, err = io.WriteString(c.raw(), out.Robots+out.TDMRep+out.License)
	}
	if err != nil {
		return err
	}
	for _, remark := range out.Remarks {
		fmt.Fprintln(c.Stderr, display.Line(name+": "+remark.String()))
	}
	if out.Exact() || r.newer() && !slices.ContainsFunc(out.Remarks, isError) {
		return nil
	}
	return nothing("")
}

func isError(r convert.Remark) bool { return r.Severity == acap.Error }

// newer reports whether a newer vocabulary is converted, so that losses do not change the exit
// status.
func (r *convertRequest) newer() bool {
	return slices.Contains(convert.Vocabularies(), r.To) || slices.Contains(convert.Vocabularies(), r.From)
}

// source returns the language of the file name with the content src.
func (r *convertRequest) source(name string, src []byte) (string, error) {
	if r.From != "" || r.To != toACAP {
		return r.From, nil
	}
	list := convert.Stated(src)
	switch kind := check.Guess(name, src); {
	case kind == check.TDMRepKind:
		return convert.TDMRep, nil
	case kind == check.RSLKind:
		return convert.RSL, nil
	case len(list) == 0:
		return toConventional, nil
	case len(list) == 1:
		return list[0], nil
	}
	return "", misuse("--from "+list[0], "%s makes statements in several vocabularies: %s", name,
		strings.Join(list, ", "))
}

// translate converts src.
func (r *convertRequest) translate(src []byte) (*convert.Conversion, error) {
	switch {
	case r.To == toConventional:
		return convert.ToConventional(src, r.Options)
	case r.To != toACAP:
		return convert.To(r.To, src, r.Options)
	case r.From == toConventional:
		return convert.ToACAP(src, r.Options)
	}
	return convert.From(r.From, src, r.Options)
}

// otherWay returns the flag to try if a file makes statements in another language than expected.
func (r *convertRequest) otherWay(err error) string {
	switch {
	case errors.Is(err, convert.ErrSpeaksACAP) && r.newer():
		return "--to " + r.From
	case errors.Is(err, convert.ErrSpeaksACAP):
		return "--to " + toConventional
	case errors.Is(err, convert.ErrSaysNothing):
		return "--from " + toConventional
	}
	return "--to " + toACAP
}

// writeConverted writes the resulting files to a directory, and makes the directory if necessary.
// It never overwrites a file. It writes robots.txt last, after the file to which robots.txt refers.
func (c *Command) writeConverted(r convertRequest, out *convert.Conversion) error {
	dir := c.path(r.Dir)
	type file struct{ name, text string }
	var files []file
	for _, f := range []file{{strings.TrimPrefix(r.Reference, "/"), out.Reference},
		{".well-known/tdmrep.json", out.TDMRep}, {"license.xml", out.License}, {"robots.txt", out.Robots}} {
		if f.text != "" {
			files = append(files, file{filepath.Join(dir, filepath.FromSlash(f.name)), f.text})
		}
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

// localFile reports whether a slash-separated path, joined to the name of a directory, always names
// a file below that directory.
func localFile(path string) bool {
	return path != "" && !strings.HasSuffix(path, "/") && !strings.ContainsAny(path, "\\%?#* \t\r\n") &&
		filepath.IsLocal(filepath.FromSlash(path))
}
