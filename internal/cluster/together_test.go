package cluster

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// Nodes that start at the same time make one cluster, although one may find only a part of the stores.
func TestStartTogether(t *testing.T) {
	t.Parallel()
	o := testOptions(natstest.One(t), "a", testSettings(1))
	nc, err := dialServers(o)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l := &link{nc: nc}
	if l.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	journal := jetstream.StreamConfig{Name: journalStream, Subjects: []string{journalPrefix + "*"}}
	if err := l.createStream(t.Context(), journal); err != nil {
		t.Fatal(err)
	}
	n, err := Join(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	n.Abandon()
}
