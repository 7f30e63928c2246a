package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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

// untilAnswered repeats do while too few servers answer: servers that have just started elect a leader.
func untilAnswered(t *testing.T, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err := do(ctx); err != nil; err = do(ctx) {
		if ctx.Err() != nil || !errors.Is(unreachable(err), ErrNoQuorum) {
			t.Fatal(err)
		}
	}
}

// Of several nodes that store the first key or the first order of a kind at the same time, one succeeds, and the others
// learn what it has stored. While three servers store it, they refuse every other; that is no answer yet.
func TestFirstAtOnce(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3).URL()
	t.Run("key", func(t *testing.T) { firstKeyAtOnce(t, servers) })
	t.Run("order", func(t *testing.T) { firstOrderAtOnce(t, servers) })
}

const nodesAtOnce, roundsAtOnce = 8, 20

// judgeRounds checks what nodes do at the same time, in several rounds. round does it once; what it returns is not
// judged if too few servers have answered.
func judgeRounds(t *testing.T, round func(number int) []error, judge func(number int, errs []error)) {
	t.Helper()
	judged := 0
	for number := range roundsAtOnce {
		errs := round(number)
		if slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, ErrNoQuorum) }) {
			continue
		}
		judged++
		judge(number, errs)
	}
	if judged == 0 {
		t.Error("too few servers have answered in every round")
	}
}

// firstKeyAtOnce lets nodes store what identifies the key of the cluster. One of them has another key.
func firstKeyAtOnce(t *testing.T, servers string) {
	keys := make([]*PageKeys, nodesAtOnce)
	for i := range keys {
		check := "check"
		if i == nodesAtOnce-1 {
			check = "other"
		}
		keys[i] = NewPageKeys(Options{Servers: servers, Node: fmt.Sprint("n", i)}, []byte(check))
		defer keys[i].Close()
	}
	first := keys[0]
	untilAnswered(t, first.Check)
	judgeRounds(t, func(int) []error {
		untilAnswered(t, func(ctx context.Context) error { return first.stream.Purge(ctx) })
		return atOnce(nodesAtOnce, func(i int) error {
			return checkClusterKey(t.Context(), first.js, first.stream, keys[i].check)
		})
	}, func(round int, errs []error) {
		different := 0
		for i, err := range errs {
			switch {
			case errors.Is(err, ErrClusterKey):
				different++
			case err != nil:
				t.Errorf("round %d, node %d: %v", round, i, err)
			}
		}
		if different != 1 && different != nodesAtOnce-1 {
			t.Errorf("round %d: %d nodes are refused", round, different)
		}
	})
}

// firstOrderAtOnce publishes the first order for an origin several times.
func firstOrderAtOnce(t *testing.T, servers string) {
	var n *Node
	untilAnswered(t, func(ctx context.Context) (err error) {
		n, err = Join(ctx, Options{Servers: servers, Node: "a", Dir: "dir-a", Settings: testSettings(4)}, nil)
		return err
	})
	t.Cleanup(n.Abandon)
	o := n.Orders()
	judgeRounds(t, func(round int) []error {
		return atOnce(nodesAtOnce, func(i int) error {
			key := fmt.Sprint("http://", round, ".example")
			_, err := o.Publish(t.Context(), "policy", key, []byte(fmt.Sprint(i)), 0)
			return err
		})
	}, func(round int, errs []error) {
		published := 0
		for i, err := range errs {
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
	})
}
