package cdx

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/memento"
)

// ContentType returns the media type of what Write writes.
func (q *Query) ContentType() string {
	switch {
	case q.count:
		return "application/json"
	case q.output == "json":
		return "text/x-ndjson"
	case q.output == "text":
		return "text/plain; charset=utf-8"
	case q.output == "link":
		return memento.LinkFormat
	}
	return "text/x-cdxj"
}

// Write writes the answer to the query, with one record on each line: the records of Select, or
// with showNumPages the number of pages. The answer is empty if there are no records. For output=link,
// address returns the address of the version that a record stands for.
//
// An *Error is returned before anything was written. Another error is that of records or w; then a
// part of the answer may have been written.
func (q *Query) Write(w io.Writer, records Records, address func(Record) string) error {
	out := bufio.NewWriterSize(w, 32<<10)
	if q.count {
		return q.writeCount(out, records)
	}
	l := liner{output: q.output, out: out, address: address, fields: q.fields}
	if l.fields == nil {
		l.fields = names
	}
	if q.output == "cdxj" { // these two stand before the object
		l.fields = slices.DeleteFunc(slices.Clone(l.fields), func(name string) bool {
			return name == "urlkey" || name == "timestamp"
		})
	}
	l.encoder = json.NewEncoder(&l.text)
	l.encoder.SetEscapeHTML(false)
	for r, err := range q.Select(records) {
		if err == nil {
			err = l.write(&r)
		}
		if err != nil {
			return err
		}
	}
	if q.output == "link" && l.lines > 0 {
		out.WriteByte('\n')
	}
	return out.Flush()
}

// writeCount writes the answer to showNumPages. A block is one record.
func (q *Query) writeCount(out *bufio.Writer, records Records) error {
	blocks := int64(0)
	for _, err := range q.matching(records) {
		if err != nil {
			return err
		}
		blocks++
	}
	pages := max(1, (blocks+q.pageSize-1)/q.pageSize)
	fmt.Fprintf(out, "{\"blocks\": %d, \"pages\": %d, \"pageSize\": %d}\n", blocks, pages, q.pageSize)
	return out.Flush()
}

// liner writes records as lines.
type liner struct {
	output  string
	fields  []string
	out     *bufio.Writer
	address func(Record) string
	lines   int
	text    bytes.Buffer // of encoder
	encoder *json.Encoder
}

func (l *liner) write(r *Record) error {
	l.lines++
	switch l.output {
	case "text":
		return l.plain(r)
	case "json":
		return l.object(r)
	case "link":
		return l.link(r)
	}
	l.out.WriteString(r.URLKey + " " + r.Timestamp + " ")
	return l.object(r)
}

// object writes fields as a JSON object and ends the line. Fields without a value are left out.
func (l *liner) object(r *Record) error {
	before := "{"
	for _, name := range l.fields {
		value := r.value(name)
		if value == "" {
			continue
		}
		l.text.Reset()
		if err := l.encoder.Encode(value); err != nil {
			return err
		}
		l.out.WriteString(before + `"` + name + `": `)
		l.out.Write(bytes.TrimSuffix(l.text.Bytes(), []byte("\n")))
		before = ", "
	}
	if before == "{" {
		l.out.WriteString("{")
	}
	_, err := l.out.WriteString("}\n")
	return err
}

// plain writes fields separated by blanks, with a hyphen for a field without a value. White space
// inside a value is written as %20.
func (l *liner) plain(r *Record) error {
	for i, name := range l.fields {
		if i > 0 {
			l.out.WriteByte(' ')
		}
		value := r.value(name)
		if strings.ContainsFunc(value, blank) {
			value = strings.Join(strings.FieldsFunc(value, blank), "%20")
		}
		l.out.WriteString(cmp.Or(value, "-"))
	}
	return l.out.WriteByte('\n')
}

// blank reports whether r would end a field or a line.
func blank(r rune) bool { return r <= ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 }

// link writes a record as a link of a TimeMap (RFC 7089 5).
func (l *liner) link(r *Record) error {
	at, err := memento.ParseTimestamp(r.Timestamp)
	if err != nil {
		return err
	}
	if l.lines > 1 {
		l.out.WriteString(",\n")
	}
	_, err = l.out.WriteString(memento.Link{Target: l.address(*r), Rels: []string{"memento"}, Datetime: at}.String())
	return err
}
