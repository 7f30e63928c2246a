package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/site"
)

// runWatchAll executes publishers' requests in the data directory of cfg and in those of all jobs, and starts the jobs
// that are due, until ctx ends.
func (c *Command) runWatchAll(ctx context.Context, cfg *config.Config, r watchRequest) error {
	if len(cfg.Jobs) == 0 {
		return c.runWatch(ctx, cfg, r)
	}
	var scheduled []scheduledJob
	group, ctx := errgroup.WithContext(ctx)
	all, watched := []*config.Config{cfg}, map[string]bool{}
	for _, j := range cfg.Jobs {
		own, err := c.jobSettings(cfg, j)
		if err != nil {
			return err
		}
		if all = append(all, own); j.Schedule != "" {
			scheduled = append(scheduled, scheduledJob{Job: j, dir: own.Data})
		}
	}
	for _, each := range all {
		if cfg.Actions.SeenWithin <= 0 || watched[each.Data] {
			continue
		}
		watched[each.Data] = true
		own := watchRequest{JSON: r.JSON, Flags: slices.Concat(r.Flags, []string{"--data=" + each.Data})}
		group.Go(func() error {
			if !awaitDirectory(ctx, each.Data) {
				return nil
			}
			return c.runWatch(ctx, each, own)
		})
	}
	group.Go(func() error { return (&jobStarter{command: c, request: r, jobs: scheduled}).run(ctx) })
	return group.Wait()
}

// scheduledJob is a job that has a schedule.
type scheduledJob struct {
	config.Job
	dir string // its data directory
	// the time before which it is not started again, because it could not be started, for example since another process
	// crawls in its data directory
	notBefore time.Time
}

// lookForData is how often a data directory that does not exist yet is looked for.
const lookForData = time.Second

// awaitDirectory waits until a data directory exists. It returns false if ctx ends first.
func awaitDirectory(ctx context.Context, dir string) bool {
	for ctx.Err() == nil {
		if _, err := os.Stat(dir); err == nil {
			return true
		}
		sleep(ctx, lookForData)
	}
	return false
}

// jobStarter starts jobs that are due, one after the other.
type jobStarter struct {
	command *Command
	request watchRequest
	jobs    []scheduledJob
	said    string // the last problem that was printed
}

// tryJob is how long to wait before a job is tried again that could not be started.
const tryJob = time.Minute

// run starts jobs that are due, until ctx ends. It looks at the files with their last runs again and again, because an
// operator may start a job too.
func (s *jobStarter) run(ctx context.Context) error {
	for ctx.Err() == nil {
		now, next := time.Now(), time.Now().Add(tryJob)
		for i := range s.jobs {
			j := &s.jobs[i]
			if due := s.due(j); due.After(now) {
				next = earlier(next, due)
				continue
			}
			if err := s.start(ctx, j); err != nil {
				return err
			}
			next = time.Now() // another job may have become due meanwhile
			break
		}
		sleep(ctx, time.Until(next))
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// due returns when a job is due. If its last run cannot be read, it prints the problem, once, and tries again later.
func (s *jobStarter) due(j *scheduledJob) time.Time {
	runs, err := site.JobRuns(j.dir)
	if err != nil {
		if s.said != err.Error() {
			s.said = err.Error()
			fmt.Fprintf(newProgress(s.command.Stderr), "Notice: the job %s is not started: %v\n", j.Name, err)
		}
		return time.Now().Add(tryJob)
	}
	due, _ := runs[j.Name].Due(j.Job)
	if due.Before(j.notBefore) {
		return j.notBefore
	}
	return due
}

// start crawls a job, and prints how the crawl ended. The error is only one of printing.
func (s *jobStarter) start(ctx context.Context, j *scheduledJob) error {
	j.notBefore = time.Now().Add(tryJob)
	var out bytes.Buffer
	verb := Command{Stdin: strings.NewReader(""), Stdout: &out, Stderr: s.command.Stderr, Env: s.command.Env,
		Resolver: s.command.Resolver, dir: s.command.dir}
	status := verb.Main(ctx, append([]string{"crawl", j.Name, "--json"}, s.request.Flags...))
	var sum crawler.Summary
	if status == statusDone {
		j.notBefore = time.Time{}
		if err := json.Unmarshal(out.Bytes(), &sum); err != nil {
			return fmt.Errorf("the summary of the job %s cannot be read: %w", j.Name, err)
		}
	}
	if s.request.JSON {
		return s.command.printJSON(struct {
			Job     string          `json:"job"`
			Status  int             `json:"status"` // exit status of the crawl
			Summary crawler.Summary `json:"summary"`
		}{j.Name, status, sum})
	}
	text := fmt.Sprintf("exit status %d", status)
	if status == statusDone {
		text = fmt.Sprintf("%s fetched, %s stored, %s queued", several(sum.Fetched, "page"), number(sum.Stored),
			number(sum.Queued))
	}
	_, err := fmt.Fprintf(s.command.Stdout, "%s job %s: %s\n", time.Now().Format(time.RFC3339), j.Name, text)
	return err
}
