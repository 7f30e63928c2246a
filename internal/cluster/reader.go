package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/nats-io/nats.go"
)

// OtherError means that the servers have a cluster other than the one to which a data directory belongs.
type OtherError struct{ Wanted, Found string }

func (e *OtherError) Error() string {
	return fmt.Sprintf("the data directory belongs to the cluster %s, but the servers have the cluster %s", e.Wanted,
		e.Found)
}

// Reader is a process that callers can find under the name of a node, but that owns no partitions.
// It is for the data directory of a node that no longer crawls.
type Reader struct {
	link  *link
	lease *lease
	value leaseValue
	log   *slog.Logger
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// Attend makes this process a reader under the name o.Node. If a process with the same data directory has the lease of
// that name, Attend waits until it ends; waiting is called before. The error is an *InUseError if another one has it.
func Attend(ctx context.Context, o Options, waiting func()) (*Reader, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if err := ValidName(o.Node); err != nil {
		return nil, err
	}
	l, settings, err := reach(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.ID != "" && o.ID != settings.ID {
		err = &OtherError{Wanted: o.ID, Found: settings.ID}
	}
	r := &Reader{link: l, log: o.Log, value: leaseValue{Node: o.Node, Dir: o.Dir, Version: o.Version, Reader: true,
		Report: Report{Copies: o.Copies}},
		lease: &lease{store: l.nodes, clock: o.clock(), length: settings.Lease, margin: settings.Margin}}
	if err == nil {
		err = r.lease.await(ctx, r.value, waiting)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	// without this subscription, the reader is only missing for callers that find no quorum
	_, _ = l.nc.Subscribe(askSubject, func(msg *nats.Msg) {
		until := r.lease.clock.Now().Add(r.lease.remaining() + settings.Margin)
		answerOfNode{r.value.status(0, until), settings.ID, settings.Partitions}.respond(msg)
	})
	keeping, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.tasks.Go(func() { r.keep(keeping) })
	return r, nil
}

// keep renews the lease until ctx ends. If the lease was lost, it takes a new one.
func (r *Reader) keep(ctx context.Context) {
	failing := false
	for {
		now := r.lease.clock.Elapsed()
		if wait(ctx, r.lease.renewAt(now)-now) != nil {
			return
		}
		err := r.lease.renew(ctx, r.value.Report, false)
		if errors.Is(err, errLeaseLost) {
			err = r.lease.acquire(ctx, r.value)
		}
		if err != nil && !failing && ctx.Err() == nil {
			r.log.Warn("the cluster does not answer; callers may not find this reader until it answers again",
				"error", err)
		}
		failing = err != nil
	}
}

// Listen accepts the streams of callers, as Node.Listen does.
func (r *Reader) Listen() (net.Listener, error) {
	return Listen(r.link.nc, callSubject(r.value.Node, VerbService))
}

// Leave gives the lease back and ends the connection.
func (r *Reader) Leave(ctx context.Context) error {
	r.stop()
	r.tasks.Wait()
	err := r.lease.end(ctx)
	r.link.close()
	return err
}
