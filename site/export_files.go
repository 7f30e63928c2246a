package site

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

// writeFiles writes the WARC file, its index and its manifest.
func (x *export) writeFiles(ctx context.Context, name string, force bool) error {
	x.o.Name = recordsName(name)
	return exportFiles(name, force, x.manifest, func(w io.Writer, line func(string) error) error {
		x.o.Line = line
		return x.write(ctx, w)
	})
}

// exportFiles writes a WARC file, its index and its manifest, or a WACZ file and its manifest, to temporary files,
// and gives all of them their names when they are complete and on disk. write writes the records, and passes the
// lines of the index to line. m may be nil.
func exportFiles(name string, force bool, m *manifest, write func(w io.Writer, line func(string) error) error) (
	err error) {
	lines, pages := &sorter{dir: filepath.Dir(name)}, &sorter{dir: filepath.Dir(name)}
	var out outputs
	defer func() { err = errors.Join(err, lines.close(), pages.close(), out.discard()) }()
	if m != nil {
		d, err := disk.NewDraft(ManifestName(name))
		if err != nil {
			return err
		}
		out = append(out, output{ManifestName(name), d})
		m.open(d)
	}
	records, err := draftOf(name, func(w io.Writer) error {
		if isWACZ(name) {
			return writeWACZ(w, lines, pages, write)
		}
		return write(w, lines.add)
	})
	if err != nil {
		return err
	}
	out = append(out, output{name, records})
	if index := IndexName(name); index != "" {
		d, err := draftOf(index, lines.write)
		if err != nil {
			return err
		}
		out = slices.Insert(out, len(out)-1, output{index, d}) // the records appear last
	}
	if m != nil {
		if err := m.close(); err != nil {
			return err
		}
	}
	return out.publish(force)
}

// outputs are temporary files that get their names together.
type outputs []output

type output struct {
	name  string
	draft *disk.Draft
}

// publish gives all files their names. If that fails for one, it removes those before it.
func (o outputs) publish(force bool) error {
	for i, f := range o {
		if err := f.draft.Publish(f.name, force); err != nil {
			err = publishError(err, f.name)
			for _, published := range o[:i] {
				err = errors.Join(err, os.Remove(published.name))
			}
			return err
		}
	}
	return nil
}

// discard removes the files that have not been published.
func (o outputs) discard() error {
	var errs []error
	for _, f := range o {
		errs = append(errs, f.draft.Discard())
	}
	return errors.Join(errs...)
}

// IndexName returns the name of the index that is written next to a file; "" if there is none, because the file is
// standard output or a WACZ file, which contains its index.
func IndexName(name string) string {
	if name == "-" || isWACZ(name) {
		return ""
	}
	return stem(name) + ".cdxj"
}

// ManifestName returns the name of the manifest of a WARC file.
func ManifestName(name string) string { return stem(name) + ".manifest.jsonl" }

// stem returns the name of a WARC or WACZ file without its extensions.
func stem(name string) string {
	if isWACZ(name) {
		return name[:len(name)-len(".wacz")]
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".warc")
}

// manifest writes a line of JSON for each exported capture, with what publishers say about the usages
// for which the pages are collected.
type manifest struct {
	usages []acap.Usage
	w      *bufio.Writer
	lines  *json.Encoder
	err    error // the first error of a write
}

// manifestEntry is one line of a manifest.
type manifestEntry struct {
	Node    string    `json:"node,omitempty"` // of a cluster that has the capture
	URL     string    `json:"url"`
	Version int       `json:"version"`
	Fetched time.Time `json:"fetched"`
	Digest  string    `json:"digest"`
	// what each vocabulary says, by usage; nothing is said about a usage with an empty list
	For map[acap.Usage][]manifestLine `json:"for"`
}

// manifestLine is the verdict of one vocabulary, with the field that decides it.
type manifestLine struct {
	Vocabulary string      `json:"vocabulary"`
	Verdict    string      `json:"verdict"`
	Source     acap.Source `json:"source"`
	URL        string      `json:"url"`
	Line       int         `json:"line"`
	Field      string      `json:"field"`
}

func (m *manifest) open(w io.Writer) {
	m.w = bufio.NewWriter(w)
	m.lines = json.NewEncoder(m.w)
	m.lines.SetEscapeHTML(false)
}

// entry returns the line of an exported capture.
func (m *manifest) entry(e holdings.Exported) manifestEntry {
	entry := manifestEntry{URL: e.URL, Version: e.Version, Fetched: e.Fetched.UTC(), Digest: e.Digest,
		For: map[acap.Usage][]manifestLine{}}
	for _, u := range m.usages {
		entry.For[u] = []manifestLine{}
		for _, s := range e.Preferences[u] {
			f := s.Because
			entry.For[u] = append(entry.For[u],
				manifestLine{s.Vocabulary, s.Verdict.String(), f.Source, f.URL, f.Line, f.Text})
		}
	}
	return entry
}

// write writes a value as a line of JSON.
func (m *manifest) write(v any) {
	if m.err == nil {
		m.err = m.lines.Encode(v)
	}
}

// close writes what is buffered. It returns the first error of the manifest.
func (m *manifest) close() error { return errors.Join(m.err, m.w.Flush()) }
