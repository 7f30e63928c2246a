package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
)

func TestReport(t *testing.T) {
	refused := &acap.Refused{URL: "http://a.example/x", Decision: acap.Decision{Usage: acap.Crawl}}
	for name, c := range map[string]struct {
		err    error
		status int
		lines  []string // the expected beginning of each line of the message
	}{
		"done":        {nil, statusDone, nil},
		"failure":     {errors.New("disk full"), statusFailed, []string{"Error: disk full"}},
		"on one line": {errors.New("a\n\tb"), statusFailed, []string{"Error: a b"}},
		"failure with advice": {failure("another disk", errors.New("disk full")), statusFailed,
			[]string{"Error: disk full", "Try: another disk"}},
		"misuse": {misuse("this", "no %s", "verb"), statusUsage, []string{"Error: no verb", "Try: this"}},
		"refused": {fmt.Errorf("show: %w", refused), statusRefused,
			[]string{"Error: show: crawl of http://a.example/x is not permitted"}},
		"refused otherwise": {refusal(errors.New("address")), statusRefused, []string{"Error: address"}},
		"nothing":           {nothing("Nothing found."), statusNothing, []string{"Nothing found."}},
		"nothing to say":    {nothing(""), statusNothing, nil},
		"interrupted": {fmt.Errorf("explain: %w", context.Canceled), statusFailed,
			[]string{"Error: interrupted"}},
		"settings": {errors.Join(&config.Error{Where: "f", Key: "a", What: "x", Hint: "y"}, &config.Error{Where: "f",
			Key: "b", What: "z"}),
			statusUsage, []string{"Error: f: a: x", "Try: y", "Error: f: b: z"}},
	} {
		var b bytes.Buffer
		if got := report(&b, c.err); got != c.status {
			t.Errorf("%s: status %d, want %d", name, got, c.status)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if b.Len() == 0 {
			lines = nil
		}
		if len(lines) != len(c.lines) {
			t.Errorf("%s: printed %q", name, b.String())
			continue
		}
		for i := range lines {
			if !strings.HasPrefix(lines[i], c.lines[i]) {
				t.Errorf("%s: printed %q, want %q", name, lines[i], c.lines[i])
			}
		}
	}
}

func TestWebURL(t *testing.T) {
	for arg, want := range map[string]string{
		"http://a.example/?b=2&a=1#part": "http://a.example/?b=2&a=1",
		"HTTPS://A.example/%7Ex/%2f":     "https://A.example/%7Ex/%2f",
		"http://[::1]:8080/":             "http://[::1]:8080/",
		"http://2130706433/":             "http://2130706433/",
		"a.example/x":                    "",
		"localhost:80":                   "",
		"":                               "",
		"javascript:alert(1)":            "",
		"file:///etc/passwd":             "",
		"http://u@a.example/":            "",
		"http://a.example:0/":            "",
	} {
		u, err := webURL(arg)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: taken as %s", arg, u)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%s: %v, %v, want %s", arg, u, err, want)
		case err != nil && report(new(bytes.Buffer), err) != statusUsage:
			t.Errorf("%s: %v is no misuse", arg, err)
		}
	}
}

func TestNotBefore(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 700e6, time.UTC)
	for asOf, ok := range map[time.Time]bool{
		{}:                         true,
		now.Add(time.Hour):         true,
		now.Truncate(time.Second):  true, // the current time in whole seconds, as scripts write it
		now.Add(-time.Second):      false,
		now.AddDate(-1, 0, 0):      false,
		now.Add(time.Nanosecond):   true,
		now.Truncate(24 * 3600e9):  false,
		now.Add(365 * 24 * 3600e9): true,
	} {
		if err := notBefore(now, asOf); (err == nil) != ok {
			t.Errorf("%s at %s: %v", asOf, now, err)
		}
	}
}

func TestProgressDrawsOnTerminalsOnly(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.Set("1 page")
	fmt.Fprint(p, "a line\n")
	p.Done()
	if b.String() != "a line\n" {
		t.Errorf("drew %q on what is no terminal", b.String())
	}
	f, err := os.Create(t.TempDir() + "/err")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p = newProgress(f)
	p.Set("1 page")
	p.Done()
	if at, err := f.Seek(0, 1); err != nil || at != 0 {
		t.Errorf("drew %d bytes into a file, %v", at, err)
	}
}

// If standard error is not a terminal, a line is printed every half minute, with elapsed time, rate
// and remaining work.
func TestProgressWithoutTerminal(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := &progress{w: &b, now: func() time.Time { return now }}
	for _, at := range []int{0, 29, 30, 45, 60, 95} {
		now = time.Unix(int64(at), 0)
		p.Count(at*10, 2000, "page")
	}
	want := "30 s: 300 of 2,000 pages, 10/s, 2 min 50 s left\n1 min 0 s: 600 of 2,000 pages, 10/s, 2 min 20 s left\n" +
		"1 min 35 s: 950 of 2,000 pages, 10/s, 1 min 45 s left\n"
	if b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
}

// On a terminal, the progress line is removed before other text is written, and is drawn again
// after that text.
func TestProgressMakesRoom(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, columns: func() int { return 0 }}
	p.Set("1 page")
	p.Set("2 pages") // this text is not drawn, because too little time has passed since the previous one
	fmt.Fprint(p, "a line\n")
	p.Done()
	p.Done()
	want := clearLine + "0 s: 1 page" + clearLine + "a line\n" + clearLine + "0 s: 1 page" + clearLine
	if b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}

func TestShowTooLong(t *testing.T) {
	said := call(t.Context(), t.TempDir(), "show", "--json", "http://example.com/"+strings.Repeat("a", 9000))
	if said.status != statusUsage || said.stdout != "" || !strings.Contains(said.stderr, "longer than") {
		t.Error(said)
	}
}
