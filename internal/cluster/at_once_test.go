package cluster

import (
	"errors"
	"fmt"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// atOnce calls fn with the numbers from 0 to n-1 in as many goroutines, and returns the errors.
func atOnce(n int, fn func(i int) error) []error {
	begin, errs := make(chan struct{}), make([]error, n)
	done := make(chan struct{})
	for i := range n {
		go func() {
			<-begin
			errs[i] = fn(i)
			done <- struct{}{}
		}()
	}
	close(begin)
	for range n {
		<-done
	}
	return errs
}

// TestFirstAtOnce checks what several nodes that start together store first. While three servers store the change of one
// node, they refuse those of the others, which is no answer: TestSettled.
func TestFirstAtOnce(t *testing.T) {
	t.Parallel()
	const nodes = 8
	servers := natstest.Start(t, 3).URL()
	t.Run("key", func(t *testing.T) {
		keys := make([]*PageKeys, nodes)
		for i := range keys {
			check := "check"
			if i == nodes-1 {
				check = "other"
			}
			keys[i] = NewPageKeys(Options{Servers: servers, Node: fmt.Sprint("n", i)}, []byte(check))
			defer keys[i].Close()
		}
		// another test of this package says what nodes do until the new servers answer
		for first := keys[0].Check(t.Context()); first != nil; first = keys[0].Check(t.Context()) {
			if !errors.Is(first, ErrNoQuorum) {
				t.Fatal(first)
			}
		}
		for round := range 20 {
			if err := keys[0].stream.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
			different := 0
			for i, err := range atOnce(nodes, func(i int) error {
				return checkClusterKey(t.Context(), keys[0].js, keys[0].stream, keys[i].check)
			}) {
				switch {
				case errors.Is(err, ErrClusterKey):
					different++
				case err != nil:
					t.Errorf("round %d, node %d: %v", round, i, err)
				}
			}
			if different != 1 && different != nodes-1 {
				t.Errorf("round %d: %d nodes are refused", round, different)
			}
		}
	})
	t.Run("order", func(t *testing.T) {
		n, err := Join(t.Context(), Options{Servers: servers, Node: "a", Dir: "dir-a", Settings: testSettings(4)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Abandon)
		o := n.Orders()
		for round := range 20 {
			key, published := fmt.Sprint("http://", round, ".example"), 0
			for i, err := range atOnce(nodes, func(i int) error {
				_, err := o.Publish(t.Context(), "policy", key, []byte(fmt.Sprint(i)), 0)
				return err
			}) {
				switch {
				case err == nil:
					published++
				case !errors.Is(err, ErrOvertaken):
					t.Errorf("round %d, node %d: %v", round, i, err)
				}
			}
			if published != 1 {
				t.Errorf("round %d: %d orders were published", round, published)
			}
		}
	})
}
