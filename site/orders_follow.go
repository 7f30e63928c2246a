package site

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
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
	var endFollowing func()
	// this node has joined, so the servers answer; some of their streams may still elect a leader
	if err = cluster.AskAgain(ctx, cluster.ElectionTime, func() (err error) {
		endFollowing, err = o.begin(ctx, ctx, list, s.executor)
		return err
	}, func(err error) {
		s.log.Warn("the servers of the cluster do not give the orders; they are asked again", "error", err)
	}); err != nil {
		return nil, err
	}
	endAnswers, err := s.answerReadings(ctx, list)
	if err != nil {
		endFollowing()
		return nil, ClusterError(err)
	}
	return func() {
		endAnswers()
		endFollowing()
	}, nil
}

// begin executes the orders that were published before, and follows the later ones until following ends or the caller
// calls end.
func (o *orders) begin(ctx, following context.Context, list *cluster.Orders, x *actions.Executor) (end func(),
	err error) {
	if err = o.attach(ctx, list, x); err == nil {
		end, err = o.follow(following, list, x)
	}
	if err != nil {
		o.detach()
		return nil, ClusterError(err)
	}
	return end, nil
}

// followApart is followOrders for a process that shows a data directory of a node and does not crawl. Until the servers
// answer, nothing of the directory is shown.
func (s *Site) followApart(ctx context.Context) error {
	if !s.shared.Load() || s.lent || s.apart != nil || s.node.Load() != nil {
		return nil
	}
	m, err := s.membership()
	if err != nil {
		return err
	}
	end, err := s.attachApart(ctx, m)
	if err == nil {
		s.apart = end
		return nil
	}
	if !errors.Is(err, cluster.ErrNoQuorum) {
		return err
	}
	later, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for later.Err() == nil {
			sleep(later, apartPause)
			if end, err := s.attachApart(later, m); err == nil {
				<-later.Done()
				end()
			}
		}
	})
	s.apart = func() {
		stop()
		wg.Wait()
	}
	return err
}

// apartPause is how long followApart waits before it tries to reach the servers again.
const apartPause = 5 * time.Second

// attachApart connects to the cluster, executes the orders that were published before, and follows the later ones until
// the caller calls end.
func (s *Site) attachApart(ctx context.Context, m membership) (end func(), err error) {
	o := ClusterOptions(s.cfg)
	o.Node, o.Dir, o.Log, o.Clock = m.Node, m.Dir, s.o.Log, s.o.Clock
	list, id, err := cluster.OpenOrders(ctx, o)
	if err != nil {
		return nil, ClusterError(err)
	}
	if id != m.Cluster {
		list.Close()
		return nil, m.otherCluster(s.cfg.Data, id)
	}
	endFollowing, err := s.orders.begin(ctx, context.Background(), list, s.executor(nil))
	if err != nil {
		list.Close()
		return nil, err
	}
	return func() {
		endFollowing()
		list.Close()
	}, nil
}

// endApart ends what followApart has begun.
func (s *Site) endApart() {
	if s.apart != nil {
		s.apart()
		s.apart = nil
	}
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
	wg.Go(func() { o.keepReporting(ctx, list) })
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

// changeQueue calls change, which changes the queue. In a cluster it does not wait for that, since a take-down must not
// wait for the servers.
func (s *Site) changeQueue(change func() error) error {
	if s.node.Load() == nil {
		return change()
	}
	s.orders.changes.Go(func() {
		if err := change(); err != nil {
			s.o.Log.Warn("the queue could not be changed, so pages that were erased, or whose take-down was withdrawn, "+
				"may not be crawled again soon", "error", err)
		}
	})
	return nil
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
	said, resumed := "", time.Now()
	for ctx.Err() == nil {
		err := errors.Join(o.execute(ctx, x), o.publishRequests(ctx), o.commit(ctx), o.site.ledger.NoteNodes())
		if time.Since(resumed) >= resumeEvery { // for example re-crawls of hosts that another node owned before
			err, resumed = errors.Join(err, x.Resume(ctx)), time.Now()
		}
		if ctx.Err() != nil {
			return
		}
		now := ""
		if err != nil {
			now = err.Error()
		}
		if now != "" && now != said {
			o.site.o.Log.Warn("what publishers asked for elsewhere in the cluster could not be done here; it is tried "+
				"again, and nothing of these origins is shown", "error", err)
		}
		said = now
		pauseFor(ctx, ordersTick/4, o.kick, list.Changed())
	}
}

// resumeEvery is how often a node looks for requests that are due.
const resumeEvery = 10 * time.Second

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
						s.log.Error("the policy of a site could not be read for another node", "site", key,
							"error", err)
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
