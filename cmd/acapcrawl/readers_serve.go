package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/web"
)

// serveBeside answers readers and publishers at the address cfg.Listen, which is on loopback unless TLS is
// configured, through the verb of this process that has the data directory open. It writes what was executed for
// publishers to out. The caller must call end.
func (c *Command) serveBeside(ctx context.Context, cfg *config.Config, out io.Writer) (at string, end func() error,
	err error) {
	l, o, err := c.serverOptions(ctx, cfg)
	if err != nil {
		return "", nil, err
	}
	channel, err := c.addPublishers(ctx, cfg, &o)
	if err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	views, err := newReaders(c, cfg, o.Failed)
	if err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	o.Readers = views
	s := web.New(o)
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { views.follow(reading) })
	running.Go(func() { c.executeSubmitted(reading, cfg, channel, out) })
	shut := startServer(s, l, nil, func() {})
	return addressOf(l, o) + "/", func() error {
		err := shut()
		channel.close()
		stop()
		running.Wait()
		return err
	}, nil
}

// executeSubmitted executes what publishers submit to ch and what is not executed before the answer, such as
// re-crawls, until ctx ends. The verb that has the data directory open reads policies itself, so only those for which
// a publisher waits are read.
func (c *Command) executeSubmitted(ctx context.Context, cfg *config.Config, ch *channel, out io.Writer) {
	select {
	case first := <-ch.wake: // before, the other verb may still have to open the data directory
		ch.awaken(first)
	case <-ctx.Done():
		return
	}
	woken := *cfg
	woken.Actions.SeenWithin = 0
	w := c.other(ctx, out, c.verb)
	w.Stdout = out
	if err := w.runWatch(ctx, &woken, watchRequest{Flags: ch.flags, Wake: ch.wake}); err != nil {
		report(out, err)
	}
}

// freePort returns address if a server can listen there, otherwise the same host with port 0, which means
// any free port.
func freePort(ctx context.Context, address string) string {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		l.Close()
		return address
	}
	host, _, _ := net.SplitHostPort(address)
	return net.JoinHostPort(host, "0")
}
