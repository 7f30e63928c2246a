package site

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// copyAgain is how long a crawl waits before it tries again to store what could not be copied to the servers of the
// cluster. The archive makes no copies for that long after a failure.
const copyAgain = 10 * time.Second

// store calls fn, which stores something of the host of u. If that fails because the servers of the cluster do not
// answer, store waits and calls fn again: what was requested need not be requested twice. It returns
// crawler.ErrLost if this node may not store anything of the host by then, and crawler.ErrLater if the crawl ends.
func (s *session) store(u *url.URL, fn func() error) error {
	for {
		err := fn()
		if !errors.Is(err, cluster.ErrNoQuorum) {
			return err
		}
		s.log.Warn("a page cannot be stored, because its keys cannot be copied; this is tried again", "url", u.String(),
			"error", err)
		select {
		case <-time.After(copyAgain):
		case <-s.ending:
			return fmt.Errorf("%w: %w", crawler.ErrLater, err)
		}
		if !s.site.owns(u) {
			return crawler.ErrLost
		}
	}
}
