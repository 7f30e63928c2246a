package main

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/site"
)

// explanation is an explanation with what it was asked for.
type explanation struct {
	*site.Explanation
	request *explainRequest
}

// runExplain prints what the crawler may do with a URL. It reads the policy of the URL's origin now, or from a file, and
// takes the page from --page, from a file or from what is held.
func (c *Command) runExplain(ctx context.Context, cfg *config.Config, r explainRequest) error {
	if err := c.readable(cfg.SignatureKey); err != nil {
		return err
	}
	var past site.Past
	if r.Robots == "" && r.PageFile == "" {
		var err error
		if past, err = c.pastOf(cfg, r.URL); err != nil {
			return err
		}
	}
	if err := c.locate(ctx, cfg, &r.Reader); err != nil {
		return err
	}
	o := site.ExplainOptions{Usages: r.Usages, Fetch: r.Page, AsOf: r.AsOf, Reader: r.Reader, All: r.All}
	if r.Robots != "" {
		body, err := c.readFile("--robots", r.Robots)
		if err != nil {
			return err
		}
		o.Robots = &site.RobotsText{Body: body}
	}
	if r.PageFile != "" {
		var err error
		if o.Page, err = c.readPage(&r); err != nil {
			return err
		}
	}
	found, err := site.Explain(ctx, cfg, r.URL, past, o)
	if err != nil {
		return err
	}
	e := &explanation{found, &r}
	refused := false
	for _, a := range e.Answers {
		refused = refused || !a.Decision.Allowed
	}
	err = c.writeReport(r.Out, func(w io.Writer) error {
		if r.Out.JSON() {
			return display.Encoder(w).Encode(e.json())
		}
		return printExplained(w, e)
	})
	if err == nil && refused && len(r.Usages) > 0 {
		return &fault{status: statusRefused, err: errors.New("")}
	}
	return err
}

// readFile reads a file that was named on the command line.
func (c *Command) readFile(flag, name string) ([]byte, error) {
	in := c.Stdin
	if name != "-" {
		if err := c.readable(name); err != nil {
			return nil, err
		}
		f, err := os.Open(c.path(name))
		if err != nil {
			return nil, misuse("", "%s: the file cannot be read: %w", flag, err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxRead+1))
	switch {
	case err != nil:
		return nil, misuse("", "%s: the file cannot be read: %w", flag, err)
	case len(data) > maxRead:
		return nil, misuse("", "%s: %s has more than %d bytes", flag, named(name), maxRead)
	}
	return data, nil
}

// maxRead is how long a file may be that a flag names, in bytes.
const maxRead = 64 << 20

// readPage makes a page of a file. The type is taken from the file name, otherwise it is HTML.
func (c *Command) readPage(r *explainRequest) (*page.Page, error) {
	body, err := c.readFile("--page-file", r.PageFile)
	if err != nil {
		return nil, err
	}
	kind := mime.TypeByExtension(filepath.Ext(r.PageFile))
	if kind == "" {
		kind = "text/html"
	}
	if mediaType, _, err := mime.ParseMediaType(kind); err == nil {
		kind = mediaType // the file declares its own charset
	}
	return page.New([]page.Hop{{URL: r.URL.String(), Method: http.MethodGet, Status: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: body}}), nil
}

// pastOf returns what the data directory knows of u.
func (c *Command) pastOf(cfg *config.Config, u *url.URL) (p site.Past, err error) {
	if c.owner != nil {
		return c.owner.Past(u)
	}
	if site.Empty(cfg.Data) {
		return p, nil
	}
	err = c.unlocked(cfg.Data, func() error {
		p, err = site.ReadPast(cfg, u)
		return err
	})
	return p, faultOf(err)
}
