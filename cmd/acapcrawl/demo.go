package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/site"
)

// demoRequest holds the arguments of the verb demo.
type demoRequest struct {
	Data string // the data directory to fill; "": a new temporary one
	All  bool   // also list the pages for which nothing was refused
	JSON bool
	// crawl with this number of processes, as the nodes of a cluster, and kill one of them; 0: crawl in this process
	Nodes int

	// after the crawl, serve the newspaper and the archive with these settings until Ctrl-C; nil: do not
	Serve *config.Config
}

func (c *Command) demoVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a bundled newspaper, and print what was refused and why",
		Example: `  acapcrawl demo
  acapcrawl demo --serve
  acapcrawl demo --nodes 3`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	all := flags.Bool("all", false, "list pages without a refusal too")
	serve := flags.Bool("serve", false, "show the archive in browsers, and keep the newspaper, until Ctrl-C")
	nodes := flags.Int("nodes", 0, "crawl with `N` processes as a cluster, and kill one of them half-way")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		r := demoRequest{Data: cmd.Flag("data").Value.String(), All: *all, JSON: out.JSON(), Nodes: *nodes}
		if cmd.Flags().Changed("nodes") {
			return c.runDemoCluster(cmd.Context(), r)
		}
		if *serve {
			if r.Serve, err = c.settings(cmd); err != nil {
				return err
			}
		}
		return c.runDemo(cmd.Context(), r)
	}
	return cmd
}

// demoQuery is the search query that demo runs at the end.
const demoQuery = "ferry"

// demoRow is what the demo did with one address.
type demoRow struct {
	Path    string   `json:"path"`
	State   string   `json:"state"` // "fetched", or why the page was not fetched
	Stored  bool     `json:"stored"`
	Indexed bool     `json:"indexed"`
	Follow  bool     `json:"followed"`
	Shown   []string `json:"shown,omitempty"`   // the forms in which the page may be shown today: link, snippet, copy
	Because []string `json:"because,omitempty"` // for each refusal, one line of text with the reason

	refusals []demoRefusal // the refusals as the printed table shows them
}

// demoRefusal is one action that policy refused for a page.
type demoRefusal struct {
	what string // for example "not indexed", "no snippet"; "" if the page was not fetched
	why  string // the reason, with the policy line that decided
}

// runDemo serves the reference publisher site, a newspaper, on loopback, and crawls the site with
// the same code as the verb crawl.
func (c *Command) runDemo(ctx context.Context, r demoRequest) error {
	base, stop, err := serveSite(ctx, conformance.NewSite())
	if err != nil {
		return err
	}
	defer stop()
	data := r.Data
	if data == "" {
		if data, err = os.MkdirTemp("", "acapcrawl-demo-"); err != nil {
			return err
		}
	}
	cfg, err := demoConfig(data)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(data, "archive.db")); err == nil {
		return misuse("acapcrawl demo --data NEWDIR", "%s already holds a crawl; demo needs an empty directory", data)
	}
	if !r.JSON {
		fmt.Fprintf(c.Stdout, "Serving a small newspaper at %s\nCrawling it into %s\n\n", base, data)
	}
	if err := c.crawlDemo(ctx, cfg, r, base); err != nil || r.Serve == nil {
		return err
	}
	r.Serve.Data, r.Serve.Listen, r.Serve.Serve.AdminListen = data, freePort(ctx, r.Serve.Listen), ""
	serving := *c
	if r.JSON {
		serving.Stdout = c.Stderr
	}
	flags := []string{"--data=" + data}
	if r.Serve.File != "" {
		flags = append(flags, "--config="+r.Serve.File)
	}
	return serving.runServe(ctx, r.Serve, flags, func(at string) {
		fmt.Fprintf(serving.Stdout, "\nThe archive is at %s/, and the newspaper at %s, until Ctrl-C.\n", at, base)
	})
}

// crawlDemo crawls the newspaper at base and prints what was done and refused.
func (c *Command) crawlDemo(ctx context.Context, cfg *config.Config, r demoRequest, base string) error {
	d := newDemo(base)
	line := newProgress(c.Stderr)
	sum, err := c.crawl(ctx, cfg, logger(line, cfg), d.options())
	line.Done()
	if err != nil {
		return err
	}
	rows, err := d.rows(ctx, c, cfg)
	if err != nil {
		return err
	}
	if r.JSON {
		return c.printJSON(map[string]any{"base": base, "data": cfg.Data, "summary": sum, "pages": rows})
	}
	if err := printDemoRows(c.Stdout, rows, r.All, c.Bold); err != nil {
		return err
	}
	if err := printSummary(c.Stdout, sum, time.Now()); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "\n$ %s search --data %s %s\n", c.called(), shellWord(cfg.Data), demoQuery)
	if err := c.demoSearch(ctx, cfg, demoQuery); err != nil {
		return err
	}
	_, err = io.WriteString(c.Stdout, demoSuggestions(c.called(), shellWord(cfg.Data), base, r.Serve != nil))
	return err
}

// demoSuggestions returns commands that the user can try next. With serving, the commands may
// request pages of the newspaper at base; otherwise they use only stored data.
func demoSuggestions(program, data, base string, serving bool) string {
	text := `
Continue with the crawled pages:
  PROGRAM search --data DATA lighthouse
  PROGRAM show --data DATA BASE/
  PROGRAM archive ls --data DATA
`
	if serving {
		text += `
Meanwhile, in another terminal:
  PROGRAM explain --data DATA BASE/members/
  PROGRAM check BASE/robots.txt
  PROGRAM crawl --data DATA --delay 0 --refetch --max-pages 3 BASE/
`
	} else {
		text += `
Keep the newspaper running to query its pages, or crawl a site of your own:
  PROGRAM demo --serve
  PROGRAM explain https://example.com/
  PROGRAM crawl --max-pages 50 https://example.com/
`
	}
	return strings.NewReplacer("PROGRAM", program, "DATA", data, "BASE", base).Replace(text)
}

// demoBackoff is the first pause before a page that answered 503 is requested again. It is short
// because nobody waits for the newspaper to recover.
const demoBackoff = 100 * time.Millisecond

// demoConfig returns the settings of the demo. They allow only one request at a time. With
// concurrent requests, the target page of a redirect would be fetched once or twice, and the
// printed counts would differ between runs.
func demoConfig(data string) (*config.Config, error) {
	return config.Load(config.Input{Flags: map[string]any{"data": data, "delay": "0", "concurrency": "1",
		"sitemaps": "true"}})
}

// serveSite serves the newspaper on a free port of loopback until stop is called.
func serveSite(ctx context.Context, site http.Handler) (base string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("the newspaper cannot be served on loopback: %w", err)
	}
	srv := &http.Server{Handler: site, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(l) // returns when the server is closed
	}()
	return "http://" + l.Addr().String(), func() { srv.Close(); <-done }, nil
}

// demo collects what a crawl reports about each address. Its callbacks may be called concurrently.
type demo struct {
	base string

	mu       sync.Mutex
	receipts map[string]holdings.Receipt
	skips    map[string]crawler.Skip
}

func newDemo(base string) *demo {
	return &demo{base: base, receipts: map[string]holdings.Receipt{}, skips: map[string]crawler.Skip{}}
}

// options returns the options of the crawl of the newspaper.
func (d *demo) options() site.CrawlOptions {
	return site.CrawlOptions{Seeds: []string{d.base + "/"}, Backoff: demoBackoff, Received: d.received,
		Skipped: d.skipped}
}

func (d *demo) received(pg *page.Page, r holdings.Receipt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.receipts[pg.URL().String()] = r
}

func (d *demo) skipped(s crawler.Skip) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.skips[s.URL] = s
}

// rows returns a row for each address of the newspaper that the crawl found, in order of their
// paths.
func (d *demo) rows(ctx context.Context, c *Command, cfg *config.Config) (rows []demoRow, err error) {
	s, p, err := c.openPresenter(ctx, cfg, &judging{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	f, err := crawler.Open(filepath.Join(cfg.Data, "frontier.db"), crawler.FrontierOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = f.Each(d.base, func(rec crawler.Record) error {
		row, err := d.row(ctx, p, rec)
		if err != nil {
			return err
		}
		rows = append(rows, row)
		return nil
	})
	sort.Slice(rows, func(i, j int) bool { return rows[i].Path < rows[j].Path })
	return rows, err
}

// row returns the row of one address.
func (d *demo) row(ctx context.Context, p *present.Presenter, rec crawler.Record) (demoRow, error) {
	row := demoRow{Path: strings.TrimPrefix(rec.URL, d.base), State: string(rec.State)}
	got, received := d.receipts[rec.URL]
	if rec.Why != "" {
		row.Because = append(row.Because, d.short(rec.Why))
		if !got.Discarded {
			row.refusals = append(row.refusals, demoRefusal{why: d.short(whySkipped(rec.Why, d.skips[rec.URL]))})
		}
	}
	switch {
	case received:
		row.Stored, row.Indexed, row.Follow = got.Stored, got.Indexed, len(got.Links) > 0
		d.addRefusals(&row, got)
		if (got.Stored || got.Indexed) && !got.Discarded {
			if err := d.addForms(ctx, p, rec.URL, &row); err != nil {
				return row, err
			}
		}
	case rec.State == crawler.Fetched:
		row.State = "redirected"
	}
	if rec.State == crawler.Fetched && rec.Status >= 400 {
		row.State = fmt.Sprintf("status %d", rec.Status)
	}
	return row, nil
}

// whySkipped returns the reason why an address was not fetched, without the address. If a policy
// decision or a request of the publisher is the cause, the reason names it; otherwise the reason is
// why.
func whySkipped(why string, s crawler.Skip) string {
	switch {
	case s.TakeDown != nil:
		return "its publisher asks that it be taken down: " + s.TakeDown.String()
	case s.Decision.Usage != "":
		return s.Decision.Why()
	}
	return why
}

// addRefusals adds the actions that policy refused for a page that was received.
func (d *demo) addRefusals(row *demoRow, got holdings.Receipt) {
	if got.Discarded && len(got.Refused) > 0 { // the page was discarded because one policy line refused everything
		why := d.short(got.Refused[0].Why())
		row.Because = append(row.Because, why)
		row.refusals = append(row.refusals, demoRefusal{why: why})
		return
	}
	for _, refused := range got.Refused {
		d.refuse(row, notDone[refused.Usage], refused.Why())
	}
}

// addForms adds to row the forms (link, snippet, copy) in which a page may be shown, and the policy
// lines that prohibit the other forms.
func (d *demo) addForms(ctx context.Context, p *present.Presenter, address string, row *demoRow) error {
	forms := []string{"link", "snippet", "copy"}
	decisions, err := p.Decide(ctx, address, present.Reader{}, acap.PresentLink, acap.PresentSnippet,
		acap.PresentCurrentCopy)
	if err != nil {
		return err
	}
	for i, dec := range decisions {
		switch {
		case i == 2 && !row.Stored:
		case dec.Allowed:
			row.Shown = append(row.Shown, forms[i])
		default:
			d.refuse(row, "no "+forms[i], dec.Why())
		}
	}
	return nil
}

func (d *demo) refuse(row *demoRow, what, why string) {
	row.Because = append(row.Because, d.short(what+": "+why))
	row.refusals = append(row.refusals, demoRefusal{what, d.short(why)})
}

var notDone = map[acap.Usage]string{acap.Follow: "not followed", acap.Index: "not indexed", acap.Preserve: "not kept"}

// short removes the base URL of the newspaper from s.
func (d *demo) short(s string) string {
	u, err := url.Parse(d.base)
	if err != nil {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, d.base, ""), u.Host, "")
}

func (c *Command) demoSearch(ctx context.Context, cfg *config.Config, query string) (err error) {
	s, p, err := c.openPresenter(ctx, cfg, &judging{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found, err := p.Search(ctx, present.Query{Text: query, Limit: 5}, present.Reader{})
	if err != nil {
		return err
	}
	_, err = c.Stdout.Write([]byte(resultsInWords(found.Results, c.Bold)))
	return err
}
