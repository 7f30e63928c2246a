package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Watch calls fn, one call at a time, for each value that is stored in a bucket from now on and for those that are
// stored already, until the test ends.
func Watch(t testing.TB, servers, bucket string, fn func(key string, value []byte, revision uint64)) {
	t.Helper()
	nc, err := nats.Connect(servers, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	w, err := kv.WatchAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = w.Stop() // fails if the connection has ended
		nc.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		for e := range w.Updates() {
			if e != nil && e.Operation() == jetstream.KeyValuePut {
				fn(e.Key(), e.Value(), e.Revision())
			}
		}
	}()
}
