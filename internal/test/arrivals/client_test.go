package arrivals

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault is a rule that a client breaks.
type fault string

const (
	none         fault = ""
	noDelay      fault = "makes no pause"
	noCrawlDelay fault = "ignores Crawl-delay"
	noRetryAfter fault = "ignores Retry-After"
	overlaps     fault = "does not wait for answers"
	trespasses   fault = "ignores what robots.txt forbids"
	blind        fault = "does not request robots.txt"
	twice        fault = "fetches every page twice"
	lazy         fault = "follows no links to other hosts"
)

// client is a small crawler. It has a goroutine for each host, which makes one request after the
// other, and counts the delay from the end of the answer.
type client struct {
	t     *testing.T
	fault fault
	delay time.Duration
	http  http.Client

	pending sync.WaitGroup // URLs and answers that are not processed

	mu    sync.Mutex
	seen  map[string]bool
	hosts map[string]chan visit
}

// visit is a URL that a host's goroutine must request.
type visit struct {
	url   *url.URL
	reply chan string // receives the body if it is not nil
}

// crawl crawls a web from its home page.
func crawl(t *testing.T, w *Web, delay time.Duration, f fault) {
	c := &client{t: t, fault: f, delay: delay, seen: map[string]bool{}, hosts: map[string]chan visit{}}
	c.http.Transport = &http.Transport{MaxIdleConnsPerHost: 2}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	home, err := url.Parse(w.Home())
	if err != nil {
		t.Fatal(err)
	}
	c.find(home)
	c.pending.Wait()
	for _, ch := range c.hosts {
		close(ch)
	}
	c.http.CloseIdleConnections()
}

// find queues a URL that was not found before.
func (c *client) find(u *url.URL) {
	c.mu.Lock()
	known := c.seen[u.String()]
	c.seen[u.String()] = true
	c.mu.Unlock()
	if !known {
		c.queue(visit{url: u})
	}
}

func (c *client) queue(v visit) {
	c.mu.Lock()
	ch := c.hosts[v.url.Host]
	if ch == nil {
		ch = make(chan visit, 1000)
		c.hosts[v.url.Host] = ch
		go (&worker{client: c, host: v.url.Host}).run(ch)
	}
	c.mu.Unlock()
	c.pending.Add(1)
	ch <- v
}

// worker makes the requests to one host.
type worker struct {
	*client
	host     string
	read     bool // robots.txt
	barred   []string
	delayed  time.Duration // Crawl-delay
	earliest time.Time     // next request
}

func (w *worker) run(ch chan visit) {
	for v := range ch {
		if !w.read && v.reply == nil && w.fault != blind {
			w.read = true
			w.readRobots()
		}
		w.visit(v, ch)
		w.pending.Done()
	}
}

func (w *worker) readRobots() {
	answer, text := w.get(&url.URL{Scheme: "http", Host: w.host, Path: "/robots.txt"})
	if to, err := answer.Location(); err == nil {
		v := visit{to, make(chan string, 1)}
		w.queue(v)
		text = <-v.reply
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Disallow", "ACAP-disallow-crawl":
			w.barred = append(w.barred, value)
		case "ACAP-allow-present-snippet":
			_, credit, _ := strings.Cut(value, "the-acap:credit:")
			u, err := url.Parse(credit)
			if err != nil {
				w.t.Error(err)
			} else if w.fault != lazy {
				w.find(u)
			}
		case "Crawl-delay":
			n, _ := strconv.Atoi(value)
			w.delayed = time.Duration(n) * time.Second
		}
	}
	w.rest(time.Now())
}

var href = regexp.MustCompile(`href="([^"]*)"`)

func (w *worker) visit(v visit, ch chan visit) {
	if v.reply != nil {
		_, text := w.get(v.url)
		v.reply <- text
		return
	}
	for _, b := range w.barred {
		if strings.HasPrefix(v.url.Path, b) && w.fault != trespasses {
			return
		}
	}
	if w.fault == overlaps {
		time.Sleep(time.Until(w.earliest))
		w.earliest = time.Now().Add(w.delay)
		w.pending.Go(func() { w.fetch(v, ch) })
		return
	}
	w.fetch(v, ch)
	if w.fault == twice {
		w.get(v.url)
	}
}

// fetch requests a page and finds its links.
func (w *worker) fetch(v visit, ch chan visit) {
	answer, text := w.get(v.url)
	if answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusServiceUnavailable {
		w.pending.Add(1)
		ch <- v
		return
	}
	if to, err := answer.Location(); err == nil {
		w.find(to)
	}
	for _, m := range href.FindAllStringSubmatch(text, -1) {
		u, err := v.url.Parse(m[1])
		if err != nil {
			w.t.Error(err)
			continue
		}
		if w.fault != lazy || u.Host == w.host {
			w.find(u)
		}
	}
}

// get makes a request as soon as the host permits it.
func (w *worker) get(u *url.URL) (*http.Response, string) {
	if w.fault != overlaps {
		time.Sleep(time.Until(w.earliest))
	}
	answer, err := w.http.Get(u.String())
	if err != nil {
		w.t.Error(err)
		return &http.Response{}, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Error(err)
	}
	if w.fault == overlaps {
		return answer, string(text)
	}
	now := time.Now()
	w.rest(now)
	if s := answer.Header.Get("Retry-After"); s != "" && w.fault != noRetryAfter {
		n, _ := strconv.Atoi(s)
		w.earliest = now.Add(time.Duration(n) * time.Second)
	}
	return answer, string(text)
}

// rest sets the time of the next request after an answer.
func (w *worker) rest(now time.Time) {
	d := w.delay
	if w.fault != noCrawlDelay {
		d = max(d, w.delayed)
	}
	if w.fault != noDelay {
		w.earliest = now.Add(d)
	}
}
