package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// serveNodes runs serve --cluster, with further arguments, until the test or stop ends it. It returns the address.
func (f *running) serveNodes(args ...string) (at string, stop func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	output, said := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		c := Command{Stdin: strings.NewReader(""), Stdout: said, Stderr: said, Env: []string{"HOME=" + f.t.TempDir()}}
		ended <- c.Main(ctx, append([]string{"serve", "--cluster", f.servers, "--listen", "127.0.0.1:0"}, args...))
		said.Close()
	}()
	lines := bufio.NewReader(output)
	for at == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			f.t.Fatalf("serve ended with status %d", <-ended)
		}
		if _, rest, found := strings.Cut(line, "Health and metrics are at "); found {
			f.admin, _, _ = strings.Cut(rest, "/healthz")
		}
		if found := regexp.MustCompile(`Answering at (http://[^;]+);`).FindStringSubmatch(line); found != nil {
			at = found[1]
		}
	}
	rest := &lockedBuffer{}
	go io.Copy(rest, lines)
	f.t.Cleanup(func() {
		if f.t.Failed() {
			f.t.Logf("serve: %s", rest)
		}
	})
	stop = func() {
		if cancel(); ended != nil {
			<-ended
			ended = nil
		}
	}
	f.t.Cleanup(stop)
	return at, stop
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// get reads a page of serve --cluster.
func (f *running) get(address string) (status int, header http.Header, body string) {
	f.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(address)
	if err != nil {
		f.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return r.StatusCode, r.Header, string(text)
}

// listedURLs reads all pages of a list of versions, which begins at an address. It returns how often each URL is
// listed.
func (f *running) listedURLs(address string) map[string]int {
	f.t.Helper()
	urls := map[string]int{}
	base := address[:strings.Index(address, "/api/")]
	for address != "" {
		status, h, text := f.get(address)
		var list []struct{ URL string }
		if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK {
			f.t.Fatalf("%s: %d %s", address, status, text)
		}
		for _, one := range list {
			urls[one.URL]++
		}
		address = ""
		if link := regexp.MustCompile(`^<([^>]+)>; rel="next"$`).FindStringSubmatch(h.Get("Link")); link != nil {
			address = base + link[1]
		}
	}
	return urls
}

// serve --cluster answers readers from all nodes.
func TestServeNodes(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	at, _ := f.serveNodes()
	home, shy := "http://"+f.hosts[2]+"/", "http://"+f.hosts[2]+"/shy.html"
	status, header, text := f.get(at + "/search?q=gull")
	if status != http.StatusOK || header.Get(view.ShardsHeader) != "2/2" {
		t.Errorf("%d %v", status, header)
	}
	for _, host := range f.hosts {
		if !strings.Contains(text, "Pier "+host) || !strings.Contains(text, "/http://"+host+"/\"") {
			t.Errorf("%s is not found, or has no copy: %s", host, text)
		}
	}
	for _, c := range []struct {
		path   string
		status int
		has    string
	}{
		{"/", http.StatusOK, f.hosts[0]},
		{"/sites", http.StatusOK, f.hosts[5]},
		{"/sites/" + f.hosts[2], http.StatusOK, f.hosts[2]},
		{"/versions/" + home, http.StatusOK, "Versions of"},
		{"/raw/2099/" + home, http.StatusBadRequest, ""},
		{"/raw/20991231000000/" + home, http.StatusOK, "A gull sat at " + f.hosts[2]},
		{"/timemap/link/" + home, http.StatusOK, "memento"},
		{"/explain?url=" + url.QueryEscape(shy), http.StatusOK, "ACAP-disallow-present"},
		{"/raw/20991231000000/" + shy, http.StatusNotFound, ""},
		{"/versions/" + home + "none.html", http.StatusNotFound, ""},
		{"/api/v1/show?url=" + url.QueryEscape(home), http.StatusOK, `"body_base64"`},
		{"/api/v1/explain?url=" + url.QueryEscape(home), http.StatusOK, `"decisions"`},
		{"/api/v1/search?q=gull&limit=3", http.StatusOK, `"url"`},
		{"/api/v1/sites", http.StatusOK, f.hosts[1]},
		{"/api/v1/archive/ls", http.StatusOK, home},
		{"/api/v1/requests", http.StatusOK, "[]"},
		{"/requests", http.StatusOK, "How to ask"},
		{"/login", http.StatusOK, "Password"},
		{"/cdx?url=" + url.QueryEscape(home), http.StatusOK, home},
		{"/feed.atom?q=gull", http.StatusOK, "<entry>"},
		{"/robots.txt", http.StatusOK, "Disallow"},
	} {
		status, _, text := f.get(at + c.path)
		if status != c.status || !strings.Contains(text, c.has) {
			t.Errorf("%s: %d %s", c.path, status, text)
		}
		if strings.Contains(text, "A tern") {
			t.Errorf("%s shows a page that may not be shown", c.path)
		}
	}
	if urls := f.listedURLs(at + "/api/v1/archive/ls?limit=2"); len(urls) != runningHosts {
		t.Errorf("%v", urls)
	}
	for _, node := range []string{"a", "b"} {
		page := f.pagesOn(node)[0]
		for _, path := range []string{"/cdx?output=text&url=", "/feed.atom?url="} {
			if status, h, text := f.get(at + path + url.QueryEscape(page)); status != http.StatusOK ||
				h.Get(view.ShardsHeader) != "2/2" || !strings.Contains(text, page) {
				t.Errorf("%s of a page of node %s: %d %v %s", path, node, status, h, text)
			}
		}
	}
	var list []map[string]any
	if _, _, text = f.get(at + "/api/v1/search?q=gull&limit=100"); json.Unmarshal([]byte(text), &list) != nil ||
		len(list) != runningHosts {
		t.Error(text)
	}
}

// A node that serves its archive shows its own pages.
func TestNodeServes(t *testing.T) {
	t.Parallel()
	f := &running{t: t, servers: natstest.One(t), dir: t.TempDir(), nodes: map[string]*exec.Cmd{}}
	f.serveHosts()
	args := []string{"crawl", "--cluster", f.servers, "--node", "a", "--data", f.data("a"), "--serve", "127.0.0.1:0",
		"--delay", "0", "--depth", "0", "http://" + f.hosts[0] + "/"}
	for i := range 600 { // the crawl needs a second for each, and must not end before the test does
		args = append(args, fmt.Sprintf("http://%s/none/%d", f.slow, i))
	}
	s, stop, ended := startServing(t, "The archive is shown at ", args...)
	f.await("the page is shown",
		func() bool { return strings.Contains(s.text(t, "/search?q=gull"), "Pier "+f.hosts[0]) })
	f.wholly(f.object("search", "gull"), 1)
	stop()
	<-ended
}

// The copies of a drained node are found while serve --cluster answers for its data directory. The node can crawl again
// meanwhile.
func TestServeDrained(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	token, onA := f.credential("b"), f.pagesOn("a")[0]
	before := f.object("archive", "ls")
	if got := f.run("cluster", "drain", "b"); got.status != statusDone {
		t.Fatal(got)
	}
	f.nodes["b"].Wait()
	without := f.object("archive", "ls")
	f.wholly(without, 1)
	kept := count(before["captures"], "node")["b"]
	if kept == 0 || len(without["captures"].([]any)) != len(before["captures"].([]any))-kept {
		t.Errorf("%d captures of node b are still listed, or there were none", kept)
	}
	at, stop := f.serveNodes("--data", f.data("b"))
	f.await("the copies are found again", func() bool {
		return f.captures() == len(before["captures"].([]any))
	})
	f.wholly(f.object("search", "gull"), 2)
	if got := f.run("search", "gull", "--json"); strings.Count(got.stdout, `"url"`) != runningHosts {
		t.Error(got)
	}
	status := f.object("cluster", "status")
	i := slices.IndexFunc(status["nodes"].([]any), func(n any) bool { return n.(map[string]any)["node"] == "b" })
	if i < 0 || status["nodes"].([]any)[i].(map[string]any)["reader"] != true ||
		status["nodes"].([]any)[i].(map[string]any)["partitions"] != 0.0 {
		t.Error(status)
	}
	if got := f.run("cluster", "drain", "b"); got.status != statusUsage {
		t.Error(got)
	}
	for _, item := range before["captures"].([]any) {
		if one := item.(map[string]any); one["node"] == "b" && !strings.Contains(one["url"].(string), "shy") {
			if code, _, text := f.get(at + "/raw/20991231000000/" + one["url"].(string)); code != http.StatusOK {
				t.Errorf("%v: %d %s", one["url"], code, text)
			}
		}
	}
	f.start("b") // the crawl takes the directory over
	f.await("the node crawls again", func() bool {
		status := f.run("cluster", "status")
		return strings.Contains(status.stdout, "\nb ") && !strings.Contains(status.stdout, "only read")
	})
	f.await("all nodes answer", func() bool { return f.run("search", "gull", "--json").stderr == "" })
	f.wholly(f.object("archive", "ls"), 2)
	f.nodes["b"].Process.Signal(os.Interrupt)
	f.nodes["b"].Wait()
	f.await("the directory is served again", func() bool {
		return f.captures() == len(before["captures"].([]any))
	})
	s := &serving{at: at, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	if status, _, text := s.api(t, "POST", "/api/v1/requests", token, "k", takeDownOf(onA)); status != 201 ||
		!strings.Contains(text, `"node":"b"`) {
		t.Errorf("a publisher of the drained node: %d %s", status, text)
	}
	f.await("the other node has erased the page", func() bool {
		return !strings.Contains(f.run("archive", "ls", "--json").stdout, `"`+onA+`"`)
	})
	stop()
	f.await("the reader has left", func() bool { return len(f.object("cluster", "status")["nodes"].([]any)) == 1 })
}
