package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/internal/wacz"
	"github.com/acapcrawl/acapcrawl/site"
)

// importRequest holds the arguments of archive import that are not settings.
type importRequest struct {
	Files     []string // names of the files to import, as typed
	Trust     bool     // import WACZ files although their digests are wrong
	Forgotten bool     // import also what the operator has erased
	Assume    string   // name of the robots.txt to assume, as typed; assumeNone; or "" for no assumption
	JSON      bool
}

// assumeNone is the value of --assume-policy for a site without a robots.txt.
const assumeNone = "none"

func (c *Command) archiveImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "Import the pages of WARC and WACZ files that may be kept today",
		Long: `Import the pages of WARC files (1.0 and 1.1, compressed or not; - is standard input) and of WACZ files as past
captures, if the policy last read of their sites permits to crawl and to preserve them. The command makes no
request. A page of a site whose policy was never read is refused, unless --assume-policy names a robots.txt
for such sites, or none. The assumption is used until the real robots.txt is read. A WACZ file is imported only if
it is as it describes itself.

A page that archive forget has erased since it was fetched is refused with the date and the reason of the erasure,
unless --forgotten is set. Redirects are imported too, with or without their target. Every record that is not
imported is printed to standard error, with the reason. Files may be imported again: existing captures stay
unchanged.`,
		Example: `  acapcrawl archive import crawl.warc.gz
  acapcrawl archive import --assume-policy none *.warc.gz`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	assume := flags.String("assume-policy", "", "assume the robots.txt in `FILE` for sites whose robots.txt was "+
		"never read; none: assume that they have none")
	judgedCrawler(flags)
	setting(flags, "purpose")
	setting(flags, "preferences")
	setting(flags, "for")
	setting(flags, "max-body")
	setting(flags, "memory")
	trust := flags.Bool("unverified", false, "import WACZ files without comparing them with their own description; "+
		"digests in their records are compared in any case")
	forgotten := flags.Bool("forgotten", false, "import also pages that archive forget has erased since they were "+
		"fetched")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || strings.Join(args, "") == "" {
			return misuse(cmd.CommandPath()+" crawl.warc.gz", "%s needs the name of a file", cmd.CommandPath())
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runImport(cmd.Context(), cfg, importRequest{Files: args, Trust: *trust, Assume: *assume,
			Forgotten: *forgotten, JSON: out.JSON()})
	}
	localOnly(cmd, "nodes read no files of other machines",
		"acapcrawl archive import FILE --data DIR on the machine of a node")
	return cmd
}

func (c *Command) runImport(ctx context.Context, cfg *config.Config, r importRequest) (err error) {
	for _, name := range r.Files {
		if err := c.importable(name); err != nil {
			return err
		}
	}
	o := site.ImportOptions{Forgotten: r.Forgotten}
	switch r.Assume {
	case "":
	case assumeNone:
		o.Assume = &site.AssumedPolicy{}
	default:
		text, err := c.readFile("--assume-policy", r.Assume)
		if err != nil {
			return err
		}
		// Text must not be nil: nil means that the site has no robots.txt
		o.Assume = &site.AssumedPolicy{Text: append([]byte{}, text...)}
	}
	d, err := c.open(cfg, site.Options{Create: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	o.Ready = d.serve
	importer, err := d.Import(ctx, o)
	if err != nil {
		return err
	}
	m := &intake{importer: importer, trust: r.Trust, screen: newProgress(c.Stderr)}
	defer m.screen.Done()
	for _, name := range r.Files {
		if err = m.read(ctx, c, name); err != nil {
			break
		}
	}
	whole := err == nil
	var failed error
	if m.sum, failed = importer.End(ctx); ctx.Err() == nil {
		whole, err = whole && failed == nil, errors.Join(err, failed)
	}
	m.screen.Done()
	if r.JSON {
		err = errors.Join(err, c.printJSON(m.sum))
	} else {
		err = errors.Join(err, m.summary(c.Stdout), printErased(c.Stdout, m.sum.Erased))
	}
	if whole {
		err = errors.Join(err, m.outcome())
	}
	return err
}

// importable returns an error if name, as typed, does not name a file.
func (c *Command) importable(name string) error {
	if name == "-" {
		return nil
	}
	if err := c.readable(name); err != nil {
		return err
	}
	info, err := os.Stat(c.path(name))
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		return misuse("the name of a WARC file", "%s cannot be read: %w", name, bare(err))
	}
	return nil
}

// intake is the state of an import that is running.
type intake struct {
	importer *site.Importer
	trust    bool // import WACZ files although their digests are wrong
	screen   *progress
	sum      site.ImportSummary
	refused  holdings.Imported // the first page that policy did not permit to import
}

// read imports the file with the given name.
func (m *intake) read(ctx context.Context, c *Command, name string) error {
	if name == "-" {
		return m.readRecords(ctx, name, c.Stdin, 0)
	}
	f, err := os.Open(c.path(name))
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, bare(err))
	}
	defer f.Close()
	total := int64(0)
	if info, err := f.Stat(); err == nil {
		total = info.Size()
	}
	begin := make([]byte, len(wacz.Magic))
	// a file that cannot be read at an offset, such as a pipe, is no ZIP file
	if n, err := f.ReadAt(begin, 0); err != nil || string(begin[:n]) != wacz.Magic {
		return m.readRecords(ctx, name, f, total)
	}
	m.screen.Set("%s: checking %s", name, size(total))
	files, err := wacz.Open(ctx, f, total, !m.trust)
	switch {
	case errors.Is(err, wacz.ErrUnverified):
		return failure("--unverified, if you trust the file: digests in its records are compared in any case",
			fmt.Errorf("%s is not imported: %w", name, err))
	case err != nil:
		return fmt.Errorf("%s cannot be imported: %w", name, err)
	}
	for _, each := range files {
		in, err := each.Open()
		if err != nil {
			return fmt.Errorf("%s cannot be imported: %w", name, err)
		}
		err = m.readRecords(ctx, name+", "+each.Name, in, each.Bytes)
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// readRecords imports the records that in has. total is their size in bytes; 0: it is not known.
func (m *intake) readRecords(ctx context.Context, name string, in io.Reader, total int64) error {
	done := int64(0)
	in = io.TeeReader(in, writerFunc(func(p []byte) (int, error) {
		done += int64(len(p))
		if total > 0 {
			m.screen.Set("%s: %d %% of %s", name, 100*done/total, size(total))
		} else {
			m.screen.Set("%s: %s", name, size(done))
		}
		return len(p), nil
	}))
	return m.importer.Read(ctx, name, in, func(i holdings.Imported) { m.count(name, i) })
}

func (m *intake) count(file string, i holdings.Imported) {
	for _, why := range i.Cuts {
		fmt.Fprintln(m.screen, display.Line(fmt.Sprintf("%s, at %d: %s is cut: %s", file, i.Offset, i.URL, why)))
	}
	if i.Outcome == holdings.TakenIn || i.Outcome == holdings.Already {
		return
	}
	if i.Outcome == holdings.Barred && m.refused.URL == "" {
		m.refused = i
	}
	what := i.URL
	if what != "" {
		what += " "
	}
	fmt.Fprintln(m.screen, display.Line(fmt.Sprintf("%s, at %d: %s%s: %s", file, i.Offset, what, i.Outcome, i.Why)))
}

func (m *intake) summary(w io.Writer) error {
	n := m.sum
	text := fmt.Sprintf("%s imported from %s: %s, %s\n", several(n.Imported, "page"), several(n.Files, "file"),
		several(n.Records, "record"), size(n.Bytes))
	text += block("Not imported",
		row{n.Held, "archived already"},
		row{n.Refused, "refused by policy"},
		row{n.Forgotten, "erased by archive forget since they were fetched"},
		row{n.Skipped, "records without a page that can be imported"},
		row{n.Damaged, "damaged records"})
	text += block("Imported, but", row{n.Cut, "cut at a limit of size"})
	text += block("In addition", row{n.Redirects, "redirects"})
	_, err := io.WriteString(w, text)
	return err
}

// outcome returns the error with which an import ends after all files were read, nil if there is
// none.
func (m *intake) outcome() error {
	switch n := m.sum; {
	case n.Damaged > 0:
		return nothing(several(n.Damaged, "record") + " of the files could not be read.")
	case n.Imported+n.Held > 0:
		return nil
	case n.Refused > 0:
		return refusal(fmt.Errorf("every page was refused by policy: %s: %s", m.refused.URL, m.refused.Why))
	}
	if m.sum.Forgotten > 0 {
		return nothing("Every page was erased by archive forget since it was fetched. Try --forgotten to import them.")
	}
	return nothing("No page was found.")
}
