package main

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// A node whose seeds were all refused ends with status 3, also if other nodes own their hosts. The other nodes end with
// status 0, and so does the node if one seed was fetched.
func TestClusterSeedsRefused(t *testing.T) {
	t.Parallel()
	for _, fetched := range []bool{false, true} {
		t.Run(fmt.Sprintf("one fetched %t", fetched), func(t *testing.T) {
			t.Parallel()
			var seeds []string
			mux := http.NewServeMux()
			mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
				if fetched && strings.Contains(seeds[0], r.Host) {
					return
				}
				fmt.Fprint(w, "User-agent: *\nDisallow: /\n")
			})
			mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>A gull.") })
			server := &http.Server{Handler: mux}
			defer server.Close()
			for i := range runningHosts {
				l, err := net.Listen("tcp", fmt.Sprintf("127.78.0.%d:0", i+1))
				if err != nil {
					t.Fatal(err)
				}
				seeds = append(seeds, "http://"+l.Addr().String()+"/")
				go server.Serve(l)
			}
			servers, dir := natstest.One(t), t.TempDir()
			status := crawlTogether(t, servers, dir, seeds)
			want := statusRefused
			if fetched {
				want = statusDone
			}
			if status["a"] != want || status["b"] != statusDone {
				t.Errorf("the statuses are %v, want %d of a and 0 of b", status, want)
			}
		})
	}
}

// crawlTogether runs a node a, which names the seeds, and a node b, which owns partitions before, until both end. It
// returns their statuses.
func crawlTogether(t *testing.T, servers, dir string, seeds []string) map[string]int {
	t.Helper()
	f := &running{t: t, servers: servers, dir: dir, nodes: map[string]*exec.Cmd{}}
	f.start("b")
	f.await("b owns the partitions", func() bool {
		return strings.Contains(f.run("cluster", "status", "--json").stdout, `"owned":12`)
	})
	f.start("a", seeds...)
	status := map[string]int{}
	for name, cmd := range f.nodes {
		cmd.Wait()
		status[name] = cmd.ProcessState.ExitCode()
	}
	return status
}
