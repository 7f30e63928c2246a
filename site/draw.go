package site

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/internal/render"
)

// startBrowser starts the browser that runs the scripts of the pages of a crawl and draws thumbnails until
// ctx ends. d draws thumbnails; it is nil if chromium is not set. b is nil if neither chromium nor render is set.
// The caller must call end, which stops the browser. A browser that cannot be started is a *UsageError.
func startBrowser(ctx context.Context, cfg *config.Config) (b *render.Browser, d holdings.Drawer, end func(),
	err error) {
	home, program := filepath.Join(cfg.Data, "browser"), cfg.Chromium
	if program == "" && len(cfg.Render.Pages) > 0 {
		if program = findChromium(); program == "" {
			return nil, nil, nil, usageError("install Chromium, or set chromium to the path of a browser",
				"render: none of %s is found in PATH", strings.Join(chromiums, ", "))
		}
	}
	if program == "" {
		return nil, nil, func() {}, render.Clear(home) // remove the files of a crawl that was killed
	}
	b, err = render.Start(ctx, render.Options{Program: program, Home: home, Unguarded: !cfg.ChromiumSandbox})
	switch {
	case errors.Is(err, render.ErrRoot):
		return nil, nil, nil, &UsageError{fmt.Errorf("chromium: %w", err), "another user, or chromium_sandbox: false"}
	case err != nil:
		return nil, nil, nil, &UsageError{Err: fmt.Errorf("chromium: %w", err)}
	}
	if cfg.Chromium != "" {
		d = untilEnded{ctx, b}
	}
	return b, d, b.Close, nil
}

// chromiums are the usual names of Chromium and of browsers like it.
var chromiums = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// findChromium returns the path of a program with one of these names, or "".
func findChromium() string {
	for _, name := range chromiums {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
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
