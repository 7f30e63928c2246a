package site

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// laterAgain holds pages that were erased outside a crawl, and that must be crawled again soon. Erasures may run while
// the queue is open for one call, so they do not change it. It is safe for concurrent use.
type laterAgain struct {
	mu    sync.Mutex
	pages []string
}

func (a *laterAgain) add(_ context.Context, pages []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pages = append(a.pages, pages...)
	return nil
}

// maxAgain is how many pages one transaction of the queue queues again.
const maxAgain = 1000

// queueAgain queues the pages that were added to s.again. A page that no crawl has visited is not queued, and neither
// is any in the data directory of a node of a cluster that does not crawl: only the owner of a host queues its pages.
func (s *Site) queueAgain() error {
	s.again.mu.Lock()
	pages := s.again.pages
	s.again.pages = nil
	s.again.mu.Unlock()
	if len(pages) == 0 {
		return nil
	}
	return s.changeQueue(func() error {
		return s.withOwnFrontier(func(f *crawler.Frontier) error {
			for some := range slices.Chunk(pages, maxAgain) {
				if err := f.Again(some...); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
