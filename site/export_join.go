package site

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/warc"
)

// JoinOptions say how JoinExports joins what nodes have sent.
type JoinOptions struct {
	Plain   bool                                   // the records are not compressed
	Owner   func(page string) string               // returns the node that crawls a page; "": none, or it is not known
	Each    func(node string, e holdings.Exported) // called for each capture, whether written or not; may be nil
	Missing []MissingNode                          // nodes of the cluster whose captures are not in the file
}

// MissingNode is a node that has not sent its captures.
type MissingNode struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// JoinExports writes what nodes have sent to one WARC file with an index and, if a node has sent lines of it, a
// manifest, as ExportFile does. If name is "-", it writes the records to stdout only. What a node refuses to export is
// not written from another node either; others are nodes whose refusals count, but not their captures. A node that only
// does not know the policy of a page counts if it is the one that crawls the host. The error wraps ErrNothing if no
// node has sent a capture, and is a *RefusedError if all are refused.
func JoinExports(ctx context.Context, stdout io.Writer, name string, force bool, nodes, others []*NodeExport,
	o JoinOptions) (holdings.ExportCounts, error) {
	j := &joiner{JoinOptions: o, ctx: ctx, nodes: nodes, all: append(others[:len(others):len(others)], nodes...)}
	if name == "-" {
		err := j.write(stdout, func(string) error { return nil })
		return j.counts, err
	}
	j.name = recordsName(name)
	for _, x := range nodes {
		if x.manifest {
			j.manifest = &manifest{}
		}
	}
	err := exportFiles(name, force, j.manifest, j.write)
	return j.counts, err
}

// joiner is the state of JoinExports.
type joiner struct {
	JoinOptions
	ctx      context.Context
	name     string // of the file, without its directory; "": standard output
	nodes    []*NodeExport
	all      []*NodeExport // whose refusals count
	manifest *manifest     // nil: none is written
	counts   holdings.ExportCounts
	refused  *RefusedError // the first capture that is refused
}

// write writes the records of all nodes, one node after the other.
func (j *joiner) write(w io.Writer, line func(string) error) error {
	out := bufio.NewWriterSize(w, 1<<20)
	info := warc.Entry{Type: warc.Warcinfo, ID: warc.NewID(), Date: time.Now(), ContentType: warc.TypeFields,
		Payload: j.info().Bytes()}
	if j.name != "" {
		info.More = warc.Fields{{Name: warc.Filename, Value: j.name}}
	}
	place, err := warc.NewWriter(out, !j.Plain).Write(info)
	if err != nil {
		return err
	}
	j.counts.Records, j.counts.Bytes = 1, place.Length
	for _, x := range j.nodes {
		err := x.each(func(p exportPart, record io.Reader) error { return j.part(x, p, record, out, line) })
		if err != nil {
			return err
		}
	}
	switch found := j.counts.Captures + j.counts.Redirects; {
	case found == 0 && j.refused != nil:
		return j.refused
	case found == 0:
		return ErrNothing
	}
	if j.manifest != nil && len(j.Missing) > 0 {
		j.manifest.write(map[string][]MissingNode{"missing": j.Missing})
	}
	return out.Flush()
}

// info returns the fields of the first record, which say what the file has.
func (j *joiner) info() warc.Fields {
	var names, missing []string
	for _, x := range j.nodes {
		names = append(names, x.Node)
	}
	for _, m := range j.Missing {
		missing = append(missing, m.Node+" "+m.Why)
	}
	text := "captures of the nodes " + strings.Join(names, ", ") + " of a cluster"
	if len(missing) > 0 {
		text += "; these nodes are missing: " + strings.Join(missing, "; ")
	}
	return warc.Fields{{Name: "software", Value: "acapcrawl/" + Version}, {Name: "description", Value: text}}
}

// part writes a part of what a node has sent.
func (j *joiner) part(x *NodeExport, p exportPart, record io.Reader, out io.Writer, line func(string) error) error {
	if e := p.Capture; e != nil {
		j.count(x, *e, p.Manifest)
	}
	if p.Bytes == 0 || p.URL != "" && j.why(x, p.URL) != "" {
		return j.ctx.Err()
	}
	place := warc.Place{Offset: j.counts.Bytes, Length: p.Bytes}
	if _, err := io.Copy(out, record); err != nil {
		return err
	}
	j.counts.Records++
	j.counts.Bytes += p.Bytes
	if p.Index != "" {
		l, ok := warc.ParseLine(p.Index)
		if !ok {
			return fmt.Errorf("%w: node %s has sent a line of an index that cannot be read", errPart, x.Node)
		}
		if err := line(l.At(place, j.name).String()); err != nil {
			return err
		}
	}
	return j.ctx.Err()
}

// count counts a capture, and writes its line of the manifest if it is exported.
func (j *joiner) count(x *NodeExport, e holdings.Exported, entry *manifestEntry) {
	if e.Why == "" {
		e.Why = j.why(x, e.URL)
	}
	switch {
	case e.Why != "":
		j.counts.Withheld++
		if j.refused == nil {
			j.refused = &RefusedError{fmt.Errorf("nothing may be exported: %s: %s", e.URL, e.Why)}
		}
	case e.Redirect:
		j.counts.Redirects++
	default:
		j.counts.Captures++
	}
	if e.Why == "" && entry != nil && j.manifest != nil {
		entry.Node = x.Node
		j.manifest.write(entry)
	}
	if j.Each != nil {
		j.Each(x.Node, e)
	}
}

// why returns why nothing of an address is written from the node x; "" if it is written.
func (j *joiner) why(x *NodeExport, url string) string {
	if x.dropped[url] {
		return "it was erased while it was exported"
	}
	for _, other := range j.all {
		r, is := other.refused[url]
		if !is || other == x {
			continue
		}
		if !r.unknown || j.Owner(url) == other.Node {
			return fmt.Sprintf("node %s: %s", other.Node, r.why)
		}
	}
	return ""
}
