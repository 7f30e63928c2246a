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
		ended <- c.Main(ctx, []string{"watch", "--json", "--config", file})
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
