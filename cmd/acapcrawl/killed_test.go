package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/test/interrupt"
)

const mortalRobots = `ACAP-crawler: *
ACAP-disallow-crawl: /shut/
ACAP-disallow-preserve: /bare/
ACAP-disallow-index: /mute/
`

// mortal is a site that kills the process that crawls it. The path of page i contains i. The pages
// link to others, so that the site is a tree with shortcuts. Some pages may not be kept, some may
// not be indexed, some can be reached only by a redirect, and each links to a page that may not be
// crawled.
type mortal struct {
	*httptest.Server
	pages int
	delay time.Duration // pause that the crawl must make between requests

	mu    sync.Mutex
	times []time.Time    // times of all requests
	log   map[string]int // number of requests in the whole test, by path
	run   map[string]int // number of requests in the last run, by path
	late  map[string]int // number of requests that arrived after their run was killed, by path
	// number of runs so far; each request names the number of its run in the contact address of the
	// User-Agent
	runs   int
	served int // number of requests in this run, without requests for robots.txt
	killAt int // the crawl is killed when served reaches this number; 0: never
	// moment of the kill: 0 when the request arrives, 1 in the middle of the answer, 2 after the
	// answer
	moment int
	victim *os.Process
	over   bool // the run has ended; a request that arrives now was sent before
}

func newMortal(t *testing.T, pages int) *mortal {
	m := &mortal{pages: pages, log: map[string]int{}, run: map[string]int{}, late: map[string]int{}}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

// path returns the path of page i.
func (m *mortal) path(i int) string {
	folder := "page"
	switch i % 5 {
	case 3:
		folder = "bare"
	case 4:
		folder = "mute"
	}
	return fmt.Sprintf("/%s/%d", folder, i)
}

func (m *mortal) serve(w http.ResponseWriter, r *http.Request) {
	due, moment := m.arrived(r.URL.Path, r.UserAgent())
	if due && moment == 0 {
		m.kill()
	}
	var folder string
	var i int
	switch n, _ := fmt.Sscanf(strings.ReplaceAll(r.URL.Path, "/", " "), " %s %d", &folder, &i); {
	case r.URL.Path == "/robots.txt":
		fmt.Fprint(w, mortalRobots)
		return
	case n != 2 || i >= m.pages:
		http.NotFound(w, r)
	case folder == "to":
		http.Redirect(w, r, m.path(i), http.StatusFound)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html lang=en><title>Page %d</title><p>A cormorant, the number%d.", i, i)
		if due && moment == 1 {
			w.(http.Flusher).Flush()
			m.kill()
		}
		fmt.Fprintf(w, "<a href='/shut/%d'>shut</a>", i)
		for _, next := range []int{2*i + 1, 2*i + 2, i + 1, i * i % m.pages} {
			switch {
			case next >= m.pages:
			case next%10 == 7:
				fmt.Fprintf(w, " <a href='/to/%d'>on</a>", next)
			default:
				fmt.Fprintf(w, " <a href='%s'>on</a>", m.path(next))
			}
		}
	}
	if due {
		w.(http.Flusher).Flush()
		m.kill()
	}
}

// contact returns the contact address that the crawl of run n sends in its User-Agent.
func contact(n int) string { return fmt.Sprintf("https://operator.example/%d/", n) }

// arrived counts a request. due reports whether the crawl must be killed at this request, and
// moment says when, as mortal.moment does.
func (m *mortal) arrived(path, agent string) (due bool, moment int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times = append(m.times, time.Now())
	m.log[path]++
	if m.over || !strings.Contains(agent, contact(m.runs)) { // a request from a killed run
		m.late[path]++
		return false, 0
	}
	m.run[path]++
	if path != "/robots.txt" {
		m.served++
		due = m.served == m.killAt
	}
	return due, m.moment
}

func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.victim.Kill() // Kill fails if the crawl has ended; the test notices that later
}

// crawl runs the whole program on the site. The site kills the program when the program requests
// the page with the number killAt, counted from 1 in this run.
func (m *mortal) crawl(t *testing.T, dir string, killAt, moment int) (killed bool) {
	t.Helper()
	m.mu.Lock()
	m.runs++
	clear(m.run)
	m.served, m.killAt, m.moment, m.over = 0, killAt, moment, false
	m.mu.Unlock()
	cmd := exec.CommandContext(t.Context(), "acapcrawl", "crawl", "--contact", contact(m.runs), "--delay",
		m.delay.String(), "--concurrency", "8",
		"--depth", "-1", "--data", dir, m.URL+m.path(0))
	var said bytes.Buffer
	cmd.Stderr = &said
	m.mu.Lock()
	err := cmd.Start()
	m.victim = cmd.Process
	m.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && !exit.Exited():
		return true
	}
	t.Fatalf("the crawl failed: %v\n%s", err, said.String())
	return false
}

// TestKilledCrawl kills a crawl at random requests, with -every fifty times, and each time starts
// the program again to continue the crawl. At the end every permitted page is there, no prohibited
// request was made, and only addresses that had been requested but had no outcome at a kill were
// requested twice.
func TestKilledCrawl(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	kills, pages := 15, 220
	switch {
	case interrupt.Every():
		kills, pages = 50, 700
	case testing.Short():
		kills, pages = 6, 90
	}
	const seed = 20261121
	random := rand.New(rand.NewPCG(seed, seed))
	m := newMortal(t, pages)
	dir := t.TempDir()
	met := map[string]int{} // address → number of kills at which the address was requested and had no outcome yet
	for k := range kills {
		if !m.crawl(t, dir, 1+random.IntN(24), random.IntN(3)) {
			t.Fatalf("the crawl ended before kill %d", k)
		}
		for path, n := range m.run {
			if n > 1 {
				t.Errorf("%s was asked for %d times in one run", path, n)
			}
		}
		for _, path := range m.unfinished(t, dir) {
			met[path]++
		}
	}
	if m.crawl(t, dir, 0, 0) {
		t.Fatal("the last run was killed")
	}
	m.checkLog(t, met)
	m.checkHeld(t, dir)
	total, twice := 0, 0
	for _, n := range m.log {
		total, twice = total+n, twice+n-1
	}
	t.Logf("%d kills: %d requests for %d addresses, %d of them repeated", kills, total, len(m.log), twice)
}

// unfinished returns the addresses that were requested in this run and have no outcome on disk.
func (m *mortal) unfinished(t *testing.T, dir string) (paths []string) {
	t.Helper()
	f, err := crawler.Open(filepath.Join(dir, "frontier.db"), crawler.FrontierOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Check(); err != nil {
		t.Error("frontier:", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for path := range m.run {
		rec, found, err := f.Get(m.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if !found || rec.State == crawler.Queued {
			paths = append(paths, path)
		}
	}
	return paths
}

// checkLog looks for requests that were prohibited or unnecessary.
func (m *mortal) checkLog(t *testing.T, met map[string]int) {
	t.Helper()
	policy := acap.Parse(m.URL+"/robots.txt", []byte(mortalRobots)).Policy(acap.Crawler{Names: []string{"acapcrawl"}})
	for path, n := range m.log {
		u, err := url.Parse(m.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/robots.txt" {
			continue
		}
		if d := policy.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
			t.Errorf("%s was asked for: %s", path, d.Why())
		}
		if n > 1+met[path]+m.late[path] {
			t.Errorf("%s was asked for %d times, %d kills met it, and %d before it arrived", path, n, met[path],
				m.late[path])
		}
	}
}

// checkHeld looks for missing pages, and checks that the stores are intact.
func (m *mortal) checkHeld(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "acapcrawl", "archive", "verify", "--data",
		dir).CombinedOutput(); err != nil {
		t.Errorf("archive verify: %v\n%s", err, out)
	}
	f, err := crawler.Open(filepath.Join(dir, "frontier.db"), crawler.FrontierOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Check(); err != nil {
		t.Error("frontier:", err)
	}
	if left := f.Counts().Queued; left != 0 {
		t.Errorf("%d addresses are left", left)
	}
	a, err := archive.Open(dir, archive.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ix, err := index.Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	found := map[string]bool{}
	for address, err := range ix.URLs() {
		if err != nil {
			t.Fatal(err)
		}
		found[address] = true
	}
	for i := range m.pages {
		address, keep, list := m.URL+m.path(i), i%5 != 3, i%5 != 4
		r, _, err := a.Resource(address)
		if err != nil {
			t.Fatal(err)
		}
		if r.FirstCrawled.IsZero() || (r.Current != 0) != keep || r.Indexed != list || found[address] != list {
			t.Errorf("%s: crawled %v, kept %v, indexed %v, found %v", address, !r.FirstCrawled.IsZero(), r.Current != 0,
				r.Indexed, found[address])
		}
		if c, err := a.Captures(address); err != nil || len(c) > m.log[m.path(i)] {
			t.Errorf("%s: %d captures, %v", address, len(c), err)
		}
	}
	if problems, err := a.Verify(context.Background(), archive.VerifyOptions{}); err != nil || len(problems) > 0 {
		t.Errorf("archive: %v, %v", problems, err)
	}
}

// TestSpacingAcrossKills checks that each run makes its n-th request at least n pauses after its
// start, redirects and robots.txt included. A run after a kill waits one pause before its first
// request. The start is measured before the process begins, so a slow machine cannot cause a
// failure.
func TestSpacingAcrossKills(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	m := newMortal(t, 16)
	m.delay = 150 * time.Millisecond
	dir := t.TempDir()
	for run := range 4 {
		first, began := len(m.times), time.Now()
		killAt := 3
		if run == 3 {
			killAt = 0
		}
		if m.crawl(t, dir, killAt, run) != (killAt > 0) {
			t.Fatalf("run %d was not killed, or the last run was", run)
		}
		pauses := min(run, 1) // 0 for the first run, because no request was made before it
		for i, at := range m.times[first:] {
			if least := began.Add(time.Duration(i+pauses) * m.delay); at.Before(least) {
				t.Errorf("run %d: request %d came %s too early", run, i, least.Sub(at))
			}
		}
	}
	if m.log["/to/7"] == 0 || m.log[m.path(15)] == 0 {
		t.Errorf("the crawl did not come to its end: %v", m.log)
	}
}
