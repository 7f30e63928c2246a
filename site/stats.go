package site

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Stats is what a data directory contains, by site and over time, and what was refused or has failed, by reason.
type Stats struct {
	Data     string            `json:"data"`
	Made     time.Time         `json:"made"`
	Crawler  []string          `json:"crawler"` // names of the crawler
	Archive  archive.Stats     `json:"archive"`
	Indexed  int               `json:"indexed"` // pages in the index
	Disk     DiskUse           `json:"disk"`
	Sites    []SiteStats       `json:"sites"`    // by name
	Months   []MonthStats      `json:"months"`   // months with captures, the earliest first
	Refusals []ReasonStats     `json:"refusals"` // what policy refuses, the most frequent first
	Failures []ReasonStats     `json:"failures"` // addresses without a usable answer, the most frequent first
	Erased   []archive.Erasure `json:"erased"`   // all recorded erasures
	Jobs     map[string]JobRun `json:"jobs"`     // the last run of each job
}

// DiskUse is the size of the files of a data directory in bytes.
type DiskUse struct {
	Archive int64 `json:"archive"` // records and bodies, without those in an object store
	Index   int64 `json:"index"`
	Queue   int64 `json:"queue"`
	Other   int64 `json:"other"` // policies, requests, keys and reserve
}

// SiteStats counts what is known of one origin.
type SiteStats struct {
	Site        string    `json:"site"` // scheme://host, with :port if that is not the default
	Pages       int       `json:"pages"`
	Captures    int       `json:"captures"`
	Indexed     int       `json:"indexed"`
	Bytes       int64     `json:"bytes"` // decoded size of the bodies of its captures
	Fetched     int       `json:"fetched"`
	Queued      int       `json:"queued"`
	Refused     int       `json:"refused"` // addresses that were not requested because of policy
	Unreachable int       `json:"unreachable"`
	Failed      int       `json:"failed"`
	First       time.Time `json:"first,omitzero"` // when its first held capture was fetched
	Last        time.Time `json:"last,omitzero"`
}

// MonthStats counts the captures that were fetched in one month (UTC).
type MonthStats struct {
	Month    string `json:"month"` // as in 2026-11
	Captures int    `json:"captures"`
	Bytes    int64  `json:"bytes"`
}

// ReasonStats counts addresses with one reason.
type ReasonStats struct {
	Usage     string `json:"usage,omitempty"` // crawl, preserve or index, if policy refuses it
	Why       string `json:"why"`
	Addresses int    `json:"addresses"`
	Example   string `json:"example"`
}

// maxReasons limits the reasons that are counted. What has further reasons is counted as "other reasons".
const maxReasons = 2000

// statistics is the state of Site.Stats.
type statistics struct {
	*Site
	sites              map[string]*SiteStats
	months             map[string]*MonthStats
	refusals, failures map[[2]string]*ReasonStats
	progress           func(done int)
	done               int
}

// Stats counts what the data directory contains. It walks over all pages and all addresses in the queue. progress,
// which may be nil, is called with the number of those that are done.
func (s *Site) Stats(ctx context.Context, progress func(done int)) (out Stats, err error) {
	out = Stats{Data: s.cfg.Data, Made: time.Now().UTC(), Crawler: s.who.Names, Erased: []archive.Erasure{}}
	if out.Archive, err = s.archive.Stats(); err != nil {
		return out, err
	}
	if out.Disk, err = diskUse(s.cfg.Data); err != nil {
		return out, err
	}
	if out.Jobs, err = JobRuns(s.cfg.Data); err != nil {
		return out, err
	}
	w := &statistics{Site: s, sites: map[string]*SiteStats{}, months: map[string]*MonthStats{},
		refusals: map[[2]string]*ReasonStats{}, failures: map[[2]string]*ReasonStats{}, progress: progress}
	erased := &archive.Erasures{}
	err = errors.Join(
		s.archive.EachCapture(func(c archive.Capture) error { return cmp.Or(ctx.Err(), w.capture(c)) }),
		s.archive.Each(func(r archive.Resource) error { return cmp.Or(ctx.Err(), w.page(ctx, r)) }),
		s.archive.EachTombstone(func(t archive.Tombstone) error {
			erased.Add(t)
			return ctx.Err()
		}),
		s.withFrontier(func(f *crawler.Frontier) error { return w.addresses(ctx, f) }))
	if err != nil {
		return out, err
	}
	for _, one := range w.sites {
		out.Sites = append(out.Sites, *one)
		out.Indexed += one.Indexed
	}
	slices.SortFunc(out.Sites, func(a, b SiteStats) int { return strings.Compare(a.Site, b.Site) })
	for _, month := range slices.Sorted(maps.Keys(w.months)) {
		out.Months = append(out.Months, *w.months[month])
	}
	out.Refusals, out.Failures, out.Erased = frequent(w.refusals), frequent(w.failures), erased.List()
	return out, nil
}

// frequent returns the counts, the most frequent reason first.
func frequent(counts map[[2]string]*ReasonStats) []ReasonStats {
	list := []ReasonStats{}
	for _, c := range counts {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b ReasonStats) int {
		return cmp.Or(cmp.Compare(b.Addresses, a.Addresses), strings.Compare(a.Usage, b.Usage),
			strings.Compare(a.Why, b.Why))
	})
	return list
}

// of returns the counts of the site of an address; those of "" if it has none.
func (w *statistics) of(address string) *SiteStats {
	if w.done++; w.progress != nil {
		w.progress(w.done)
	}
	name := ""
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		name = u.Scheme + "://" + u.Host
	}
	one := w.sites[name]
	if one == nil {
		one = &SiteStats{Site: name}
		w.sites[name] = one
	}
	return one
}

func (w *statistics) capture(c archive.Capture) error {
	one := w.of(c.URL)
	one.Captures++
	one.Bytes += c.Bytes
	if one.First.IsZero() || c.Fetched.Before(one.First) {
		one.First = c.Fetched.UTC()
	}
	if c.Fetched.After(one.Last) {
		one.Last = c.Fetched.UTC()
	}
	month := c.Fetched.UTC().Format("2006-01")
	if w.months[month] == nil {
		w.months[month] = &MonthStats{Month: month}
	}
	w.months[month].Captures++
	w.months[month].Bytes += c.Bytes
	return nil
}

// page counts a page, and why policy refuses to keep or to index it.
func (w *statistics) page(ctx context.Context, r archive.Resource) error {
	one := w.of(r.URL)
	if r.Current != 0 || r.Indexed {
		one.Pages++
	}
	if r.Indexed {
		one.Indexed++
	}
	if r.Status/100 != 2 || r.Current != 0 && r.Indexed {
		return nil
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return err
	}
	policies := w.lastPolicies()
	origin, err := policies.Policy(ctx, u)
	if err != nil { // the policy was never read: nothing is known of the reasons
		return nil
	}
	t := terms.Held(ctx, origin, u, r.Own, nil, terms.Sources{Policies: policies},
		acap.Facts{Now: time.Now().UTC(), FirstCrawled: r.FirstCrawled, FirstIndexed: r.FirstIndexed,
			FirstPreserved: r.FirstPreserved, Fetched: r.LastCrawled})
	for usage, kept := range map[acap.Usage]bool{acap.Preserve: r.Current != 0, acap.Index: r.Indexed} {
		if d := t.Decide(usage); !kept && !d.Allowed {
			count(w.refusals, string(usage), d.Why(), r.URL)
		}
	}
	return nil
}

// addresses counts all addresses of the queue. It reads a few at a time, because a crawl may use the queue.
func (w *statistics) addresses(ctx context.Context, f *crawler.Frontier) error {
	return eachRecord(ctx, f, func(r crawler.Record) error {
		w.address(r)
		return nil
	})
}

// address counts an address of the queue.
func (w *statistics) address(r crawler.Record) {
	one := w.of(r.URL)
	switch r.State {
	case crawler.Fetched:
		one.Fetched++
	case crawler.Queued:
		one.Queued++
	case crawler.Refused:
		one.Refused++
		count(w.refusals, string(acap.Crawl), reason(r), r.URL)
	case crawler.Unreachable:
		one.Unreachable++
		count(w.refusals, string(acap.Crawl), reason(r), r.URL)
	case crawler.Failed:
		one.Failed++
		count(w.failures, "", reason(r), r.URL)
	}
}

// reason returns why an address was not fetched, without the address itself, so that equal reasons are counted
// together.
func reason(r crawler.Record) string {
	why := r.Why
	if _, line, found := strings.Cut(why, " is not permitted: "); found {
		return line
	}
	if _, rest, found := strings.Cut(why, r.URL); found {
		return strings.TrimLeft(rest, " :")
	}
	return why
}

func count(counts map[[2]string]*ReasonStats, usage, why, example string) {
	key := [2]string{usage, why}
	if counts[key] == nil && len(counts) >= maxReasons {
		why = "other reasons"
		key = [2]string{usage, why}
	}
	if counts[key] == nil {
		counts[key] = &ReasonStats{Usage: usage, Why: why, Example: example}
	}
	counts[key].Addresses++
}

// diskUse returns the sizes of the files in a data directory. Files that disappear meanwhile do not count.
func diskUse(dir string) (use DiskUse, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		part, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch first, _, _ := strings.Cut(filepath.ToSlash(part), "/"); first {
		case "archive.db", "bodies":
			use.Archive += info.Size()
		case "index":
			use.Index += info.Size()
		case frontierName:
			use.Queue += info.Size()
		default:
			use.Other += info.Size()
		}
		return nil
	})
	return use, err
}
