package config_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
)

const twoJobs = `
data: /all
delay: 3s
depth: 9
jobs:
  news:
    seeds: [https://paper.example/, "https://paper.example/sport/"]
    schedule: "@every 12h"
    delay: 5s
    scope: domain
    keep: 365d
    quota: 10MB
  research:
    seeds: https://lab.example/
    data: /lab
    purposes: [study]
    for: [tdm]
    policy: {strict: true}
`

func TestJobs(t *testing.T) {
	path := file(t, "c.yaml", twoJobs)
	c, err := config.Load(config.Input{File: path, Env: home(t)})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Jobs) != 2 || c.Jobs[0].Name != "news" ||
		c.Jobs[1].Name != "research" || c.Job != "" || c.Delay != 3*time.Second {
		t.Fatalf("the jobs are %+v", c.Jobs)
	}
	news := c.Jobs[0]
	if !slices.Equal(news.Seeds, []string{"https://paper.example/", "https://paper.example/sport/"}) ||
		news.Schedule != "@every 12h" || news.Keep != 365*24*time.Hour || news.Quota != 10_000_000 ||
		!slices.Equal(news.Keys, []string{"delay", "scope"}) {
		t.Errorf("%+v", news)
	}
	if c, err = config.Load(config.Input{File: path, Job: "news"}); err != nil {
		t.Fatal(err)
	}
	if c.Job != "news" || c.Delay != 5*time.Second || c.Scope != "domain" || c.Depth != 9 ||
		c.Origin("delay").String() != "file "+path+", job news" || c.Origin("depth").String() != "file "+path {
		t.Errorf("the settings of the job are %+v; the delay is from %s", c, c.Origin("delay"))
	}
	c, err = config.Load(config.Input{File: path, Job: "news", Env: []string{"ACAPCRAWL_DELAY=7s"},
		Flags: map[string]any{"scope": "any"}})
	if err != nil || c.Delay != 7*time.Second || c.Scope != "any" {
		t.Errorf("the environment and flags do not come first: %v, %s, %s", err, c.Delay, c.Scope)
	}
	c, err = config.Load(config.Input{File: path, Job: "research"})
	if err != nil || c.Data != "/lab" || !c.Policy.Strict || !slices.Equal(c.Purposes, []string{"study"}) {
		t.Errorf("%v, %+v", err, c)
	}
}

// WithJob does not read the file again, and does not change the settings it is called on.
func TestWithJob(t *testing.T) {
	path := file(t, "c.yaml", twoJobs)
	all, err := config.Load(config.Input{File: path, Flags: map[string]any{"scope": "any"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c, err := all.WithJob("news")
	if err != nil || c.Job != "news" || c.Delay != 5*time.Second || c.Scope != "any" {
		t.Errorf("%v, %+v", err, c)
	}
	if all.Job != "" || all.Delay != 3*time.Second {
		t.Errorf("the settings without a job changed: %+v", all)
	}
	if _, err := all.WithJob("new"); err == nil || !strings.Contains(err.Error(), "jobs.new: there is no such job") {
		t.Errorf("the error is %v", err)
	}
}

// The neighbours of a job use its data directory, and have the scope of the file, whatever flags the job has.
func TestNeighbours(t *testing.T) {
	path := file(t, "c.yaml", twoJobs+"  sport: {seeds: 'https://paper.example/sport/', keep: 30d, scope: prefix}\n"+
		"  apart: {seeds: 'https://paper.example/', data: /apart}\n")
	for name, test := range map[string]struct {
		job, data string
		want      []string
	}{
		"one directory": {"news", "", []string{"news", "sport"}},
		"flag":          {"news", "/flag", []string{"apart", "news", "sport"}},
		"own directory": {"apart", "", []string{"apart"}},
		"needs its own": {"research", "", nil},
	} {
		flags := map[string]any{"scope": "any"}
		if test.data != "" {
			flags["data"] = test.data
		}
		c := load(t, config.Input{File: path, Job: test.job, Env: home(t), Flags: flags})
		list, err := c.Neighbours()
		got := []string(nil)
		for _, other := range list {
			if got = append(got, other.Job); other.Job == "sport" && other.Scope != "prefix" {
				t.Errorf("%s: the scope is %s", name, other.Scope)
			}
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestJobIsDue(t *testing.T) {
	path := file(t, "c.yaml", `jobs: {a: {seeds: "http://a.example/", schedule: "@every 12h"},
  b: {seeds: "http://a.example/", schedule: "30 4 * * 1"}, c: {seeds: "http://a.example/"}}`)
	c, err := config.Load(config.Input{File: path, Env: home(t)})
	if err != nil {
		t.Fatal(err)
	}
	last := time.Date(2026, 11, 27, 10, 0, 0, 0, time.Local) // a Friday
	for i, want := range []time.Time{last.Add(12 * time.Hour), time.Date(2026, 11, 30, 4, 30, 0, 0, time.Local), {}} {
		due, scheduled := c.Jobs[i].Next(last)
		if !due.Equal(want) || scheduled == want.IsZero() {
			t.Errorf("job %s is due at %s, %t; want %s", c.Jobs[i].Name, due, scheduled, want)
		}
	}
	if due, scheduled := c.Jobs[1].Next(time.Time{}); !due.IsZero() || !scheduled {
		t.Errorf("a job that has never run is due at %s, %t", due, scheduled)
	}
}

// A change of the clock neither skips nor repeats a run. An interval and a schedule for all hours do not depend on it.
func TestJobDueAtChangeOfClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	local := time.Local
	time.Local = berlin
	defer func() { time.Local = local }()
	parse := func(text string) time.Time {
		at, err := time.Parse("2006-01-02 15:04 -0700", text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, test := range []struct{ schedule, last, due string }{
		{"30 2 * * *", "2027-03-27 02:30 +0100", "2027-03-28 03:00 +0200"}, // 2:30 does not exist
		{"30 2 * * *", "2027-03-28 03:00 +0200", "2027-03-29 02:30 +0200"},
		{"30 2 * * *", "2026-10-24 02:30 +0200", "2026-10-25 02:30 +0100"}, // 2:30 occurs twice
		{"30 2 * * *", "2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"},
		{"30 2 * * *", "2026-10-25 02:30 +0100", "2026-10-26 02:30 +0100"},
		{"30 2 * * *", "2026-10-25 02:10 +0100", "2026-10-25 02:30 +0100"},
		{"30 * * * *", "2026-10-25 02:30 +0200", "2026-10-25 02:30 +0100"},
		{"@every 1h", "2027-03-28 01:30 +0100", "2027-03-28 03:30 +0200"},
	} {
		c := load(t, config.Input{File: file(t, "c.yaml", job+"schedule: '"+test.schedule+"'}}"), Env: home(t)})
		if due, _ := c.Jobs[0].Next(parse(test.last)); !due.Equal(parse(test.due)) {
			t.Errorf("%s after %s is due at %s, want %s", test.schedule, test.last, due, test.due)
		}
	}
}

// A size can have each unit and decimals.
func TestQuota(t *testing.T) {
	for text, want := range map[string]int64{"5kB": 5e3, "5KB": 5e3, "1.5GB": 15e8, "2 TB": 2e12, "0.5TiB": 1 << 39,
		"1.1KiB": 1126} {
		c, err := config.Load(config.Input{File: file(t, "c.yaml", job+"quota: "+text+"}}"), Env: home(t)})
		if err != nil || c.Jobs[0].Quota != want {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
	for _, text := range []string{"1e5", "0x1F", "inf", "1.2.3kB", "5.", "5 mb", "MB", "", "-5kB", "0.5", "2000TB", "1__0kB",
		"1.2345kB", ".5MB", "5MB ", "100000000000000000000"} {
		c, err := config.Load(config.Input{File: file(t, "c.yaml", job+"quota: '"+text+"'}}"), Env: home(t)})
		if err == nil {
			t.Errorf("%s is accepted as %d", text, c.Jobs[0].Quota)
		}
	}
}

// job is the beginning of a file with a job; the rest of the text is further keys and the end of two maps.
const job = "jobs: {a: {seeds: 'http://x.example/', "

// Each mistake is reported with its place, the key, and what to write instead, also if another job is asked for.
func TestWrongJobs(t *testing.T) {
	for name, test := range map[string]struct{ text, job, key, what string }{
		"not a map":        {"jobs: [a]", "", "jobs", "not a list of named jobs"},
		"no value":         {"jobs:\n", "", "jobs", "no value"},
		"job without keys": {"jobs: {a: 1}", "", "jobs.a", "no keys"},
		"name":             {`jobs: {"a b": {seeds: "http://x.example/"}}`, "", "jobs.a b", "letters"},
		"empty name":       {`jobs: {"": {seeds: "http://x.example/"}}`, "", "jobs", `"" is not a name`},
		"name like a flag": {`jobs: {--help: {seeds: "http://x.example/"}}`, "", "jobs.--help", "not begin with -"},
		"capitals":         {`jobs: {News: {seeds: "http://x.example/"}}`, "", "jobs.News", "no capitals"},
		"two cases": {`jobs: {1: {}, news: {}, News: {seeds: "http://x.example/"}}`, "", "jobs.News",
			"no capitals"},
		"no seed":           {"jobs: {a: {depth: 1}}", "", "jobs.a", "no seed"},
		"empty seeds":       {"jobs: {a: {seeds: []}}", "", "jobs.a", "no seed"},
		"seed":              {"jobs: {a: {seeds: [x.example]}}", "", "jobs.a.seeds", "x.example"},
		"unknown key":       {job + "dept: 1}}", "", "jobs.a.dept", "no such key"},
		"key of all crawls": {job + "listen: ':80'}}", "", "jobs.a.listen", "no such key"},
		"value":             {job + "depth: deep}}", "", "jobs.a.depth", "not a whole number"},
		"schedule":          {job + "schedule: daily}}", "", "jobs.a.schedule", "not a schedule"},
		"no such day":       {job + "schedule: '0 0 30 2 *'}}", "", "jobs.a.schedule", "does not exist"},
		"time zone":         {job + "schedule: TZ=UTC}}", "", "jobs.a.schedule", "not a schedule"},
		"negative":          {job + "schedule: '@every -5s'}}", "", "jobs.a.schedule", "whole seconds above 0"},
		"zero":              {job + "schedule: '@every 0s'}}", "", "jobs.a.schedule", "whole seconds above 0"},
		"rounded":           {job + "schedule: '@every 1500ms'}}", "", "jobs.a.schedule", "whole seconds above 0"},
		"same directory": {"data: d\n" + job + "data: ./d, for: [tdm]}}", "",
			"jobs.a.for", "directory of its own"},
		"keep":        {job + "keep: 1y}}", "", "jobs.a.keep", "not a duration"},
		"days":        {job + "keep: 0d}}", "", "jobs.a.keep", "not a number of days"},
		"long":        {job + "keep: 100001d}}", "", "jobs.a.keep", "more than 100000 days"},
		"unit":        {job + "quota: 10QB}}", "", "jobs.a.quota", "B, kB, MB, GB, TB"},
		"too much":    {job + "quota: 2000TB}}", "", "jobs.a.quota", "out of range"},
		"quota":       {job + "quota: much}}", "", "jobs.a.quota", "not a size"},
		"unknown job": {"jobs: {news: {seeds: 'http://x.example/'}}", "new", "jobs.new", "no such job"},
		"other job":   {"jobs: {a: {seeds: 'http://x.example/'}, b: {depth: 1}}", "a", "jobs.b", "no seed"},
		"identity":    {job + "purposes: [x]}}", "", "jobs.a.purposes", "directory of its own"},
		"identity, shared data": {"data: /d\n" + job + "data: /d, for: [tdm]}}", "",
			"jobs.a.for", "directory of its own"},
		"identity, other job": {job + "data: /d, for: [tdm]}, b: {seeds: 'http://x.example/', data: /d}}", "",
			"jobs.a.for", "directory of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(config.Input{File: file(t, "c.yaml", test.text), Job: test.job, Env: home(t)})
			var found *config.Error
			for _, e := range all(err) {
				if e.Key == test.key {
					found = e
				}
			}
			if found == nil || !strings.Contains(found.Error(), test.what) {
				t.Errorf("the errors are %v", err)
			}
		})
	}
}

// A flag or the environment cannot give one data directory to a job that needs its own and to others.
func TestJobKeepsItsDirectory(t *testing.T) {
	path := file(t, "c.yaml", twoJobs)
	for name, in := range map[string]config.Input{
		"environment": {File: path, Job: "research", Env: home(t, "ACAPCRAWL_DATA=/shared")},
		"flag":        {File: path, Job: "research", Env: home(t), Flags: map[string]any{"data": "/shared"}},
	} {
		if _, err := config.Load(in); err == nil || !strings.Contains(err.Error(), "directory of its own") {
			t.Errorf("%s: %v", name, err)
		}
	}
	load(t, config.Input{File: path, Job: "news", Env: home(t), Flags: map[string]any{"data": "/shared"}})
	load(t, config.Input{File: path, Env: home(t), Flags: map[string]any{"data": "/shared"}})
}

// Whatever a schedule says, reading it does not panic, and it names a time.
func FuzzSchedule(f *testing.F) {
	for _, text := range []string{"@daily", "TZ=UTC", "CRON_TZ=x 1 1 1 1 1", "@every 0s", "0 0 30 2 *", "*/5 * * * *"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		written, err := json.Marshal(text)
		if err != nil {
			t.Skip()
		}
		path := file(t, "c.json",
			`{"data": "d", "jobs": {"a": {"seeds": ["http://x.example/"], "schedule": `+string(written)+`}}}`)
		c, err := config.Load(config.Input{File: path})
		if err != nil {
			return
		}
		if due, _ := c.Jobs[0].Next(time.Now()); due.IsZero() && text != "" {
			t.Errorf("%q is due at %s", text, due)
		}
	})
}

// The keys of a job are settings, except those that only jobs have.
func TestJobKeys(t *testing.T) {
	for _, key := range config.JobKeys() {
		own := slices.Contains([]string{"seeds", "schedule", "keep", "quota"}, key)
		if !own && !slices.Contains(config.Keys(), key) {
			t.Errorf("%s is no setting", key)
		}
	}
}
