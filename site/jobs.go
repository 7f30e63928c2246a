package site

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/disk"
)

// JobRun is the last crawl of a job in a data directory.
type JobRun struct {
	// all seeds that the job has had. Pages that were found from them belong to the job
	Seeds []string  `json:"seeds"`
	Began time.Time `json:"began"` // zero: no crawl has ended yet
	Ended time.Time `json:"ended"`
	// the crawl did everything that was due, or has reached a limit; otherwise it was interrupted or has failed
	Complete bool `json:"complete"`
	// why it failed, or why no seed was fetched. If policy refuses the seeds, the crawl is complete
	Error   string          `json:"error,omitempty"`
	Summary crawler.Summary `json:"summary"`
}

// retryJob is how long a job that has failed waits until it is due again.
const retryJob = 10 * time.Minute

// Due returns when a job is due after its last run; a zero JobRun means that it has never run. scheduled is false if
// the job has no schedule. A crawl that was interrupted is due at once, and one that has failed after ten minutes, or
// earlier if its schedule says so.
func (r JobRun) Due(j config.Job) (due time.Time, scheduled bool) {
	due, scheduled = j.Next(r.Began)
	switch again := r.Ended.Add(retryJob); {
	case !scheduled || r.Complete || r.Began.IsZero():
	case r.Error == "":
		due = r.Ended
	case again.Before(due):
		due = again
	}
	return due, scheduled
}

// JobsName is the name of the file in a data directory with the last run of each job.
const JobsName = "jobs.json"

// JobRuns returns the last run of each job in a data directory, by the name of the job.
func JobRuns(dir string) (map[string]JobRun, error) {
	runs := map[string]JobRun{}
	file := filepath.Join(dir, JobsName)
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return runs, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &runs)
	}
	if err != nil {
		return nil, fmt.Errorf("the last runs of jobs cannot be read; if %s is damaged, remove it: %w", file, err)
	}
	return runs, nil
}

// RemovedJobs returns the names of the jobs that have run in a data directory, but that jobs does not contain. It
// leaves out those whose seeds all belong to jobs now.
func RemovedJobs(dir string, jobs []config.Job) (names []string, err error) {
	runs, err := JobRuns(dir)
	if err != nil {
		return nil, err
	}
	seeds := jobsOf(jobs)
	for name, run := range runs {
		named := slices.ContainsFunc(jobs, func(j config.Job) bool { return j.Name == name })
		lost := slices.ContainsFunc(run.Seeds, func(seed string) bool { return len(seeds[seed]) == 0 })
		if !named && (lost || len(run.Seeds) == 0) { // without seeds, an older version has recorded the run
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// recordJob stores the run of a job that ends with sum and err. It adds its own error to err.
func (s *Site) recordJob(ctx context.Context, job string, began time.Time, sum *CrawlSummary, err *error) {
	failed := cmp.Or(*err, sum.Stopped)
	run := JobRun{Began: began, Ended: time.Now().UTC(), Summary: sum.Summary,
		Complete: failed == nil && ctx.Err() == nil && !sum.Changed && (sum.Interrupted || !sum.SeedsUnreachable),
		Error:    sum.SeedsFailed()}
	if failed != nil {
		run.Error = failed.Error()
	}
	*err = errors.Join(*err, s.updateJob(job, func(old *JobRun) bool {
		run.Seeds = old.Seeds
		*old = run
		return true
	}))
}

// updateJob changes what the data directory contains about the last run of a job. It writes nothing if change returns
// false.
func (s *Site) updateJob(job string, change func(*JobRun) bool) error {
	runs, err := JobRuns(s.cfg.Data)
	if err != nil {
		return err
	}
	run := runs[job]
	if !change(&run) {
		return nil
	}
	runs[job] = run
	text, err := json.MarshalIndent(runs, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(s.cfg.Data, JobsName), append(text, '\n'), 0o600)
}
