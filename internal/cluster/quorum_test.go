package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// movedClock is the clock of the machine, ahead by a time that a test changes.
type movedClock struct {
	SystemClock
	ahead *atomic.Int64
}

func (c movedClock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// A node whose clock is changed too much while it runs stops at once, and goes on when the clock is right again.
func TestClockIsChanged(t *testing.T) {
	servers := natstest.One(t)
	o := testOptions(servers, "a", testSettings(2))
	clock := movedClock{ahead: &atomic.Int64{}}
	o.Clock = clock
	a, _ := startNode(t, o)
	eventually(t, "the node may request", func() bool { return a.remaining() > 0 })
	clock.ahead.Store(int64(2 * time.Second))
	eventually(t, "the node stops", func() bool { return a.remaining() <= 0 })
	clock.ahead.Store(0)
	eventually(t, "the node goes on", func() bool { return a.remaining() > 0 })
}

// Without a quorum the node stops when its lease has run out, and says so. When the quorum returns, it goes on by
// itself with its partitions.
func TestQuorumLost(t *testing.T) {
	t.Parallel() // it mostly waits
	servers := natstest.Start(t, 3)
	o := testOptions(servers.URL(), "a", testSettings(4))
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	a, fa := startNode(t, o)
	if err := a.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an address is queued", func() bool { // on a busy machine the lease may run out first
		return fa.write(0, fakePut{Address: "http://a.example/"}) == nil
	})
	servers.Kill(1)
	servers.Kill(2)
	eventually(t, "the node stops", func() bool { return a.remaining() <= 0 })
	s, err := QueryStatus(t.Context(), o)
	if err != nil || s.Quorum || len(s.Nodes) != 1 || s.Nodes[0].Node != "a" || s.Nodes[0].Queue != 1 ||
		s.Partitions.Total != 4 {
		t.Errorf("the status without a quorum is %+v, %v", s, err)
	}
	o.Node, o.Dir = "b", "dir-b"
	if n, err := join(t.Context(), o, nil, 0); err == nil {
		n.Abandon()
		t.Error("a node joins without a quorum")
	} else if !errors.Is(err, ErrNoQuorum) {
		t.Errorf("joining without a quorum: %v", err)
	}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("a caller without a quorum: %v", err)
	}
	defer c.Close()
	if list, err := c.Members(t.Context()); err != nil || len(list) != 1 || list[0].Node != "a" || c.Quorum() {
		t.Errorf("the nodes that answer a caller are %v, %v", list, err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- fa.write(0, fakePut{Address: "http://a.example/later"}) }()
	if _, found, err := readSettings(t.Context(), o, func() {
		servers.Restart(1)
		servers.Restart(2)
	}, time.Minute); err != nil || !found {
		t.Errorf("the settings are not read when the servers have come back: %t, %v", found, err)
	}
	eventually(t, "the node goes on", func() bool { return a.remaining() > 0 })
	if err := <-wrote; err != nil {
		t.Errorf("what was to be written without a quorum: %v", err)
	}
	if len(fa.owned()) != 4 {
		t.Errorf("the node has the partitions %v", fa.owned())
	}
}

// A node that joins while too few servers run asks again, and joins when the others have come back.
func TestJoinAsksAgain(t *testing.T) {
	t.Parallel() // it mostly waits
	servers := natstest.Start(t, 3)
	o := testOptions(servers.URL(), "a", testSettings(4))
	a, _ := startNode(t, o)
	if err := a.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	servers.Kill(1)
	servers.Kill(2)
	eventually(t, "the node stops", func() bool { return a.remaining() <= 0 })
	told := make(signals, 1)
	o.Node, o.Dir, o.Log = "b", "dir-b", slog.New(told)
	joined := make(chan error, 1)
	go func() {
		n, err := join(t.Context(), o, nil, time.Minute)
		if err == nil {
			n.Abandon()
		}
		joined <- err
	}()
	select {
	case <-told: // the first attempt has failed
	case err := <-joined:
		t.Fatalf("joining ended before the servers came back: %v", err)
	}
	servers.Restart(1)
	servers.Restart(2)
	if err := <-joined; err != nil {
		t.Errorf("the node did not join when the servers had come back: %v", err)
	}
}

// signals is a handler of log messages that announces each of them.
type signals chan struct{}

func (signals) Enabled(context.Context, slog.Level) bool { return true }

func (s signals) Handle(context.Context, slog.Record) error {
	select {
	case s <- struct{}{}:
	default:
	}
	return nil
}

func (s signals) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s signals) WithGroup(string) slog.Handler { return s }

// TestFailureInWords checks that a node whose lease has run out does not say that the servers do not answer.
func TestFailureInWords(t *testing.T) {
	n := &Node{settings: testSettings(4)}
	for words, err := range map[string]error{
		"this node takes part again within 3s":               &InUseError{"a", true},
		"another machine has taken the name":                 &InUseError{"a", false},
		"until the clock of this machine is right":           &ClockError{time.Minute, time.Second},
		"the cluster does not answer; nothing is requested ": ErrNoQuorum,
	} {
		if got := n.failure(fmt.Errorf("round: %w", err)); !strings.Contains(got, words) {
			t.Errorf("%v: %s", err, got)
		}
	}
}
