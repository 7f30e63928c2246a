package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

// The verb watch crawls a job that is due, although the data directory does not exist yet, and executes requests there
// afterwards.
func TestWatchStartsJobs(t *testing.T) {
	p := newPolled(t, filepath.Join(t.TempDir(), "d"), map[string]string{
		".site.json": `{"/slow.html": {"body": "<p>slow", "header": {"Content-Type": ["text/html"]}, "hold": true}}`})
	file := filepath.Join(t.TempDir(), "c.yaml")
	text := fmt.Sprintf("data: %s\ndelay: 0s\njobs:\n  tide: {seeds: '%s/', schedule: '@every 1h'}\n"+
		"  slow: {seeds: '%[2]s/slow.html', data: %[1]s-slow, schedule: '@every 1h'}\n", p.data, p.site.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var problems bytes.Buffer
	go func() {
		c := Command{Stdin: strings.NewReader(""), Stdout: in, Stderr: &problems}
		ended <- c.Main(ctx, []string{"watch", "--json", "--config", file, "--concurrency", "2", "--per-host", "1"})
		in.Close()
	}()
	// the job slow is first by name, and its page is held
	await, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := p.site.Await(await, func(line string) bool { return line == "GET /slow.html" }, 1); err != nil {
		t.Fatal(err)
	}
	p.site.Release()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"slow", "tide"} {
		var got struct {
			Job     string
			Status  int
			Summary struct{ Fetched int }
		}
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &got) != nil || got.Job != want || got.Status != 0 ||
			got.Summary.Fetched != 1 {
			t.Fatalf("%q instead of the crawl of %s; %s", lines.Text(), want, problems.String())
		}
	}
	// the turn of watch for the directory that is new by now reads robots.txt again
	p.await(3)
	interrupt()
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if status := <-ended; status != 0 {
		t.Errorf("the exit status is %d: %s", status, problems.String())
	}
}

// Of the jobs that are due, watch starts the one that has been due for longest, also if another job is always due.
func TestWatchStartsWhatIsDueLongest(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	text := "data: " + dir + "\njobs:\n"
	for _, name := range []string{"a", "b", "c"} {
		text += "  " + name + ": {seeds: 'http://a.example/', schedule: '@every 5s'}\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	s := &jobStarter{command: &Command{Stderr: io.Discard}, plan: &watchPlan{}}
	if j, due := s.next(); j != nil || due.Before(time.Now()) {
		t.Errorf("without jobs, %+v is due at %s", j, due)
	}
	for _, j := range cfg.Jobs {
		s.plan.scheduled = append(s.plan.scheduled, scheduledJob{Job: j, dir: dir})
	}
	now := time.Now()
	run := func(began, took time.Duration) site.JobRun {
		return site.JobRun{Began: now.Add(began), Ended: now.Add(began + took), Complete: true}
	}
	for _, test := range []struct {
		want string
		runs map[string]site.JobRun
	}{
		{"b", map[string]site.JobRun{"a": run(-10*time.Second, 9*time.Second),
			"b": run(-time.Minute, 1), "c": run(-20*time.Second, 1)}},
		{"c", map[string]site.JobRun{"a": run(-10*time.Second, 1), "b": run(-20*time.Second, 9),
			"c": run(-20*time.Second, 1)}},
		{"b", map[string]site.JobRun{"a": run(-time.Hour, 1), "c": run(-time.Hour, 1)}}, // b has never run
	} {
		text, err := json.Marshal(test.runs)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, site.JobsName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if j, _ := s.next(); j == nil || j.Name != test.want {
			t.Errorf("%+v is next, want %s", j, test.want)
		}
	}
}

// watch names a job that is no longer configured, and the job of each error.
func TestWatchNamesJobs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	text := "data: " + dir + "\nlog_format: json\nactions: {seen_within: 0s}\njobs:\n" +
		"  away: {seeds: 'http://127.0.0.1:1/', schedule: '@daily', recrawl_min: 1h}\n"
	for name, text := range map[string]string{file: text, filepath.Join(dir, site.JobsName): `{"old": {}}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	out, in := io.Pipe()
	go func() {
		_, _ = bufio.NewReader(out).ReadString('\n')
		interrupt()
		_, _ = io.Copy(io.Discard, out)
	}()
	var problems bytes.Buffer
	c := Command{Stdin: strings.NewReader(""), Stdout: in, Stderr: &problems}
	if status := c.Main(ctx, []string{"watch", "--config", file}); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	in.Close()
	for _, want := range []string{`"level":"WARN","msg":"the job old of ` + dir,
		`"level":"ERROR","msg":"no seed could be reached: `, `,"job":"away"}`} {
		if !strings.Contains(problems.String(), want) {
			t.Errorf("%s is not in %s", want, problems.String())
		}
	}
}

// As text, the errors of a job name it too.
func TestErrorsNameTheJob(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b).ofJob("tide")
	fmt.Fprint(p, "Error: full\nTry: another disk\n")
	if want := "Error: job tide: full\nTry: another disk\n"; b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}
