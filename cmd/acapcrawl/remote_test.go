package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/archive"
)

// pretend makes the test look like a process that has the data directory open, until the test ends.
// change edits owner.json, and answer is called for each connection.
func pretend(t *testing.T, data string, change func(*owner), answer func(*net.UnixConn)) {
	t.Helper()
	o := owner{PID: 1, Socket: filepath.Join(data, socketFile), Version: thisBuild().String(), Protocol: protocol,
		Verb: "crawl", User: os.Getuid()}
	if change != nil {
		change(&o)
	}
	if err := o.write(data); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(data, socketFile), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			answer(conn)
			conn.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
}

// hello reads the request that a guest sends first. ok is false if the guest sends no request.
func hello(conn *net.UnixConn) (r request, ok bool) {
	return r, json.NewDecoder(conn).Decode(&r) == nil
}

// If a verb cannot use the data directory, it prints only one sentence that says why.
func TestKeptOut(t *testing.T) {
	nobody := func(*net.UnixConn) {}
	for name, c := range map[string]struct {
		verb   []string
		change func(*owner)
		answer func(*net.UnixConn)
		says   string
	}{
		"a second crawl": {[]string{"crawl", "http://127.0.0.1:1/"}, nil, nobody,
			"is in use: acapcrawl crawl (process 1)"},
		"another version": {[]string{"search", "gull"}, func(o *owner) { o.Version = "0.0.9 (commit x)" }, nobody,
			"version 0.0.9 (commit x)"},
		"another build": {[]string{"search", "gull"}, func(o *owner) { o.Protocol++ }, nobody, "another build"},
		"another user": {[]string{"search", "gull"}, func(o *owner) { o.User += 5 }, nobody, fmt.Sprintf("for user %d",
			os.Getuid()+5)},
		"not let in": {[]string{"search", "gull"}, nil, nobody, "is in use"},
		"never a result": {[]string{"search", "gull"}, nil, func(conn *net.UnixConn) {
			if _, ok := hello(conn); ok {
				json.NewEncoder(conn).Encode(message{})
			}
		}, "is in use"},
		"no owner's words": {[]string{"search", "gull"}, nil, func(conn *net.UnixConn) {
			if _, ok := hello(conn); ok {
				conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			}
		}, "is in use"},
		"half a result": {[]string{"search", "gull"}, nil, func(conn *net.UnixConn) {
			if _, ok := hello(conn); ok {
				json.NewEncoder(conn).Encode(message{Out: []byte("Pier\n")})
			}
		}, "ended before this was done"},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			a, err := archive.Open(data, archive.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			pretend(t, data, c.change, c.answer)
			got := call(t.Context(), data, c.verb...)
			if got.status != statusFailed || strings.Count(got.stderr, "Error: ") != 1 ||
				!strings.Contains(got.stderr, c.says) ||
				!strings.Contains(got.stderr, "Try: ") {
				t.Errorf("said %v", got)
			}
		})
	}
}

// The process that runs a verb for another process receives what the verb needs, and no other
// environment variables.
func TestHandedOver(t *testing.T) {
	data := t.TempDir()
	heard := make(chan request, 1)
	pretend(t, data, func(o *owner) { o.Token = "let me in" }, func(conn *net.UnixConn) {
		if r, ok := hello(conn); ok {
			heard <- r
			status := statusNothing
			e := json.NewEncoder(conn)
			for _, m := range []message{{}, {Out: []byte("one\n")}, {Err: []byte("two\n")}, {Status: &status}} {
				e.Encode(m)
			}
		}
	})
	if err := os.WriteFile(filepath.Join(data, "archive.db"), nil, 0o600); err != nil { // makes the directory non-empty
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	screen := &progress{w: &stderr, columns: func() int { return 40 }}
	c := Command{Stdout: &stdout, Stderr: screen, Env: []string{"ACAPCRAWL_DATA=" + data, "PASSWORD=secret",
		"XDG_DATA_HOME=/x", "HOME=/home/y"}}
	if status := c.Main(t.Context(), []string{"archive", "stats"}); status != statusNothing ||
		stdout.String() != "one\n" || stderr.String() != "two\n" {
		t.Errorf("status %d, said %q, %q", status, stdout.String(), stderr.String())
	}
	r := <-heard
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if r.Token != "let me in" || r.Dir != here || r.Columns == nil || *r.Columns != 40 ||
		strings.Join(r.Args, " ") != "archive stats" ||
		strings.Join(r.Env, " ") != "ACAPCRAWL_DATA="+data+" XDG_DATA_HOME=/x HOME=/home/y" {
		t.Errorf("heard %+v", r)
	}
}

// File names given by the user are relative to the directory in which the verb was called.
func TestPath(t *testing.T) {
	away := t.TempDir()
	for name, want := range map[string]string{"": "", "-": "-", "a.gz": filepath.Join(away, "a.gz"),
		filepath.Join(away, "b"): filepath.Join(away, "b"),
		filepath.Join("..", "c"): filepath.Join(filepath.Dir(away), "c")} {
		if got := (&Command{dir: away}).path(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
		if got := (&Command{}).path(name); got != name {
			t.Errorf("%q is %q here", name, got)
		}
	}
}
