package site

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// stock knows of which partitions pages are archived in this data directory, for the status of the cluster. It is safe
// for concurrent use.
type stock struct {
	mu        sync.Mutex
	partition func(host string) int // nil: the directory is not connected to a cluster
	is        cluster.Stock
	reported  bool // the cluster knows is
}

// stockEvery is how often a node reports of which partitions it has pages, if that has changed.
const stockEvery = 5 * time.Second

// note notes that a page is archived. It is archive.Options.Stored.
func (s *stock) note(url string) {
	if host, err := address.Host(url); err == nil {
		s.add(host)
	}
}

func (s *stock) add(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.partition != nil && s.is.Stored.Add(s.partition(host)) {
		s.reported = false
	}
}

// begin connects the stock to a cluster. Pages that are archived from now on are noted.
func (s *stock) begin(is cluster.Stock, reported bool, partition func(host string) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.is, s.reported, s.partition = is, reported, partition
	s.is.Stored = is.Stored.Clone()
}

// report stores the stock in the cluster, if it has changed.
func (s *stock) report(ctx context.Context, list *cluster.Orders) error {
	s.mu.Lock()
	is, reported := s.is, s.reported
	is.Stored = is.Stored.Clone()
	s.reported = true
	s.mu.Unlock()
	if reported {
		return nil
	}
	err := list.Report(ctx, is)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reported = false
	}
	return err
}

// beginStock makes the stock known. A node counts, since pages may have been erased. A process that does not crawl uses
// what was reported last. It returns false if the archive could not be read.
func (o *orders) beginStock(ctx context.Context, list *cluster.Orders) bool {
	s, last := o.site, list.Reported()
	if s.node.Load() == nil && last.Copies != "" {
		s.stock.begin(last, true, list.Partition)
		return true
	}
	s.stock.begin(cluster.Stock{Copies: copiesOf(s.cfg)}, false, list.Partition)
	err := s.archive.EachOrigin(func(origin string) error {
		_, host, _ := strings.Cut(origin, "://")
		if s.stock.has(host) {
			return ctx.Err()
		}
		held, err := s.archive.HoldsCopy(origin)
		if held {
			s.stock.add(host)
		}
		return cmp.Or(err, ctx.Err())
	})
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("the status of the cluster does not show of which partitions this node has pages", "error", err)
	}
	return err == nil
}

func (s *stock) has(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.is.Stored.Has(s.partition(host))
}

// keepReporting counts of which partitions there are pages, and reports that to the cluster until ctx ends, and then
// once more.
func (o *orders) keepReporting(ctx context.Context, list *cluster.Orders) {
	if !o.beginStock(ctx, list) {
		return
	}
	for ctx.Err() == nil {
		if err := o.site.stock.report(ctx, list); err != nil && ctx.Err() == nil {
			o.site.o.Log.Debug("the status of the cluster does not show all pages of this node; this is tried again",
				"error", err)
		}
		pauseFor(ctx, stockEvery, nil, nil)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*ordersTick)
	defer cancel()
	_ = o.site.stock.report(last, list) // what fails here is reported when the node is started the next time
}
