package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// searchRequest holds the arguments of search that are not settings.
type searchRequest struct {
	judging
	Query string
	Skip  int
	Limit int
	Why   bool
	JSON  bool

	call nodeCall // for the nodes of a cluster
	shardRequest
}

func (c *Command) searchVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search the index, and print what may be shown of the results",
		Long: `Search the index, and print what may be shown of each result, best results first.

A result contains all words of the query, in any grammatical form; pages with the words as written come first.
A "phrase" is found as written. A minus excludes a word. The search is restricted by site:HOST, lang:XX,
type:KIND (html, text, markdown, feed, pdf, image, or a media type), before:DAY and after:DAY; a day is
2026-05-31, 2026-05 or 2026. If the publisher permits no link, the address is marked "address only".`,
		Example: `  acapcrawl search harbour ferry
  acapcrawl search '"winter timetable" -cancelled site:example.com'
  acapcrawl search -- harbour -ferry
  acapcrawl search --cluster nats://n1:4222,nats://n2:4222,nats://n3:4222 harbour ferry`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	limit := flags.Int("limit", 10, "print at most `N` results")
	skip := flags.Int("skip", 0, "skip the first `N` results")
	why := flags.Bool("why", false, "print what may not be shown, and which line decides")
	judgedCrawler(flags)
	setting(flags, "purpose")
	setting(flags, "preferences")
	setting(flags, "for")
	judge := judgingFlags(cmd, "from-now", "reader", "refresh")
	clusterFlags(cmd)
	shard := shardFlags(flags)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := searchRequest{Query: strings.TrimSpace(strings.Join(args, " ")), Skip: *skip, Limit: *limit, Why: *why,
			JSON: out.JSON()}
		if r.Query == "" {
			return misuse("acapcrawl search harbour", "search needs a query")
		}
		for _, n := range []struct {
			flag         string
			value, least int
		}{{"limit", r.Limit, 1}, {"skip", r.Skip, 0}} {
			if n.value < n.least {
				return misuse("", "--%s: %d is out of range", n.flag, n.value)
			}
		}
		var err error
		if r.judging, err = judge(); err != nil {
			return err
		}
		if r.shardRequest, err = shard(&r.judging); err != nil {
			return err
		}
		r.call = callOf(cmd, []string{r.Query}, "limit", "skip")
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runSearch(cmd.Context(), cfg, r)
	}
	return cmd
}

func (c *Command) runSearch(ctx context.Context, cfg *config.Config, r searchRequest) (err error) {
	if err := index.Check(r.Query); err != nil {
		return misuse("", "%w", err)
	}
	if c.asksNodes(cfg) {
		return c.searchNodes(ctx, cfg, r)
	}
	d, p, err := c.openPresenter(ctx, cfg, &r.judging)
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	found, err := p.Search(ctx, r.query(), present.Reader{Target: r.Reader, AsOf: r.AsOf, Public: r.Public})
	switch {
	case err != nil:
		return err
	case r.Shard:
		return c.printJSON(newShardFound(found))
	}
	return c.printFound(found, r, nil)
}

func (r searchRequest) query() present.Query {
	return present.Query{Text: r.Query, Skip: r.Skip, Limit: r.Limit, Why: r.Why, Details: r.Details,
		Further: r.Further, For: r.Uses}
}

// printFound prints the results of a search. in says which nodes of a cluster have answered; nil: there is no cluster.
func (c *Command) printFound(found present.Found, r searchRequest, in *shards) error {
	shown := 0
	for _, one := range found.Results {
		if one.Shown() {
			shown++
		}
	}
	if r.JSON {
		if found.Results == nil {
			found.Results = []present.Result{}
		}
		var out any = found.Results
		if in != nil {
			out = struct {
				Results []present.Result `json:"results"`
				Shards  *shards          `json:"shards"`
			}{found.Results, in}
		}
		if err := c.printJSON(out); err != nil {
			return err
		}
	} else {
		text := resultsInWords(found.Results, c.Bold)
		if shown > 0 {
			text += "\n" + counted(found, r.Skip, shown)
		}
		if _, err := c.Stdout.Write([]byte(text)); err != nil {
			return err
		}
	}
	switch {
	case shown > 0:
		return nil
	case found.Count > 0:
		return nothing(fmt.Sprintf("There are no more than %s.", several(found.Count, "result")))
	}
	if found.More {
		return nothing("Of the many pages that match, none that was looked at may be shown.")
	}
	return nothing("No archived page that may be shown matches.")
}

// openPresenter opens the data directory and returns a Presenter. It looks up country and domain of
// the reader j.Reader if the user has not given them. The Presenter decides by the stored policies;
// if j.Refresh is true, openPresenter reads the policies again first.
func (c *Command) openPresenter(ctx context.Context, cfg *config.Config, j *judging) (*directory, *present.Presenter,
	error) {
	d, err := c.openHeld(ctx, cfg, j.Refresh)
	if err != nil {
		return nil, nil, err
	}
	if j.Known {
		return d, d.Presenter(), nil
	}
	if err := c.locate(ctx, cfg, &j.Reader); err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return d, d.Presenter(), nil
}

// noLink is printed after an address that must not be shown as a link.
const noLink = " (address only: its publisher does not permit a link)"

// resultsInWords returns search results as text. Texts of publishers cannot end a line or control a
// terminal.
func resultsInWords(found []present.Result, bold bool) string {
	var b strings.Builder
	for i, r := range found {
		if i > 0 {
			b.WriteByte('\n')
		}
		if r.Title != "" {
			fmt.Fprintln(&b, marked(r.Title, r.TitleMarks, bold))
		}
		address := snippet.Plain(cmp.Or(r.Href, r.URL))
		if r.Shown() && !r.Link { // P1 2.5.5.1.8 (X61): an address without permission for a link is shown as plain text
			address += noLink
		}
		fmt.Fprintln(&b, address)
		include := r.Include
		if r.Snippet != nil {
			fmt.Fprintf(&b, "    %s\n", marked(r.Snippet.Text, r.Snippet.Marks, bold))
			for _, in := range r.Snippet.Include {
				if in.Role != "extract" { // an extract is already part of the snippet
					include = append(include, in)
				}
			}
		}
		for _, in := range include {
			fmt.Fprintf(&b, "    %s\n", included(in))
		}
		for _, address := range r.Also {
			fmt.Fprintf(&b, "    also: %s\n", snippet.Plain(address))
		}
		for i, l := range r.LeftOut { // if the same policy line refuses several usages, print these usages together
			if i == 0 || l.Clause != r.LeftOut[i-1].Clause {
				b.WriteString("    not shown: ")
			}
			if b.WriteString(string(l.Usage)); i+1 < len(r.LeftOut) && l.Clause == r.LeftOut[i+1].Clause {
				b.WriteString(", ")
			} else {
				fmt.Fprintf(&b, ": %s\n", l.Clause)
			}
		}
	}
	return b.String()
}

// counted returns a sentence that says which results were shown, and of how many.
func counted(found present.Found, skipped, shown int) string {
	if shown == found.Count && !found.More {
		return several(shown, "result") + ".\n"
	}
	of := number(found.Count)
	switch {
	case found.More && skipped+shown == found.Count: // the number of all results is not known exactly
		of += " or more"
	case found.More:
		of = "more than " + of
	}
	text := fmt.Sprintf("Results %s to %s of %s.", number(skipped+1), number(skipped+shown), of)
	if skipped+shown < found.Count || found.More {
		text += fmt.Sprintf(" The next: --skip %d", skipped+shown)
	}
	return text + "\n"
}

// marked returns text with the words of the query in bold, or between asterisks. marks are ranges
// of code points of text.
func marked(text string, marks [][2]int, bold bool) string {
	on, off := "*", "*"
	if bold {
		on, off = "\x1b[1m", "\x1b[22m"
	}
	var b strings.Builder
	runes, at := []rune(snippet.Plain(text)), 0
	for _, m := range marks {
		if m[0] < at || m[1] < m[0] || m[1] > len(runes) {
			break
		}
		b.WriteString(string(runes[at:m[0]]) + on + string(runes[m[0]:m[1]]) + off)
		at = m[1]
	}
	return b.String() + string(runes[at:])
}
