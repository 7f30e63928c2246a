package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/spf13/viper"
)

// Job is a crawl that the configuration file names: seeds, and settings that replace the others of the file.
type Job struct {
	Name     string
	Seeds    []string // start addresses
	Schedule string   // when it is due, as the file says it; "": only when it is started by hand
	Keys     []string // the settings that it replaces, sorted

	Keep  time.Duration // after each crawl, what was fetched longer ago is erased; 0: nothing is
	Quota int64         // the most bytes of bodies that are kept of its pages; 0: no limit

	schedule cron.Schedule // nil: none
	values   map[string]any
}

// Next returns when the job is due after a run that began at last. If it has never run, last is zero, and the job is
// due at once. scheduled is false if the job has no schedule.
func (j Job) Next(last time.Time) (due time.Time, scheduled bool) {
	switch {
	case j.schedule == nil:
		return time.Time{}, false
	case last.IsZero():
		return time.Time{}, true
	}
	return nextAfter(j.schedule, last.Local()), true
}

const (
	jobsKey     = "jobs"
	seedsKey    = "seeds"
	scheduleKey = "schedule"
	keepKey     = "keep"
	quotaKey    = "quota"
)

// crawlKeys are the settings that a job can replace without a data directory of its own.
const crawlKeys = "scope depth max_pages include exclude max_bytes max_time min_free max_host_urls requisites " +
	"canonical drop_parameters recrawl_min recrawl_max adaptive per_address delay concurrency per_host sitemaps " +
	"allow_private timeout max_body memory preserve index contact signature_key signature_agent credentials " +
	"cookies keep_credentials chromium metrics log_level render render_time " +
	"render_requests render_bytes render_screens"

// directoryKeys are the settings that hold for a whole data directory: all verbs decide for one crawler there, and its
// bodies are in one store. A job that replaces one of them needs a directory of its own.
const directoryKeys = "crawler purposes cannot preferences for tdmrep_covers_ai content_signal_use operator_kind " +
	"operator_country policy.strict policy.dialect policy.noarchive_preserve actions.sub_records s3.endpoint " +
	"s3.bucket s3.prefix s3.region s3.unversioned"

// JobKeys returns the keys of a job in the configuration file.
func JobKeys() []string {
	own := []string{seedsKey, scheduleKey, keepKey, quotaKey, "data"}
	return slices.Concat(own, strings.Fields(crawlKeys), strings.Fields(directoryKeys))
}

// readJobs reads the jobs of the configuration file into c, and returns the one called name; the zero Job if name is
// "". The error joins one *Error for each mistake.
func (c *Config) readJobs(v *viper.Viper, name string) (Job, error) {
	if v.InConfig(jobsKey) {
		all, is := v.Get(jobsKey).(map[string]any)
		if !is {
			return Job{}, &Error{Where: c.File, Key: jobsKey, What: "it is not a list of named jobs",
				Hint: "write jobs:, then the name of a job and its keys below it"}
		}
		wrong := c.checkJobNames()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			j, err := c.readJob(name, all[name])
			wrong = append(wrong, err)
			c.Jobs = append(c.Jobs, j)
		}
		if err := errors.Join(wrong...); err != nil {
			return Job{}, err
		}
	}
	c.Job = name
	if name == "" {
		return Job{}, nil
	}
	j, near, found := c.FindJob(name)
	if !found {
		e := &Error{Where: cmp.Or(c.File, "the configuration"), Key: jobsKey + "." + name, What: "there is no such job"}
		if near != "" {
			e.Hint = "write " + near
		}
		return Job{}, e
	}
	return j, nil
}

// checkJobNames returns an error for each job whose name has capitals, because viper replaces them by small letters.
func (c *Config) checkJobNames() (wrong []error) {
	raw := map[string]any{}
	decoder, err := viper.NewCodecRegistry().Decoder(format(c.File))
	if err == nil {
		err = decoder.Decode(c.in.Text, raw)
	}
	if err != nil {
		return []error{&Error{Where: c.File, What: "the names of jobs cannot be read: " + syntax(err)}}
	}
	for key, jobs := range raw {
		if !strings.EqualFold(key, jobsKey) {
			continue
		}
		names := []string{}
		switch jobs := jobs.(type) {
		case map[string]any:
			names = slices.Sorted(maps.Keys(jobs))
		case map[any]any: // YAML with a number as a name
			for name := range jobs {
				names = append(names, fmt.Sprint(name))
			}
		}
		for _, name := range names {
			if small := strings.ToLower(name); small != name {
				wrong = append(wrong, &Error{Where: c.File, Key: jobsKey + "." + name,
					What: "the name of a job has no capitals",
					Hint: "write " + small + ", or a name that no other job has"})
			}
		}
	}
	return wrong
}

func (c *Config) readJob(name string, content any) (j Job, err error) {
	mistake := func(key, what, hint string) error {
		return &Error{Where: c.File, Key: strings.TrimRight(jobsKey+"."+name+"."+key, "."), What: what, Hint: hint}
	}
	if name == "" || name[0] == '-' || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return j, mistake("", fmt.Sprintf("%q is not a name: a name has small letters, digits, - and _ only, and does "+
			"not begin with -", name), "")
	}
	fields, is := content.(map[string]any)
	if !is {
		return j, mistake("", "it has no keys", "write seeds: [https://example.com/] below it")
	}
	j = Job{Name: name, values: map[string]any{}}
	flatten(j.values, "", fields)
	j.Keys = slices.Sorted(maps.Keys(j.values))
	var wrong []error
	for _, key := range j.Keys {
		value := j.values[key]
		switch {
		case key == seedsKey:
			j.Seeds, err = list(seed)(value)
			if err != nil {
				wrong = append(wrong, mistake(key, err.Error(), "as in [https://example.com/]"))
			}
		case key == scheduleKey:
			if err := j.readSchedule(value); err != nil {
				wrong = append(wrong, mistake(key, err.Error(),
					"write @daily, @every 12h, or minute, hour, day, month and weekday as in 30 4 * * 1"))
			}
		case key == keepKey:
			if j.Keep, err = Age(value); err != nil {
				wrong = append(wrong, mistake(key, err.Error(), "as in 365d or 12h"))
			}
		case key == quotaKey:
			if j.Quota, err = byteSize(value); err != nil {
				wrong = append(wrong, mistake(key, err.Error(), "as in 10GB"))
			}
		case !slices.Contains(JobKeys(), key):
			hint := ""
			if near := Nearest(key, JobKeys()); near != "" {
				hint = "write " + near
			}
			wrong = append(wrong, mistake(key, "a job has no such key", hint))
		default:
			wrong = append(wrong, c.checkJobKey(name, key, value))
		}
	}
	j.Keys = slices.DeleteFunc(j.Keys, func(key string) bool {
		return key != "data" && slices.Contains(JobKeys()[:4], key)
	})
	if len(j.Seeds) == 0 && !slices.ContainsFunc(wrong, func(err error) bool { return err != nil }) {
		wrong = append(wrong, mistake("", "it names no seed", "write seeds: [https://example.com/]"))
	}
	return j, errors.Join(wrong...)
}

// checkJobKey checks the value of one setting that a job replaces.
func (c *Config) checkJobKey(job, name string, value any) error {
	for _, k := range keys {
		if k.name != name {
			continue
		}
		if err := k.set(&Config{}, value); err != nil {
			return &Error{Where: c.File, Key: jobsKey + "." + job + "." + name, What: err.Error(), Hint: k.hint}
		}
	}
	return nil
}

// flatten puts the values of nested maps into flat: "a.b" for the value b of the map a.
func flatten(flat map[string]any, prefix string, nested map[string]any) {
	for name, value := range nested {
		if inner, is := value.(map[string]any); is {
			flatten(flat, prefix+name+".", inner)
		} else {
			flat[prefix+name] = value
		}
	}
}

// seed returns an error if s is not an address from which a crawl can start.
func seed(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return fmt.Errorf("%q is not an absolute http or https address", s)
	}
	return nil
}

// FindJob returns the job called name. If there is none, near is the most similar name of a job; "" if no name is
// similar.
func (c *Config) FindJob(name string) (j Job, near string, found bool) {
	names := []string{}
	for _, j := range c.Jobs {
		if j.Name == name {
			return j, "", true
		}
		names = append(names, j.Name)
	}
	return Job{}, Nearest(name, names), false
}

// checkDirectories checks that each job that replaces a setting of a whole data directory has a directory of its own.
func (c *Config) checkDirectories() error {
	var wrong []error
	for _, j := range c.Jobs {
		if key := j.directoryKey(); key != "" && c.shares(j) {
			wrong = append(wrong, c.shared(j, key))
		}
	}
	return errors.Join(wrong...)
}

// directoryKey returns the first setting of a whole data directory that the job replaces; "" if there is none.
func (j *Job) directoryKey() string {
	for _, key := range j.Keys {
		if slices.Contains(strings.Fields(directoryKeys), key) {
			return key
		}
	}
	return ""
}

func (c *Config) shared(j Job, key string) error {
	return &Error{Where: c.File, Key: jobsKey + "." + j.Name + "." + key,
		What: "a job with this key needs a data directory of its own, because it holds for a whole directory",
		Hint: "name one with the key data of the job"}
}

// shares reports whether the job has its data directory in common with other jobs, or with crawls without a job.
func (c *Config) shares(j Job) bool {
	own, is := j.values["data"].(string)
	return !is || sameFile(own, c.Data) || slices.ContainsFunc(c.Jobs, func(other Job) bool {
		theirs, is := other.values["data"].(string)
		return is && other.Name != j.Name && sameFile(own, theirs)
	})
}

// Neighbours returns the settings of the jobs that use the data directory of c, as they are without flags. A job that
// needs a directory of its own has no neighbours.
func (c *Config) Neighbours() (list []*Config, err error) {
	in := c.in
	in.Flags = map[string]any{}
	if data, set := c.in.Flags["data"]; set {
		in.Flags["data"] = data
	}
	for _, j := range c.Jobs {
		if j.directoryKey() != "" {
			continue
		}
		in.Job = j.Name
		other, err := Load(in)
		if err != nil {
			return nil, err
		}
		if sameFile(other.Data, c.Data) {
			list = append(list, other)
		}
	}
	return list, nil
}

// sameFile reports whether two names are the same after the removal of "." and "..".
func sameFile(a, b string) bool {
	one, err := filepath.Abs(a)
	two, err2 := filepath.Abs(b)
	return err == nil && err2 == nil && one == two
}

// checkOwnDirectory checks that a job that needs a data directory of its own uses it, and not one that a flag or the
// environment names for all.
func (c *Config) checkOwnDirectory(j Job) error {
	key := j.directoryKey()
	if own, is := j.values["data"].(string); key == "" || is && own == c.Data {
		return nil
	}
	return c.shared(j, key)
}
