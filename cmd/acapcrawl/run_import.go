package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) runImport(ctx context.Context, cfg *config.Config, r importRequest) (err error) {
	for _, name := range r.Files {
		if err := c.importable(name); err != nil {
			return err
		}
	}
	var o site.ImportOptions
	switch r.Assume {
	case "":
	case assumeNone:
		o.Assume = &site.AssumedPolicy{}
	default:
		text, err := c.readFile("--assume-policy", r.Assume)
		if err != nil {
			return err
		}
		o.Assume = &site.AssumedPolicy{Text: append([]byte{}, text...)} // never nil, which stands for no file
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
	m := &intake{importer: importer, screen: newProgress(c.Stderr)}
	defer m.screen.Done()
	for _, name := range r.Files {
		if err = m.read(ctx, c, name); err != nil {
			break
		}
	}
	m.screen.Done()
	whole := err == nil
	m.sum = importer.End()
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

// importable refuses a name, as typed, of what is no file.
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

// intake is an import on its way.
type intake struct {
	importer *site.Importer
	screen   *progress
	sum      site.ImportSummary
	refused  holdings.Imported // the first
}

// read takes in one file.
func (m *intake) read(ctx context.Context, c *Command, name string) error {
	in, total := c.Stdin, int64(0)
	if name != "-" {
		f, err := os.Open(c.path(name))
		if err != nil {
			return fmt.Errorf("%s cannot be read: %w", name, bare(err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil {
			total = info.Size()
		}
		in = f
	}
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
	return m.importer.Read(ctx, name, in, func(i holdings.Imported) { m.told(name, i) })
}

func (m *intake) told(file string, i holdings.Imported) {
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
	text := fmt.Sprintf("%s taken in from %s: %s, %s\n", several(n.Imported, "page"), several(n.Files, "file"), several(n.Records, "record"), size(n.Bytes))
	text += block("Not taken in",
		row{n.Held, "held already"},
		row{n.Refused, "refused by policy"},
		row{n.Skipped, "records that hold no page to keep"},
		row{n.Damaged, "damaged records"})
	text += block("Taken in, but", row{n.Cut, "cut, because they are too large"})
	text += block("Beside them", row{n.Redirects, "redirects"})
	_, err := io.WriteString(w, text)
	return err
}

// outcome is the error of an import that came to its end.
func (m *intake) outcome() error {
	switch n := m.sum; {
	case n.Damaged > 0:
		return nothing(several(n.Damaged, "record") + " of the files could not be read.")
	case n.Imported+n.Held > 0:
		return nil
	case n.Refused > 0:
		return refusal(fmt.Errorf("every page was refused by policy: %s: %s", m.refused.URL, m.refused.Why))
	}
	return nothing("No page was found.")
}
