package site

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/cluster"
)

// followOrders executes the orders of the cluster until the caller calls end. It returns when the orders that were
// published before are executed. It does nothing on a machine that crawls alone.
func (s *session) followOrders(ctx context.Context) (end func(), err error) {
	n := s.site.node.Load()
	if n == nil {
		return func() {}, nil
	}
	o := s.site.orders
	list := n.Orders()
	if err := o.attach(ctx, list, s.executor); err != nil {
		o.detach()
		return nil, ClusterError(err)
	}
	endFollowing, err := o.follow(ctx, list, s.executor)
	if err == nil {
		var endAnswers func()
		if endAnswers, err = s.answerReadings(ctx, list); err == nil {
			return func() {
				endAnswers()
				endFollowing()
			}, nil
		}
		endFollowing()
	}
	return nil, ClusterError(err)
}

// followApart is followOrders for a process that shows a data directory of a node and does not crawl. Without a
// cluster, nothing of the directory is shown.
func (s *Site) followApart(ctx context.Context) error {
	if !s.shared.Load() || s.lent || s.orders.connected() != nil || s.node.Load() != nil {
		return nil
	}
	m, err := s.membership()
	if err != nil {
		return err
	}
	o := ClusterOptions(s.cfg)
	o.Node, o.Dir, o.Log, o.Clock = m.Node, m.Dir, s.o.Log, s.o.Clock
	list, id, err := cluster.OpenOrders(ctx, o)
	if err != nil {
		return ClusterError(err)
	}
	if id != m.Cluster {
		list.Close()
		return usageError("name another data directory with --data", "the data directory %s belongs to the cluster %s, "+
			"but the servers have the cluster %s", s.cfg.Data, m.Cluster, id)
	}
	x := s.executor(nil)
	end := func() {}
	if err = s.orders.attach(ctx, list, x); err == nil {
		end, err = s.orders.follow(context.Background(), list, x)
	}
	if err != nil {
		s.orders.detach()
		list.Close()
		return ClusterError(err)
	}
	s.apart = func() {
		end()
		list.Close()
	}
	return nil
}

// follow starts the goroutines that read and execute orders. The function end stops them.
func (o *orders) follow(ctx context.Context, list *cluster.Orders, x *actions.Executor) (end func(), err error) {
	ctx, stop := context.WithCancel(ctx)
	hint := make(chan struct{}, 1)
	unwatch, err := list.Watch(func() { wake(hint) })
	if err != nil {
		stop()
		return nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() { o.keepReading(ctx, hint) })
	wg.Go(func() { o.keepExecuting(ctx, list, x) })
	return func() {
		unwatch()
		stop()
		wg.Wait()
		last, cancel := context.WithTimeout(context.Background(), 2*ordersTick)
		defer cancel()
		// what fails here is done when the directory is opened the next time
		_ = errors.Join(o.publishRequests(last), o.commit(last))
		o.detach()
	}, nil
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pauseFor waits for a value of one of the channels, or for a time.
func pauseFor(ctx context.Context, d time.Duration, a, b <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a:
	case <-b:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// keepReading reads new orders, so that their origins are hidden at once, however long the execution of earlier orders
// takes.
func (o *orders) keepReading(ctx context.Context, hint <-chan struct{}) {
	for ctx.Err() == nil {
		if err := o.readUpTo(ctx, "", 0); err != nil && ctx.Err() == nil {
			o.site.o.Log.Debug("the orders of the cluster cannot be read; this is tried again", "error", err)
		}
		wake(o.kick)
		pauseFor(ctx, ordersTick, hint, nil)
	}
}

// keepExecuting executes orders, publishes requests that this node has noted, and notes which nodes have executed them.
func (o *orders) keepExecuting(ctx context.Context, list *cluster.Orders, x *actions.Executor) {
	said := ""
	for ctx.Err() == nil {
		err := errors.Join(o.execute(ctx, x), o.publishRequests(ctx), o.commit(ctx), o.site.ledger.NoteNodes())
		if ctx.Err() != nil {
			return
		}
		now := ""
		if err != nil {
			now = err.Error()
		}
		if now != "" && now != said {
			o.site.o.Log.Warn("what publishers asked for elsewhere in the cluster could not be done here; it is tried again, "+
				"and nothing of these origins is shown", "error", err)
		}
		said = now
		pauseFor(ctx, ordersTick/4, o.kick, list.Changed())
	}
}

// answerReadings reads the policies of this node's origins again when another node asks for that, because it has
// something stored of them. The function end stops it.
func (s *session) answerReadings(ctx context.Context, list *cluster.Orders) (end func(), err error) {
	ctx, stop := context.WithCancel(ctx)
	asked := make(chan string, 256)
	unwatch, err := list.Asked(func(origin string) {
		select {
		case asked <- origin:
		default: // it is asked for again
		}
	})
	if err != nil {
		stop()
		return nil, err
	}
	var wg sync.WaitGroup
	for range rereaders {
		wg.Go(func() {
			for {
				select {
				case key := <-asked:
					if err := s.answerReading(ctx, key); err != nil && ctx.Err() == nil {
						s.log.Error("the policy of a site could not be read for another node", "site", key, "error", err)
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return func() {
		unwatch()
		stop()
		wg.Wait()
	}, nil
}

func (s *session) answerReading(ctx context.Context, key string) error {
	u, err := url.Parse(key)
	if err != nil || s.site.foreign(u) {
		return nil // another node answers
	}
	at, known, err := s.site.policy.Attempt(key)
	if err != nil || known && time.Since(at.At) < justRead {
		return err
	}
	_, err = s.readAgain(ctx, key)
	return err
}
