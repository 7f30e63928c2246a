package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/acapcrawl/acapcrawl/web"
)

// serveReaders answers readers, but not publishers, at the address cfg.Listen, which is on loopback unless TLS is
// configured. If follow is set, it reads only through another verb that has the data directory open.
// The caller must call end.
func (c *Command) serveReaders(ctx context.Context, cfg *config.Config, follow bool) (at string, end func() error,
	err error) {
	facts, err := c.readerFacts(cfg)
	if err != nil {
		return "", nil, err
	}
	l, secure, err := c.listener(ctx, cfg)
	if err != nil {
		return "", nil, err
	}
	scheme := "http"
	if secure != nil {
		scheme = "https"
	}
	log := logger(c.Stderr, cfg)
	views := newReaders(c, cfg, func(err error) { log.Error("an answer to a reader failed", "error", err) })
	s := web.New(web.Options{Hosts: cfg.Serve.PublicHosts, TLS: secure, Trusted: prefixes(cfg.Serve.TrustedProxies),
		Limits: limitsOf(cfg), Readers: views, Reader: facts, Defect: site.LogDefects(log)})
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
