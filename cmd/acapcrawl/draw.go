package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/render"
)

// drawer starts the browser that draws the pages of a crawl until ctx ends; it is nil where none is configured. close ends it.
func drawer(ctx context.Context, cfg *config.Config) (d holdings.Drawer, end func(), err error) {
	home := filepath.Join(cfg.Data, "browser")
	if cfg.Chromium == "" {
		return nil, func() {}, render.Clear(home) // a crawl may have been killed
	}
	b, err := render.Start(ctx, render.Options{Program: cfg.Chromium, Home: home, Unguarded: !cfg.ChromiumSandbox})
	switch {
	case errors.Is(err, render.ErrRoot):
		return nil, nil, misuse("another user, or chromium_sandbox: false", "chromium: %v", err)
	case err != nil:
		return nil, nil, misuse("", "chromium: %v", err)
	}
	return untilEnded{ctx, b}, b.Close, nil
}

// untilEnded draws nothing once ctx has ended: a crawl that stops waits for no picture.
type untilEnded struct {
	ctx context.Context
	*render.Browser
}

func (d untilEnded) Draw(ctx context.Context, p render.Page, get render.Fetch) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	png, err := d.Browser.Draw(ctx, p, get)
	if err != nil && d.ctx.Err() != nil {
		err = errors.New("the crawl was ended")
	}
	return png, err
}
