package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// ReadSettings returns the settings of a cluster. found is false if the servers have no cluster yet. Servers that can
// be reached but have no quorum are asked again for ElectionTime; waiting is called before, if it is not nil.
func ReadSettings(ctx context.Context, o Options, waiting func()) (s Settings, found bool, err error) {
	return readSettings(ctx, o, waiting, ElectionTime)
}

func readSettings(ctx context.Context, o Options, waiting func(), limit time.Duration) (s Settings, found bool,
	err error) {
	nc, err := dialServers(o)
	if err != nil {
		return s, false, err
	}
	l := &link{nc: nc}
	defer l.close()
	err = AskAgain(ctx, limit, func() (err error) {
		if err = l.open(ctx, o.clock()); err == nil {
			s, _, err = l.settings(ctx)
		}
		return err
	}, func(error) {
		if waiting != nil {
			waiting()
			waiting = nil
		}
		l.closeBuckets()
	})
	if errors.Is(err, errNoCluster) {
		return s, false, nil
	}
	return s, err == nil, err
}

// UnknownError means that a setting is not one of those that all nodes of a cluster share.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s is not a setting that all nodes of a cluster share", e.Name)
}

// SetCrawl changes settings in Settings.Crawl. Running nodes notice the change; see Node.Changed.
func SetCrawl(ctx context.Context, o Options, changes map[string]string) error {
	l, err := connect(ctx, o)
	if err != nil {
		return err
	}
	defer l.close()
	_, err = changeValue(ctx, l.state, settingsKey, damagedSettings, func(s *Settings) (bool, error) {
		if s.ID == "" {
			return false, errNoCluster
		}
		if err := s.checkFormat(); err != nil {
			return false, err
		}
		for name := range changes {
			if _, known := s.Crawl[name]; !known {
				return false, &UnknownError{name}
			}
		}
		maps.Copy(s.Crawl, changes)
		return true, nil
	})
	return err
}

// Changed is closed when the settings of the cluster have changed since the node joined. The node should then leave,
// and join again with the new ones.
func (n *Node) Changed() <-chan struct{} { return n.changed }

// noteSettings closes n.changed if the servers have announced other settings.
func (r *rounds) noteSettings() {
	for _, e := range r.link.state.list() {
		if e.key != settingsKey || e.revision == r.joined {
			continue
		}
		select {
		case <-r.changed:
		default:
			close(r.changed)
		}
	}
}
