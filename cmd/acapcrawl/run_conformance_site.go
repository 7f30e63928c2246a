package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/conformance"
	"github.com/acapcrawl/acapcrawl/conformance/course"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/site"
)

// runConformanceSite serves the course until somebody has been there, and says what the visits show.
func (c *Command) runConformanceSite(ctx context.Context, r conformanceSiteRequest) error {
	left := 0
	visits, err := c.recordedVisits(r)
	if !r.Judge {
		visits, left, err = c.serveCourse(ctx, r)
	}
	if err != nil && len(visits) == 0 {
		return err
	}
	incomplete := err // such as a log that could not be written: what came is judged all the same
	report, err := course.Judge(context.WithoutCancel(ctx), visits, r.Told)
	if err != nil {
		return err
	}
	report.Left += left
	if err := c.writeReport(r.Out, func(w io.Writer) error {
		return printVisitors(w, r.Out.Form, report)
	}); err != nil {
		return err
	}
	judged, violations := 0, 0
	for _, v := range report.Visitors {
		violations += v.Failures()
		if v.Unjudged == "" {
			judged++
		}
	}
	switch {
	case incomplete != nil:
		return incomplete
	case violations > 0:
		return nothing("")
	case judged == 0:
		return nothing("nobody who could be judged visited the course")
	}
	return nil
}

func printVisitors(w io.Writer, as form, report *course.Report) error {
	switch as {
	case jsonForm:
		e := display.Encoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	case sarifForm:
		return report.Problems().WriteSARIF(w, site.Version)
	case junitForm:
		return report.Tests().WriteJUnit(w)
	case htmlForm:
		return report.WriteHTML(w)
	}
	return report.WriteText(w)
}

// recordedVisits reads the logs that were named, or standard input.
func (c *Command) recordedVisits(r conformanceSiteRequest) ([]course.Visit, error) {
	if !r.Judge {
		return nil, nil
	}
	ins, closeAll, err := c.inputs(r.Logs)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	var visits []course.Visit
	for i, in := range ins {
		name := "standard input"
		if i < len(r.Logs) && r.Logs[i] != "-" {
			name = r.Logs[i]
		}
		list, err := course.ReadVisits(name, in)
		switch {
		case errors.Is(err, course.ErrUnfinished):
			fmt.Fprintf(c.Stderr, "Notice: %s.\n", display.Line(err.Error()))
		case err != nil:
			return nil, misuse("", "%w", err)
		}
		visits = append(visits, list...)
	}
	return visits, nil
}

// serveCourse serves until the crawler that was started ends, the time is up, or ctx ends. It gives the visits, and how many came beside them.
func (c *Command) serveCourse(ctx context.Context, r conformanceSiteRequest) (visits []course.Visit, left int, err error) {
	o := course.Options{Listen: r.Listen, Crawler: r.Told.Crawler, Purposes: r.Told.Purposes}
	if r.Run != "" {
		o.Run = time.Now().UTC().Format(time.RFC3339Nano)
	}
	if r.Log != "" {
		log, err := os.OpenFile(c.path(r.Log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			return nil, 0, err
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		o.Log = log
	}
	s, err := course.Serve(ctx, o)
	if err != nil {
		return nil, 0, misuse("--listen 127.0.0.1:0", "%w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Fprintf(c.Stderr, "The course answers at %s; start a crawler there. Its other seeds:\n", s.URL(course.Seeds()[0]))
	for _, o := range course.Seeds()[1:] {
		fmt.Fprintf(c.Stderr, "  %s/\n", s.URL(o))
	}
	until := ctx
	if r.For > 0 {
		var cancel context.CancelFunc
		until, cancel = context.WithTimeout(ctx, r.For)
		defer cancel()
	}
	if r.Run == "" {
		<-until.Done()
	} else {
		err = c.runCrawler(until, r.Run, s)
	}
	return s.Visits(), s.Left(), err
}

// runCrawler runs the crawler of the user until it or ctx ends. How it ends says nothing: what counts is what it requested.
func (c *Command) runCrawler(ctx context.Context, command string, s *course.Server) error {
	var seeds []string
	for _, o := range course.Seeds() {
		seeds = append(seeds, s.URL(o)+"/")
	}
	command = strings.NewReplacer("{URLS}", strings.Join(seeds, " "), "{URL}", seeds[0]).Replace(command)
	cmd := conformance.Shell(ctx, command)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.dir, c.Stderr, c.Stderr, 5*time.Second
	err := cmd.Run()
	conformance.EndGroup(cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(c.Stderr, "The crawler was stopped.")
	case errors.As(err, &exit):
		fmt.Fprintf(c.Stderr, "The crawler ended with %s.\n", exit.ProcessState)
	case err != nil:
		return failure("", fmt.Errorf("the crawler could not be started: %w", err))
	}
	return nil
}
