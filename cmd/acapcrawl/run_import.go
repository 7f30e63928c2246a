package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// importSummary is what archive import --json prints.
type importSummary struct {
	Files int `json:"files"` // that were read, the last one perhaps in part
	holdings.ImportCounts
	Erased []archive.Erasure `json:"erased"`
}

func (c *Command) runImport(ctx context.Context, cfg *config.Config, r importRequest) (err error) {
	who, err := recorded(cfg)
	if err != nil {
		return err
	}
	for _, name := range r.Files {
		if err := c.importable(name); err != nil {
			return err
		}
	}
	var assume []byte
	if r.Assume != "" && r.Assume != assumeNone {
		if assume, err = c.readFile("--assume-policy", r.Assume); err != nil {
			return err
		}
		assume = append([]byte{}, assume...) // never nil, which is no file
	}
	s, err := c.openStore(cfg, who, policy.Options{}, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := c.recordFirst(cfg.Data, who); err != nil {
		return err
	}
	known := s.held()
	h, err := s.hold(ctx, terms.Sources{Policies: known}, holdings.Options{NoIndex: !cfg.Index, NoArchive: cfg.Policy.NoarchivePreserve, Version: known.version})
	if err != nil {
		return err
	}
	s.serve()
	erased, endWatch := s.erased.watch()
	defer endWatch()
	m := &intake{holdings: h, screen: newProgress(c.Stderr), o: holdings.ImportOptions{Normal: crawler.Normal, MaxBody: cfg.MaxBody,
		Policies: &assumed{held: known, given: r.Assume != "", text: assume, origins: map[string]bool{}}}}
	defer m.screen.Done()
	for _, name := range r.Files {
		if err = m.read(ctx, c, name); err != nil {
			break
		}
	}
	m.screen.Done()
	whole := err == nil
	m.sum.Erased = erased.List()
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

// recordFirst keeps who judges what is held, where no crawl has done so.
func (c *Command) recordFirst(dir string, who acap.Crawler) error {
	if _, err := os.Stat(identityFile(dir)); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return record(dir, who)
}

// assumed answers for policies without a request; for sites whose robots.txt was never read, with what the operator assumes.
type assumed struct {
	held
	given bool   // something is assumed
	text  []byte // nil: that there is none

	mu      sync.Mutex
	origins map[string]bool // for which it has been
}

func (a *assumed) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	if a.given {
		if err := a.assume(u); err != nil {
			return nil, err
		}
	}
	o, known := a.Held(u)
	if !known || o.Since.IsZero() {
		return nil, fmt.Errorf("the policy of %s was never read, and none is assumed", u.Host)
	}
	return a.ledger.Bind(o.Key, o.Policy)
}

// assume keeps what is assumed for the origin of u, once.
func (a *assumed) assume(u *url.URL) error {
	key, err := policy.Key(u)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.origins[key] {
		return nil
	}
	if _, err := a.Assume(u, a.text); err != nil {
		return err
	}
	a.origins[key] = true
	return nil
}

// intake is an import on its way.
type intake struct {
	holdings *holdings.Holdings
	screen   *progress
	o        holdings.ImportOptions
	sum      importSummary
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
	m.sum.Files++
	n, err := m.holdings.Import(ctx, in, m.o, func(i holdings.Imported) { m.told(name, i) })
	m.add(n)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
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

func (m *intake) add(n holdings.ImportCounts) {
	s := &m.sum.ImportCounts
	s.Records += n.Records
	s.Imported += n.Imported
	s.Held += n.Held
	s.Redirects += n.Redirects
	s.Refused += n.Refused
	s.Skipped += n.Skipped
	s.Damaged += n.Damaged
	s.Cut += n.Cut
	s.Bytes += n.Bytes
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
