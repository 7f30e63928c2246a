package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/web"
	"github.com/acapcrawl/acapcrawl/site"
)

// runServeNodes answers readers and publishers from all nodes of a cluster until ctx ends. If cfg.Data is the data
// directory of a node, it also answers for that directory while the node does not crawl. named says that the user named
// the directory.
func (c *Command) runServeNodes(ctx context.Context, cfg *config.Config, named bool, ready func(at string)) error {
	node, err := site.NodeOf(cfg.Data)
	switch {
	case err != nil:
		return err
	case named && node == "":
		return misuse("without --data, to answer only from the nodes that run",
			"the data directory %s does not belong to a node of a cluster", cfg.Data)
	}
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	l, options, err := c.serverOptions(ctx, cfg)
	if err != nil {
		return err
	}
	views, err := c.addNodes(cfg, n, &options)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer views.close()
	admin, err := c.adminListener(ctx, cfg)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	var s *web.Server
	c.measure(&options, cfg, func() (actions.Status, bool) { return s.Status(ctx) })
	s = web.New(options)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	shut := startServer(s, l, admin, stop)
	var attending sync.WaitGroup
	if node != "" {
		attending.Go(func() { c.attend(ctx, cfg, options.Failed) })
	}
	ready(addressOf(l, options))
	<-ctx.Done()
	err = shut()
	attending.Wait()
	return err
}

// addNodes adds to the options of a server what answers readers and publishers from the nodes. The caller must close
// the readers.
func (c *Command) addNodes(cfg *config.Config, n *nodes, o *web.Options) (*nodeReaders, error) {
	if err := c.addLogins(cfg, o); err != nil {
		return nil, err
	}
	views, err := newNodeReaders(n, site.CrawlerOf(cfg), o.Failed)
	if err != nil {
		return nil, err
	}
	ledgers := &nodeLedgers{nodes: n, failed: o.Failed}
	o.Readers, o.Backend = views, ledgers
	o.Ready = func() error {
		_, err := ledgers.running(context.Background(), "")
		return err
	}
	return views, nil
}

// attend answers the cluster for the data directory of a node until ctx ends. It closes the directory when another
// process asks for it, and opens it again when that process has ended.
func (c *Command) attend(ctx context.Context, cfg *config.Config, failed func(error)) {
	said := ""
	for ctx.Err() == nil {
		err := c.attendOnce(ctx, cfg)
		_, taken := errors.AsType[*busy](err)
		if err != nil && !taken && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			failed(fmt.Errorf("this process does not answer for %s: %w", cfg.Data, err))
		}
		if err != nil {
			sleep(ctx, time.Second)
		}
	}
}

// attendOnce opens the data directory of a node and answers the cluster for it, until another process asks for it.
func (c *Command) attendOnce(ctx context.Context, cfg *config.Config) (err error) {
	other := c.other(ctx, c.Stderr, serveName)
	d, err := other.openHeld(ctx, cfg, false)
	if err != nil {
		return err
	}
	if d.host == nil {
		return errors.Join(errors.New("calls cannot be received"), d.Close())
	}
	asked := d.host.asked
	r, err := site.Attend(ctx, cfg, logger(c.Stderr, cfg),
		func(text string) { fmt.Fprintln(c.Stderr, "Notice: "+text) })
	if err != nil {
		return errors.Join(err, d.Close())
	}
	l, err := r.Listen()
	if err == nil {
		d.host.serveCluster(l, d.Site)
		select {
		case <-asked:
		case <-ctx.Done():
		}
	}
	err = errors.Join(err, d.Close())
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err = errors.Join(err, r.Leave(leaving))
	if ctx.Err() == nil {
		sleep(ctx, handOverTime)
	}
	return err
}
