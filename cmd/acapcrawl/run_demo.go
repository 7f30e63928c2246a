package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/conformance"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/present"
)

// demoSearches are what the demo asks its index at the end.
var demoSearches = []string{"ferry", "harbour"}

// demoRow is what became of one address.
type demoRow struct {
	Path    string   `json:"path"`
	State   string   `json:"state"` // fetched, or why not
	Stored  bool     `json:"stored"`
	Indexed bool     `json:"indexed"`
	Follow  bool     `json:"followed"`
	Shown   []string `json:"shown,omitempty"`   // the forms in which it may be shown today: link, snippet, copy
	Because []string `json:"because,omitempty"` // a line for each refusal
}

// runDemo serves the reference publisher site on loopback and crawls it through the same code as crawl.
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
		return misuse("", "%s holds a crawl already; the demo wants a directory of its own", data)
	}
	d := &demo{base: base, receipts: map[string]holdings.Receipt{}}
	line := newProgress(c.Stderr)
	if !r.JSON {
		fmt.Fprintf(c.Stdout, "A small newspaper answers at %s; crawling it into %s.\n\n", base, data)
	}
	sum, err := c.crawl(ctx, cfg, crawlOrder{seeds: []string{base + "/"}, backoff: demoBackoff, log: logger(line, cfg), received: d.received})
	line.Done()
	if err != nil {
		return err
	}
	rows, err := d.rows(ctx, c, cfg)
	if err != nil {
		return err
	}
	if r.JSON {
		return c.printJSON(map[string]any{"base": base, "data": data, "summary": sum, "pages": rows})
	}
	if err := c.printRows(rows); err != nil {
		return err
	}
	if err := printSummary(c.Stdout, sum, time.Now()); err != nil {
		return err
	}
	for _, q := range demoSearches {
		fmt.Fprintf(c.Stdout, "\n$ acapcrawl search --data %s %s\n", data, q)
		if err := c.demoSearch(ctx, cfg, q); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(c.Stdout, `
Go on with what was crawled:
  acapcrawl search --data %[1]s lighthouse
  acapcrawl show --data %[1]s %[2]s/
  acapcrawl archive ls --data %[1]s
or with a site of your own:
  acapcrawl explain https://example.com/
  acapcrawl crawl --max-pages 50 https://example.com/
`, data, base)
	return err
}

// demoBackoff is the first pause before a page that answers 503 is asked for again: nobody waits for the newspaper to recover.
const demoBackoff = 100 * time.Millisecond

func demoConfig(data string) (*config.Config, error) {
	return config.Load(config.Input{Flags: map[string]any{"data": data, "delay": "0", "concurrency": "4", "sitemaps": "true"}})
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
		srv.Serve(l) // ends with Close
	}()
	return "http://" + l.Addr().String(), func() { srv.Close(); <-done }, nil
}

// demo collects what became of the pages.
type demo struct {
	base string

	mu       sync.Mutex
	receipts map[string]holdings.Receipt
}

func (d *demo) received(pg *page.Page, r holdings.Receipt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.receipts[pg.URL().String()] = r
}

// rows gives a row for each address of the newspaper that the crawl heard of.
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
		row := demoRow{Path: strings.TrimPrefix(rec.URL, d.base), State: string(rec.State)}
		if rec.Why != "" {
			row.Because = append(row.Because, d.short(rec.Why))
		}
		if got, ok := d.receipts[rec.URL]; ok {
			row.Stored, row.Indexed, row.Follow = got.Stored, got.Indexed, len(got.Links) > 0
			row.Because = d.refusals(got, row.Because)
			if (got.Stored || got.Indexed) && !got.Discarded {
				if err := d.shown(ctx, p, rec.URL, &row); err != nil {
					return err
				}
			}
		} else if rec.State == crawler.Fetched {
			row.State = "redirected"
		}
		if rec.State == crawler.Fetched && rec.Status >= 400 {
			row.State = fmt.Sprintf("status %d", rec.Status)
		}
		rows = append(rows, row)
		return nil
	})
	sort.Slice(rows, func(i, j int) bool { return rows[i].Path < rows[j].Path })
	return rows, err
}

// refusals gives a line for each thing that was not done with a page.
func (d *demo) refusals(got holdings.Receipt, lines []string) []string {
	if got.Discarded && len(got.Refused) > 0 { // all were refused by the same line
		return append(lines, d.short(got.Refused[0].Why()))
	}
	for _, refused := range got.Refused {
		lines = append(lines, d.short(notDone[refused.Usage]+": "+refused.Why()))
	}
	return lines
}

// shown says in which forms a page may be shown, and by which lines not in the others.
func (d *demo) shown(ctx context.Context, p *present.Presenter, address string, row *demoRow) error {
	forms := []string{"link", "snippet", "copy"}
	decisions, err := p.Decide(ctx, address, present.Reader{}, acap.PresentLink, acap.PresentSnippet, acap.PresentCurrentCopy)
	if err != nil {
		return err
	}
	for i, dec := range decisions {
		switch {
		case i == 2 && !row.Stored:
		case dec.Allowed:
			row.Shown = append(row.Shown, forms[i])
		default:
			row.Because = append(row.Because, d.short("no "+forms[i]+": "+dec.Why()))
		}
	}
	return nil
}

var notDone = map[acap.Usage]string{acap.Follow: "not followed", acap.Index: "not indexed", acap.Preserve: "not kept"}

// short leaves the address of the newspaper out.
func (d *demo) short(s string) string {
	u, err := url.Parse(d.base)
	if err != nil {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, d.base, ""), u.Host, "")
}

func (c *Command) printRows(rows []demoRow) error {
	w := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ADDRESS\tOUTCOME\tKEPT\tINDEXED\tSHOWN AS\tWHY NOT")
	mark := map[bool]string{true: "yes", false: "-"}
	for _, r := range rows {
		why := append(r.Because, "")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Path, r.State, mark[r.Stored], mark[r.Indexed], strings.Join(r.Shown, " "), why[0])
		for _, more := range why[1:max(1, len(why)-1)] {
			fmt.Fprintf(w, "\t\t\t\t\t%s\n", more)
		}
	}
	fmt.Fprintln(w)
	return w.Flush()
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
