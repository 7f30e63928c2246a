package arrivals

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestJudge checks each rule next to its limit, with logs that were not made by requests.
func TestJudge(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	// at returns a request that starts and ends so many milliseconds after begin; end 0: in progress.
	// A path with a number before it is one of that host.
	at := func(w *Web, host, start, end int, path string) Request {
		if number, rest, found := strings.Cut(path, " "); found {
			path = rest
			if _, err := fmt.Sscan(number, &host); err != nil {
				t.Fatal(err)
			}
		}
		q := Request{Host: w.hosts[host], Path: path, Start: begin.Add(time.Duration(start) * time.Millisecond),
			Status: 200}
		if end > 0 {
			q.End, q.Whole = begin.Add(time.Duration(end)*time.Millisecond), true
		}
		return q
	}
	for _, c := range logs() {
		w := &Web{web: newWeb(Options{Hosts: 10, Pages: 3, CrawlDelay: 5 * time.Second, RetryAfter: 3 * time.Second,
			Redirects: true}, "80")}
		w.log = c.log(func(start, end int, path string) Request { return at(w, c.host, start, end, path) })
		r := w.Judge(2 * time.Second)
		var got []string
		for _, v := range r.Violations {
			got = append(got, string(v.Kind))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: want %q:\n%s", c.name, c.want, r)
		}
	}
}

// getter returns a request of a log.
type getter func(start, end int, path string) Request

// logged is a log of one host and the kinds of violations in it.
type logged struct {
	name string
	host int
	log  func(getter) []Request
	want string
}

func logs() []logged {
	const plain, delaying = 0, slowDelaying
	const most = int(Tolerance / time.Millisecond)
	return []logged{
		{"in time", plain, func(get getter) []Request {
			return []Request{get(0, 1, "/robots.txt"), get(2000-most, 1999, "/"), get(4000-2*most, 3999, "/page/1")}
		}, ""},
		{"too early", plain, func(get getter) []Request {
			return []Request{get(0, 1, "/robots.txt"), get(2000-most-1, 1999, "/")}
		}, "gap"},
		{"the log is not in order", plain, func(get getter) []Request {
			return []Request{get(4000, 4001, "/page/1"), get(0, 1, "/robots.txt"), get(2000, 2001, "/")}
		}, ""},
		{"an answer ends as the next request starts", plain, func(get getter) []Request {
			return []Request{get(0, 1, "/robots.txt"), get(2000, 4000, "/"), get(4000, 4001, "/page/1")}
		}, ""},
		{"an answer ends after two further requests started", plain, func(get getter) []Request {
			return []Request{get(0, 1, "/robots.txt"), get(2000, 6001, "/"), get(4000, 4001, "/page/1"),
				get(6000, 6001, "/page/2")}
		}, "overlap overlap"},
		{"an answer never ends", plain, func(get getter) []Request {
			return []Request{get(0, 1, "/robots.txt"), get(2000, 0, "/"), get(9000, 9001, "/page/1")}
		}, "overlap"},
		{"Crawl-delay that is not read yet", delaying, func(get getter) []Request {
			return []Request{get(0, 2500, "/robots.txt"), get(2000, 2600, "/robots.txt"), get(7000, 7001, "/")}
		}, "overlap"},
		{"Crawl-delay", delaying, func(get getter) []Request {
			return []Request{get(0, 1, "/robots.txt"), get(5000-most-1, 5001, "/")}
		}, "gap"},
		{"Retry-After", plain, func(get getter) []Request {
			q := get(2000, 2100, "/page/1")
			q.Status, q.retryAfter = 429, 3*time.Second
			return []Request{get(0, 1, "/robots.txt"), q, get(5100-most-1, 5101, "/")}
		}, "retry-after"},
		{"Retry-After in time", plain, func(get getter) []Request {
			q := get(2000, 2100, "/page/1")
			q.Status, q.retryAfter = 429, 3*time.Second
			return []Request{get(0, 1, "/robots.txt"), q, get(5100-most, 5101, "/page/1")}
		}, ""},
		{"forbidden", plain, func(get getter) []Request {
			return []Request{get(0, 1, "/robots.txt"), get(2000, 2001, "/shut/1"), get(4000, 4001, "/closed/1")}
		}, "forbidden forbidden"},
		{"unread", plain, func(get getter) []Request {
			return []Request{get(0, 1, "/"), get(2000, 2001, "/robots.txt")}
		}, "unread"},
		{"unread because of a kill", plain, func(get getter) []Request {
			q := get(0, 1, "/robots.txt")
			q.Whole = false
			return []Request{q, get(2000, 2001, "/")}
		}, "unread"},
		{"moved robots.txt", robotsMoved, func(get getter) []Request {
			return []Request{get(0, 1, "/robots.txt"), get(1, 2, "0 /robots.txt"), get(2000, 2001, "/")}
		}, ""},
		{"moved robots.txt that is read before the redirect", robotsMoved, func(get getter) []Request {
			return []Request{get(0, 1, "0 /robots.txt"), get(1, 2, "/robots.txt"), get(2000, 2001, "/")}
		}, "unread"},
	}
}

// The report names both requests of a violation with their times.
func TestReport(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &Web{web: newWeb(Options{Hosts: 1, Pages: 2}, "80")}
	add := func(start time.Duration, path, client string) {
		w.log = append(w.log, Request{Host: w.hosts[0], Path: path, Start: begin.Add(start),
			End: begin.Add(start + time.Millisecond), Client: client, Status: 200, Whole: true})
	}
	add(0, "/robots.txt", "127.0.0.1:1")
	add(2*time.Second, "/", "127.0.0.1:1")
	add(3500*time.Millisecond, "/", "127.0.0.1:2")
	r := w.Judge(2 * time.Second)
	want := `3 requests, shortest gap 1.5s of 2s; 1 violations, 1 pages missing, 1 repeated
gap: host 127.1.0.1:80, 1.5s instead of 2s
	+0.000s – +0.001s: / from 127.0.0.1:1, status 200
	+1.500s – +1.501s: / from 127.0.0.1:2, status 200
missing: http://127.1.0.1:80/page/1
repeated: http://127.1.0.1:80/
	+0.000s – +0.001s: / from 127.0.0.1:1, status 200
	+1.500s – +1.501s: / from 127.0.0.1:2, status 200
`
	if r.String() != want {
		t.Errorf("%s", r)
	}
	r.AllowRepeats(begin.Add(2100*time.Millisecond), begin.Add(3*time.Second))
	if len(r.Repeated) != 1 {
		t.Error("a page is allowed that was not in progress")
	}
	r.AllowRepeats(begin.Add(2*time.Second), begin.Add(3*time.Second))
	if len(r.Repeated) != 0 {
		t.Error("a page is not allowed that was in progress")
	}
	r.Allow(func(v Violation) bool { return v.Second.Client == "127.0.0.1:2" })
	if len(r.Violations) != 0 {
		t.Error("a violation is not allowed")
	}
}
