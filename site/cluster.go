package site

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/disk"
)

// clusterSettings lists the settings that decide what is crawled and how, so that all nodes of a cluster must have the
// same.
var clusterSettings = strings.Fields("crawler purposes cannot preferences for tdmrep_covers_ai content_signal_use " +
	"operator_kind operator_country contact policy.strict policy.dialect policy.noarchive_preserve scope depth " +
	"include exclude requisites canonical drop_parameters recrawl_min recrawl_max adaptive per_address delay " +
	"per_host sitemaps allow_private max_host_urls max_pages max_bytes max_body timeout preserve index actions.mode")

// membershipFile is the name of the file that says to which node and cluster a data directory belongs.
const membershipFile = "cluster.json"

// membership is the content of membershipFile.
type membership struct {
	Cluster string `json:"cluster"` // "": the node has not joined yet
	Node    string `json:"node"`
	Dir     string `json:"dir"` // identifies the data directory
	// when the directory was recovered: policies that were read before are not used to show pages; zero: it was not
	Recovered time.Time `json:"recovered,omitzero"`
}

// ClusterOptions returns how to reach the cluster that cfg names.
func ClusterOptions(cfg *config.Config) cluster.Options {
	c := cfg.Cluster
	crawl := map[string]string{}
	for _, v := range cfg.Values() {
		if slices.Contains(clusterSettings, v.Key) {
			text, err := json.Marshal(v.Value)
			if err != nil {
				panic("a setting cannot be written as JSON: " + err.Error())
			}
			crawl[v.Key] = string(text)
		}
	}
	return cluster.Options{Servers: c.Servers, Credentials: c.Credentials,
		TLS:  cluster.TLS{CA: c.CA, Certificate: c.Certificate, Key: c.Key},
		Node: c.Node, Version: Version,
		Settings: cluster.Settings{Partitions: c.Partitions, Lease: c.Lease, Margin: c.Margin, Crawl: crawl}}
}

// joinCluster makes this process a node of the cluster that the settings name. It does nothing if they name none.
func (s *Site) joinCluster(ctx context.Context) error {
	m, err := s.membership()
	if err != nil || s.cfg.Cluster.Servers == "" {
		return err
	}
	s.endApart()
	if err := checkClusterKey(ctx, s.cfg); err != nil { // before the node has a lease, because it may take long
		return err
	}
	o := ClusterOptions(s.cfg)
	o.Dir, o.Log, o.Clock, o.Copies = m.Dir, s.o.Log, s.o.Clock, copiesOf(s.cfg)
	n, err := cluster.Join(ctx, o, func() {
		s.o.Notice(fmt.Sprintf("waiting until the lease of an earlier process of node %s has ended; this takes at "+
			"most %s",
			m.Node, s.cfg.Cluster.Lease+s.cfg.Cluster.Margin))
	})
	if err != nil {
		return ClusterError(err)
	}
	id := n.Settings().ID
	if m.Cluster != "" && m.Cluster != id {
		n.Abandon()
		return m.otherCluster(s.cfg.Data, id)
	}
	m.Cluster = id
	if err := m.write(s.cfg.Data); err != nil {
		n.Abandon()
		return err
	}
	s.shared.Store(true)
	s.node.Store(n)
	return nil
}

// membership reads to which node the data directory belongs, and makes the directory belong to the node that the
// settings name if it belongs to none. The error is a *UsageError if the settings name another node or none.
func (s *Site) membership() (m membership, err error) {
	dir, node := s.cfg.Data, s.cfg.Cluster.Node
	m, err = readMembership(dir)
	switch {
	case errors.Is(err, os.ErrNotExist) && s.cfg.Cluster.Servers == "":
		return m, nil
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(frontierFile(s.cfg)); err == nil {
			return m, usageError("name another data directory with --data", "the data directory %s holds the crawl of "+
				"one machine, so it cannot become a node of a cluster", dir)
		}
		if node == "" {
			return m, usageError("--node a", "a machine in a cluster needs a name")
		}
		m = membership{Node: node, Dir: rand.Text()}
		return m, m.write(dir)
	case err != nil:
		return m, err
	case s.cfg.Cluster.Servers == "":
		return m, usageError("--cluster nats://…", "the data directory %s belongs to node %s of a cluster; name its "+
			"servers, or another data directory with --data", dir, m.Node)
	case node != "" && node != m.Node:
		return m, usageError("--node "+m.Node, "the data directory %s belongs to node %s, not to %s", dir, m.Node, node)
	}
	s.cfg.Cluster.Node = m.Node
	return m, nil
}

// otherCluster returns the error if the servers have the cluster id, to which the data directory dir does not belong.
func (m membership) otherCluster(dir, id string) error {
	return usageError("name another data directory with --data", "the data directory %s belongs to the cluster %s, "+
		"but the servers have the cluster %s", dir, m.Cluster, id)
}

// readMembership notes whether the data directory belongs to a node, and when it was recovered.
func (s *Site) readMembership() error {
	m, err := readMembership(s.cfg.Data)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	s.shared.Store(true)
	s.recovered = m.Recovered
	return nil
}

func (m membership) write(dir string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, membershipFile), append(text, '\n'), 0o600)
}

// ClusterError returns err with what the user can do.
func ClusterError(err error) error {
	var used *cluster.InUseError
	var differs *cluster.DifferentError
	var clock *cluster.ClockError
	var removed *cluster.RemovedError
	var file *cluster.FileError
	switch {
	case errors.As(err, &file):
		return &UsageError{err, "check the setting " + file.Setting}
	case errors.As(err, &used):
		return &UsageError{err, "give this machine another name with --node, and its own data directory"}
	case errors.As(err, &differs):
		return &UsageError{err, "use the settings of the cluster, or change them for all nodes with acapcrawl " +
			"cluster set"}
	case errors.As(err, &clock):
		return &FailedError{err, "synchronize the clocks, for example with chrony"}
	case errors.As(err, &removed):
		return &UsageError{err, "use a new data directory with --data"}
	case errors.Is(err, cluster.ErrNoQuorum):
		return &FailedError{err, "check the addresses in --cluster, and that most of the servers run"}
	}
	return err
}

// tenure is gate.Options.Tenure: it permits a request only while this node owns the host. A machine that crawls alone
// owns every host.
func (s *Site) tenure(host string) error {
	n := s.node.Load()
	if n == nil {
		if s.shared.Load() {
			return errNotJoined
		}
		return nil
	}
	switch owned, active := n.Holds(host); {
	case !owned:
		return gate.ErrForeign
	case !active:
		return gate.ErrPaused
	}
	return nil
}

// heldUntil is gate.Options.Held. The node that owned a host before may have requested it just before, or been asked
// for a pause. Visits wait for that; requests for other nodes, and for policies, come without a visit.
func (s *Site) heldUntil(host string) (until time.Time) {
	n := s.node.Load()
	if n == nil {
		return until
	}
	if owned, _ := n.Holds(host); !owned {
		return until
	}
	names := []string{host}
	for _, port := range []string{":80", ":443"} { // the frontier leaves default ports out
		if name, cut := strings.CutSuffix(host, port); cut {
			names = append(names, name)
		}
	}
	until, err := s.frontier.HeldUntil(names...)
	if err != nil {
		s.o.Log.Warn("the pause of a host cannot be read", "host", host, "error", err)
	}
	return until
}

// errNotJoined refuses requests of verbs that do not take part in the cluster to which the data directory belongs. Only
// the node that owns a host knows when it may be requested.
var errNotJoined = fmt.Errorf("the data directory belongs to a node of a cluster, and only a crawl with --cluster "+
	"makes requests for it: %w", gate.ErrForeign)

// together reports whether hosts belong to the same partition.
func (s *Site) together(host, other string) bool {
	n := s.node.Load()
	return n == nil || n.Partition(host) == n.Partition(other)
}

// clusterFrontier is the frontier as the node of a cluster uses it: when the cluster has new seeds, their hosts may be
// requested even if their addresses are private.
type clusterFrontier struct {
	*crawler.Frontier
	gate *gate.Gate
}

// SetSeeds stores the seeds of the cluster.
func (f clusterFrontier) SetSeeds(seeds map[string]uint64) error {
	nameHosts(f.gate, slices.Collect(maps.Keys(seeds)))
	return f.Frontier.SetSeeds(seeds)
}

// enterCrawl lets the node take over its share of the partitions, and adds the seeds to those of the cluster. It
// returns false if no node has named a seed within the time that the settings allow, so there is nothing to crawl.
func (s *Site) enterCrawl(ctx context.Context, seeds []string) (begun bool, err error) {
	n := s.node.Load()
	n.Start(clusterFrontier{s.frontier, s.gate}, s.gate.Pages)
	if err := n.Ready(ctx); err != nil {
		return false, err
	}
	var normal []string
	for _, seed := range seeds {
		u, err := address.Normal(seed)
		if err != nil {
			return false, err
		}
		normal = append(normal, u)
	}
	if len(normal) > 0 {
		return true, ClusterError(n.AddSeeds(ctx, normal))
	}
	waiting, cancel := context.WithTimeout(ctx, s.cfg.Cluster.Wait)
	defer cancel()
	err = n.AwaitSeed(waiting)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// crawlShared visits the pages of the partitions that this node owns, until nothing in the cluster is left to do.
func (s *Site) crawlShared(ctx context.Context, c *session, order crawlOrder) (sum crawler.Summary, err error) {
	n := s.node.Load()
	begun, err := s.enterCrawl(ctx, order.Seeds)
	switch {
	case err != nil && ctx.Err() != nil:
		return crawler.Summary{Interrupted: true}, nil
	case err != nil || !begun:
		return sum, err
	}
	endErrands, err := s.serveErrands(n)
	if err != nil {
		return sum, err
	}
	defer endErrands()
	defer c.keepAskingParts(ctx)()
	defer context.AfterFunc(ctx, s.frontier.Finish)()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-n.Ended():
			s.frontier.Finish()
		case <-ended:
		}
	}()
	progress, limited, cancel := s.watchBytes(ctx, order.Progress)
	defer cancel()
	order.Progress = progress
	go func() {
		select {
		case <-n.Changed():
			cancel()
		case <-ended:
		}
	}()
	if sum, err = c.crawler(s.cfg, order).Run(limited, nil); err == nil && !sum.Interrupted {
		sum.NoteSeeds(s.endedSeeds(ctx, order.Seeds))
	}
	return sum, err
}

// ownLimit returns a limit of the settings for this machine: 0, which means no limit, if the limit is for all nodes of
// a cluster together.
func (s *Site) ownLimit(limit int64) int64 {
	if s.node.Load() != nil {
		return 0
	}
	return max(limit, 0)
}

// reservePages is gate.Options.Reserve.
func (s *Site) reservePages(ctx context.Context) (int, error) {
	n := s.node.Load()
	if n == nil {
		return 0, errNotJoined
	}
	return n.ReservePages(ctx, s.cfg.MaxPages)
}

// leaveTime is how long a node waits for the servers when it leaves.
const leaveTime = 10 * time.Second

// leaveCluster hands the partitions over. It does nothing on a machine that crawls alone.
func (s *Site) leaveCluster() {
	n := s.node.Load()
	if n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := errors.Join(n.ReturnPages(ctx, s.gate.Unused()), n.Leave(ctx)); err != nil {
		s.o.Log.Warn("the other nodes take over what this node had when its lease has ended", "error", err)
		if s.frontier != nil {
			s.frontier.Abort()
		}
	}
}

// visits reports whether this machine visits the page at an address.
func (s *Site) visits(rawurl string) bool {
	u, err := url.Parse(rawurl)
	return err == nil && !s.foreign(u)
}

// owns reports whether this machine may store what it received from the host of u.
func (s *Site) owns(u *url.URL) bool {
	n := s.node.Load()
	if n == nil {
		return true
	}
	owned, active := n.Holds(u.Host)
	return owned && active
}
