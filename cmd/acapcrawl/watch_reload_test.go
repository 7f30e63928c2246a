package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// watch reads a changed configuration file before each due job and after SIGHUP. While the file cannot be used, jobs
// run with the previous settings.
func TestWatchReadsConfiguration(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	p := newPolled(t, filepath.Join(t.TempDir(), "d"), nil)
	file := filepath.Join(t.TempDir(), "c.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	job := func(name, schedule string) string {
		return fmt.Sprintf("  %s: {seeds: '%s/', schedule: '%s', data: %s-%[1]s}\n", name, p.site.URL, schedule, p.data)
	}
	head := fmt.Sprintf("data: %s\ndelay: 0s\nactions: {seen_within: 0s}\njobs:\n", p.data)

	write(head + job("tide", "@every 1s"))
	cmd := exec.CommandContext(t.Context(), "acapcrawl", "watch", "--config", file)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout // in one pipe the lines keep their order
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	await := func(part string) {
		t.Helper()
		for line := ""; !strings.Contains(line, part); {
			if !lines.Scan() {
				t.Fatalf("watch did not print %q", part)
			}
			if line = lines.Text(); strings.Contains(line, "exit status") {
				t.Fatalf("a job failed: %s", line)
			}
		}
	}
	await("job tide: 1 page fetched")

	write(head + job("tide", "now and then"))
	await("the previous settings stay in force: " + file + `: jobs.tide.schedule: "now and then" is not a schedule`)
	await("job tide: ")
	write(head + job("tide", "@every 1s"))
	await(file + " has not changed")

	write(head + job("tide", "@every 1h") + job("reef", "@every 1h"))
	await(file + " has changed")
	await("job reef: 1 page fetched")

	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(file + " has not changed")
	write(head + job("quay", "@every 1h"))
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await("job quay: 1 page fetched")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await("the previous settings stay in force: " + file + ": there is no such configuration file")

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("watch ended with %v", err)
	}
}
