package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/terms"
)

// ListenToCluster accepts the streams of processes that ask the nodes of a cluster. It returns nil if this process is
// no node.
func (s *Site) ListenToCluster() (net.Listener, error) {
	n := s.node.Load()
	if n == nil {
		return nil, nil
	}
	return n.Listen(cluster.VerbService)
}

// NodeOf returns the name of the node to which the data directory dir belongs, "" if it belongs to none.
func NodeOf(dir string) (string, error) {
	m, err := readMembership(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return m.Node, err
}

func readMembership(dir string) (m membership, err error) {
	name := filepath.Join(dir, membershipFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%s is damaged: %w", name, err)
	}
	return m, nil
}

// Attend makes this process answer for the data directory of a node, which crawls nothing meanwhile. The caller must
// have the data directory open.
func Attend(ctx context.Context, cfg *config.Config, log *slog.Logger, notice func(string)) (*cluster.Reader, error) {
	m, err := readMembership(cfg.Data)
	if err != nil {
		return nil, err
	}
	if m.Cluster == "" {
		return nil, usageError("acapcrawl crawl --cluster … --data "+cfg.Data,
			"the data directory %s has not been in a cluster yet", cfg.Data)
	}
	o := ClusterOptions(cfg)
	o.Node, o.Dir, o.ID, o.Log, o.Copies = m.Node, m.Dir, m.Cluster, log, copiesOf(cfg)
	r, err := cluster.Attend(ctx, o, func() {
		notice(fmt.Sprintf("waiting until the lease of an earlier process of node %s has ended", m.Node))
	})
	var other *cluster.OtherError
	if errors.As(err, &other) {
		return nil, &UsageError{err, "name the servers of that cluster with --cluster"}
	}
	return r, ClusterError(err)
}

// TakenDown returns the take-down in force for an address, nil if there is none.
func (s *Site) TakenDown(ctx context.Context, address string) *acap.Field {
	return terms.TakenDown(ctx, s.lastPolicies(), address)
}
