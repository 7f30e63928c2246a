package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
)

// runWatchAll executes publishers' requests in the data directory of cfg and in those of all jobs, and starts the jobs
// that are due, until ctx ends.
func (c *Command) runWatchAll(ctx context.Context, cmd *cobra.Command, cfg *config.Config, r watchRequest) error {
	jobs, err := c.scheduledJobs(cmd, cfg)
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return c.runWatch(ctx, cfg, r)
	}
	group, ctx := errgroup.WithContext(ctx)
	if cfg.Actions.SeenWithin > 0 {
		watched := map[string]bool{}
		for _, j := range append([]scheduledJob{{settings: cfg}}, jobs...) {
			if dir := j.settings.Data; !watched[dir] {
				watched[dir] = true
				own := watchRequest{JSON: r.JSON, Flags: append(r.Flags, "--data="+dir)}
				group.Go(func() error {
					if !awaitDirectory(ctx, dir) {
						return nil
					}
					return c.runWatch(ctx, j.settings, own)
				})
			}
		}
	}
	group.Go(func() error { return (&jobStarter{command: c, cmd: cmd, request: r, jobs: jobs}).run(ctx) })
	return group.Wait()
}

// scheduledJob is a job that has a schedule, with its settings.
type scheduledJob struct {
	config.Job
	settings *config.Config
	// the time before which it is not started again, because it could not be started, for example since another process
	// crawls in its data directory
	notBefore time.Time
}

func (c *Command) scheduledJobs(cmd *cobra.Command, cfg *config.Config) (list []scheduledJob, err error) {
	for _, j := range cfg.Jobs {
		if j.Schedule == "" {
			continue
		}
		own, err := c.settingsOf(cmd, j.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, scheduledJob{Job: j, settings: own})
	}
	return list, nil
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
	cmd     *cobra.Command
	request watchRequest
	jobs    []scheduledJob
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
			due, err := s.due(j)
			if err != nil {
				return err
			}
			if due.After(now) {
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

// due returns when a job is due.
func (s *jobStarter) due(j *scheduledJob) (time.Time, error) {
	state, err := s.command.jobState(s.cmd, j.Job)
	if err != nil || state.Due == nil {
		return j.notBefore, err
	}
	if state.Due.Before(j.notBefore) {
		return j.notBefore, nil
	}
	return *state.Due, nil
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
