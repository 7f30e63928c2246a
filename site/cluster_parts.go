package site

import (
	"context"
	"net/url"
	"sync"
	"time"
)

// How often a node asks again for a resource of another node's partition that pages of this node require.
const (
	partPause = 5 * time.Second // after the first failure; doubled after each further one
	partTries = 8               // in one crawl; then until the page is visited again, or the next crawl
)

// partTry is when a resource is requested again.
type partTry struct {
	next  time.Time
	tries int
}

// keepAskingParts requests resources for which stored pages wait because a request failed, if the hosts of the
// resources belong to other nodes. The queue of the owner does not help: the owner has no page that requires them. The
// function end stops it.
func (s *session) keepAskingParts(ctx context.Context) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() {
		known := map[string]*partTry{}
		for ctx.Err() == nil {
			if err := s.askParts(ctx, known, time.Now()); err != nil && ctx.Err() == nil {
				s.log.Warn("a resource that pages require cannot be requested again", "error", err)
			}
			sleep(ctx, partPause)
		}
	})
	return func() {
		stop()
		asking.Wait()
	}
}

// askParts requests the resources that are due. known are those that were seen before.
func (s *session) askParts(ctx context.Context, known map[string]*partTry, now time.Time) error {
	awaited, err := s.site.archive.AwaitedParts()
	if err != nil {
		return err
	}
	waiting := map[string]*partTry{}
	for _, address := range awaited {
		if u, err := url.Parse(address); err != nil || !s.site.foreign(u) {
			continue
		}
		t := known[address]
		if t == nil {
			t = &partTry{next: now.Add(partPause)}
		}
		waiting[address] = t
	}
	clear(known)
	for address, t := range waiting {
		known[address] = t
		if now.Before(t.next) || t.tries == partTries {
			continue
		}
		t.tries++
		t.next = now.Add(partPause << t.tries)
		if _, err := s.Part(ctx, address); err != nil {
			return err
		}
	}
	return nil
}
