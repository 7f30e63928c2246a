package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/warc"
)

func (c *Command) runExport(ctx context.Context, cfg *config.Config, r exportRequest) (err error) {
	name := c.path(r.File)
	for _, each := range []string{name, indexName(name)} {
		if err := backupPlace(cfg.Data, each, r.Force); err != nil {
			return err
		}
	}
	s, err := c.openHeld(ctx, cfg, r.Refresh)
	if err != nil {
		return c.orNothing(r.JSON, holdings.ExportCounts{}, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x := &export{holdings: s.holdings, screen: newProgress(c.Stderr), o: holdings.ExportOptions{Under: r.Under, Policies: s.held(), Plain: strings.HasSuffix(name, ".warc"),
		Info: warc.Fields{{Name: "software", Value: "acapcrawl/" + programVersion}, {Name: "robots", Value: strings.Join(specifications, ", ")},
			{Name: "http-header-user-agent", Value: userAgent(cfg, s.who)}}}}
	if held, err := s.archive.Stats(); err == nil {
		x.total = held.Captures
	}
	defer x.screen.Done()
	if name == "-" {
		err = x.write(ctx, c.raw())
	} else {
		err = x.toFile(ctx, name, r.Force)
	}
	x.screen.Done()
	switch {
	case err != nil:
		return err
	case r.JSON:
		return c.printJSON(x.counts)
	case name == "-":
		return x.summary(c.Stderr, "Written")
	}
	return x.summary(c.Stdout, r.File)
}

// export is one on its way.
type export struct {
	holdings *holdings.Holdings
	screen   *progress
	o        holdings.ExportOptions
	counts   holdings.ExportCounts
	refused  holdings.Exported // the first
	done     int
	total    int // captures held
}

// write writes the records. That there is nothing to write is an error.
func (x *export) write(ctx context.Context, w io.Writer) (err error) {
	out := bufio.NewWriterSize(w, 1<<20)
	x.counts, err = x.holdings.Export(ctx, out, x.o, x.told)
	switch {
	case errors.Is(err, holdings.ErrErased):
		return failure("the same again", fmt.Errorf("what was written cannot stay: %w", err))
	case err != nil:
		return err
	case x.counts.Captures+x.counts.Redirects == 0 && x.counts.Withheld > 0:
		return refusal(fmt.Errorf("nothing may be exported: %s: %s", x.refused.URL, x.refused.Why))
	case x.counts.Captures+x.counts.Redirects == 0:
		return nothing("Nothing is held that could be exported.")
	}
	return out.Flush()
}

func (x *export) told(e holdings.Exported) {
	if e.Why != "" {
		if x.refused.URL == "" {
			x.refused = e
		}
		fmt.Fprintln(x.screen, display.Line(fmt.Sprintf("Not exported: version %d of %s: %s", e.Version, e.URL, e.Why)))
	}
	x.done++
	x.screen.Count(x.done, x.total, "capture")
}

// toFile writes the file and its index beside what they are to be, and renames both when they are whole and on disk.
func (x *export) toFile(ctx context.Context, name string, force bool) (err error) {
	dir := filepath.Dir(name)
	lines := &sorter{dir: dir}
	defer func() { err = errors.Join(err, lines.close()) }()
	x.o.Name, x.o.Line = filepath.Base(name), lines.add
	part, err := draftOf(name, func(w io.Writer) error { return x.write(ctx, w) })
	if err != nil {
		return err
	}
	index, err := draftOf(indexName(name), lines.write)
	if err != nil {
		return errors.Join(err, part.Discard())
	}
	if err := index.Publish(indexName(name), force); err != nil {
		return errors.Join(meanwhile(err, indexName(name)), part.Discard())
	}
	if err := part.Publish(name, force); err != nil {
		return errors.Join(meanwhile(err, name), os.Remove(indexName(name)))
	}
	return nil
}

// meanwhile is err, in the words for a file that exists where that is what it says: it was made since it was looked for.
func meanwhile(err error, name string) error {
	if errors.Is(err, fs.ErrExist) {
		return existing(name)
	}
	return err
}

// draftOf returns a draft of the file called name with what fn writes.
func draftOf(name string, fn func(io.Writer) error) (*disk.Draft, error) {
	d, err := disk.NewDraft(name)
	if err != nil {
		return nil, err
	}
	if err := fn(d); err != nil {
		return nil, errors.Join(err, d.Discard())
	}
	return d, nil
}

// indexName is the name of the index of a WARC file.
func indexName(name string) string {
	if name == "-" {
		return name
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".warc") + ".cdxj"
}

func (x *export) summary(w io.Writer, file string) error {
	n := x.counts
	text := fmt.Sprintf("%s: %s, %s, %s\n", file, several(n.Captures, "capture"), several(n.Records, "record"), size(n.Bytes))
	text += block("Of them", row{n.Duplicates, "with a body that another has too"})
	text += block("In addition", row{n.Redirects, "redirects"})
	text += block("Not exported", row{n.Withheld, "refused by policy"})
	_, err := io.WriteString(w, text)
	return err
}
