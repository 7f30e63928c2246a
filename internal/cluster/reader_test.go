package cluster

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// attend adds a reader, which leaves when the test ends.
func attend(t *testing.T, o Options) *Reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := Attend(ctx, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	return r
}

// A reader is in the list of nodes, owns no partitions, and does not delay the end of the crawl.
func TestReader(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	o := testOptions(servers, "a", testSettings(6))
	n, f := startNode(t, o)
	b := testOptions(servers, "b", testSettings(6))
	r := attend(t, b)
	eventually(t, "a owns all partitions", func() bool { return len(f.owned()) == 6 })
	s, err := QueryStatus(t.Context(), o)
	if err != nil || len(s.Nodes) != 2 || s.Nodes[0].Reader || !s.Nodes[1].Reader || s.Nodes[1].Partitions != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, node := range []string{"a", "b"} { // a is the last node that crawls, and b does not crawl
		var refused *DrainError
		if err := Drain(t.Context(), o, node, nil); !errors.As(err, &refused) {
			t.Errorf("%s: %v", node, err)
		}
	}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if list, err := c.Members(t.Context()); err != nil || len(list) != 2 || list[0].Reader || !list[1].Reader {
		t.Errorf("%v, %v", list, err)
	}
	if owner, err := c.Owner("example.com"); err != nil || owner != "a" {
		t.Errorf("%q, %v", owner, err)
	}
	l, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	conn, err := c.Call(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if text, err := io.ReadAll(conn); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	if err := n.AddSeeds(t.Context(), []string{"http://host1.example/"}); err != nil {
		t.Fatal(err)
	}
	if err := f.crawlAll(t.Context(), 1); err != nil {
		t.Error(err)
	}
	select {
	case <-n.Ended():
	case <-time.After(time.Minute):
		t.Error("the crawl does not end")
	}
}

// A name is either that of a node or that of a reader.
func TestReaderRefused(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	o := testOptions(servers, "a", testSettings(2))
	n, f := startNode(t, o)
	other := o
	other.Dir = "another directory"
	var used *InUseError
	if _, err := Attend(t.Context(), other, nil); !errors.As(err, &used) {
		t.Errorf("the name of a node: %v", err)
	}
	other = testOptions(servers, "b", testSettings(2))
	other.ID = "another cluster"
	var wrong *OtherError
	if _, err := Attend(t.Context(), other, nil); !errors.As(err, &wrong) {
		t.Errorf("another cluster: %v", err)
	}
	// the same data directory gets the name as soon as the crawl has left
	eventually(t, "the node owns its partitions", func() bool { return len(f.owned()) == 2 })
	waits := make(chan struct{})
	got := make(chan error, 1)
	go func() {
		r, err := Attend(t.Context(), o, func() { close(waits) })
		if err == nil {
			err = r.Leave(context.Background())
		}
		got <- err
	}()
	<-waits
	leaving, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := n.Leave(leaving); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}
