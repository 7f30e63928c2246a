package main

import (
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/acapcrawl/acapcrawl/internal/arrivals"
)

// nodesBucket is the bucket in which a cluster keeps the leases of the nodes.
const nodesBucket = "acapcrawl_nodes"

// watchLeases notes from now on each end of a lease that the servers announce. It explains that what the node had in
// progress is requested again: also on a machine that is so busy that a node cannot renew its lease in time.
func (f *joint) watchLeases() {
	f.t.Helper()
	nc, err := nats.Connect(f.servers, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		f.t.Fatal(err)
	}
	kv, err := js.KeyValue(f.t.Context(), nodesBucket)
	if err != nil {
		f.t.Fatal(err)
	}
	w, err := kv.WatchAll(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	ended := make(chan struct{})
	f.t.Cleanup(func() {
		_ = w.Stop() // fails if the connection has ended
		nc.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		leases := map[string]seenLease{}
		for e := range w.Updates() {
			if e != nil && e.Operation() == jetstream.KeyValuePut {
				f.noteLease(leases, e)
			}
		}
	}()
}

// seenLease is a lease with the time when its last renewal was announced.
type seenLease struct {
	epoch  uint64
	fenced bool
	at     time.Time
}

func (f *joint) noteLease(leases map[string]seenLease, e jetstream.KeyValueEntry) {
	var v struct {
		Epoch  uint64
		Fenced bool
	}
	if err := json.Unmarshal(e.Value(), &v); err != nil {
		f.t.Errorf("the lease of %s: %v", e.Key(), err)
		return
	}
	if v.Epoch == 0 {
		v.Epoch = e.Revision()
	}
	now := seenLease{v.Epoch, v.Fenced, time.Now()}
	before, known := leases[e.Key()]
	leases[e.Key()] = now
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
