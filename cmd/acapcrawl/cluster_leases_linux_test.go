package main

import (
	"encoding/json"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/arrivals"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// nodesBucket is the bucket in which a cluster keeps the leases of the nodes.
const nodesBucket = "acapcrawl_nodes"

// watchLeases notes from now on each end of a lease that the servers announce. It explains that what the node had in
// progress is requested again: also on a machine that is so busy that a node cannot renew its lease in time.
func (f *joint) watchLeases() {
	f.t.Helper()
	leases := map[string]seenLease{}
	natstest.Watch(f.t, f.servers, nodesBucket, func(node string, value []byte, revision uint64) {
		f.noteLease(leases, node, value, revision)
	})
}

// seenLease is a lease with the time when its last renewal was announced.
type seenLease struct {
	epoch  uint64
	fenced bool
	at     time.Time
}

func (f *joint) noteLease(leases map[string]seenLease, node string, value []byte, revision uint64) {
	var v struct {
		Epoch  uint64
		Fenced bool
	}
	if err := json.Unmarshal(value, &v); err != nil {
		f.t.Errorf("the lease of %s: %v", node, err)
		return
	}
	if v.Epoch == 0 {
		v.Epoch = revision
	}
	now := seenLease{v.Epoch, v.Fenced, time.Now()}
	before, known := leases[node]
	leases[node] = now
	if !known || before.fenced || before.epoch == now.epoch {
		return
	}
	// what was answered shortly before the last renewal may not have been stored then
	from := before.at.Add(-f.lease)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mishaps = append(f.mishaps, mishap{now.at.Add(f.lease), func(q arrivals.Request) bool {
		return q.End.IsZero() || q.End.After(from)
	}})
}
