package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Settings are fixed when a cluster is made, except Crawl, which SetCrawl changes.
type Settings struct {
	Format     int           `json:"format"` // set by this package
	ID         string        `json:"id"`     // set by this package
	Partitions int           `json:"partitions"`
	Lease      time.Duration `json:"lease"`  // in nanoseconds
	Margin     time.Duration `json:"margin"` // in nanoseconds
	// Crawl has the settings that decide what is crawled and how, by name, each as JSON. All nodes share them.
	Crawl map[string]string `json:"crawl"`
}

// settingsFormat is the format of what a cluster stores. A node joins a cluster of this format or an older one.
const settingsFormat = 1

// Defaults of Settings.
const (
	DefaultPartitions = 1024
	DefaultLease      = 30 * time.Second
	DefaultMargin     = 5 * time.Second
	minLease          = 3 * time.Second
)

// Check returns an error if the settings cannot be used.
func (s Settings) Check() error {
	switch {
	case s.Partitions < 1 || s.Partitions > 1<<14:
		return fmt.Errorf("partitions is %d; it must be from 1 to %d", s.Partitions, 1<<14)
	case s.Lease < minLease:
		return fmt.Errorf("lease is %s; it must be at least %s", s.Lease, minLease)
	case s.Margin < s.Lease/6:
		return fmt.Errorf("lease_margin is %s; it must be at least a sixth of lease, %s", s.Margin, s.Lease/6)
	case s.Margin > s.Lease/2:
		return fmt.Errorf("lease_margin is %s; it must be at most half of lease, %s", s.Margin, s.Lease/2)
	}
	return nil
}

// DifferentError means that the settings of a node differ from those of its cluster.
type DifferentError struct{ Names, Cluster, Node []string }

func (e *DifferentError) Error() string {
	var all []string
	for i, name := range e.Names {
		all = append(all, fmt.Sprintf("%s is %s in the cluster and %s here", name, e.Cluster[i], e.Node[i]))
	}
	return "the settings of this node differ from those of the cluster: " + strings.Join(all, "; ")
}

// join returns the settings of the cluster with their revision. It stores s if the cluster has none.
func (l *link) join(ctx context.Context, s Settings) (Settings, uint64, error) {
	s.Format, s.ID = settingsFormat, strings.ToLower(rand.Text()[:12])
	text, err := json.Marshal(s)
	if err != nil {
		return s, 0, err
	}
	table, err := json.Marshal(Table{make([]Owner, s.Partitions)})
	if err != nil {
		return s, 0, err
	}
	_, err = l.state.create(ctx, settingsKey, text)
	if err != nil && !errors.Is(err, errChanged) {
		return s, 0, err
	}
	held, revision, err := l.settings(ctx)
	if err != nil {
		return s, 0, err
	}
	if err := held.differs(s); err != nil {
		return s, 0, err
	}
	// every node stores the table, since the one that stored the settings may have ended
	if _, err = l.state.create(ctx, tableKey, table); errors.Is(err, errChanged) {
		err = nil
	}
	return held, revision, err
}

const damagedSettings = "the settings of the cluster are damaged"

// settings returns the settings of the cluster with their revision.
func (l *link) settings(ctx context.Context) (s Settings, revision uint64, err error) {
	s, revision, err = readValue[Settings](ctx, l.state, settingsKey, damagedSettings)
	if errors.Is(err, errMissing) {
		return s, 0, errNoCluster
	} else if err == nil {
		err = s.checkFormat()
	}
	return s, revision, err
}

// checkFormat returns an error if this version of the program cannot read what the cluster stores.
func (s Settings) checkFormat() error {
	if s.Format > settingsFormat {
		return fmt.Errorf("the cluster has the format %d, and this version of the program reads up to %d; use a newer "+
			"version", s.Format, settingsFormat)
	}
	return nil
}

// differs returns a *DifferentError if a node with the settings s may not join a cluster with the settings held.
func (held Settings) differs(s Settings) error {
	e := &DifferentError{}
	note := func(name, cluster, node string) {
		if cluster != node {
			e.Names, e.Cluster, e.Node = append(e.Names, name), append(e.Cluster, cluster), append(e.Node, node)
		}
	}
	note("partitions", fmt.Sprint(held.Partitions), fmt.Sprint(s.Partitions))
	note("lease", held.Lease.String(), s.Lease.String())
	note("lease_margin", held.Margin.String(), s.Margin.String())
	names := maps.Clone(held.Crawl)
	maps.Copy(names, s.Crawl)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		note(name, cmp.Or(held.Crawl[name], "not set"), cmp.Or(s.Crawl[name], "not set"))
	}
	if len(e.Names) > 0 {
		return e
	}
	return nil
}

// Seeds are the addresses at which the crawl of a cluster begins, in normal form, with their numbers.
type Seeds map[string]uint64

const damagedSeeds = "the seeds of the cluster are damaged"

// addSeeds gives numbers, from first on, to those seeds that have none yet, and returns all seeds of the cluster.
func (l *link) addSeeds(ctx context.Context, seeds []string, first uint64) (Seeds, error) {
	return changeValue(ctx, l.state, seedsKey, damagedSeeds, func(all *Seeds) (bool, error) {
		if *all == nil {
			*all = Seeds{}
		}
		before := len(*all)
		for _, seed := range seeds {
			if (*all)[seed] == 0 {
				(*all)[seed] = first + uint64(len(*all))
			}
		}
		return len(*all) > before, nil
	})
}

// seeds returns the seeds of the cluster.
func (l *link) seeds(ctx context.Context) (Seeds, error) {
	all, _, err := readValue[Seeds](ctx, l.state, seedsKey, damagedSeeds)
	if errors.Is(err, errMissing) {
		return Seeds{}, nil
	}
	return all, err
}
