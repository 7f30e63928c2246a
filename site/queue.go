package site

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
)

// QueuedHost is what is queued of one host for one job.
type QueuedHost struct {
	Jobs   []string  `json:"jobs"` // the jobs that name the seed
	Seed   string    `json:"seed"` // from which the addresses were found; "": from none
	Host   string    `json:"host"`
	Queued int       `json:"queued"`
	Due    time.Time `json:"due"` // when the host may be requested next
	Why    string    `json:"why"` // why it is not requested now; "": nothing prevents it
}

// Queue lists what is queued, by job, seed and host; within a seed, the host that is due first is first. crawls reports
// whether a crawl runs now.
func (s *Site) Queue(jobs []config.Job) (list []QueuedHost, crawls bool, err error) {
	s.queue.Lock()
	crawls = s.frontier != nil
	s.queue.Unlock()
	err = s.withFrontier(func(f *crawler.Frontier) error {
		numbers, err := f.SeedNumbers()
		if err != nil {
			return err
		}
		seeds, now := map[uint64]string{}, time.Now()
		for seed, number := range numbers {
			seeds[number] = seed
		}
		names := jobsOf(jobs)
		return f.EachQueue(func(q crawler.HostQueue) error {
			seed := seeds[q.From]
			list = append(list, QueuedHost{Jobs: names[seed], Seed: seed, Host: q.Host, Queued: q.Count,
				Due: q.Due.UTC(), Why: whyNotNow(q, now, crawls)})
			return nil
		})
	})
	slices.SortStableFunc(list, func(a, b QueuedHost) int {
		return cmp.Or(slices.Compare(a.Jobs, b.Jobs), strings.Compare(a.Seed, b.Seed), a.Due.Compare(b.Due))
	})
	return list, crawls, err
}

// jobsOf returns the names of the jobs that have a seed, by the seed in normal form.
func jobsOf(jobs []config.Job) map[string][]string {
	names := map[string][]string{}
	for _, j := range jobs {
		for _, seed := range j.Seeds {
			if u, err := crawler.Link(seed, nil); err == nil && !slices.Contains(names[u], j.Name) {
				names[u] = append(names[u], j.Name)
			}
		}
	}
	return names
}

// whyNotNow explains in one clause why the host of q is not requested now; "" if nothing prevents it.
func whyNotNow(q crawler.HostQueue, now time.Time, crawls bool) string {
	switch {
	case !q.Due.After(now) && !crawls:
		return "no crawl runs"
	case !q.Due.After(now) && q.Busy:
		return "a request to the host is in progress"
	case !q.Due.After(now):
		return ""
	case q.Failures == 1:
		return "the host has failed"
	case q.Failures > 1:
		return fmt.Sprintf("the host has failed %d times in a row", q.Failures)
	case q.Delay > 0:
		return fmt.Sprintf("its robots.txt asks for a pause of %s", q.Delay)
	}
	return "the host rests between two requests"
}

// erasedPages holds pages that were erased because of something from which their scripts made them, until the queue
// has them. An erasure must not wait for the queue, which in a cluster may wait for the servers, and which may be
// open for the very call that erases. It is safe for concurrent use.
type erasedPages struct {
	direct atomic.Bool // the queue stays open, so that pages may be queued at once
	mu     sync.Mutex
	list   []string
	busy   bool // a goroutine queues pages, and also those that are added meanwhile
}

// maxErased is how many pages one transaction of the queue queues again.
const maxErased = 1000

// take returns pages to queue; nil if there are none, or if another goroutine queues them. After it has returned
// pages, done must be called.
func (e *erasedPages) take() (pages []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy || len(e.list) == 0 {
		return nil
	}
	e.busy = true
	n := min(len(e.list), maxErased)
	pages, e.list = e.list[:n:n], e.list[n:]
	return pages
}

// done puts pages back that could not be queued.
func (e *erasedPages) done(failed []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = false
	e.list = append(failed, e.list...)
}

// crawlErased makes an erased page be crawled again soon. If the queue cannot be changed now, queueErased does that.
func (s *Site) crawlErased(page string) {
	s.erasedPages.mu.Lock()
	s.erasedPages.list = append(s.erasedPages.list, page)
	s.erasedPages.mu.Unlock()
	if s.erasedPages.direct.Load() {
		_ = s.changeQueue(s.queueErased) // after an error the pages stay in the list, and Close returns the error
	}
}

// queueErased queues the erased pages that are not in the queue yet. It ignores pages that no crawl has visited.
func (s *Site) queueErased() error {
	for {
		pages := s.erasedPages.take()
		if pages == nil {
			return nil
		}
		queued := false
		err := s.withOwnFrontier(func(f *crawler.Frontier) error {
			queued = true
			return f.Again(pages...)
		})
		if err != nil {
			s.erasedPages.done(pages)
			return err
		}
		s.erasedPages.done(nil)
		if !queued && s.shared.Load() {
			s.o.Log.Warn("pages were erased because of something from which their scripts made them; since this node does "+
				"not crawl, they are crawled again only when they are due", "pages", len(pages))
		}
	}
}
