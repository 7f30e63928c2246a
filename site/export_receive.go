package site

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/acapcrawl/acapcrawl/warc"
)

// NodeExport is what a node of a cluster has sent of its captures, in a temporary file. It is used by one goroutine at
// a time.
type NodeExport struct {
	Node  string
	Began time.Time // when the node began, by its clock; zero: it has sent nothing

	file     *os.File
	manifest bool               // a part has a line of a manifest
	refused  map[string]refusal // by address
	dropped  map[string]bool    // addresses of which nothing is written
}

// refusal says why a node does not export a capture.
type refusal struct {
	why     string
	unknown bool // see holdings.Exported
}

// mostRefused is the greatest number of addresses that a node may refuse to export.
const mostRefused = 1 << 20

// ReceiveExport stores the parts that ExportParts writes on a node in a file in dir, which has no name; "" means the
// directory for temporary files. After an error, only what the node refuses counts, see JoinExports. The caller must
// close the result also then.
func ReceiveExport(node, dir string, r io.Reader) (x *NodeExport, err error) {
	x = &NodeExport{Node: node, refused: map[string]refusal{}, dropped: map[string]bool{}}
	if x.file, err = os.CreateTemp(dir, "acapcrawl-export-*"); err != nil {
		return x, err
	}
	// delete the open file, so that a killed process leaves no file behind, on systems that permit this
	os.Remove(x.file.Name())
	out := bufio.NewWriterSize(x.file, 1<<20)
	parts := newPartReader(r)
	for {
		part, line, err := parts.next()
		if err == io.EOF {
			break
		} else if err != nil {
			return x, err
		}
		if err := x.note(part); err != nil {
			return x, err
		}
		if _, err := out.Write(line); err != nil {
			return x, err
		}
		if _, err := io.CopyN(out, parts.in, part.Bytes); err != nil {
			return x, err
		}
	}
	if err := out.Flush(); err != nil {
		return x, err
	}
	return x, x.check()
}

// note notes what a part says apart from its record.
func (x *NodeExport) note(p exportPart) error {
	if x.Began.IsZero() {
		x.Began = p.Began
	}
	x.manifest = x.manifest || p.Manifest != nil
	if p.Capture == nil || p.Capture.Why == "" {
		return nil
	}
	if len(x.refused) == mostRefused {
		return fmt.Errorf("it refuses more than %d pages", mostRefused)
	}
	if old, is := x.refused[p.Capture.URL]; !is || old.unknown {
		x.refused[p.Capture.URL] = refusal{p.Capture.Why, p.Capture.Unknown}
	}
	return nil
}

// Drop makes JoinExports write nothing of an address that this node has sent.
func (x *NodeExport) Drop(url string) { x.dropped[url] = true }

// Close removes the file.
func (x *NodeExport) Close() error {
	if x.file == nil {
		return nil
	}
	err := x.file.Close()
	os.Remove(x.file.Name()) // fails if the file has been removed already
	return err
}

// each calls fn for all parts. fn gets the record of a part as a reader.
func (x *NodeExport) each(fn func(exportPart, io.Reader) error) error {
	if _, err := x.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for parts := newPartReader(x.file); ; {
		part, _, err := parts.next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		record := &io.LimitedReader{R: parts.in, N: part.Bytes}
		if err := fn(part, record); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, record); err != nil {
			return err
		}
	}
}

// check returns an error if the record of a part is not exactly one complete record of its address, so that it could
// damage the file or belong to another page.
func (x *NodeExport) check() error {
	records, to := io.Pipe()
	ends := make(chan exportPart, 64)
	failed := make(chan error, 1)
	go func() {
		err := x.each(func(p exportPart, record io.Reader) error {
			if p.Bytes == 0 {
				return nil
			}
			ends <- p
			_, err := io.Copy(to, record)
			return err
		})
		close(ends)
		to.CloseWithError(err)
		failed <- err
	}()
	err := compareRecords(warc.NewReader(records), ends)
	records.CloseWithError(errPart)
	for range ends {
	}
	if sent := <-failed; err == nil {
		err = sent
	}
	return err
}

// compareRecords compares records with the parts to which they belong.
func compareRecords(in *warc.Reader, parts <-chan exportPart) error {
	for at := int64(0); ; {
		rec, err := in.Next()
		part, more := <-parts
		switch {
		case err == io.EOF && !more:
			return nil
		case err != nil || !more:
			return fmt.Errorf("%w: it has another number of records than it says", errPart)
		case rec.Target() != part.URL || rec.Offset != at:
			return fmt.Errorf("%w: its record at %d is not of %.200s", errPart, rec.Offset, part.URL)
		}
		if _, err := io.Copy(io.Discard, rec.Block); err != nil {
			return fmt.Errorf("%w: %w", errPart, err)
		}
		at += part.Bytes
	}
}
