package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// lookAgain is the time after which check --watch looks again whether a file has changed.
const lookAgain = 200 * time.Millisecond

// checkWatchable returns an error if r names what cannot be watched, or asks for more than reports.
func (c *Command) checkWatchable(r checkRequest) error {
	switch {
	case r.Fix:
		return misuse("acapcrawl check --fix, after you have edited the file",
			"--watch only reports: --fix would change files while you edit them")
	case r.Out.File != "":
		return misuse("check without --watch", "--watch prints a report after each change: -o takes only one report")
	case r.Out.Form != textForm && !r.Out.JSON():
		return misuse("check without --watch", "--watch prints text or json, not %s", r.Out.Form)
	}
	for _, name := range r.Names {
		switch info, err := os.Stat(c.path(name)); {
		case name == "-":
			return misuse("the name of a file", "--watch needs files, and standard input is not a file")
		case strings.Contains(name, "://"):
			return misuse("acapcrawl check "+name, "%s: --watch needs files, because it reads them several times a "+
				"second", name)
		case err == nil && !info.Mode().IsRegular():
			return misuse("", "%s cannot be watched: it is not a regular file", name)
		}
	}
	return nil
}

// runCheckWatch checks the files, and checks them again after each change, until ctx ends. The error
// that it returns then sets the exit status of the last check; it has no text.
func (c *Command) runCheckWatch(ctx context.Context, cfg *config.Config, levels check.Levels, r checkRequest) error {
	fmt.Fprintln(c.Stderr, "Checking again after each change; press Ctrl-C to stop.")
	var last error
	for {
		files, err := c.checkOnce(ctx, cfg, levels, r)
		switch {
		case err != nil && errors.Is(err, ctx.Err()):
			return last
		case err != nil:
			return err
		}
		last = nil
		if status := report(c.Stderr, checked(files.report, files.faults)); status != statusDone {
			last = &fault{status: status, err: errors.New("")}
		}
		changed := c.awaitChange(ctx, files.read)
		if ctx.Err() != nil {
			return last
		}
		if err := c.printChanged(changed, r); err != nil {
			return err
		}
	}
}

// printChanged prints when files changed, and which: next to the report if that is text, otherwise
// to standard error.
func (c *Command) printChanged(names []string, r checkRequest) error {
	w, before := io.Writer(c.Stdout), "\n"
	if r.Out.JSON() {
		w, before = c.Stderr, ""
	}
	_, err := fmt.Fprintf(w, "%s%s %s changed\n", before, time.Now().Format(time.RFC3339),
		display.Line(strings.Join(names, ", ")))
	return err
}

// awaitChange waits until files differ from what was read of them, and returns their names. It
// waits until a file stays the same between two looks, so that no incomplete file is checked. It
// compares whole files: a time of change could be too coarse, or be set by another program.
func (c *Command) awaitChange(ctx context.Context, read map[string]content) (changed []string) {
	for before := read; ctx.Err() == nil; {
		sleep(ctx, lookAgain)
		now := map[string]content{}
		for name := range read {
			now[name] = c.look(name)
		}
		if maps.Equal(now, before) && !maps.Equal(now, read) {
			maps.DeleteFunc(now, func(name string, found content) bool { return found == read[name] })
			return slices.Sorted(maps.Keys(now))
		}
		before = now
	}
	return nil
}

// look reads a file that is watched.
func (c *Command) look(name string) content {
	if info, err := os.Stat(c.path(name)); err != nil || !info.Mode().IsRegular() {
		return content{}
	}
	src, err := c.readChecked(name)
	return content{string(src), err == nil}
}
