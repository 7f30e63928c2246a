package warc

import (
	"io"
	"strings"
	"time"
)

// The record types that this package names (WARC 1.1, 6).
const (
	Warcinfo = "warcinfo"
	Response = "response"
	Resource = "resource"
	Request  = "request"
	Metadata = "metadata"
	Revisit  = "revisit"
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

// The named fields that callers set or ask for.
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

// IdenticalPayload is the Profile of a revisit whose payload is that of an earlier record (WARC 1.1, 6.7.2).
const IdenticalPayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

// Field is a name with its value, on one line.
type Field struct{ Name, Value string }

// Fields are named fields in the order in which they stand.
type Fields []Field

// Get gives the first value of name, in whatever case it is written; "" if there is none.
func (f Fields) Get(name string) string {
	for _, each := range f {
		if strings.EqualFold(each.Name, name) {
			return each.Value
		}
	}
	return ""
}

// All gives every value of name.
func (f Fields) All(name string) (values []string) {
	for _, each := range f {
		if strings.EqualFold(each.Name, name) {
			values = append(values, each.Value)
		}
	}
	return values
}

// Record is one record as it was read.
type Record struct {
	Version string // "1.0" or "1.1"
	Fields  Fields
	Length  int64     // octets of the block
	Block   io.Reader // until the next record is asked for; ends with a *Damage where the record turns out to be broken
	Offset  int64     // in the file, of the record or of the gzip member that it is in
}

// Type is the record's type; there are more than those that this package names.
func (r *Record) Type() string { return strings.ToLower(r.Fields.Get(fieldType)) }

// ID is the record's name, without its angle brackets.
func (r *Record) ID() string { return unbracket(r.Fields.Get(fieldID)) }

// Target is the address that gave rise to the record. WARC 1.0 put it in angle brackets, and wget does.
func (r *Record) Target() string { return unbracket(r.Fields.Get(fieldTarget)) }

// ContentType is the media type of the block, as it is written.
func (r *Record) ContentType() string { return r.Fields.Get(fieldContentType) }

// Date is when the capture began. It may be as coarse as a year (W3C-DTF); false where it cannot be read.
func (r *Record) Date() (time.Time, bool) { return ParseDate(r.Fields.Get(fieldDate)) }

// Concurrent are the IDs of the records of the same capture.
func (r *Record) Concurrent() []string {
	ids := r.Fields.All(ConcurrentTo)
	for i, id := range ids {
		ids[i] = unbracket(id)
	}
	return ids
}

// ParseDate reads a WARC-Date (WARC 1.1, 5.4), and the form of fourteen digits that some tools write.
func ParseDate(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z", "2006-01-02T15:04:05", "2006-01-02", "2006-01", "2006", "20060102150405"} {
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

// ParseFields reads a block of type TypeFields. Lines that are no named field are left out.
func ParseFields(block []byte) Fields {
	var f folded
	for line := range strings.Lines(string(block)) {
		f.add(strings.TrimRight(line, "\r\n"))
	}
	return f.all()
}

// folded puts fields together line by line.
type folded struct {
	fields Fields
	value  []byte // of the last field, where it goes on over several lines
}

// add takes one line: a field, or more of the value before (RFC 5322 2.2.3). It reports whether it is one of both.
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

// all gives the fields so far.
func (f *folded) all() Fields {
	if f.value != nil {
		f.fields[len(f.fields)-1].Value, f.value = string(f.value), nil
	}
	return f.fields
}

// Bytes is f as a block of type TypeFields, or as the fields of a record. Control characters in values become blanks, so that no
// value ends its line.
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
