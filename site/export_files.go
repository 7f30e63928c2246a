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
	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/holdings"
)

// writeFiles writes the WARC file, its index and its manifest to temporary files, and gives all of them
// their names when they are complete and on disk.
func (x *export) writeFiles(ctx context.Context, name string, force bool) (err error) {
	lines := &sorter{dir: filepath.Dir(name)}
	var out outputs
	defer func() { err = errors.Join(err, lines.close(), out.discard()) }()
	x.o.Name, x.o.Line = filepath.Base(name), lines.add
	if x.manifest != nil {
		d, err := disk.NewDraft(ManifestName(name))
		if err != nil {
			return err
		}
		out = append(out, output{ManifestName(name), d})
		x.manifest.open(d)
	}
	records, err := draftOf(name, func(w io.Writer) error { return x.write(ctx, w) })
	if err != nil {
		return err
	}
	out = append(out, output{name, records})
	index, err := draftOf(IndexName(name), lines.write)
	if err != nil {
		return err
	}
	out = slices.Insert(out, len(out)-1, output{IndexName(name), index}) // the records appear last
	if x.manifest != nil {
		if err := x.manifest.close(); err != nil {
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

// IndexName returns the name of the index of a WARC file; "-" if the WARC file is standard output.
func IndexName(name string) string {
	if name == "-" {
		return name
	}
	return stem(name) + ".cdxj"
}

// ManifestName returns the name of the manifest of a WARC file.
func ManifestName(name string) string { return stem(name) + ".manifest.jsonl" }

// stem returns the name of a WARC file without its extensions.
func stem(name string) string { return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".warc") }

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

func (m *manifest) add(e holdings.Exported) {
	entry := manifestEntry{e.URL, e.Version, e.Fetched.UTC(), e.Digest, map[acap.Usage][]manifestLine{}}
	for _, u := range m.usages {
		entry.For[u] = []manifestLine{}
		for _, s := range e.Preferences[u] {
			f := s.Because
			entry.For[u] = append(entry.For[u],
				manifestLine{s.Vocabulary, s.Verdict.String(), f.Source, f.URL, f.Line, f.Text})
		}
	}
	if m.err == nil {
		m.err = m.lines.Encode(entry)
	}
}

// close writes what is buffered. It returns the first error of the manifest.
func (m *manifest) close() error { return errors.Join(m.err, m.w.Flush()) }
