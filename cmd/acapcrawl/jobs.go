package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) jobsVerb() *cobra.Command {
	return c.group("jobs", "List the jobs of the configuration file, and show one", c.jobsListVerb(), c.jobsShowVerb())
}

// namedJob returns the job called name of the configuration file.
func (c *Command) namedJob(cmd *cobra.Command, name string) (config.Job, error) {
	cfg, err := c.settings(cmd)
	if err != nil {
		return config.Job{}, err
	}
	return findJob(cmd, cfg, name)
}

// findJob returns the job of cfg called name. Its error suggests what the user of the verb cmd can write instead.
func findJob(cmd *cobra.Command, cfg *config.Config, name string) (config.Job, error) {
	j, near, found := cfg.FindJob(name)
	switch {
	case found:
		return j, nil
	case near != "":
		return j, misuse(cmd.CommandPath()+" "+near, "there is no job %q", name)
	case cmd.Name() == "crawl":
		return j, misuse("https://"+name, "%q is neither an absolute URL nor a job of the configuration file", name)
	}
	return j, misuse("acapcrawl jobs ls", "there is no job %q", name)
}

// jobState is what jobs ls prints of a job.
type jobState struct {
	Job      string       `json:"job"`
	Seeds    []string     `json:"seeds"`
	Schedule string       `json:"schedule"` // "": none
	Keep     string       `json:"keep"`     // "": for ever
	Quota    int64        `json:"quota"`    // in bytes; 0: none
	Data     string       `json:"data"`
	Last     *site.JobRun `json:"last"` // null: the job has never run
	Due      *time.Time   `json:"due"`  // when it is due; now if it has never run; null: it has no schedule
}

// stateOf returns the state of the job j, whose data directory is dir.
func stateOf(j config.Job, dir string) (s jobState, err error) {
	runs, err := site.JobRuns(dir)
	if err != nil {
		return s, err
	}
	s = jobState{Job: j.Name, Seeds: j.Seeds, Schedule: j.Schedule, Quota: j.Quota, Data: dir}
	if j.Keep > 0 {
		s.Keep = j.Keep.String()
	}
	last := runs[j.Name]
	if !last.Began.IsZero() {
		s.Last = &last
	}
	if due, scheduled := last.Due(j); scheduled {
		if due = due.UTC(); due.IsZero() {
			due = time.Now().UTC()
		}
		s.Due = &due
	}
	return s, nil
}

// jobSettings returns the settings of the job j of cfg. It does not read the configuration file again.
func (c *Command) jobSettings(cfg *config.Config, j config.Job) (*config.Config, error) {
	own, err := cfg.WithJob(j.Name)
	if err != nil {
		return nil, err
	}
	return own, c.completeSettings(own)
}

func (c *Command) jobsListVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List jobs, when each ran last, and when it is due", Args: noArgs,
		Long: `List the jobs of the configuration file: their schedules, how the last run of each ended, and when the next
is due. The verb watch starts jobs that are due; crawl JOB starts one at once.`,
		Example: "  acapcrawl jobs ls\n  acapcrawl jobs ls --json",
	}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		list, notices := []jobState{}, []string{}
		for _, j := range cfg.Jobs {
			own, err := c.jobSettings(cfg, j)
			if err != nil {
				return err
			}
			s, err := stateOf(j, own.Data)
			if err != nil {
				return err
			}
			list, notices = append(list, s), append(notices, onlyOnce(j, own)...)
		}
		removed, err := c.removedJobs(cfg)
		if err != nil {
			return err
		}
		for _, notice := range slices.Concat(notices, removed) {
			fmt.Fprintln(c.Stderr, "Notice: "+notice)
		}
		switch {
		case out.JSON():
			return c.printJSON(list)
		case len(list) == 0:
			_, err := fmt.Fprintln(c.Stderr, "Notice: "+noJobs(cfg))
			return err
		}
		lines := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0)
		now := time.Now()
		for _, s := range list {
			fmt.Fprintf(lines, "%s\t%s\t%s\t%s\n", s.Job, several(len(s.Seeds), "seed"), s.lastInWords(now),
				s.dueInWords(now))
		}
		return lines.Flush()
	}
	return cmd
}

// onlyOnce says that the job j has a schedule, but no page to visit; nil: it has.
func onlyOnce(j config.Job, own *config.Config) []string {
	if j.Schedule == "" || own.RecrawlMin > 0 {
		return nil
	}
	return []string{fmt.Sprintf("the job %s has a schedule, but visits every page only once, because recrawl_min is "+
		"0s: set it, for example to half of the time between two crawls", j.Name)}
}

// removedJobs says for each job that has run in one of the data directories of cfg that cfg no longer has it there.
func (c *Command) removedJobs(cfg *config.Config) (list []string, err error) {
	jobs := map[string][]config.Job{cfg.Data: nil} // by data directory
	for _, j := range cfg.Jobs {
		own, err := c.jobSettings(cfg, j)
		if err != nil {
			return nil, err
		}
		jobs[own.Data] = append(jobs[own.Data], j)
	}
	for _, dir := range slices.Sorted(maps.Keys(jobs)) {
		names, err := site.RemovedJobs(dir, jobs[dir])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			list = append(list, fmt.Sprintf("the job %s of %s is no longer configured, so its pages stay: erase them "+
				"with acapcrawl archive forget, and remove it from %s", name, dir, filepath.Join(dir, site.JobsName)))
		}
	}
	return list, nil
}

// noJobs says that no job is configured, and where one could be.
func noJobs(cfg *config.Config) string {
	if cfg.File == "" {
		return "there is no configuration file, so there are no jobs; acapcrawl config init writes one that explains " +
			"them"
	}
	return cfg.File + " names no jobs"
}

// lastInWords says how the last run ended.
func (s jobState) lastInWords(now time.Time) string {
	switch l := s.Last; {
	case l == nil:
		return "has never run"
	case l.Error != "":
		return "failed " + ago(l.Ended, now)
	case !l.Complete:
		return "interrupted " + ago(l.Ended, now)
	default:
		return fmt.Sprintf("%s fetched %s", several(l.Summary.Fetched, "page"), ago(l.Ended, now))
	}
}

// dueInWords says when the job is due.
func (s jobState) dueInWords(now time.Time) string {
	switch {
	case s.Due == nil:
		return "no schedule"
	case !s.Due.After(now):
		return "due now"
	}
	return "due in " + span(s.Due.Sub(now))
}

// ago says how long ago t was.
func ago(t, now time.Time) string { return span(max(now.Sub(t), 0)) + " ago" }

func (c *Command) jobsShowVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show JOB", Short: "Show the settings of a job, and its last run",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse("acapcrawl jobs ls", "%s takes the name of one job", cmd.CommandPath())
			}
			return nil
		},
		Long: `Show a job: its seeds, the settings of its crawls that are not defaults with the source of each, and how its
last run ended.`,
		Example: "  acapcrawl jobs show news",
	}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		j, err := findJob(cmd, cfg, args[0])
		if err != nil {
			return err
		}
		own, err := c.jobSettings(cfg, j)
		if err != nil {
			return err
		}
		s, err := stateOf(j, own.Data)
		if err != nil {
			return err
		}
		if out.JSON() {
			settings := map[string]any{}
			for _, v := range own.Values() {
				settings[v.Key] = v.Value
			}
			return c.printJSON(struct {
				jobState
				Settings map[string]any `json:"settings"`
			}{s, settings})
		}
		return printJob(c.Stdout, s, own, time.Now())
	}
	return cmd
}

func printJob(w io.Writer, s jobState, cfg *config.Config, now time.Time) error {
	for _, seed := range s.Seeds {
		fmt.Fprintf(w, "seed      %s\n", seed)
	}
	if s.Schedule != "" {
		fmt.Fprintf(w, "schedule  %s, %s\n", s.Schedule, s.dueInWords(now))
	}
	if s.Keep != "" {
		fmt.Fprintf(w, "keep      %s\n", s.Keep)
	}
	if s.Quota > 0 {
		fmt.Fprintf(w, "quota     %s\n", size(s.Quota))
	}
	fmt.Fprintf(w, "last run  %s\n", s.lastInWords(now))
	if s.Last != nil && s.Last.Error != "" {
		fmt.Fprintf(w, "          %s\n", s.Last.Error)
	}
	if _, err := os.Stat(cfg.Data); err != nil {
		fmt.Fprintf(w, "data      %s does not exist yet\n", cfg.Data)
	}
	for _, v := range cfg.Values() {
		if v.Origin.Kind == config.Default {
			continue
		}
		text, err := json.Marshal(v.Value)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-36s # %s\n", v.Key+": "+string(text), v.Origin); err != nil {
			return err
		}
	}
	return nil
}
