package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// slowAnswer is how long the first host takes to answer a request for a page.
const slowAnswer = 30 * time.Second

// visits holds the times at which one host received requests for pages.
type visits struct {
	mu    sync.Mutex
	times []time.Time
}

func (v *visits) note() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.times = append(v.times, time.Now())
}

// perSecond returns the rate of requests between the first and the last request, and the shortest
// interval between two requests.
func (v *visits) perSecond() (rate float64, spacing time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.times) < 2 {
		return 0, 0
	}
	spacing = v.times[1].Sub(v.times[0])
	for i := range len(v.times) - 1 {
		spacing = min(spacing, v.times[i+1].Sub(v.times[i]))
	}
	last := len(v.times) - 1
	return float64(last) / v.times[last].Sub(v.times[0]).Seconds(), spacing
}

// crawlPolitely crawls many hosts at once, with one request per second to each, and prints how
// evenly they progress. The first host answers each request for a page after slowAnswer.
func crawlPolitely(ctx context.Context, out io.Writer, hosts int, lasting time.Duration) error {
	if hosts < 2 {
		return errors.New("-polite must be above 1")
	}
	dir, err := os.MkdirTemp("", "acapcrawl-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "crawl-under-test")
	if err := build(ctx, out, binary); err != nil {
		return err
	}
	seen := make([]visits, hosts)
	args := []string{"crawl", "--json", "--delay", "1s", "--concurrency", "64", "--preserve=false", "--index=false",
		"--max-time", lasting.String(),
		"--data", filepath.Join(dir, "data")}
	for i := range seen {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server := &http.Server{Handler: polite(&seen[i], i == 0)}
		defer server.Close()
		go server.Serve(l)
		args = append(args, "http://"+l.Addr().String()+"/")
	}
	fmt.Fprintf(out, "%d hosts, one of which answers after %s, 1 s between requests to each, 64 visits at once, %s\n",
		hosts, slowAnswer, lasting)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	w := watch(cmd.Process.Pid)
	err = cmd.Wait()
	peak, _ := w.end()
	if err != nil {
		return err
	}
	var rates []float64
	least := time.Hour
	for i := range seen[1:] {
		rate, spacing := seen[1+i].perSecond()
		rates, least = append(rates, rate), min(least, spacing)
	}
	slices.Sort(rates)
	_, err = fmt.Fprintf(out,
		"pages/s of a host: least %.3f, median %.3f, most %.3f\nshortest spacing seen by a host: %s\npeak RssAnon "+
			"%.0f MB, CPU %.1f s\n",
		rates[0], rates[len(rates)/2], rates[len(rates)-1], least.Round(time.Millisecond), float64(peak)/1e6,
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	return err
}

// polite returns a handler for one host. Each page links to new pages, without end. If slow is
// true, each page takes slowAnswer to arrive.
func polite(v *visits, slow bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		v.note()
		if slow {
			select {
			case <-time.After(slowAnswer):
			case <-r.Context().Done():
			}
		}
		n, _ := strconv.Atoi(r.URL.Path[1:]) // 0 for the front page
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<a href=/%d>on</a> <a href=/%d>and on</a>", 2*n+1, 2*n+2)
	})
}
