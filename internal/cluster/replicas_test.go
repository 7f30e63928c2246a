package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// awaitReplicas waits until the status of a cluster has these replicas. While the servers copy a stream, it has none.
func awaitReplicas(t *testing.T, o Options, want Replicas) {
	t.Helper()
	eventually(t, fmt.Sprintf("the replicas are %+v", want), func() bool {
		s, err := QueryStatus(t.Context(), o)
		return err == nil && s.Replicas != nil && *s.Replicas == want
	})
}

// TestReplicasRaised checks that streams that were made before the third server had ever run get three replicas when it
// runs.
func TestReplicasRaised(t *testing.T) {
	t.Parallel()
	servers := natstest.StartSome(t, 3, 2)
	s := testSettings(4)
	s.Lease, s.Margin = 30*time.Second, 5*time.Second
	o := testOptions(servers.URL(), "a", s)
	_, f := startNode(t, o)
	eventually(t, "a has all partitions", func() bool { return len(f.owned()) == 4 })
	awaitReplicas(t, o, Replicas{1, 3})
	servers.Restart(2)
	servers.AwaitWhole()
	awaitReplicas(t, o, Replicas{3, 3})
	servers.AwaitWhole()
	servers.Kill(servers.AwaitLeader(journalStream))
	eventually(t, "the node writes after the loss of a server", func() bool {
		return f.write(0, fakePut{Address: "http://a.example/"}) == nil
	})
}

// TestOneReplica checks that a single server should have one replica of each stream.
func TestOneReplica(t *testing.T) {
	o := testOptions(natstest.One(t), "a", testSettings(4))
	startNode(t, o)
	awaitReplicas(t, o, Replicas{1, 1})
}

// TestReplicasBehind checks that a replica that is behind for a moment counts as complete, and that one that stays
// behind or does not run does not.
func TestReplicasBehind(t *testing.T) {
	for what, c := range map[string]struct {
		current int // the only look at which the replica is complete; -1: at every look
		offline bool
		fewest  int
		looks   int
	}{
		"complete": {-1, false, 2, 1},
		"late":     {2, false, 2, 2},
		"behind":   {0, false, 1, replicaLooks},
		"offline":  {-1, true, 1, 1},
	} {
		looks := 0
		r, err := countReplicas(func(fn func(*jetstream.StreamInfo) error) error {
			looks++
			p := jetstream.PeerInfo{Name: "n2", Current: c.current == looks || c.current < 0, Offline: c.offline}
			return fn(&jetstream.StreamInfo{Cluster: &jetstream.ClusterInfo{Name: "c",
				Replicas: []*jetstream.PeerInfo{&p}}})
		}, func() error { return nil })
		if err != nil || *r != (Replicas{c.fewest, replicas}) || looks != c.looks {
			t.Errorf("%s: %+v after %d looks, %v", what, r, looks, err)
		}
	}
}

// TestRenewAt checks that nodes that renew at the same moment do so at different moments the next time, and none later
// than a third of the lease.
func TestRenewAt(t *testing.T) {
	const length, nodes, parts = 30 * time.Second, 100, 10
	third := length / 3
	for _, now := range []time.Duration{0, time.Nanosecond, third - 1, 3*time.Hour + 7*time.Second} {
		var in [parts]int
		for i := range nodes {
			l := &lease{length: length, value: leaseValue{Node: fmt.Sprintf("node-%d", i)}}
			next := l.renewAt(now)
			if next <= now || next > now+third || l.renewAt(next) != next+third {
				t.Fatalf("at %s the lease of node %d is renewed at %s, and then at %s", now, i, next, l.renewAt(next))
			}
			in[(next-now-1)/(third/parts)]++
		}
		for part, n := range in {
			if n > 3*nodes/parts || n == 0 {
				t.Errorf("%d of %d nodes renew in part %d of %d", n, nodes, part, parts)
			}
		}
	}
}
