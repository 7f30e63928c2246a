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
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/site"
)

// explainRequest holds the arguments of explain that are not settings.
type explainRequest struct {
	judging
	URL      *url.URL
	Usages   []acap.Usage // the usages to explain; empty: all fourteen
	Page     bool         // fetch the page and also read the ACAP statements in the page
	PageFile string       // file to read instead of the page; "-" is standard input
	Robots   string       // file to read instead of robots.txt, so that nothing is requested; "-" is standard input
	All      bool         // also list lines about other crawlers and resources
	Out      *output
	Shard    bool     // another process of a cluster asks: decide by what is stored, and print a shardExplained
	call     nodeCall // for the nodes of a cluster
}

func (c *Command) explainVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain URL",
		Short: "Print what the crawler may do with a URL, and which lines decide",
		Long: `Print for each usage whether this crawler may do it with a URL, the line that decides, the
limits, and the lines that were overruled.

With --robots FILE, explain decides by a robots.txt that is not published yet: it requests nothing, and
--page-file FILE can replace the page. If FILE is -, read standard input.`,
		Example: `  acapcrawl explain --usage index --purpose news https://example.com/a.html
  acapcrawl explain --robots robots.txt --page-file a.html --as-of 2026-12-31T00:00:00Z https://example.com/a.html`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	usages := flags.StringArray("usage", nil, "only the usage type `U` (repeatable)")
	page := flags.Bool("page", false, "fetch the page too, for its own statements")
	pageFile := flags.String("page-file", "", "read `FILE` instead of the page")
	robots := flags.String("robots", "", "read `FILE` instead of robots.txt, and request nothing")
	all := flags.Bool("all", false, "list lines about other crawlers and resources too")
	judgedCrawler(flags)
	for _, name := range []string{"purpose", "preferences", "for", "strict", "dialect", "allow-private"} {
		setting(flags, name)
	}
	cannot := flags.StringArray("cannot", nil, "treat `X` as unsupported: a usage type, a qualifier type or "+
		"element-level (repeatable)")
	flags.SetAnnotation("cannot", keyOfFlag, []string{"cannot"})
	judge := judgingFlags(cmd, "as-of", "reader")
	clusterFlags(cmd)
	shard := shardOnly(flags)
	out := c.reportFlags(cmd, textForm, jsonForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := explainRequest{Page: *page, PageFile: *pageFile, Robots: *robots, All: *all, Out: out,
			Shard: *shard, call: callOf(cmd, args)}
		var err error
		if r.URL, err = oneURL(cmd, args); err != nil {
			return err
		}
		if err := r.contradiction(); err != nil {
			return err
		}
		if r.Usages, err = usagesNamed(*usages); err != nil {
			return err
		}
		for _, name := range *cannot {
			if !slices.Contains(acap.Capabilities(), name) {
				return unknown("--cannot", name, "a usage type, a qualifier type or "+acap.ElementLevel,
					acap.Capabilities())
			}
		}
		if r.judging, err = judge(); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runExplain(cmd.Context(), cfg, r)
	}
	return cmd
}

// contradiction returns an error if flags contradict each other.
func (r *explainRequest) contradiction() error {
	switch {
	case r.Page && r.Robots != "":
		return misuse("--page-file FILE", "--page makes a request, but --robots allows none")
	case r.Page && r.PageFile != "":
		return misuse("", "--page and --page-file both give the page; use one of them")
	case r.Robots == "-" && r.PageFile == "-":
		return misuse("", "--robots and --page-file cannot both be standard input")
	}
	return nil
}

// usagesNamed returns the usages that are named in the values of --usage.
func usagesNamed(names []string) (list []acap.Usage, err error) {
	for _, name := range names {
		u, err := usage(name)
		if err != nil {
			return nil, unknown("--usage", name, "a usage type",
				usageNames(append(acap.Usages(), acap.NewerUsages()...)))
		}
		list = append(list, u)
	}
	return list, nil
}

func usageNames(usages []acap.Usage) []string {
	names := make([]string, len(usages))
	for i, u := range usages {
		names[i] = string(u)
	}
	return names
}

// unknown returns the error for a word that words does not contain. The error suggests the most
// similar word, or lists all words if none is similar.
func unknown(flag, word, what string, words []string) error {
	if near := config.Nearest(strings.ToLower(word), words); near != "" {
		return misuse(flag+" "+near, "%s: %q is not %s", flag, word, what)
	}
	return misuse("", "%s: %q is not one of %s", flag, word, strings.Join(words, ", "))
}

// explanation is an explain.Explanation together with the arguments of the command that requested it.
type explanation struct {
	*explain.Explanation
	request *explainRequest
}

// runExplain prints what the crawler may do with a URL. It requests the policy of the URL's origin
// now, or reads the policy from a file. It fetches the page if --page was given, or reads the page
// from a file or from the archive.
func (c *Command) runExplain(ctx context.Context, cfg *config.Config, r explainRequest) error {
	switch {
	case r.Shard:
		return c.explainShard(ctx, cfg, r)
	case c.asksNodes(cfg) && r.Robots == "":
		return c.explainFromNodes(ctx, cfg, r)
	}
	if err := c.readable(cfg.SignatureKey); err != nil {
		return err
	}
	var past explain.Past
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
	if err = c.writeReport(r.Out, e.write); err == nil && e.refused() {
		return &fault{status: statusRefused, err: errors.New("")}
	}
	return err
}

// write writes the explanation in the wanted format.
func (e *explanation) write(w io.Writer) error {
	if e.request.Out.JSON() {
		return display.Encoder(w).Encode(e.Report())
	}
	return printExplained(w, e)
}

// refused reports whether a usage that the user named is prohibited.
func (e *explanation) refused() bool {
	return len(e.request.Usages) > 0 && slices.ContainsFunc(e.Answers, func(a explain.Explained) bool {
		return !a.Decision.Allowed
	})
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

// maxRead is the maximum size of a file named by a flag, in bytes.
const maxRead = 64 << 20

// readPage returns the page in the file of --page-file. The media type is taken from the file name;
// if the name has no known extension, the type is HTML.
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
		kind = mediaType // without the charset parameter, because the file itself declares its charset
	}
	return page.New([]page.Hop{{URL: r.URL.String(), Method: http.MethodGet, Status: http.StatusOK,
		Header: http.Header{"Content-Type": {kind}}, Body: body}}), nil
}

// pastOf returns what the data directory stores about u.
func (c *Command) pastOf(cfg *config.Config, u *url.URL) (p explain.Past, err error) {
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
