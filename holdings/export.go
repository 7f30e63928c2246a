package holdings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
	"github.com/acapcrawl/acapcrawl/warc"
)

// ExportOptions say what goes out, and how.
type ExportOptions struct {
	Under    []string           // addresses that begin with one of these; none: all
	Policies terms.Policies     // whose word counts, without a request; nil: Options.Known
	Name     string             // of the file, as its warcinfo and the index name it; may be ""
	Plain    bool               // nothing is compressed
	Info     warc.Fields        // of the warcinfo record, beside its format
	Line     func(string) error // is given the lines of the index, in the order of the records; nil: nobody wants them
}

// Exported says what became of a capture.
type Exported struct {
	URL       string `json:"url"`
	Version   int    `json:"version"`
	Duplicate bool   `json:"duplicate,omitempty"` // its body stands in the file already
	Why       string `json:"why,omitempty"`       // why it did not go out, a clause; "": it did
	Line      string `json:"line,omitempty"`      // the line that decided, if one did
}

// ExportCounts count what an export did.
type ExportCounts struct {
	Captures   int   `json:"captures"`   // of pages, that went out
	Redirects  int   `json:"redirects"`  // likewise
	Duplicates int   `json:"duplicates"` // of them, those whose body was in the file already
	Withheld   int   `json:"withheld"`   // captures that may not be preserved now
	Records    int   `json:"records"`
	Bytes      int64 `json:"bytes"` // of the file
}

// ErrErased: something was erased while it was exported.
var ErrErased = errors.New("erased while it was exported")

// Export writes the captures that may be preserved now to w as WARC 1.1, in the order of their
// arrival: the requests and the responses, one that has been written already as a revisit of that,
// and what was decided as metadata. It makes no request. Told is called for every capture and may
// be nil. What is written must not be used after an error: with ErrErased it holds what has been
// erased since. Memory grows by about 60 bytes for each body.
func (h *Holdings) Export(ctx context.Context, w io.Writer, o ExportOptions, told func(Exported)) (ExportCounts,
	error) {
	if o.Policies == nil {
		o.Policies = h.o.Known
	}
	if told == nil {
		told = func(Exported) {}
	}
	e := &exporter{Holdings: h, ctx: ctx, o: o, w: warc.NewWriter(w, !o.Plain), space: warc.NewID(),
		bodies: map[[32]byte]uint64{}}
	if err := e.info(); err != nil {
		return e.counts, err
	}
	err := h.archive.EachCapture(func(c archive.Capture) error {
		if !e.wanted(c.URL) {
			return ctx.Err()
		}
		out, err := e.capture(c)
		if errors.Is(err, archive.ErrNotHeld) { // it went meanwhile
			return ctx.Err()
		}
		if err == nil {
			told(out)
			err = ctx.Err()
		}
		return err
	})
	if err == nil {
		err = e.stillHeld()
	}
	return e.counts, err
}

// exporter is one export.
type exporter struct {
	*Holdings
	ctx    context.Context
	o      ExportOptions
	w      *warc.Writer
	space  string              // the records' names are made of it
	bodies map[[32]byte]uint64 // digest as sent → the capture whose response has it
	out    []passage           // captures that went out
	counts ExportCounts
}

// passage is a capture that went out, with so many answers that led to it.
type passage struct {
	capture uint64
	hops    int
}

func (e *exporter) wanted(address string) bool {
	return len(e.o.Under) == 0 || slices.ContainsFunc(e.o.Under,
		func(prefix string) bool { return strings.HasPrefix(address, prefix) })
}

// capture judges a capture as a sweep does, and writes it where it may be kept.
func (e *exporter) capture(c archive.Capture) (out Exported, err error) {
	out = Exported{URL: c.URL, Version: c.Version}
	if out.Why, out.Line, err = e.barred(c); err != nil {
		return out, err
	}
	if out.Why != "" {
		e.counts.Withheld++
		return out, nil
	}
	wire, err := e.archive.Wire(c.ID)
	if err != nil {
		return out, err
	}
	if err := e.hops(c); err != nil {
		return out, err
	}
	if out.Duplicate, err = e.records(c, wire); err != nil {
		return out, err
	}
	e.out = append(e.out, passage{c.ID, len(c.Hops)})
	if c.Redirect() {
		e.counts.Redirects++
		return out, nil
	}
	e.counts.Captures++
	if out.Duplicate {
		e.counts.Duplicates++
	}
	return out, nil
}

// barred says why a capture may not be preserved by the policy last read, and by which line; ""
// where it may.
func (e *exporter) barred(c archive.Capture) (why, line string, err error) {
	known, _, err := e.archive.Resource(c.URL)
	if err != nil {
		return "", "", err
	}
	j, why, line, err := e.gathering(c.URL, known)
	if err != nil || why != "" {
		return why, line, err
	}
	d, err := j.capture(c)
	if err != nil || d.Allowed {
		return "", "", err
	}
	return d.Why(), d.Because.String(), nil
}

// gathering prepares the judgement of what is held at address, unless nothing of it may be held at
// all.
func (e *exporter) gathering(address string, known archive.Resource) (j gatherer, why, line string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return j, "", "", err
	}
	j = gatherer{Holdings: e.Holdings, ctx: e.ctx, resource: known, url: u,
		sources: terms.Sources{Policies: e.o.Policies},
		facts:   e.factsNow(known)}
	if j.origin, err = e.o.Policies.Policy(e.ctx, u); err != nil {
		return j, err.Error(), "", e.ctx.Err()
	}
	if down := terms.TakeDown(j.origin, u); down != nil {
		return j, takenDown, down.String(), nil
	}
	return j, "", "", nil
}

// stillHeld refuses a file with something in it that has been erased meanwhile.
func (e *exporter) stillHeld() error {
	for _, p := range e.out {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		c, err := e.archive.Capture(p.capture)
		switch {
		case errors.Is(err, archive.ErrNotHeld):
			return fmt.Errorf("capture %d was %w", p.capture, ErrErased)
		case err != nil:
			return err
		case len(c.Hops) < p.hops:
			return fmt.Errorf("an answer that led to capture %d was %w", p.capture, ErrErased)
		}
	}
	return nil
}
