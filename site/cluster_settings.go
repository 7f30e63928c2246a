package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// SharedSettings returns the settings that all nodes of the cluster have, for config.Input.Shared. It returns none if
// cfg names no cluster, or if the servers have no cluster yet. Servers that elect a leader are asked again for
// cluster.ElectionTime; waiting is called before, if it is not nil.
func SharedSettings(ctx context.Context, cfg *config.Config, waiting func()) (map[string]any, error) {
	if cfg.Cluster.Servers == "" {
		return nil, nil
	}
	s, found, err := cluster.ReadSettings(ctx, ClusterOptions(cfg), waiting)
	if err != nil || !found {
		return nil, ClusterError(err)
	}
	shared := map[string]any{"partitions": s.Partitions, "lease": s.Lease.String(), "lease_margin": s.Margin.String()}
	for name, text := range s.Crawl {
		if !slices.Contains(clusterSettings, name) { // a newer version of the program has stored it
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return nil, fmt.Errorf("the setting %s of the cluster is damaged: %w", name, err)
		}
		shared[name] = v
	}
	return shared, nil
}

// SetShared changes settings of the cluster that cfg names. values has them in the form of a configuration file. The
// nodes that run go on with the new settings.
func SetShared(ctx context.Context, cfg *config.Config, values map[string]any) error {
	changes := map[string]string{}
	for name, v := range values {
		if !slices.Contains(clusterSettings, name) {
			return usageError("acapcrawl config show", "%w", &cluster.UnknownError{Name: name})
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		changes[name] = string(text)
	}
	err := cluster.SetCrawl(ctx, ClusterOptions(cfg), changes)
	if unknown := new(cluster.UnknownError); errors.As(err, &unknown) {
		return usageError("acapcrawl config show", "%w", err)
	}
	return ClusterError(err)
}

// SettingsChanged reports whether the settings of the cluster were changed while this process took part in it.
func (s *Site) SettingsChanged() bool {
	n := s.node.Load()
	if n == nil {
		return false
	}
	select {
	case <-n.Changed():
		return true
	default:
		return false
	}
}
