package crawler

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
)

// ledger is a Handler that writes the addresses of received pages to a file and syncs the file.
type ledger struct {
	mu sync.Mutex
	f  *os.File
}

func (l *ledger) Receive(_ context.Context, p *page.Page) (Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := fmt.Fprintln(l.f, p.URL()); err != nil {
		return Receipt{}, err
	}
	return Receipt{Links: p.Links(page.Cut{})}, l.f.Sync()
}

// down holds the paths of the test site that are taken down.
var down = []string{"/3", "/77", "/211"}

// crawlInto crawls site. It keeps the frontier and the ledger in dir.
func crawlInto(dir, site string) (Summary, error) {
	out, err := os.OpenFile(filepath.Join(dir, "received"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return Summary{}, err
	}
	defer out.Close()
	f, err := Open(filepath.Join(dir, "frontier.db"), FrontierOptions{PerHost: 8})
	if err != nil {
		return Summary{}, err
	}
	defer f.Close()
	if f.Counts().Queued > 0 {
		if err := f.Check(); err != nil {
			return Summary{}, err
		}
	}
	g := gate.New(gate.Options{PerHost: 8, AllowPrivate: true})
	defer g.Close()
	g.Use(takeDowns(down...))
	// an address that was promoted, but not visited before the process was killed, must stay
	// promoted
	for i := range 5 {
		if err := f.Promote(fmt.Sprintf("%s/%d", strings.TrimSuffix(site, "/0"), 11*i)); err != nil {
			return Summary{}, err
		}
	}
	return New(g, &ledger{f: out}, f, Options{Concurrency: 8, Depth: -1}).Run(context.Background(), []string{site})
}

// crawlUntilKilled is the main function of the process that TestKill kills.
func crawlUntilKilled(dir string) {
	if _, err := crawlInto(dir, os.Getenv("CRAWL_SITE")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestKill(t *testing.T) {
	const pages, kills = 400, 3
	s := newSite(t)
	var mu sync.Mutex
	served, killAt := 0, 0
	var victim *os.Process
	for i := range pages {
		s.Handle(fmt.Sprintf("/%d", i), func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			if served++; served == killAt {
				_ = victim.Kill() // an error means that the process has ended; the test detects that
			}
			mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			for _, n := range []int{2*i + 1, 2*i + 2, i + 1, i * i % pages} {
				if n < pages {
					fmt.Fprintf(w, "<a href='/%d'>on</a>", n)
				}
			}
		})
	}
	dir := t.TempDir()
	for k := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CRAWL_UNTIL_KILLED="+dir, "CRAWL_SITE="+s.URL+"/0")
		cmd.Stderr = os.Stderr
		mu.Lock()
		must(t, cmd.Start())
		victim, killAt = cmd.Process, served+60+17*k
		mu.Unlock()
		if err := cmd.Wait(); err == nil {
			t.Fatal("the crawl ended before it was killed")
		}
		if cmd.ProcessState.Exited() {
			t.Fatalf("the crawl failed: %s", cmd.ProcessState)
		}
	}
	mu.Lock()
	killAt = 0
	mu.Unlock()
	start := time.Now()
	sum, err := crawlInto(dir, s.URL+"/0")
	if err != nil || sum.Queued != 0 {
		t.Fatalf("the last run: %+v, %v", sum, err)
	}
	times := map[string]int{}
	f, err := os.Open(filepath.Join(dir, "received"))
	must(t, err)
	defer f.Close()
	total := 0
	for lines := bufio.NewScanner(f); lines.Scan(); total++ {
		times[lines.Text()]++
	}
	for i := range pages {
		path := fmt.Sprintf("/%d", i)
		if n := times[s.URL+path]; (n == 0) != slices.Contains(down, path) {
			t.Errorf("%s was received %d times", path, n)
		}
	}
	if total > 2*pages {
		t.Errorf("%d pages received of %d", total, pages)
	}
	fr := openFrontier(t, filepath.Join(dir, "frontier.db"), FrontierOptions{})
	if c := fr.Counts(); c.Fetched != pages-len(down) || c.Refused != len(down) || c.Queued != 0 {
		t.Errorf("counts %+v", c)
	}
	must(t, fr.Begin(Selection{Promoted: true}))
	if l := next(t, fr); l != nil {
		t.Errorf("%s is asked for still", l.URL)
	}
	if n, err := fr.Lift("", func(string) bool { return false }); n != len(down) || err != nil {
		t.Errorf("%d came back, %v", n, err)
	}
	t.Logf("%d pages received for %d, the last run took %s", total, pages, time.Since(start))
}
