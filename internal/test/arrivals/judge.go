package arrivals

import (
	"net/http"
	"slices"
	"time"
)

// Kind is a rule that a crawler broke.
type Kind string

// The rules. Gap, Overlap and RetryAfter concern two requests to a host, in the order of their start.
const (
	Gap        Kind = "gap"         // the second request starts too early after the start of the first
	Overlap    Kind = "overlap"     // the second request starts while the first is in progress
	RetryAfter Kind = "retry-after" // the second request starts during the pause that the first demands
	Forbid     Kind = "forbidden"   // robots.txt forbids the request
	Unread     Kind = "unread"      // a page was requested before robots.txt was answered
)

// Violation is a request that should not have been made, or not at that time.
type Violation struct {
	Kind   Kind
	First  Request // the earlier request; zero for Forbid and Unread
	Second Request
	// the shortest allowed time between the two, and the time that passed; for Overlap, Got is negative
	Want, Got time.Duration
}

// Judge compares the requests so far with what the hosts demand. delay is the shortest time between
// the starts of two requests to a host; a longer Crawl-delay counts instead as soon as the host has
// answered with its robots.txt.
func (w *Web) Judge(delay time.Duration) *Report {
	all := w.Requests()
	r := &Report{Requests: len(all), Delay: delay}
	byHost := map[string][]Request{}
	for _, q := range all {
		byHost[q.Host] = append(byHost[q.Host], q)
	}
	for _, host := range w.hosts {
		list := byHost[host]
		slices.SortStableFunc(list, func(a, b Request) int { return a.Start.Compare(b.Start) })
		byHost[host] = list
		r.judgePace(list, delay, w.crawlDelay(w.index[host]))
	}
	for _, host := range w.hosts {
		r.judgeRights(byHost[host], w.readRobots(byHost, w.index[host]))
	}
	w.judgePages(all, r)
	slices.SortStableFunc(r.Violations, func(a, b Violation) int { return a.Second.Start.Compare(b.Second.Start) })
	return r
}

// judgePace checks the times of the requests to one host.
func (r *Report) judgePace(list []Request, delay, crawlDelay time.Duration) {
	var robots time.Time // end of the first answer with robots.txt
	var longest Request  // the request that ends last of those before
	var pause Request    // the request whose Retry-After ends last
	for i, b := range list {
		if robots.IsZero() && b.Path == robotsPath && b.Status == http.StatusOK {
			robots = b.End
		}
		if i == 0 {
			longest = b
			pause = b
			continue
		}
		a, want := list[i-1], delay
		if !robots.IsZero() && robots.Before(b.Start) {
			want = max(delay, crawlDelay)
		}
		got := b.Start.Sub(a.Start)
		if r.Pairs++; r.Pairs == 1 || got < r.Shortest {
			r.Shortest = got
		}
		if got < want-Tolerance {
			r.add(Gap, a, b, want, got)
		}
		if longest.End.IsZero() || longest.End.After(b.Start) {
			var negative time.Duration
			if !longest.End.IsZero() {
				negative = b.Start.Sub(longest.End)
			}
			r.add(Overlap, longest, b, 0, negative)
		}
		if got := b.Start.Sub(pause.End); pause.retryAfter > 0 && got < pause.retryAfter-Tolerance {
			r.add(RetryAfter, pause, b, pause.retryAfter, got)
		}
		if !longest.End.IsZero() && (b.End.IsZero() || b.End.After(longest.End)) {
			longest = b
		}
		if b.retryAfter > 0 {
			pause = b
		}
	}
}

// readRobots returns when the robots.txt of host i was answered for the first time. If it redirects, that is the first
// answer of the other host to a request after the redirect. It returns the zero time if there was no answer.
func (w *Web) readRobots(byHost map[string][]Request, i int) time.Time {
	first := func(list []Request, after time.Time) (end time.Time) {
		for _, q := range list {
			if q.Path == robotsPath && q.Whole && !q.Start.Before(after) && (end.IsZero() || q.End.Before(end)) {
				end = q.End
			}
		}
		return end
	}
	end := first(byHost[w.hosts[i]], time.Time{})
	if end.IsZero() || !w.is(i, robotsMoved) {
		return end
	}
	return first(byHost[w.hosts[i-robotsMoved]], end)
}

// judgeRights checks that the requests to one host, whose robots.txt was read at a time, were allowed.
func (r *Report) judgeRights(list []Request, read time.Time) {
	for _, q := range list {
		switch {
		case q.Path == robotsPath:
		case Forbidden(q.Path):
			r.add(Forbid, Request{}, q, 0, 0)
		case read.IsZero() || q.Start.Before(read):
			r.add(Unread, Request{}, q, 0, 0)
		}
	}
}

func (r *Report) add(k Kind, first, second Request, want, got time.Duration) {
	r.Violations = append(r.Violations, Violation{k, first, second, want, got})
}

// judgePages checks that each page was fetched once, and each credit. An answer with a pause is no fetch.
func (w *Web) judgePages(all []Request, r *Report) {
	fetched := map[string][]Request{}
	for _, q := range all {
		if q.retryAfter == 0 {
			fetched[q.URL()] = append(fetched[q.URL()], q)
		}
	}
	whole := func(q Request) bool { return q.Whole }
	for _, url := range w.credits() {
		if !slices.ContainsFunc(fetched[url], whole) {
			r.Missing = append(r.Missing, url)
		}
	}
	for _, url := range w.Pages() {
		list := fetched[url]
		if !slices.ContainsFunc(list, whole) {
			r.Missing = append(r.Missing, url)
		}
		if len(list) > 1 {
			slices.SortStableFunc(list, func(a, b Request) int { return a.Start.Compare(b.Start) })
			r.Repeated = append(r.Repeated, list)
		}
	}
}
