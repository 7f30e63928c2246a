package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/web"
)

// serveReaders answers readers, but not publishers, at the address cfg.Listen, which is on loopback unless TLS is
// configured. If follow is set, it reads only through another verb that has the data directory open.
// The caller must call end.
func (c *Command) serveReaders(ctx context.Context, cfg *config.Config, follow bool) (at string, end func() error,
	err error) {
	if cfg.Serve.Readers == config.ReadersLogin {
		return "", nil, misuse("acapcrawl serve next to the crawl", "serve.readers: login permits reading after a login "+
			"only, and --serve has no logins")
	}
	l, o, err := c.serverOptions(ctx, cfg)
	if err != nil {
		return "", nil, err
	}
	scheme := "http"
	if o.TLS != nil {
		scheme = "https"
	}
	views, err := newReaders(c, cfg, o.Failed)
	if err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	o.Readers = views
	s := web.New(o)
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if follow {
			views.follow(reading)
		} else {
			views.run(reading)
		}
	})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return fmt.Sprintf("%s://%s/", scheme, l.Addr()), func() error {
		over, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		err := s.Shutdown(over)
		stop()
		running.Wait()
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return err
	}, nil
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
