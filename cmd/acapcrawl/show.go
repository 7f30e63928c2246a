package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/thumbnail"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// showRequest holds the arguments of show that are not settings.
type showRequest struct {
	judging
	URL     *url.URL
	At      time.Time // show the version that was current at that time; zero: now
	Version int       // number of the version to show, from 1; 0: the current version
	Headers bool
	Sent    bool   // the page as sent, before its scripts ran
	Framed  bool   // the caller embeds the output in another page
	Query   string // search query, whose words the snippet should contain
	JSON    bool
	Shard   bool     // another process of a cluster asks: print why nothing is shown as JSON in any case
	call    nodeCall // for the nodes of a cluster

	// What to show instead of the archived copy. At most one of these fields is true.
	Snippet, Picture, Original bool
}

func (c *Command) showVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show URL",
		Short: "Print an archived page, a snippet or a thumbnail, if permitted",
		Example: `  acapcrawl show --version 1 https://example.com/news/ferry.html
  acapcrawl show --snippet --query harbour https://example.com/news/ferry.html`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.String("at", "", "print the version that was current at `TIME` (RFC 3339)")
	version := flags.Int("version", 0, "print version `N`, counted from 1")
	headers := flags.Bool("headers", false, "print the response header too")
	sent := flags.Bool("sent", false, "print the page as sent, before its scripts ran")
	snippet := flags.Bool("snippet", false, "print a snippet instead")
	query := flags.String("query", "", "prefer a snippet with `WORDS`")
	picture := flags.Bool("thumbnail", false, "print a thumbnail instead, as JPEG or PNG")
	original := flags.Bool("original", false, "print the address of the original instead, and whether it must be "+
		"shown in a frame")
	framed := flags.Bool("framed", false, "decide for output that you embed in your own page")
	judgedCrawler(flags)
	setting(flags, "purpose")
	setting(flags, "preferences")
	setting(flags, "for")
	judge := judgingFlags(cmd, "from-now", "reader", "refresh")
	clusterFlags(cmd)
	shard := shardOnly(flags)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := showRequest{Version: *version, Headers: *headers, Sent: *sent, Framed: *framed, Query: *query,
			JSON: out.JSON(), Snippet: *snippet, Picture: *picture, Original: *original, Shard: *shard,
			call: callOf(cmd, args)}
		var err error
		if r.URL, err = oneURL(cmd, args); err != nil {
			return err
		}
		if r.At, err = timeFlag(flags, "at"); err != nil {
			return err
		}
		switch {
		case flags.Changed("version") && r.Version < 1:
			return misuse("--version 1", "--version: %d is out of range", r.Version)
		case flags.Changed("version") && flags.Changed("at"):
			return misuse("", "--at and --version both select a version; give one of them")
		}
		if err := r.contradiction(); err != nil {
			return err
		}
		if r.judging, err = judge(); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runShow(cmd.Context(), cfg, r)
	}
	return cmd
}

// contradiction returns an error if flags contradict each other.
func (r *showRequest) contradiction() error {
	var one []string
	for _, f := range []struct {
		given bool
		name  string
	}{{r.Headers, "--headers"}, {r.Snippet, "--snippet"}, {r.Picture, "--thumbnail"}, {r.Original, "--original"}} {
		if f.given {
			one = append(one, f.name)
		}
	}
	switch {
	case len(one) > 1:
		return misuse("", "%s select different content; give one of them", strings.Join(one, " and "))
	case r.Query != "" && !r.Snippet:
		return misuse("--snippet", "--query needs --snippet")
	case r.Sent && (r.Snippet || r.Picture || r.Original):
		return misuse("", "--sent applies to copies only")
	case r.Original && (r.Version != 0 || !r.At.IsZero()):
		return misuse("", "the original has no versions")
	case r.Framed && (r.Snippet || r.Picture): // P1 2.5.5.7 (K04): only copies and originals depend on their context
		return misuse("", "--framed applies to copies and originals only")
	}
	return nil
}

func (c *Command) runShow(ctx context.Context, cfg *config.Config, r showRequest) error {
	if out, ok := c.Stdout.(*results); ok && r.Picture && !r.JSON && out.terminal() {
		return misuse("> FILE, or --json", "a picture cannot be written to a terminal")
	}
	address, err := address.Normal(r.URL.String())
	if err != nil {
		return misuse("", "%w", err)
	}
	if c.asksNodes(cfg) {
		return c.showFromNodes(ctx, cfg, address, r)
	}
	err = c.show(ctx, cfg, address, r)
	if none, is := unshownOf(address, err); is && (r.JSON || r.Shard) {
		return errors.Join(c.printJSON(none), err)
	}
	return err
}

// show prints the page at address in the form of r.
func (c *Command) show(ctx context.Context, cfg *config.Config, address string, r showRequest) (err error) {
	d, p, err := c.openPresenter(ctx, cfg, &r.judging)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	which, who := present.Which{At: r.At, Version: r.Version}, present.Reader{Target: r.Reader, AsOf: r.AsOf,
		Framed: r.Framed}
	switch {
	case r.Picture:
		err = c.showPicture(ctx, p, address, which, who, r.JSON)
	case r.Snippet:
		err = c.showSnippet(ctx, p, address, r.Query, which, who, r.JSON)
	case r.Original:
		err = c.showOriginal(ctx, p, address, who, r.JSON)
	default:
		err = c.showCopy(ctx, p, address, which, who, r)
	}
	if f, none := errors.AsType[*fault](err); none && f.status == statusNothing && f.reason == "" {
		if r.Shard { // another node must not show a page that is taken down either
			if down := d.TakenDown(ctx, address); down != nil {
				return acap.Decision{Usage: acap.Present, Reason: acap.ByProhibition, Because: down}.Err(address)
			}
		}
		return d.addErasure(address, which.Version, f)
	}
	return err
}

// addErasure extends f, the error for a missing page: it adds when and why the page was erased, if
// an erasure is recorded.
func (d *directory) addErasure(address string, version int, f *fault) error {
	list, err := d.Archive().Tombstones(address)
	if err != nil {
		return err
	}
	for _, t := range slices.Backward(list) {
		if t.Version != 0 && t.Version != version {
			continue
		}
		why := t.Why
		if t.Line != "" && !strings.Contains(why, t.Line) {
			why += " (" + t.Line + ")"
		}
		return nothing(fmt.Sprintf("%s It was erased on %s: %s.", f,
			t.When.UTC().Format("2 January 2006 at 15:04 UTC"), why))
	}
	return f
}

// unshown is the JSON output of the verb show if nothing is shown.
type unshown struct {
	URL   string     `json:"url"`
	Usage acap.Usage `json:"usage,omitempty"` // the usage that is not permitted
	// an acap.Reason if policy refuses, otherwise one of the constants below
	Reason string      `json:"reason"`
	Why    string      `json:"why"` // the reason as a sentence
	Line   *reportLine `json:"line,omitempty"`
}

// Reasons of unshown other than an acap.Reason.
const (
	reasonNotHeld = "not-held"
	reasonNoImage = "no-image" // no thumbnail can be made
)

// unshownOf returns the JSON output for err. The result is is false if err is another error than
// that nothing may be shown.
func unshownOf(address string, err error) (u unshown, is bool) {
	u = unshown{URL: address}
	refused, barred := errors.AsType[*acap.Refused](err)
	f, none := errors.AsType[*fault](err)
	switch {
	case barred:
		u.Usage, u.Reason, u.Line = refused.Decision.Usage, string(refused.Decision.Reason), lineOf(
			refused.Decision.Because)
		u.Why = refused.Error()
	case none && f.status == statusNothing:
		u.Reason, u.Why = cmp.Or(f.reason, reasonNotHeld), f.Error()
	default:
		return u, false
	}
	return u, true
}

func (c *Command) showCopy(ctx context.Context, p *present.Presenter, address string, which present.Which,
	who present.Reader, r showRequest) error {
	form := p.Copy
	if r.Sent {
		form = p.SentCopy
	}
	cp, err := form(ctx, address, which, who)
	switch {
	case errors.Is(err, present.ErrNotHeld):
		return notHeld("copy", address, which)
	case err != nil:
		return err
	case r.JSON:
		return c.printJSON(cp)
	}
	if cp.Cut {
		fmt.Fprintln(c.Stderr, "Parts of the page that may not be kept or shown are cut out.")
	}
	if cp.Truncated {
		fmt.Fprintln(c.Stderr, "The end is missing: the page was longer than the archived copy.")
	}
	for _, why := range cp.Cuts {
		fmt.Fprintf(c.Stderr, "Not all of the page is shown: %s.\n", why)
	}
	c.printRequired(cp.Include)
	var out bytes.Buffer
	if r.Headers {
		fmt.Fprintf(&out, "HTTP/1.1 %d\r\n", cp.Status)
		if err := cp.Header.Write(&out); err != nil {
			return err
		}
		out.WriteString("\r\n")
	}
	out.Write(cp.Body)
	if r, ok := c.Stdout.(*results); ok && r.terminal() && bytes.IndexByte(cp.Body, 0) >= 0 {
		return misuse("> FILE, or --json", "the copy of %s is not text and cannot be written to a terminal", address)
	}
	_, err = c.raw().Write(out.Bytes())
	return err
}

func notHeld(what, address string, which present.Which) error {
	if which != (present.Which{}) {
		return nothing(fmt.Sprintf("No such version of %s is archived.", address))
	}
	return nothing(fmt.Sprintf("No %s of %s is archived.", what, address))
}

// printRequired prints the texts that publishers require next to the result.
func (c *Command) printRequired(include []snippet.Include) {
	for _, in := range include {
		fmt.Fprintf(c.Stderr, "Must be shown with it: %s\n", included(in))
	}
}

func (c *Command) showPicture(ctx context.Context, p *present.Presenter, address string, which present.Which,
	who present.Reader, asJSON bool) error {
	picture, err := p.Thumbnail(ctx, address, which, who)
	switch {
	case errors.Is(err, present.ErrNotHeld):
		return notHeld("copy, and no thumbnail,", address, which)
	case errors.Is(err, thumbnail.ErrNone):
		sentence := fmt.Sprintf("%s: %v.", address, err)
		return &fault{status: statusNothing, reason: reasonNoImage, err: errors.New(sentence)}
	case err != nil:
		return err
	case asJSON:
		return c.printJSON(picture)
	}
	c.printRequired(picture.Include)
	_, err = c.raw().Write(picture.Body)
	return err
}

func (c *Command) showSnippet(ctx context.Context, p *present.Presenter, address, query string, which present.Which,
	who present.Reader, asJSON bool) error {
	passage, err := p.Snippet(ctx, address, query, which, who)
	switch {
	case errors.Is(err, present.ErrNotHeld):
		return notHeld("text", address, which)
	case err != nil:
		return err
	case asJSON:
		return c.printJSON(passage)
	}
	text := marked(passage.Snippet.Text, passage.Snippet.Marks, c.Bold) + "\n"
	for _, in := range passage.Snippet.Include {
		if in.Role != "extract" { // an extract is already part of the snippet
			text += "    " + included(in) + "\n"
		}
	}
	_, err = c.Stdout.Write([]byte(text))
	return err
}

func (c *Command) showOriginal(ctx context.Context, p *present.Presenter, address string, who present.Reader,
	asJSON bool) error {
	lead, err := p.Original(ctx, address, who)
	switch {
	case errors.Is(err, present.ErrNotHeld):
		return nothing(fmt.Sprintf("The statements of %s about itself are not known: the page is not archived.",
			address))
	case err != nil:
		return err
	case asJSON:
		return c.printJSON(lead)
	}
	text := snippet.Plain(lead.URL) + "\n"
	if lead.Framed {
		text += "    to be shown within a frame\n"
	}
	for _, limit := range explain.LimitWords(lead.Limits, rfc3339) {
		text += "    " + display.Line(limit) + "\n"
	}
	for _, in := range lead.Include {
		text += "    " + included(in) + "\n"
	}
	_, err = c.Stdout.Write([]byte(text))
	return err
}

// included returns a text that the publisher requires next to the result, on one line.
func included(in snippet.Include) string {
	return snippet.Plain(in.Role + ": " + in.Text + " " + in.Href)
}
