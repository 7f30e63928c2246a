package site

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/warc"
)

// ExportOptions select what Export writes. Functions may be nil.
type ExportOptions struct {
	Under    []string                // export only addresses that begin with one of these prefixes; none: all addresses
	Plain    bool                    // do not compress the records
	Each     func(holdings.Exported) // called for each stored version, whether exported or not
	Progress func(done, total int)   // called with the number of captures done so far, and of all captures
}

// Specifications returns the names of the documents that this program implements.
func Specifications() []string { return []string{"ACAP 1.0", "ACAP 1.1", "RFC 9309"} }

// Export writes everything that may be preserved now to w, as a WARC file. The error wraps
// ErrNothing if nothing is stored, and is a *RefusedError if policy permits nothing.
func (s *Site) Export(ctx context.Context, w io.Writer, o ExportOptions) (holdings.ExportCounts, error) {
	x, err := s.newExport(ctx, o)
	if err != nil {
		return holdings.ExportCounts{}, err
	}
	err = x.write(ctx, w)
	return x.counts, err
}

// ExportFile writes the same data as Export to a file called name. Next to the file it writes an
// index of the file, in the format CDXJ, and, if the crawler collects pages for some usages, a manifest
// with what publishers say about these usages. The files appear only when all are complete and on disk.
func (s *Site) ExportFile(ctx context.Context, name string, force bool, o ExportOptions) (holdings.ExportCounts,
	error) {
	x, err := s.newExport(ctx, o)
	if err != nil {
		return holdings.ExportCounts{}, err
	}
	if len(s.who.For) > 0 {
		if err := s.CheckOutput(ManifestName(name), force); err != nil {
			return holdings.ExportCounts{}, err
		}
		x.manifest = &manifest{usages: s.who.For}
	}
	err = x.writeFiles(ctx, name, force)
	return x.counts, err
}

// export is the state of a running export.
type export struct {
	holdings *holdings.Holdings
	o        holdings.ExportOptions
	each     func(holdings.Exported)
	progress func(done, total int)
	manifest *manifest // nil: none is written
	counts   holdings.ExportCounts
	refused  *RefusedError // the first capture that policy refuses to export
	done     int
	total    int // number of stored captures
}

func (s *Site) newExport(ctx context.Context, o ExportOptions) (*export, error) {
	h, err := s.held(ctx)
	if err != nil {
		return nil, err
	}
	x := &export{holdings: h, each: o.Each, progress: o.Progress,
		o: holdings.ExportOptions{Under: o.Under, Policies: s.shownPolicies(), Plain: o.Plain,
			Info: warc.Fields{{Name: "software", Value: "acapcrawl/" + Version},
				{Name: "robots", Value: strings.Join(Specifications(), ", ")},
				{Name: "http-header-user-agent", Value: UserAgent(s.cfg, s.who)}}}}
	if held, err := s.archive.Stats(); err == nil { // Progress alone needs the number, so an error is ignored
		x.total = held.Captures
	}
	return x, nil
}

// write writes the WARC records.
func (x *export) write(ctx context.Context, w io.Writer) (err error) {
	out := bufio.NewWriterSize(w, 1<<20)
	x.counts, err = x.holdings.Export(ctx, out, x.o, x.note)
	switch {
	case errors.Is(err, holdings.ErrErased):
		return &FailedError{fmt.Errorf("the written file was not kept: %w", err), "the same command again"}
	case err != nil:
		return err
	case x.counts.Captures+x.counts.Redirects == 0 && x.counts.Withheld > 0:
		return x.refused
	case x.counts.Captures+x.counts.Redirects == 0:
		return ErrNothing
	}
	return out.Flush()
}

func (x *export) note(e holdings.Exported) {
	if e.Why != "" && x.refused == nil {
		x.refused = &RefusedError{fmt.Errorf("nothing may be exported: %s: %s", e.URL, e.Why)}
	}
	if e.Why == "" && x.manifest != nil {
		x.manifest.write(x.manifest.entry(e))
	}
	if x.each != nil {
		x.each(e)
	}
	if x.done++; x.progress != nil {
		x.progress(x.done, x.total)
	}
}
