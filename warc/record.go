package warc

import (
	"io"
	"strings"
	"time"
)

// The record types that this package names (WARC 1.1, 6).
const (
	Warcinfo   = "warcinfo"
	Response   = "response"
	Resource   = "resource"
	Request    = "request"
	Metadata   = "metadata"
	Revisit    = "revisit"
	Conversion = "conversion"
)

// The named fields that this package reads or writes (WARC 1.1, 5).
const (
	fieldType          = "WARC-Type"
	fieldID            = "WARC-Record-ID"
	fieldDate          = "WARC-Date"
	fieldTarget        = "WARC-Target-URI"
	fieldLength        = "Content-Length"
	fieldContentType   = "Content-Type"
	fieldBlockDigest   = "WARC-Block-Digest"
	fieldPayloadDigest = "WARC-Payload-Digest"
)

// the named fields that only callers of this package set or read
const (
	ConcurrentTo      = "WARC-Concurrent-To"
	Filename          = "WARC-Filename"
	IPAddress         = "WARC-IP-Address"
	Profile           = "WARC-Profile"
	RefersTo          = "WARC-Refers-To"
	RefersToDate      = "WARC-Refers-To-Date"
	RefersToTargetURI = "WARC-Refers-To-Target-URI"
	SegmentNumber     = "WARC-Segment-Number"
	Truncated         = "WARC-Truncated"
)

// Media types of blocks.
const (
	TypeFields   = "application/warc-fields"
	TypeRequest  = "application/http;msgtype=request"
	TypeResponse = "application/http;msgtype=response"
)

// IdenticalPayload is the Profile of a revisit whose payload is that of an earlier record (WARC
// 1.1, 6.7.2).
const IdenticalPayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

// Field is a name with its value. The value has no line ends.
type Field struct{ Name, Value string }

// Fields are named fields in their order in the file.
type Fields []Field

// Get returns the first value of name without regard to case, or "".
func (f Fields) Get(name string) string {
	for _, each := range f {
		if strings.EqualFold(each.Name, name) {
			return each.Value
		}
	}
	return ""
}

// All returns all values of name without regard to case.
func (f Fields) All(name string) (values []string) {
	for _, each := range f {
		if strings.EqualFold(each.Name, name) {
			values = append(values, each.Value)
		}
	}
	return values
}

// Record is a record that was read.
type Record struct {
	Version string // "1.0" or "1.1"
	Fields  Fields
	Length  int64 // octets of the block
	// content of the block, valid until Next is called; its reader returns a *Damage if the record
	// is broken
	Block  io.Reader
	Offset int64 // position of the record or its gzip member in the file
}

// Type returns the record's type in lower case. The type may be one for which this package has no
// constant.
func (r *Record) Type() string { return strings.ToLower(r.Fields.Get(fieldType)) }

// ID returns the record's ID without angle brackets.
func (r *Record) ID() string { return unbracket(r.Fields.Get(fieldID)) }

// Target returns the address from which the content of the record was captured. Angle brackets
// around the address are removed; WARC 1.0 requires them, and wget writes them too.
func (r *Record) Target() string { return unbracket(r.Fields.Get(fieldTarget)) }

// ContentType returns the media type of the block, unchanged.
func (r *Record) ContentType() string { return r.Fields.Get(fieldContentType) }

// Date returns the time at which the capture began. The time may be as coarse as a year (W3C-DTF).
// Date returns false if the date cannot be read.
func (r *Record) Date() (time.Time, bool) { return ParseDate(r.Fields.Get(fieldDate)) }

// Concurrent returns the IDs of the other records that were captured together with this one.
func (r *Record) Concurrent() []string {
	ids := r.Fields.All(ConcurrentTo)
	for i, id := range ids {
		ids[i] = unbracket(id)
	}
	return ids
}

// ParseDate parses a WARC-Date (WARC 1.1, 5.4), and the form of fourteen digits that some tools
// write.
func ParseDate(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z", "2006-01-02T15:04:05", "2006-01-02",
		"2006-01", "2006", "20060102150405"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

func unbracket(s string) string {
	if inner, ok := strings.CutPrefix(s, "<"); ok {
		if inner, ok = strings.CutSuffix(inner, ">"); ok {
			return inner
		}
	}
	return s
}

// ParseFields parses a block of type TypeFields. It skips lines that are not named fields.
func ParseFields(block []byte) Fields {
	var f folded
	for line := range strings.Lines(string(block)) {
		f.add(strings.TrimRight(line, "\r\n"))
	}
	return f.all()
}

// folded collects fields line by line, and joins values that are folded over several lines.
type folded struct {
	fields Fields
	value  []byte // value of the last field, if that value has several lines
}

// add adds a line, either a field or a continuation of the last value (RFC 5322 2.2.3). It returns
// false if the line is neither.
func (f *folded) add(line string) bool {
	if len(f.fields) > 0 && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")) {
		more := strings.TrimSpace(line)
		if f.value == nil {
			f.value = []byte(f.fields[len(f.fields)-1].Value)
		}
		if len(f.value) > 0 && more != "" {
			f.value = append(f.value, ' ')
		}
		f.value = append(f.value, more...)
		return true
	}
	name, value, found := strings.Cut(line, ":")
	name = strings.TrimRight(name, " \t")
	if !found || name == "" || strings.ContainsAny(name, " \t\x00") {
		return false
	}
	f.fields = append(f.all(), Field{name, strings.TrimSpace(value)})
	return true
}

// all returns the fields that were added so far.
func (f *folded) all() Fields {
	if f.value != nil {
		f.fields[len(f.fields)-1].Value, f.value = string(f.value), nil
	}
	return f.fields
}

// Bytes returns f as a block of type TypeFields, which is also the form of a record's fields.
// Control characters in values are replaced by blanks, so that no value can begin a new line.
func (f Fields) Bytes() []byte {
	var b []byte
	for _, each := range f {
		b = append(b, each.Name...)
		b = append(b, ": "...)
		b = append(b, oneLine(each.Value)...)
		b = append(b, "\r\n"...)
	}
	return b
}

func oneLine(value string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r // an octet that is not UTF-8 becomes U+FFFD
	}, value))
}
