package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
)

func jobEvery(t *testing.T, schedule string) config.Job {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	text := "data: d\njobs: {a: {seeds: 'http://a.example/', schedule: '" + schedule + "'}}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return c.Jobs[0]
}

// A job is due by its schedule, counted from the beginning of the last run; at once if it has never run or was
// interrupted; and soon after it has failed.
func TestJobDue(t *testing.T) {
	began := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	ended := began.Add(time.Hour)
	for _, test := range []struct {
		name, schedule string
		run            JobRun
		want           time.Time
	}{
		{"never", "@every 12h", JobRun{}, time.Time{}},
		{"complete", "@every 12h", JobRun{Began: began, Ended: ended, Complete: true}, began.Add(12 * time.Hour)},
		{"refused", "@every 12h", JobRun{Began: began, Ended: ended, Complete: true, Error: "x"},
			began.Add(12 * time.Hour)},
		{"interrupted", "@every 12h", JobRun{Began: began, Ended: ended}, ended},
		{"failed", "@every 12h", JobRun{Began: began, Ended: ended, Error: "x"}, ended.Add(10 * time.Minute)},
		{"failed, often", "@every 61m", JobRun{Began: began, Ended: ended, Error: "x"}, began.Add(61 * time.Minute)},
	} {
		if due, scheduled := test.run.Due(jobEvery(t, test.schedule)); !scheduled || !due.Equal(test.want) {
			t.Errorf("%s: due at %s, %t; want %s", test.name, due, scheduled, test.want)
		}
	}
}

// A damaged file is an error that names the file, and is not overwritten.
func TestJobRunsDamaged(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, JobsName)
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := JobRuns(dir); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("the error is %v", err)
	}
	if runs, err := JobRuns(t.TempDir()); err != nil || len(runs) != 0 {
		t.Errorf("%v, %v", runs, err)
	}
}
