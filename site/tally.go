package site

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

const (
	mostTallies = 512 // origins whose counts are kept
	mostSkipped = 100 // skipped addresses that are listed for an origin
	tallyBatch  = 500 // records of the queue that are read at once

	// After data have changed, a site is counted again at the earliest after a multiple of the time
	// that the last count took, and during a crawl after a pause: counting uses only a small part of
	// the machine.
	tallyFactor = 20
	tallyPause  = 10 * time.Second
)

// tally holds the counts of one origin.
type tally struct {
	open, full side               // for everybody and for the operator
	host       *crawler.HostState // nil: the queue knows nothing of the host

	policy string    // policyState of the origin when the count began
	data   string    // dataState when the count began
	until  time.Time // when the first permission to list a page ends; zero: never
	took   time.Duration
}

// side is what a tally contains for one kind of reader.
type side struct {
	counts  view.SiteCounts
	skipped []view.SkippedAddress
	links   []view.SkippedAddress // numbers of addresses that are known only from links
	more    bool                  // there are more skipped addresses
}

func (t *tally) of(full bool) *side {
	if full {
		return &t.full
	}
	return &t.open
}

// tallies counts the addresses of origins, one origin at a time, and keeps the results. A result is
// used no longer as soon as the policy changes or a time limit on a counted page ends. If only the data have
// changed, it may be a little old.
type tallies struct {
	site  *Site
	ctx   context.Context
	end   context.CancelFunc
	turn  chan struct{} // holds a value while an origin is counted
	tasks sync.WaitGroup

	mu      sync.Mutex
	known   map[string]*tally
	running map[string]*counting
}

// counting is a count that has not ended.
type counting struct {
	done   chan struct{}
	result *tally
	err    error
}

func (o *tallies) begin() {
	o.ctx, o.end = context.WithCancel(context.Background())
	o.turn, o.known, o.running = make(chan struct{}, 1), map[string]*tally{}, map[string]*counting{}
}

func (o *tallies) close() {
	o.end()
	o.tasks.Wait()
}

// of returns the tally of an origin. If there is none that may be used, it begins to count, and returns
// nil if the count does not end before ctx.
func (o *tallies) of(ctx context.Context, origin string) (*tally, error) {
	policy, err := o.policyState(origin)
	if err != nil {
		return nil, err
	}
	data, err := o.dataState()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	o.mu.Lock()
	t := o.known[origin]
	if t != nil && (t.policy != policy || !t.until.IsZero() && !now.Before(t.until)) {
		t = nil
	}
	if t != nil && (t.data == data || now.Sub(t.open.counts.Counted) < o.pause(t)) {
		o.mu.Unlock()
		return t, nil
	}
	c := o.start(origin, policy, data)
	o.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		return t, nil
	case <-o.ctx.Done():
		return nil, o.ctx.Err()
	}
	if c.err != nil || c.result.policy != policy {
		return nil, c.err
	}
	return c.result, nil
}

// pause returns how long a tally is used although data have changed.
func (o *tallies) pause(t *tally) time.Duration {
	if o.site.progress.last.Load() != nil {
		return max(tallyPause, tallyFactor*t.took)
	}
	return tallyFactor * t.took
}

// start begins to count an origin, unless that is under way. The caller holds mu.
func (o *tallies) start(origin, policy, data string) *counting {
	if c := o.running[origin]; c != nil {
		return c
	}
	c := &counting{done: make(chan struct{})}
	o.running[origin] = c
	o.tasks.Go(func() {
		defer close(c.done)
		select {
		case o.turn <- struct{}{}:
			defer func() { <-o.turn }()
			c.result, c.err = o.count(origin)
		case <-o.ctx.Done():
			c.err = o.ctx.Err()
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.running, origin)
		if c.err != nil {
			return
		}
		c.result.policy, c.result.data = policy, data
		if len(o.known) >= mostTallies {
			clear(o.known)
		}
		o.known[origin] = c.result
	})
	return c
}

// policyState returns a text that changes whenever the policy of an origin or its take-downs change.
func (o *tallies) policyState(origin string) (string, error) {
	held, known := o.site.policy.HeldOf(origin)
	if !known {
		return "", nil
	}
	bound, err := o.site.ledger.Bind(origin, held.Policy)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprint(&b, held.Status, held.Since.UnixNano(), held.Incomplete)
	for _, file := range slices.Sorted(maps.Keys(held.Digests)) {
		fmt.Fprint(&b, " ", file, held.Digests[file])
	}
	for _, a := range bound.Actions() {
		fmt.Fprint(&b, " ", a.Action, a.URL, a.Execute)
	}
	return b.String(), nil
}

// dataState returns a text that changes whenever something is stored or erased, or the queue changes.
func (o *tallies) dataState() (string, error) {
	held, err := o.site.archive.Stats()
	if err != nil {
		return "", err
	}
	state := fmt.Sprint(held, o.site.archive.Erasures())
	if o.site.progress.last.Load() != nil { // the queue changes all the time
		state += time.Now().String()
	}
	return state, nil
}

// count counts the addresses of an origin.
func (o *tallies) count(origin string) (*tally, error) {
	t, began := &tally{}, time.Now()
	p := o.site.Presenter()
	if err := o.countPages(t, p, origin); err != nil {
		return nil, err
	}
	if err := o.countQueue(t, p, origin); err != nil {
		return nil, err
	}
	t.took = time.Since(began)
	t.open.counts.Counted, t.full.counts.Counted = began.UTC(), began.UTC()
	return t, nil
}

// countPages counts the archived and indexed pages.
func (o *tallies) countPages(t *tally, p *present.Presenter, origin string) error {
	return o.site.archive.EachUnder(origin+"/", func(r archive.Resource) error {
		if held, err := o.holds(r); err != nil || !held {
			return cmp.Or(err, o.ctx.Err())
		}
		listed, err := o.listed(t, p, r.URL)
		if err != nil {
			return err
		}
		for _, s := range t.sides(listed) {
			s.counts.Pages++
			s.visited(r.LastCrawled)
		}
		return nil
	})
}

// holds reports whether a version of a page is archived, or the page is indexed.
func (o *tallies) holds(r archive.Resource) (bool, error) {
	if r.Current != 0 || r.Indexed || r.Versions == 0 {
		return r.Current != 0 || r.Indexed, nil
	}
	list, err := o.site.archive.Captures(r.URL)
	return len(list) > 0, err
}

// sides returns the parts of t in which an address counts.
func (t *tally) sides(listed bool) []*side {
	if listed {
		return []*side{&t.open, &t.full}
	}
	return []*side{&t.full}
}

func (s *side) visited(at time.Time) {
	if at.After(s.counts.LastVisit) {
		s.counts.LastVisit = at
	}
}

// listed reports whether every reader may see a link to an address.
func (o *tallies) listed(t *tally, p *present.Presenter, address string) (bool, error) {
	listed, until, err := p.Listed(o.ctx, address, present.Reader{Public: true})
	if listed && !until.IsZero() && (t.until.IsZero() || until.Before(t.until)) {
		t.until = until
	}
	return listed, err
}

// countQueue counts the addresses of the queue by their state. Between two batches it leaves the queue
// to others.
func (o *tallies) countQueue(t *tally, p *present.Presenter, origin string) error {
	u, err := url.Parse(origin)
	if err != nil {
		return err
	}
	for after, done := "", false; !done; {
		var list []crawler.Record
		err := o.site.withFrontier(func(f *crawler.Frontier) (err error) {
			host, known, err := f.Host(u.Host)
			if err == nil && known {
				t.host = &host
				list, err = f.Records(origin+"/", after, tallyBatch)
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range list {
			listed, err := o.listed(t, p, r.URL)
			if err == nil && listed && r.Led != "" { // the reason names the target of the redirect
				listed, err = o.listed(t, p, r.Led)
			}
			if err != nil {
				return err
			}
			o.add(t, &r, listed)
			after = r.URL
		}
		done = len(list) < tallyBatch
	}
	return nil
}

// add counts a record of the queue in t.
func (o *tallies) add(t *tally, r *crawler.Record, listed bool) {
	for _, s := range t.sides(listed) {
		s.count(r)
		if r.State == crawler.Queued || r.State == crawler.Fetched {
			continue
		}
		full := s == &t.full
		if !full && !r.Seed && !r.Listed() {
			s.countSkipped(o.skippedLink(r))
		} else if s.more = len(s.skipped) == mostSkipped; !s.more {
			s.skipped = append(s.skipped, o.skipped(r, full))
		}
	}
}

func (s *side) count(r *crawler.Record) {
	c := &s.counts
	switch r.State {
	case crawler.Queued:
		c.Queued++
	case crawler.Fetched:
		s.visited(r.When)
	case crawler.Refused:
		c.Refused++
	case crawler.Unreachable:
		c.Unreachable++
	case crawler.Failed:
		c.Failed++
		s.visited(r.When)
	case crawler.Outside:
		c.Outside++
	case crawler.Deep:
		c.Deep++
	case crawler.Trapped:
		c.Trapped++
	}
	if !r.Again.IsZero() && (c.Again.IsZero() || r.Again.Before(c.Again)) {
		c.Again = r.Again
	}
}
