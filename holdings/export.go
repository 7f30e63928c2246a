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

// ExportOptions selects what to export, and how.
type ExportOptions struct {
	Under    []string           // export only addresses that begin with one of these prefixes; empty means all
	Policies terms.Policies     // policies to apply, without requests; nil means Options.Known
	Name     string             // name of the WARC file, for its warcinfo record and for the CDXJ index; may be ""
	Plain    bool               // write without compression
	Info     warc.Fields        // additional fields of the warcinfo record
	Line     func(string) error // receives the lines of the CDXJ index, in the order of the records; may be nil
}

// Exported is the result for one capture.
type Exported struct {
	URL     string `json:"url"`
	Version int    `json:"version"`
	// an earlier record of the file already contains the body of this capture
	Duplicate bool   `json:"duplicate,omitempty"`
	Why       string `json:"why,omitempty"`  // why the capture was not exported, as a clause; "" if it was exported
	Line      string `json:"line,omitempty"` // the policy line that decided; "" if no line did
}

// ExportCounts counts what an export did.
type ExportCounts struct {
	Captures  int `json:"captures"`  // exported captures of pages
	Redirects int `json:"redirects"` // exported redirects
	// exported captures written without a body, because an earlier record contains the same body
	Duplicates int   `json:"duplicates"`
	Withheld   int   `json:"withheld"` // captures that may not be preserved now
	Records    int   `json:"records"`
	Bytes      int64 `json:"bytes"` // size of the file
}

// ErrErased means that exported data was erased before the export ended.
var ErrErased = errors.New("erased while it was exported")

// Export writes to w, as WARC 1.1, the captures that may be preserved now, in the order in which
// they were stored. For each it writes request, response, and the decisions as metadata. A response
// with the same body as an earlier one becomes a revisit record. Export makes no request. It calls
// told, which may be nil, for every capture. After an error the output must not be used. If the
// error is ErrErased, the output contains data that has been erased since. Export needs about 60
// bytes of memory per body.
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
		if errors.Is(err, archive.ErrNotHeld) { // the capture was erased after the export began
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

// exporter is the state of one export.
type exporter struct {
	*Holdings
	ctx    context.Context
	o      ExportOptions
	w      *warc.Writer
	space  string              // prefix of the record IDs
	bodies map[[32]byte]uint64 // digest of a body as sent → the capture whose response record contains that body
	out    []passage           // exported captures
	counts ExportCounts
}

// passage is an exported capture. hops is the number of redirects in the capture that were exported
// with it.
type passage struct {
	capture uint64
	hops    int
}

func (e *exporter) wanted(address string) bool {
	return len(e.o.Under) == 0 || slices.ContainsFunc(e.o.Under,
		func(prefix string) bool { return strings.HasPrefix(address, prefix) })
}

// capture checks a capture by the same rules as a sweep, and writes it if it may be preserved.
func (e *exporter) capture(c archive.Capture) (out Exported, err error) {
	out = Exported{URL: c.URL, Version: c.Version}
	if out.Why, out.Line, err = e.whyWithheld(c); err != nil {
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

// whyWithheld returns why, and by which policy line, a capture may not be preserved under the
// policy last read; why is "" if it may.
func (e *exporter) whyWithheld(c archive.Capture) (why, line string, err error) {
	known, _, err := e.archive.Resource(c.URL)
	if err != nil {
		return "", "", err
	}
	j, why, line, err := e.prepareCheck(c.URL, known)
	if err != nil || why != "" {
		return why, line, err
	}
	d, err := j.capture(c)
	if err != nil || d.Allowed {
		return "", "", err
	}
	return d.Why(), d.Because.String(), nil
}

// prepareCheck prepares the checks of the captures stored at address. If no capture of this address
// may be stored, why and line give the reason and the policy line.
func (e *exporter) prepareCheck(address string, known archive.Resource) (j gatherer, why, line string, err error) {
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

// stillHeld returns an error if any exported capture has been erased since it was written.
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
			return fmt.Errorf("a redirect to capture %d was %w", p.capture, ErrErased)
		}
	}
	return nil
}
