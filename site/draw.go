package site

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/internal/render"
)

// startDrawer starts the browser that draws the pages of a crawl until ctx ends; d is nil if no
// browser is configured. The caller must call end, which stops the browser. A browser that cannot
// be started is a *UsageError.
func startDrawer(ctx context.Context, cfg *config.Config) (d holdings.Drawer, end func(), err error) {
	home := filepath.Join(cfg.Data, "browser")
	if cfg.Chromium == "" {
		return nil, func() {}, render.Clear(home) // remove the files of a crawl that was killed
	}
	b, err := render.Start(ctx, render.Options{Program: cfg.Chromium, Home: home, Unguarded: !cfg.ChromiumSandbox})
	switch {
	case errors.Is(err, render.ErrRoot):
		return nil, nil, &UsageError{fmt.Errorf("chromium: %w", err), "another user, or chromium_sandbox: false"}
	case err != nil:
		return nil, nil, &UsageError{Err: fmt.Errorf("chromium: %w", err)}
	}
	return untilEnded{ctx, b}, b.Close, nil
}

// untilEnded is a drawer that draws nothing after ctx has ended. Without it, a crawl that stops
// would wait for the drawing to end.
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
