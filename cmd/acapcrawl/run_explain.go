package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/acapcrawl/acapcrawl/terms"
)

// runExplain reads the policy of the URL's origin now, or from a file, and the page with --page, from a file or from what is held,
// and says what that permits.
func (c *Command) runExplain(ctx context.Context, cfg *config.Config, r explainRequest) error {
	who, err := recorded(cfg)
	if err != nil {
		return err
	}
	if err := c.readable(cfg.SignatureKey); err != nil {
		return err
	}
	own, err := recorded(cfg.Sender())
	if err != nil {
		return err
	}
	g, err := site.NewGate(cfg, own)
	if err != nil {
		return err
	}
	defer g.Close()
	e := explainer{who: who, gate: g, request: &r}
	if r.Robots == "" && r.PageFile == "" {
		if e.past, err = c.pastOf(cfg, r.URL, g); err != nil {
			return err
		}
	}
	if err := c.locate(ctx, cfg, &r.Reader); err != nil {
		return err
	}
	g.Name(r.URL)
	var files policy.Fetcher = site.PolicyFiles(g)
	if r.Robots != "" {
		if files, err = c.readRobots(&r); err != nil {
			return err
		}
	}
	if r.PageFile != "" {
		if e.page, err = c.readPage(&r); err != nil {
			return err
		}
	}
	e.policies = policy.New(files, who, policy.NewMemory(), policy.Options{Pace: g.Pace})
	defer e.policies.Close()
	g.Use(e.policies.For(own))
	if e.origin, err = e.originOf(ctx, r.URL); err != nil {
		return err
	}
	if err := e.reach(ctx); err != nil {
		return err
	}
	var answers []explained
	refused := false
	for _, u := range r.asked() {
		a, err := e.explain(ctx, u)
		if err != nil {
			return err
		}
		answers = append(answers, a)
		refused = refused || !a.Decision.Allowed
	}
	err = c.writeReport(r.Out, func(w io.Writer) error {
		if r.Out.JSON() {
			return display.Encoder(w).Encode(e.json(answers))
		}
		return printExplained(w, &e, answers)
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

// robotsFile stands in for the robots.txt of one origin. Nothing else can be had.
type robotsFile struct {
	url  string
	body []byte
}

func (f robotsFile) Fetch(_ context.Context, rawurl string, _ http.Header) (policy.Response, error) {
	if rawurl != f.url {
		return policy.Response{}, errors.New("nothing is requested with --robots")
	}
	return policy.Response{URL: rawurl, Status: http.StatusOK, Body: f.body}, nil
}

func (c *Command) readRobots(r *explainRequest) (policy.Fetcher, error) {
	key, err := policy.Key(r.URL)
	if err != nil {
		return nil, err
	}
	body, err := c.readFile("--robots", r.Robots)
	return robotsFile{key + "/robots.txt", body}, err
}

// readPage makes a page of a file. What kind it is its name says, else it is HTML.
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
		kind = mediaType // the file says what its charset is
	}
	return page.New([]page.Hop{{URL: r.URL.String(), Method: http.MethodGet, Status: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: body}}), nil
}

// explainer answers for one URL.
type explainer struct {
	*terms.Reached
	who      acap.Crawler
	request  *explainRequest
	gate     *gate.Gate
	policies *policy.Authority
	origin   *policy.Origin
	past     site.Past
	page     *page.Page // as fetched or given; nil where it is not known
	led      *led

	origins []*policy.Origin // all that were asked, for their lines
	source  []string         // lines of the page, once asked for
}

func (e *explainer) originOf(ctx context.Context, u *url.URL) (*policy.Origin, error) {
	o, err := e.policies.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(e.origins, o) {
		e.origins = append(e.origins, o)
	}
	return o, nil
}

// led is where a redirect leads, if crawl is refused there.
type led struct {
	url      *url.URL
	origin   *policy.Origin
	decision acap.Decision
}

// reach finds the terms: of the page fetched now or given, of what is held, or of the address alone.
func (e *explainer) reach(ctx context.Context) error {
	r := e.request
	facts := acap.Facts{Now: r.AsOf, FirstCrawled: e.past.FirstCrawled, FirstIndexed: e.past.FirstIndexed, FirstPreserved: e.past.FirstPreserved,
		FirstPresented: e.past.FirstPresented, Target: r.Reader}
	if facts.Now.IsZero() {
		facts.Now = time.Now().UTC()
	}
	sources := terms.Sources{Policies: e.policies, Fetcher: site.NewFetcher(e.gate, 0)}
	if r.Robots != "" {
		sources.Fetcher = nil
	}
	switch {
	case r.Page:
		if err := e.fetch(ctx); err != nil {
			return err
		}
	case e.page != nil:
	case e.past.URL != "":
		var err error
		e.Reached, err = terms.ReachHeld(ctx, e.past.Way, e.past.Own, e.past.Page, terms.Recall(e.past.Title, e.past.Excerpt), sources, facts)
		return err
	case e.past.Led != "":
		if err := e.hop(ctx, e.past.Led); err != nil {
			return err
		}
	}
	var err error
	e.Reached, err = terms.Reach(ctx, e.origin.Policy, r.URL, e.page, sources, facts)
	return err
}

// hop notes that a redirect leads to address, if crawl is refused there now.
func (e *explainer) hop(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	o, err := e.originOf(ctx, u)
	if err != nil {
		return err
	}
	if d := o.Policy.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
		d.Note = "it leads to " + address
		e.led = &led{u, o, d}
	}
	return nil
}

// fetch fetches the page through the gate; a refusal by policy is no error here: it is what the decisions will say.
func (e *explainer) fetch(ctx context.Context) error {
	u := e.request.URL
	t, err := e.gate.Get(ctx, gate.PageRequest, u.String())
	var refused *gate.Refusal
	switch {
	case errors.As(err, &refused) && refused.Rule == "":
		if err := e.hop(ctx, refused.URL); err != nil || e.led != nil {
			return err
		}
		return refusal(err) // to the crawler that sends requests, not to the one that is judged for
	case errors.As(err, &refused) && refused.Rule == gate.RuleTakeDown:
		return refusal(err)
	case err != nil:
		return fmt.Errorf("%s could not be fetched: %w", u, err)
	}
	pg := site.PageOf(t)
	if s := pg.Last().Status; s < 200 || s > 299 {
		return fmt.Errorf("%s answers with status %d: there is no page to read statements from", u, s)
	}
	e.page = pg
	return nil
}

// pastOf returns what the data directory knows of u, and opens the hosts that its seeds named.
func (c *Command) pastOf(cfg *config.Config, u *url.URL, g *gate.Gate) (p site.Past, err error) {
	if c.owner != nil {
		return c.owner.Past(u, g)
	}
	if site.Empty(cfg.Data) {
		return p, nil
	}
	err = c.unlocked(cfg.Data, func() error {
		p, err = site.ReadPast(cfg, u, g)
		return err
	})
	return p, faultOf(err)
}
