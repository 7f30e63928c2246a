package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/cluster"
	"github.com/acapcrawl/acapcrawl/internal/natstest"
)

// impostor adds a node to a cluster that answers each call with answer.
func impostor(t *testing.T, servers, name string, answer func(net.Conn, request)) {
	t.Helper()
	r, err := cluster.Attend(t.Context(), cluster.Options{Servers: servers, Node: name, Dir: "x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var req request
				if json.NewDecoder(conn).Decode(&req) == nil {
					answer(conn, req)
				}
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
		if err := r.Leave(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Whatever a node answers, the answers of the other nodes are printed, and an error names the node.
func TestHostileNodes(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a")
	said := func(conn net.Conn, messages ...message) {
		for _, m := range messages {
			json.NewEncoder(conn).Encode(m)
		}
	}
	done := 0
	endless := func(conn net.Conn, part []byte) {
		for {
			if json.NewEncoder(conn).Encode(message{Out: part}) != nil {
				return
			}
		}
	}
	home := "http://" + f.hosts[2] + "/"
	list := [][]string{{"search", "gull"}, {"show", home}, {"explain", home},
		{"archive", "ls"}, {"archive", "stats"}, {"sweep", "--dry-run"}, {"actions", "ls"}}
	for _, hostile := range []struct {
		name   string
		verbs  [][]string
		answer func(net.Conn, request)
	}{
		{"noise", list, func(conn net.Conn, _ request) { conn.Write(bytes.Repeat([]byte{0xff, '\n'}, 1000)) }},
		{"line", list, func(conn net.Conn, _ request) { io.Copy(conn, io.LimitReader(blanks{}, 1<<22)) }},
		{"damaged", list, func(conn net.Conn, _ request) {
			said(conn, message{}, message{Out: []byte(`{"results":7`)}, message{Status: &done})
		}},
		{"foreign", list, func(conn net.Conn, _ request) {
			said(conn, message{}, message{Out: []byte(`"text"`)}, message{Status: &done})
		}},
		{"ends", list, func(conn net.Conn, _ request) { said(conn, message{}, message{Out: []byte("[")}) }},
		{"endless", list[:1], func(conn net.Conn, _ request) { endless(conn, bytes.Repeat([]byte("[ "), 30000)) }},
		{"long entry", list[3:4], func(conn net.Conn, _ request) {
			said(conn, message{Out: []byte(`[{"url":"`)})
			endless(conn, bytes.Repeat([]byte("x"), 60000))
		}},
	} {
		t.Run(hostile.name, func(t *testing.T) {
			impostor(t, f.servers, "evil", hostile.answer)
			for _, args := range hostile.verbs {
				got := f.run(append(args, "--json")...)
				if got.status != statusDone || !strings.Contains(got.stdout, `"shards":{"answered":1,"total":2,`) ||
					!strings.Contains(got.stderr, "only 1 of 2 nodes answered") || !strings.Contains(got.stderr, "node evil ") {
					t.Errorf("%v: %+v", args, got)
				}
				if !json.Valid([]byte(got.stdout)) {
					t.Errorf("%v: no JSON: %s", args, got.stdout)
				}
			}
		})
	}
}

// blanks is endless text without lines.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A page that one node refuses is not shown from another one.
func TestRefusalWins(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a")
	page := "http://" + f.hosts[1] + "/"
	status := statusRefused
	reason := "prohibition"
	impostor(t, f.servers, "b", func(conn net.Conn, _ request) {
		text := fmt.Sprintf(`{"url":%q,"reason":%q,"why":"the publisher has taken it down"}`, page, reason)
		for _, m := range []message{{}, {Out: []byte(text)}, {Status: &status}} {
			json.NewEncoder(conn).Encode(m)
		}
	})
	if got := f.run("show", page); got.status != statusRefused || got.stdout != "" ||
		!strings.Contains(got.stderr, "the publisher has taken it down") {
		t.Errorf("%+v", got)
	}
	reason = "unavailable" // it has an old copy whose policy it no longer reads
	if got := f.run("show", page); got.status != statusDone || !strings.Contains(got.stdout, "A gull") {
		t.Errorf("%+v", got)
	}
}

// Another machine cannot make a node run other verbs, or read or write files.
func TestClusterVerbs(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"crawl", "http://127.0.0.1/"}, {"config", "show"},
		{"search", "--config=x", "gull"},
		{"search", "--data=/tmp", "--", "gull"}, {"search", "--data", "/tmp", "gull"}, {"archive", "export", "-o=x"},
		{"explain", "--robots=/etc/passwd", "--", "http://127.0.0.1/"}, {"search", "-h"}, {"actions", "submit", "--", "x"},
		{"search", "--limit"}, {"archive", "ls", "--cluster=nats://x"}} {
		if err := checkClusterVerb(args); err == nil {
			t.Errorf("a node runs %q", args)
		}
	}
	for _, args := range [][]string{{"search", "--limit=3", "--", "gull", "--data=/tmp"}, {"archive", "ls"}} {
		if err := checkClusterVerb(args); err != nil {
			t.Errorf("a node does not run %q: %v", args, err)
		}
	}
	f := &running{t: t, servers: natstest.One(t), dir: t.TempDir(), nodes: map[string]*exec.Cmd{}}
	f.start("a")
	f.await("the node runs", func() bool { return f.run("archive", "ls").status == statusDone })
	c, err := cluster.Open(t.Context(), cluster.Options{Servers: f.servers})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	conn, err := c.Call(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(request{Args: []string{"config", "show"}}); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(out), `"status":2`) || strings.Contains(string(out), `"out"`) {
		t.Errorf("%v %s", err, out)
	}
}
