package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/check"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/site"
)

// maxChecked is how long a file may be, in bytes.
const maxChecked = 16 << 20

// stdinName is what findings call standard input.
const stdinName = "stdin"

// runCheck checks every file and URL, and reports on all. One that cannot be read does not keep the others from being checked.
func (c *Command) runCheck(ctx context.Context, cfg *config.Config, r checkRequest) error {
	report := &check.Report{}
	levels, err := checkLevels(cfg)
	if err != nil {
		return err
	}
	o := check.Options{Now: r.Now, Pilot: cfg.Policy.Dialect == config.DialectPilot}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if r.Fix {
		return c.runFix(ctx, o, levels, r)
	}
	var faults []error
	var site checkedSite
	var urls []*url.URL
	for i, name := range r.Names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if slices.Contains(r.Names[:i], name) {
			continue
		}
		var err error
		if strings.Contains(name, "://") {
			var u *url.URL
			if u, err = webURL(name); err == nil {
				urls = append(urls, u)
			}
		} else {
			err = c.checkFile(report, o, r.As, &site, name)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	if err := c.checkURLs(ctx, cfg, report, o, urls); err != nil {
		faults = append(faults, err)
	}
	report.Apply(levels)
	if len(report.Texts) > 0 {
		write := func(w io.Writer) error { return c.printReport(w, report, r) }
		if err := c.writeReport(r.Out, write); err != nil {
			return err
		}
	}
	return checked(report, faults)
}

// checkLevels returns the levels of findings that the configuration sets.
func checkLevels(cfg *config.Config) (check.Levels, error) {
	levels := check.Levels{}
	for _, l := range []struct {
		key   string
		level acap.Severity
		codes []string
	}{
		{"check.ignore", check.Ignored, cfg.Check.Ignore}, {"check.notice", acap.Notice, cfg.Check.Notice},
		{"check.warning", acap.Warning, cfg.Check.Warning}, {"check.error", acap.Error, cfg.Check.Error},
	} {
		if err := levels.Set(l.level, l.codes...); err != nil {
			return nil, misuse("the codes that docs/findings.md lists", "the setting %s: %w", l.key, err)
		}
	}
	return levels, nil
}

// checked is how check ends: with what could not be done, else with the status for findings from warnings up.
func checked(report *check.Report, faults []error) error {
	if w := report.Worst(); len(faults) == 0 && (w == acap.Error || w == acap.Warning) {
		return nothing("")
	}
	return errors.Join(faults...)
}

func (c *Command) printReport(w io.Writer, report *check.Report, r checkRequest) error {
	if r.Out.Form == textForm {
		return report.WriteText(w, check.Style{Colour: c.Bold && r.Out.File == "", All: r.All})
	}
	for _, note := range report.Notes {
		fmt.Fprintln(c.Stderr, display.Line(note))
	}
	switch r.Out.Form {
	case sarifForm:
		return report.WriteSARIF(w, site.Version)
	case junitForm:
		return report.Tests().WriteJUnit(w)
	case githubForm:
		return report.WriteGitHub(w)
	}
	list := jsonArray{w: w}
	for _, f := range report.Findings {
		if err := list.add(findingJSON{f, check.Behind(f.Code), check.Help(f.Code)}); err != nil {
			return err
		}
	}
	return list.end()
}

// findingJSON is a finding with what it rests on and where that is explained.
type findingJSON struct {
	acap.Finding
	Behind []string `json:"behind,omitempty"`
	Help   string   `json:"help"`
}

// readChecked reads a file that is to be checked.
func (c *Command) readChecked(name string) ([]byte, error) {
	in := c.Stdin
	if name != "-" {
		if err := c.readable(name); err != nil {
			return nil, err
		}
		f, err := os.Open(c.path(name))
		if err != nil {
			return nil, misuse("", "%s cannot be read: %w", name, bare(err))
		}
		defer f.Close()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, maxChecked+1))
	switch {
	case err != nil:
		return nil, misuse("", "%s cannot be read: %w", name, bare(err))
	case len(src) > maxChecked:
		return nil, misuse("", "%s cannot be checked: it has more than %d bytes", name, maxChecked)
	}
	return src, nil
}

// called is how findings call a file.
func called(name string) string {
	if name == "-" {
		return stdinName
	}
	return name
}

func (c *Command) checkFile(report *check.Report, o check.Options, as check.Kind, site *checkedSite, name string) error {
	src, err := c.readChecked(name)
	if err != nil {
		return err
	}
	called := called(name)
	switch cmp.Or(as, check.Guess(called, src)) {
	case check.RobotsKind:
		site.robots = check.Parse(called, src)
		site.refs = c.beside(name, site.robots.References(check.Everyone(site.robots, o)))
		report.Robots(called, src, o, site.refs...)
	case check.ReferenceKind:
		report.Referred(called, src, o)
	case check.PageKind:
		report.PageAlone(called, check.PageOf(called, src), o, site.robots, site.refs...)
	case check.HeaderKind:
		report.Header(called, src, o, site.robots, site.refs...)
	}
	return nil
}

// checkedSite is the last robots.txt among the files to be checked, which those behind it are taken to be of.
type checkedSite struct {
	robots *acap.File
	refs   []acap.Reference
}

// beside reads what references lead to where that lies beside the robots.txt of that name, as it does in a copy of a site.
func (c *Command) beside(name string, refs []acap.Reference) []acap.Reference {
	if filepath.Base(name) != "robots.txt" {
		return nil
	}
	for i := range refs {
		_, locator, _ := strings.Cut(refs[i].Field.Text, ":")
		locator = strings.TrimPrefix(strings.TrimSpace(locator), "/")
		if strings.Contains(locator, "://") || !filepath.IsLocal(filepath.FromSlash(locator)) {
			continue
		}
		file := filepath.Join(filepath.Dir(name), filepath.FromSlash(locator))
		if info, err := os.Stat(c.path(file)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		src, err := c.readChecked(file)
		if err != nil {
			refs[i].Err = err
			continue
		}
		refs[i].File = acap.ParseReferred(file, src)
	}
	return refs
}
