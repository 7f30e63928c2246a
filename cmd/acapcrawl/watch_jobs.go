package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/site"
)

// watchPlan says what watch does until the configuration file changes.
type watchPlan struct {
	cfg       *config.Config   // the settings without those of jobs
	watched   []*config.Config // settings for each data directory in which publishers' requests are executed
	scheduled []scheduledJob
}

// planWatch returns the plan for the settings cfg and those of their jobs.
func (c *Command) planWatch(cfg *config.Config) (*watchPlan, error) {
	if len(cfg.Jobs) == 0 && cfg.Actions.SeenWithin <= 0 {
		return nil, nothingToWatch()
	}
	p := &watchPlan{cfg: cfg}
	p.watch(cfg)
	for _, j := range cfg.Jobs {
		own, err := c.jobSettings(cfg, j)
		if err != nil {
			return nil, err
		}
		if p.watch(own); j.Schedule != "" {
			p.scheduled = append(p.scheduled, scheduledJob{Job: j, dir: own.Data})
		}
	}
	return p, nil
}

// watch adds the data directory of cfg to those in which publishers' requests are executed, unless cfg turns this off.
func (p *watchPlan) watch(cfg *config.Config) {
	same := func(other *config.Config) bool { return other.Data == cfg.Data }
	if cfg.Actions.SeenWithin > 0 && !slices.ContainsFunc(p.watched, same) {
		p.watched = append(p.watched, cfg)
	}
}

// runWatchAll executes publishers' requests in the data directory of the settings that load returns and in those of all
// jobs, and starts the jobs that are due, until ctx ends. It calls load again and again, to notice new settings.
func (c *Command) runWatchAll(ctx context.Context, load func() (*config.Config, error), r watchRequest) error {
	cfg, err := load()
	if err != nil {
		return err
	}
	p, err := c.planWatch(cfg)
	if err != nil {
		return err
	}
	removed, err := c.removedJobs(cfg)
	for _, notice := range removed {
		fmt.Fprintln(newProgress(c.Stderr), "Notice: "+notice)
	}
	for err == nil && ctx.Err() == nil {
		p, err = c.executePlan(ctx, p, load, r)
	}
	return err
}

// executePlan executes requests and starts jobs as p says until ctx ends, or until the configuration file has changed.
// It then returns the plan for the new content.
func (c *Command) executePlan(ctx context.Context, p *watchPlan, load func() (*config.Config, error),
	r watchRequest) (next *watchPlan, err error) {
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	for _, cfg := range p.watched {
		own := watchRequest{JSON: r.JSON, Flags: slices.Concat(r.Flags, []string{"--data=" + cfg.Data})}
		group.Go(func() error {
			if len(p.cfg.Jobs) > 0 && !awaitDirectory(ctx, cfg.Data) {
				return nil
			}
			return c.runWatch(ctx, cfg, own)
		})
	}
	group.Go(func() (err error) {
		defer stop()
		next, err = (&jobStarter{command: c, request: r, load: load, plan: p}).run(ctx)
		return err
	})
	return next, group.Wait()
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
	load    func() (*config.Config, error) // reads the settings again
	plan    *watchPlan
	said    string // the last problem with the runs of jobs that was printed
	wrong   string // what is wrong with the configuration file, as it was printed; "": nothing
}

// tryJob is how long to wait before a job is tried again that could not be started.
const tryJob = time.Minute

// run starts jobs that are due, until ctx ends or the configuration file has changed. It then returns the plan for
// the new content; nil if ctx has ended. It looks at the files with the last runs of jobs again and again, because
// an operator may start a job too.
func (s *jobStarter) run(ctx context.Context) (*watchPlan, error) {
	for asked := false; ctx.Err() == nil; {
		if changed := s.reload(asked); changed != nil {
			return changed, nil
		}
		j, due := s.next()
		if j == nil || due.After(time.Now()) {
			asked = s.wait(ctx, earlier(due, time.Now().Add(tryJob)))
			continue
		}
		if err := s.start(ctx, j); err != nil {
			return nil, err
		}
		asked = s.wait(ctx, time.Now()) // another job may have become due meanwhile
	}
	return nil, nil
}

// wait waits until t, or until ctx ends. It returns true as soon as the operator asks to read the configuration file.
func (s *jobStarter) wait(ctx context.Context, t time.Time) (asked bool) {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.request.Reload:
		return true
	}
	return false
}

// reload reads the configuration file, and returns the plan for its content if that has changed; otherwise nil. If the
// content cannot be used, reload prints why, once, or whenever asked is true.
func (s *jobStarter) reload(asked bool) *watchPlan {
	notice := func(format string, args ...any) {
		fmt.Fprintf(newProgress(s.command.Stderr), "Notice: "+format+"\n", args...)
	}
	old := s.plan.cfg
	cfg, err := s.load()
	if err == nil && cfg.File == "" && old.File != "" {
		err = &config.Error{Where: old.File, What: "there is no longer such a configuration file"}
	}
	if err == nil && bytes.Equal(cfg.Text(), old.Text()) {
		if asked || s.wrong != "" {
			notice("%s has not changed; its settings stay in force", cmp.Or(cfg.File, "the configuration"))
		}
		s.wrong = ""
		return nil
	}
	var p *watchPlan
	if err == nil {
		p, err = s.command.planWatch(cfg)
	}
	if err == nil {
		notice("%s has changed; its new settings are in force", cfg.File)
		return p
	}
	if text := strings.ReplaceAll(err.Error(), "\n", "; "); asked || text != s.wrong {
		s.wrong = text
		notice("the changed configuration cannot be used, so the previous settings stay in force: %s", text)
	}
	return nil
}

// listenForReload returns a channel that receives the signals that make watch read the configuration file, until
// stop is called. If standard input is a terminal, these signals keep their usual effect: SIGHUP then means that
// the terminal was closed.
func listenForReload() (reload <-chan os.Signal, stop func()) {
	if len(reloadSignals) == 0 || term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, func() {}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, reloadSignals...)
	return signals, func() { signal.Stop(signals) }
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// next returns the job that is due first, so that a long job does not keep others from being started. Of jobs that are
// due at the same time, it is the one whose last run ended first. Without jobs, next returns nil and a later time.
func (s *jobStarter) next() (first *scheduledJob, due time.Time) {
	ended := time.Time{}
	due = time.Now().Add(tryJob)
	for i := range s.plan.scheduled {
		j := &s.plan.scheduled[i]
		at, last := s.due(j)
		if first == nil || cmp.Or(at.Compare(due), last.Compare(ended)) < 0 {
			first, due, ended = j, at, last
		}
	}
	return first, due
}

// due returns when a job is due, and when its last run ended. If its last run cannot be read, due prints the problem,
// once, and tries again later.
func (s *jobStarter) due(j *scheduledJob) (due, ended time.Time) {
	runs, err := site.JobRuns(j.dir)
	if err != nil {
		if s.said != err.Error() {
			s.said = err.Error()
			fmt.Fprintf(newProgress(s.command.Stderr), "Notice: the job %s is not started: %v\n", j.Name, err)
		}
		return time.Now().Add(tryJob), ended
	}
	due, _ = runs[j.Name].Due(j.Job)
	if due.Before(j.notBefore) {
		due = j.notBefore
	}
	return due, runs[j.Name].Ended
}

// start crawls a job, and prints how the crawl ended. The error is only one of printing.
func (s *jobStarter) start(ctx context.Context, j *scheduledJob) error {
	j.notBefore = time.Now().Add(tryJob)
	var out bytes.Buffer
	verb := Command{Stdin: strings.NewReader(""), Stdout: &out, Env: s.command.Env,
		Stderr: newProgress(s.command.Stderr).ofJob(j.Name), Resolver: s.command.Resolver, dir: s.command.dir,
		configText: s.plan.cfg.Text()}
	status := verb.Main(ctx, slices.Concat([]string{"crawl", "--json"}, s.request.Flags, []string{"--", j.Name}))
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
		if sum.Limit != "" {
			text += fmt.Sprintf("; the limit %s ended the crawl", sum.Limit)
		}
	}
	_, err := fmt.Fprintf(s.command.Stdout, "%s job %s: %s\n", time.Now().Format(time.RFC3339), j.Name, text)
	return err
}
