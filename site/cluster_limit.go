package site

import (
	"context"
	"fmt"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// limitEvery is how often a node adds the bytes that it has received to those of the other nodes.
const limitEvery = time.Second

// watchBytes returns a function that gets the progress of the crawl, and a context that ends when all nodes together
// have received as many bytes as the setting max_bytes permits. If there is no limit, it returns next and ctx.
func (s *Site) watchBytes(ctx context.Context, next func(crawler.Progress)) (func(crawler.Progress), context.Context,
	context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if s.cfg.MaxBytes <= 0 {
		return next, ctx, cancel
	}
	var last time.Time
	var added int64
	return func(p crawler.Progress) {
		if next != nil {
			next(p)
		}
		if time.Since(last) < limitEvery {
			return
		}
		last = time.Now()
		all, err := s.node.Load().AddBytes(ctx, p.SoFar.Bytes-added)
		if err != nil { // the next call adds them
			return
		}
		added = p.SoFar.Bytes
		if all >= s.cfg.MaxBytes {
			s.o.Log.Info(fmt.Sprintf("the nodes of the cluster have received %d bytes, which is the limit", all))
			cancel()
		}
	}, ctx, cancel
}
