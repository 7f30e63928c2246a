package site

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/warc"
)

// exportPart is a part of what a node of a cluster exports for another process. It is sent as a line of JSON. The line
// is followed by a record, if Bytes is not 0.
type exportPart struct {
	Began time.Time `json:"began,omitzero"` // of the export, by the clock of the node; in the first part only

	URL   string `json:"url,omitempty"`   // address of the record
	Bytes int64  `json:"bytes,omitempty"` // size of the record
	Index string `json:"index,omitempty"` // line of the record in a CDXJ index; "": it has none

	Capture  *holdings.Exported `json:"capture,omitempty"`  // a capture, whether exported or not
	Manifest *manifestEntry     `json:"manifest,omitempty"` // its line in a manifest
}

// mostPart is the greatest size of the line of a part, in bytes.
const mostPart = 1 << 20

// ExportParts writes what Export writes to w in parts, so that the parts of several nodes can become one file, see
// JoinExports. Each capture has its body, because the process that joins the parts may leave other captures out. It is
// no error if nothing is stored or permitted.
func (s *Site) ExportParts(ctx context.Context, w io.Writer, o ExportOptions) error {
	x, err := s.newExport(ctx, o)
	if err != nil {
		return err
	}
	if len(s.who.For) > 0 {
		x.manifest = &manifest{usages: s.who.For}
	}
	out := &partWriter{to: bufio.NewWriterSize(w, 64<<10)}
	x.o.Whole, x.o.Record = true, out.record
	if err := out.send(exportPart{Began: time.Now().UTC()}, nil); err != nil {
		return err
	}
	_, err = x.holdings.Export(ctx, &out.pending, x.o, func(e holdings.Exported) {
		part := exportPart{Capture: &e}
		if e.Why == "" && x.manifest != nil {
			entry := x.manifest.entry(e)
			part.Manifest = &entry
		}
		out.send(part, nil)
	})
	if errors.Is(err, holdings.ErrErased) {
		return &FailedError{err, "the same command again"}
	}
	return errors.Join(err, out.flush())
}

// partWriter writes the parts of an export.
type partWriter struct {
	pending bytes.Buffer // the record that is being written

	mu  sync.Mutex
	to  *bufio.Writer
	err error
}

// record sends the record that was written last. It is holdings.ExportOptions.Record.
func (p *partWriter) record(r warc.Entry, _ warc.Place) error {
	defer p.pending.Reset()
	part := exportPart{URL: r.Target, Bytes: int64(p.pending.Len())}
	if line, indexed := r.Index(warc.Place{}, ""); indexed {
		part.Index = line.String()
	}
	return p.send(part, p.pending.Bytes())
}

func (p *partWriter) send(part exportPart, record []byte) error {
	text, err := json.Marshal(part)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range [][]byte{text, []byte("\n"), record} {
		if _, err := p.to.Write(b); err != nil && p.err == nil {
			p.err = err
		}
	}
	return p.err
}

func (p *partWriter) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	return p.to.Flush()
}

// partReader reads parts. The record of a part must be read before the next part.
type partReader struct{ in *bufio.Reader }

func newPartReader(r io.Reader) partReader { return partReader{bufio.NewReaderSize(r, mostPart)} }

// next returns the next part, with its line. The line is valid until the next call. The error is io.EOF at the end.
func (p partReader) next() (part exportPart, line []byte, err error) {
	line, err = p.in.ReadSlice('\n')
	switch {
	case err == io.EOF && len(line) > 0:
		return part, nil, io.ErrUnexpectedEOF
	case errors.Is(err, bufio.ErrBufferFull):
		return part, nil, fmt.Errorf("%w: a line has more than %d bytes", errPart, mostPart)
	case err != nil:
		return part, nil, err
	}
	if json.Unmarshal(line, &part) != nil || part.Bytes < 0 {
		return part, nil, errPart
	}
	return part, line, nil
}

// errPart means that the parts that a node has sent have a wrong form.
var errPart = errors.New("what a node has sent is damaged")
