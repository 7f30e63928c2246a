package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/internal/view"
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
					!strings.Contains(got.stderr, "only 1 of 2 nodes answered") ||
					!strings.Contains(got.stderr, "node evil ") {
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
		{"explain", "--robots=/etc/passwd", "--", "http://127.0.0.1/"}, {"search", "-h"},
		{"actions", "submit", "--", "x"}, {"search", "--limit"}, {"archive", "ls", "--cluster=nats://x"}} {
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

// Lists of versions have those of all nodes, apart from pages that any node refuses.
func TestListedVersions(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a")
	at, _ := f.serveNodes()
	page, other := "http://"+f.hosts[1]+"/", "http://"+f.hosts[2]+"/"
	const early, reason = "2001-02-03T04:05:06Z", "HTTP/1.1 404 Not Found\r\nAcapcrawl-Reason: refused\r\n"
	var refused atomic.Value // a page
	refused.Store("")
	impostor(t, f.servers, "b", func(conn net.Conn, req request) {
		out, done := json.NewEncoder(conn), 0
		out.Encode(message{})
		if req.Readers {
			r, err := http.ReadRequest(bufio.NewReader(conn))
			switch {
			case err != nil:
			case strings.Contains(r.RequestURI, url.QueryEscape(refused.Load().(string))) && refused.Load() != "":
				fmt.Fprint(conn, reason+"Content-Length: 0\r\n\r\n")
			case strings.HasPrefix(r.RequestURI, "/raw/"):
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nold copy")
			default:
				text := `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>old</id><updated>` + early +
					`</updated></entry></feed>`
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			}
			return
		}
		out.Encode(message{Ask: true})
		var sent input
		var call listCall
		if json.NewDecoder(conn).Decode(&sent) != nil || json.Unmarshal(sent.In, &call) != nil {
			return
		}
		// It does not crawl the other page.
		text := fmt.Sprintf(`{"refused":[%q],"unknown":[%q]}`, refused.Load(), other)
		if call.Listing != "" {
			text = fmt.Sprintf(`[{"url":%q,"fetched":%q,"status":200}]`, page, early)
		}
		out.Encode(message{Out: []byte(text)})
		out.Encode(message{Status: &done})
	})
	f.await("both nodes are asked", func() bool {
		_, h, _ := f.get(at + "/api/v1/archive/ls")
		return h.Get(view.ShardsHeader) == "2/2"
	})
	count := func(path, what string) int {
		t.Helper()
		status, h, text := f.get(at + path)
		if status != http.StatusOK && status != http.StatusNotFound || h.Get(view.ShardsHeader) != "2/2" ||
			h.Get(view.ReasonHeader) != "" {
			t.Errorf("%s: %d %v %s", path, status, h, text)
		}
		return strings.Count(text, what)
	}
	about := url.QueryEscape(page)
	for path, n := range map[string]int{"/cdx?output=text&url=" + about: 2,
		"/cdx?output=text&sort=reverse&limit=1&url=" + about: 1, "/cdx?output=text&to=2002&url=" + about: 1,
		"/cdx?output=text&url=" + url.QueryEscape(other): 1} {
		if got := count(path, "\n"); got != n {
			t.Errorf("%s: %d lines", path, got)
		}
	}
	if n := count("/feed.atom?url="+about, "<entry>"); n != 2 {
		t.Errorf("the feed has %d entries", n)
	}
	if n := count("/raw/20010203040506/"+page, "old copy"); n != 1 { // the other node only has a version near it
		t.Error("the node that has the listed version does not answer")
	}
	urls := f.listedURLs(at + "/api/v1/archive/ls?limit=1")
	if urls[page] != 2 || urls[other] != 1 || len(urls) != runningHosts {
		t.Errorf("%v", urls)
	}
	refused.Store(page)
	for _, path := range []string{"/cdx?url=" + about, "/feed.atom?url=" + about, "/api/v1/archive/ls",
		"/api/v1/show?url=" + about} {
		if n := count(path, page); n != 0 {
			t.Errorf("%s lists a page that a node refuses", path)
		}
	}
	if urls := f.listedURLs(at + "/api/v1/archive/ls?limit=1"); len(urls) != runningHosts-1 {
		t.Errorf("%v", urls)
	}
}
