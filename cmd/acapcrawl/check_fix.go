package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// runFix corrects every file in place and prints the changes. With DryRun it only prints the
// changes. The correction of standard input is written to standard output, and the remaining
// findings to standard error.
func (c *Command) runFix(ctx context.Context, o check.Options, levels check.Levels, r checkRequest) error {
	report := &check.Report{}
	var faults []error
	for _, name := range r.Names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.fixFile(report, o, levels, r, name); err != nil {
			faults = append(faults, err)
		}
	}
	report.Apply(levels)
	if len(report.Texts) > 0 {
		if err := report.WriteText(c.Stderr, check.Style{All: r.All}); err != nil {
			return err
		}
	}
	return checked(report, faults)
}

func (c *Command) fixFile(report *check.Report, o check.Options, levels check.Levels, r checkRequest,
	name string) error {
	if strings.Contains(name, "://") {
		return misuse("curl -s "+name+" | acapcrawl check --fix -", "%s: a file can be mended, an address cannot", name)
	}
	src, err := c.readChecked(name)
	if err != nil {
		return err
	}
	called := called(name)
	kind := cmp.Or(r.As, check.Guess(called, src))
	if kind == check.PageKind || kind == check.HeaderKind {
		return misuse("", "%s is read as %s; only a robots.txt, a file that one refers to, a tdmrep.json and a "+
			"licence document can be mended", name, kind)
	}
	fixed, mended := check.Repair(src, kind, o, levels)
	if name == "-" && !r.DryRun {
		if _, err := c.raw().Write(fixed); err != nil {
			return err
		}
	}
	if len(mended) > 0 {
		if name != "-" && !r.DryRun {
			if err := rewrite(c.path(name), fixed); err != nil {
				return fmt.Errorf("%s could not be written: %w", name, bare(err))
			}
		}
		if err := c.showChange(called, src, fixed, name == "-" && !r.DryRun); err != nil {
			return err
		}
	}
	switch kind {
	case check.ReferenceKind:
		report.Referred(called, fixed, o)
	case check.TDMRepKind:
		report.TDMRep(called, fixed, o)
	case check.RSLKind:
		report.Licence(preference.LicenceText{Name: called, Text: fixed, Line: 1, Column: 1}, o)
	default:
		report.Contradictions(check.NewLocalSite(called, report.Robots(called, fixed, o), nil), o)
	}
	return nil
}

// showChange writes a unified diff of old and new to standard output or, if aside is true, to
// standard error.
func (c *Command) showChange(name string, old, new []byte, aside bool) error {
	text := diff.Diff(filepath.ToSlash(name), old, filepath.ToSlash(name), new)
	_, text, _ = bytes.Cut(text, []byte("\n")) // drop the line "diff old new"
	w := c.raw()
	out, is := c.Stdout.(*results)
	if aside {
		w = c.Stderr
	}
	if aside || is && out.terminal() {
		text = bytes.Map(visible, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	}
	_, err := w.Write(text)
	return err
}

// rewrite replaces the content of a file atomically. A link stays a link.
func rewrite(name string, data []byte) (err error) {
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(name), ".acapcrawl-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // fails after the rename, because the temporary file no longer exists
	_, err = part.Write(data)
	err = errors.Join(err, part.Chmod(info.Mode().Perm()), part.Sync(), part.Close())
	if err != nil {
		return err
	}
	return disk.Rename(part.Name(), name)
}

// createFile writes a new file. If the whole file cannot be written, createFile removes the
// incomplete file.
func createFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err = f.Close(); err == nil {
		err = rewrite(name, data)
	}
	if err != nil {
		os.Remove(name)
	}
	return err
}
