package crawler

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	scale    = flag.Int("scale", 20_000, "addresses that TestScale queues")
	scaleDir = flag.String("scale-dir", "", "where TestScale keeps its frontier; a temporary folder without it")
)

// web is an endless simulated web. A page links mostly to pages of its own host. Four of five links
// lead to pages that are already known. It is safe for concurrent use.
type web struct {
	hosts []atomic.Int64 // for each host, the number of its pages to which links exist
}

const linksPerPage = 50

func (w *web) address(host, n int) string {
	return fmt.Sprintf("https://www.site-%06d.example/section-%d/%d-words-of-a-headline.html", host, n%17, n)
}

// links returns 50 links of a page of host. 45 links lead to pages of the same host, the others to
// other hosts, some of them to a few popular hosts. Links that are already known lead to pages to
// which every page links, or to pages near the newest one.
func (w *web) links(host int, r *rand.Rand) []Offer {
	offers := make([]Offer, 0, linksPerPage)
	for i := range linksPerPage {
		to := host
		if i%10 == 9 {
			x := r.Float64()
			to = int(x * x * float64(len(w.hosts)))
		}
		var n int
		switch newest := int(w.hosts[to].Load()); {
		case i%5 == 0 || newest == 0:
			n = int(w.hosts[to].Add(1) - 1)
		case i%2 == 0:
			n = r.IntN(min(newest, 20))
		default:
			n = newest - 1 - r.IntN(min(newest, 60))
		}
		offers = append(offers, Offer{URL: w.address(to, n), Depth: 1 + n%5, State: Queued})
	}
	return offers
}

// TestScale crawls a simulated web with a delay for each host, until -scale addresses are queued, a
// hundred for every host. The order of hosts is the worst for a cache: a host is visited again only
// after all others. The test prints the time, memory and disk space that the frontier uses.
//
//	go test ./crawler -run TestScale -v -scale 10000000 -scale-dir /tmp/x -timeout 1h
func TestScale(t *testing.T) {
	dir := *scaleDir
	if dir == "" {
		dir = t.TempDir()
	}
	name := filepath.Join(dir, "frontier.db")
	hosts := max(*scale/100, 1)
	c := newClock()
	o := FrontierOptions{Now: c.now, Delay: time.Duration(hosts) * time.Millisecond}
	f := openFrontier(t, name, o)
	w := &web{hosts: make([]atomic.Int64, hosts)}
	begin := time.Now()
	for i := 0; i < hosts; i += 1000 {
		var first []string
		for j := i; j < min(i+1000, hosts); j++ {
			first = append(first, w.address(j, int(w.hosts[j].Add(1)-1)))
		}
		_, err := f.AddLinks(0, first...)
		must(t, err)
	}
	t.Logf("%d hosts in %s", hosts, time.Since(begin).Round(time.Millisecond))
	begin, work := time.Now(), cpu()
	var pages, peak atomic.Int64
	var workers sync.WaitGroup
	for i := range 16 {
		workers.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for f.Counts().Queued < *scale {
				l := leaseSoon(t, f, c)
				if l == nil {
					return
				}
				var host int
				if _, err := fmt.Sscanf(l.URL, "https://www.site-%d.", &host); err != nil {
					t.Error(err)
					return
				}
				if err := f.Done(l, End{State: Fetched, Status: 200, Asked: c.now(),
					Offers: w.links(host, r)}); err != nil {
					t.Error(err)
					return
				}
				n := pages.Add(1)
				if n%1000 == 0 {
					peak.Store(max(peak.Load(), anonymous()))
				}
				if n%100_000 == 0 {
					d := time.Since(begin).Seconds()
					t.Logf("%d pages, %d queued, %.0f offers/s, %.1f µs CPU each, %d MB anonymous", n,
						f.Counts().Queued,
						float64(n*linksPerPage)/d, float64((cpu()-work).Microseconds())/float64(n*linksPerPage),
						anonymous()>>20)
				}
			}
		})
	}
	workers.Wait()
	must(t, f.Flush())
	offers, d := float64(pages.Load()*linksPerPage), time.Since(begin)
	counts := f.Counts()
	t.Logf("%d pages, %d queued on %d hosts in %s: %.0f offers/s, %.1f µs CPU each, %d MB anonymous at most",
		pages.Load(),
		counts.Queued, counts.Hosts, d.Round(time.Millisecond), offers/d.Seconds(),
		float64((cpu()-work).Microseconds())/offers, peak.Load()>>20)
	if *scale > 1_000_000 { // Check reads the whole file, which takes minutes
		must(t, f.Close())
	} else {
		closeFrontier(t, f)
	}
	info, err := os.Stat(name)
	must(t, err)
	begin = time.Now()
	f = openFrontier(t, name, o)
	opened := time.Since(begin)
	l := leaseSoon(t, f, c)
	t.Logf("opened in %s, the first lease after %s; the file has %d MB", opened.Round(time.Microsecond),
		time.Since(begin).Round(time.Microsecond), info.Size()>>20)
	if n := f.Counts().Queued; l == nil || n != counts.Queued || n < *scale {
		t.Errorf("%d queued after opening, %d before", n, counts.Queued)
	}
}

// leaseSoon moves the clock forward to the next due time and returns a lease, or nil if the
// frontier fails.
func leaseSoon(t *testing.T, f *Frontier, c *clock) *Lease {
	c.add(time.Millisecond)
	for {
		f.mu.Lock()
		l, pause, err := f.pick(f.now())
		f.mu.Unlock()
		if err != nil {
			t.Error(err)
			return nil
		}
		if l != nil {
			return l
		}
		c.add(min(pause, time.Millisecond))
		runtime.Gosched()
	}
}

// cpu returns the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// anonymous returns the anonymous memory of the process in bytes, or 0 if /proc does not contain
// that number.
func anonymous() int64 {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			var kb int64
			if _, err := fmt.Sscanf(rest, "%d kB", &kb); err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}
