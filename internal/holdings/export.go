package holdings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	mathbits "math/bits"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
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
	// Whole: write every capture with its body, so that no record refers to that of another capture
	Whole bool
	// receives each record after it was written; may be nil
	Record func(warc.Entry, warc.Place) error
}

// Exported is the result for one capture.
type Exported struct {
	URL     string `json:"url"`
	Version int    `json:"version"`
	// an earlier record of the same address already contains the body of this capture
	Duplicate bool   `json:"duplicate,omitempty"`
	Redirect  bool   `json:"redirect,omitempty"` // the capture is of a redirect
	Why       string `json:"why,omitempty"`      // why the capture was not exported, as a clause; "" if it was exported
	Line      string `json:"line,omitempty"`     // the policy line that decided; "" if no line did
	// the capture was not exported because the policy is not known, so the reason says nothing about other captures
	Unknown bool `json:"unknown,omitempty"`
	// the rendered document of the capture was exported, too
	Rendered bool `json:"rendered,omitempty"`

	Fetched time.Time `json:"-"`
	Digest  string    `json:"-"` // of the body
	// of an exported capture: what ACAP and the newer vocabularies say about each newer usage, without
	// usages of which nothing is said
	Preferences map[acap.Usage][]acap.Said `json:"-"`
}

// ExportCounts counts what an export did.
type ExportCounts struct {
	Captures  int `json:"captures"`  // exported captures of pages
	Redirects int `json:"redirects"` // exported redirects
	// exported captures written without a body, because an earlier record of the same address contains the same body
	Duplicates int   `json:"duplicates"`
	Withheld   int   `json:"withheld"`           // captures that may not be preserved now
	Rendered   int   `json:"rendered,omitempty"` // exported rendered documents
	Records    int   `json:"records"`
	Bytes      int64 `json:"bytes"` // size of the file
}

// ErrErased means that exported data was erased before the export ended.
var ErrErased = errors.New("erased while it was exported")

// Export writes to w, as WARC 1.1, the captures that may be preserved now, in the order in which
// they were stored. For each it writes request, response, the rendered document as conversion, and,
// as metadata, the decisions and the resources from which scripts made the rendered document. A
// response with the same body as an earlier one of the same address becomes a revisit record. A page with a part that
// may not be preserved now is left out, with its rendered document. Export makes no request. It calls
// told, which may be nil, for every selected capture, except those erased during the export. After
// an error the output must not be used. If the error is ErrErased, the output contains data that has
// been erased since. Export needs about 60 bytes of memory for each capture whose body is also that of
// another one, and a bit for each capture.
func (h *Holdings) Export(ctx context.Context, w io.Writer, o ExportOptions, told func(Exported)) (ExportCounts,
	error) {
	if o.Policies == nil {
		o.Policies = h.o.Known
	}
	if told == nil {
		told = func(Exported) {}
	}
	e := &exporter{Holdings: h, ctx: ctx, o: o, space: warc.NewID(), shared: map[[32]byte]uint64{},
		hops: map[uint64]int{}}
	e.w = newRecordWriter(warc.NewWriter(w, !o.Plain), !o.Plain, e.written)
	before := h.archive.Erasures()
	err := e.all(told)
	if failed := e.w.close(); failed != nil { // all has then usually returned errWriting, which gives no reason
		err = failed
	}
	e.counts.Records, e.counts.Bytes = e.records, e.bytes
	if err == nil {
		err = e.stillHeld(before)
	}
	return e.counts, err
}

// all writes the records of all captures.
func (e *exporter) all(told func(Exported)) error {
	if err := e.info(); err != nil {
		return err
	}
	return e.archive.EachCapture(func(c archive.Capture) error {
		if !e.wanted(c.URL) {
			return e.ctx.Err()
		}
		out, err := e.capture(c)
		if errors.Is(err, archive.ErrNotHeld) { // the capture was erased after the export began
			return e.ctx.Err()
		}
		if err == nil {
			told(out)
			err = e.ctx.Err()
		}
		return err
	})
}

// exporter is the state of one export.
type exporter struct {
	*Holdings
	ctx   context.Context
	o     ExportOptions
	w     *recordWriter
	space string // prefix of the record IDs
	// digest of address and body, for bodies that captures share → the capture whose record contains the body
	shared map[[32]byte]uint64
	out    []uint64       // bits: the exported captures, by ID
	hops   map[uint64]int // exported capture → number of its hops at that time, if any
	counts ExportCounts

	preferences map[acap.Usage][]acap.Said // what newer vocabularies say about the current capture
	rendered    []byte                     // rendered document of the current capture to write; nil: none
	data        []string                   // those of sources that are data, not scripts
	sources     []string                   // resources from which scripts made rendered documents of the current page

	records int   // number of written records
	bytes   int64 // number of written bytes
}

// errWriting means that an earlier record could not be written. The writer returns the reason.
var errWriting = errors.New("an earlier record could not be written")

// export marks a capture as exported.
func (e *exporter) export(c archive.Capture) {
	word := c.ID / 64
	for uint64(len(e.out)) <= word {
		e.out = append(e.out, 0)
	}
	e.out[word] |= 1 << (c.ID % 64)
	if len(c.Hops) > 0 {
		e.hops[c.ID] = len(c.Hops)
	}
}

func (e *exporter) wanted(address string) bool {
	return len(e.o.Under) == 0 || slices.ContainsFunc(e.o.Under,
		func(prefix string) bool { return strings.HasPrefix(address, prefix) })
}

// capture checks a capture by the same rules as a sweep, and writes it if it may be preserved.
func (e *exporter) capture(c archive.Capture) (out Exported, err error) {
	out = Exported{URL: c.URL, Version: c.Version, Redirect: c.Redirect(), Fetched: c.Fetched, Digest: c.Digest}
	if err := e.withhold(c, &out); err != nil {
		return out, err
	}
	if out.Why != "" {
		e.counts.Withheld++
		return out, nil
	}
	out.Preferences = e.preferences
	wire, err := e.archive.Wire(c.ID)
	if err != nil {
		return out, err
	}
	if err := e.redirects(c); err != nil {
		return out, err
	}
	if out.Duplicate, err = e.exchanges(c, wire); err != nil {
		return out, err
	}
	e.export(c)
	if out.Rendered = e.rendered != nil; out.Rendered {
		e.counts.Rendered++
	}
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

// withhold notes in out why, and by which policy line, a capture may not be preserved under the policy last read. It
// notes nothing if it may.
func (e *exporter) withhold(c archive.Capture, out *Exported) error {
	known, _, err := e.archive.Resource(c.URL)
	if err != nil {
		return err
	}
	j, why, line, err := e.prepareCheck(c.URL, known)
	if err != nil || why != "" {
		out.Why, out.Line, out.Unknown = why, line, j.origin == nil
		return err
	}
	t := j.captureTerms(c)
	d, err := j.permit(c, t)
	if err != nil {
		return err
	}
	if d.Allowed {
		e.preferences, e.sources, e.data = t.Preferences(), known.Kept.Of[terms.Scripts], known.Kept.Of[terms.Data]
		if e.rendered = nil; c.Rendered != "" {
			e.rendered, err = e.archive.Rendered(c.ID)
		}
		return err
	}
	out.Why, out.Line, out.Unknown = d.Why(), d.Because.String(), d.Reason == acap.Unavailable
	return nil
}

// prepareCheck prepares the checks of the captures stored at address. If no capture of this address
// may be stored, why and line give the reason and the policy line.
func (e *exporter) prepareCheck(address string, known archive.Resource) (j gatherer, why, line string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return j, "", "", err
	}
	j = gatherer{Holdings: e.Holdings, ctx: e.ctx, resource: heldPage{Resource: known}, url: u,
		sources: terms.Sources{Policies: e.o.Policies},
		facts:   e.factsNow(known)}
	if j.origin, err = e.o.Policies.Policy(e.ctx, u); err != nil {
		return j, err.Error(), "", e.ctx.Err()
	}
	if down := terms.TakeDown(j.origin, u); down != nil {
		return j, takenDown, down.String(), nil
	}
	g, err := j.barredSource() // a sweep erases the page
	if g != nil {
		return j, g.why, g.line, nil
	}
	return j, "", "", cmp.Or(err, e.ctx.Err())
}

// stillHeld returns an error if any exported capture has been erased since it was written. before
// is the result of Erasures before the export.
func (e *exporter) stillHeld(before uint64) error {
	if e.archive.Erasures() == before {
		return nil
	}
	for word, bits := range e.out {
		for ; bits != 0; bits &= bits - 1 {
			id := uint64(word)*64 + uint64(mathbits.TrailingZeros64(bits))
			if err := errors.Join(e.ctx.Err(), e.captureStillHeld(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exporter) captureStillHeld(id uint64) error {
	c, err := e.archive.Capture(id)
	switch {
	case errors.Is(err, archive.ErrNotHeld):
		return fmt.Errorf("capture %d was %w", id, ErrErased)
	case err != nil:
		return err
	case len(c.Hops) < e.hops[id]:
		return fmt.Errorf("a redirect to capture %d was %w", id, ErrErased)
	}
	return nil
}
