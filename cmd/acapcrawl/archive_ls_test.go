package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// filled makes a data directory with n captures, written in random order, and returns its name.
func filled(t testing.TB, n int) (data string) {
	t.Helper()
	data = t.TempDir()
	a, err := archive.Open(data, archive.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var receiving sync.WaitGroup
	for i := range n {
		d := archive.Deposit{Resource: archive.Resource{URL: fmt.Sprintf("http://quay.example/%06d?a&b", i),
			Status: http.StatusOK, MIME: "text/html"},
			Fetched: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second), Body: []byte(
				"A gull.")}
		receiving.Go(func() {
			if _, err := a.Receive(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	receiving.Wait()
	problems, err := a.Verify(t.Context(), archive.VerifyOptions{})
	if err := errors.Join(err, a.Close()); err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return data
}

// archive ls prints each capture once even if the list is longer than the part that it keeps in
// memory. This holds in its own process and in the process of another verb.
func TestLongList(t *testing.T) {
	n := aligned + 234
	data := filled(t, n)
	text, values := call(t.Context(), data, "archive", "ls"), call(t.Context(), data, "archive", "ls", "--json")
	var list []present.Entry
	if err := json.Unmarshal([]byte(values.stdout), &list); err != nil || len(list) != n ||
		values.status != statusDone {
		t.Fatalf("status %d, %d captures, %v", values.status, len(list), err)
	}
	lines := strings.Split(text.stdout, "\n")
	if len(lines) != n+1 || text.status != statusDone {
		t.Fatalf("status %d, %d lines", text.status, len(lines)-1)
	}
	urls := map[string]bool{}
	for i, l := range list {
		urls[l.URL] = true
		if !strings.Contains(lines[i], " "+l.URL+" ") || !strings.HasSuffix(l.URL, "?a&b") {
			t.Fatalf("capture %d is %s, and %q", i, l.URL, lines[i])
		}
	}
	if len(urls) != n {
		t.Errorf("%d different addresses", len(urls))
	}
	s, _ := own(t, data, "crawl")
	s.serve()
	if got := call(t.Context(), data, "archive", "ls"); got != text {
		t.Errorf("status %d, %d bytes, want %d: %s", got.status, len(got.stdout), len(text.stdout), got.stderr)
	}
	if got := call(t.Context(), data, "archive", "ls", "--json"); got != values {
		t.Errorf("status %d, %d bytes, want %d: %s", got.status, len(got.stdout), len(values.stdout), got.stderr)
	}
}

// full is a writer that fails after it has taken the number of bytes in room, like a full disk or a
// closed pipe.
type full struct {
	room int
	err  error
}

func (f *full) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	if f.room -= n; n < len(p) {
		return n, &os.PathError{Op: "write", Path: "|1", Err: f.err}
	}
	return n, nil
}

// If the reader closes the pipe, the verb ends without a message. If the disk is full, the verb
// prints one message. This holds in its own process and in the process of another verb.
func TestResultsNotTaken(t *testing.T) {
	data := filled(t, aligned*2)
	list := func(err error, verb ...string) (status int, stderr string) {
		var said bytes.Buffer
		c := Command{Stdout: &full{100, err}, Stderr: &said, Env: []string{"HOME=" + filepath.Dir(data)}}
		return c.Main(t.Context(), append(verb, "--data", data)), said.String()
	}
	both := func() {
		for _, verb := range [][]string{{"archive", "ls"}, {"archive", "ls", "--json"}} {
			if status, said := list(syscall.EPIPE, verb...); status != statusFailed || said != "" {
				t.Errorf("%v, a closed pipe: status %d, said %q", verb, status, said)
			}
			if status, said := list(syscall.ENOSPC, verb...); status != statusFailed ||
				strings.Count(said, "Error: ") != 1 || !strings.Contains(said, syscall.ENOSPC.Error()) {
				t.Errorf("%v, a full disk: status %d, said %q", verb, status, said)
			}
		}
	}
	both()
	s, end := own(t, data, "crawl")
	s.serve()
	both()
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestJSONArray(t *testing.T) {
	for n, want := range []string{"[]\n", "[\n\"<0>\"\n]\n", "[\n\"<0>\",\n\"<1>\"\n]\n"} {
		var b bytes.Buffer
		a := jsonArray{w: &b}
		for i := range n {
			if err := a.add(fmt.Sprintf("<%d>", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.end(); err != nil || b.String() != want {
			t.Errorf("%d values: %q, %v", n, b.String(), err)
		}
	}
	a := jsonArray{w: io.Discard}
	if err := a.add(func() {}); err == nil {
		t.Error("what is no JSON is taken")
	}
}
