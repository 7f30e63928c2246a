package acap

import (
	"net/url"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxSize is how many bytes of a robots.txt are read. A longer text is cut at a whole line (RFC
// 9309 2.5, A19).
const MaxSize = 500 * 1024

// File is a robots.txt, or a file that a permissions reference names, read into fields with
// positions. It is the same for every crawler. It is immutable after Parse and safe for concurrent
// use.
type File struct {
	URL      string    // the name given to Parse
	Final    string    // the URL after redirects, if it differs; the caller sets it
	Findings []Finding // what its author should know, in the order of lines; a Policy may add more
	Sitemaps []string  // Sitemap lines as written; they are outside all records (P1 2.10.1, O09)

	source  Source
	base    *url.URL // nil when URL is not an absolute URL
	text    string   // decoded
	version version
	claimed version // what a ##ACAP comment says, or version (P1 2.1, B09: only in the strict variant)
	ignore  bool    // ACAP-ignore-conventional-records is in effect (P1 2.10.1)
	cut     bool    // longer than MaxSize: no permission counts (P1 4, A19)
	entries []*entry
	loose   []*entry // the entries that are in no record
	records []*record
	subs    []*subRecord
	groups  []*group
	actions []*request
	others  []otherLine // lines that may belong to a vocabulary
	usages  map[string]*definition
	sets    map[string]*resourceSet

	definitions    []*definition    // all that are written, in file order
	setDefinitions []*setDefinition // likewise
}

// entry is one permission or prohibition field as it was written, before any crawler's view of it.
type entry struct {
	field   *Field
	usage   string  // lower case, without parentheses
	value   string  // resource specification and qualifiers; qualifiers alone in META
	record  *record // nil: outside any ACAP record (P1 2.3, A13)
	sub     *subRecord
	allow   bool
	local   bool // (usage) names a local definition
	stray   bool // within a conventional record (P1 2.10.2, C10)
	suspect bool // a qualifier is alone on the next line (P1 2.7, A07)
	broken  bool // in META: what follows it cannot be interpreted (P2 3, N15; PILOT 1.3.1, N18)
	bare    bool // qualifiers take the place of its resources (P1 2.4.4, X57)
}

// words splits the value of a field. That is done when a policy is made, since most policies need
// few records of a file.
func (e *entry) words(tokens *slab[string]) []string {
	all := split(e.value, tokens)
	if e.allow {
		return joinQualifiers(all)
	}
	return all
}

// record is an ACAP record (P1 2.3).
type record struct {
	heads      []*Field // its crawler fields
	field      *Field   // the last of them
	used       bool     // it has fields
	names      []string
	any        bool // "*" is among the names
	nobody     bool // only empty names (P1 3, A15)
	references []*Field
	locators   []string // parallel to references
	entries    []*entry // its fields, which follow each other in the file
}

// subRecord is the head of a sub-record (P1 2.3.3).
type subRecord struct {
	field    *Field // its first purpose field; nil in a page
	used     bool   // it has fields
	purposes []*purpose
}

// request is an action request field (P1 2.6).
type request struct {
	field  *Field
	action string
	path   string
	record *record
	why    string // why it is refused; empty if it is not
	sub    bool   // it is in a sub-record (P1 2.3, C13)
}

// group is a conventional group (RFC 9309 2.2.1).
type group struct {
	agents []string
	heads  []*Field // parallel to agents
	ruled  bool     // it has Allow or Disallow lines, even if they are empty
	rules  []ruleLine
	delays []delay
}

// otherLine is a line that neither ACAP nor RFC 9309 defines, with its place.
type otherLine struct {
	field  *Field
	group  *group // nil before any
	agents int    // User-agent lines of the group above it
}

// delay is a Crawl-delay. It holds for the agents above it, even if further ones share the rules
// below (RFC 9309, X53).
type delay struct {
	agents int // how many agents of the group are above it
	pause  time.Duration
}

// resourceSet holds the patterns of a resource set (P1 2.7.3): in prohibitions those of all its
// definitions, in permissions those of the first (P1 3, E03).
type resourceSet = specification

// definition is a qualified or composite usage (P1 2.7.1, 2.7.2).
type definition struct {
	field     *Field
	file      *File
	composite bool
	name      string
	base      string        // standard usage of a qualified usage
	tokens    []string      // its qualifiers, or the parts of a composite
	parts     []part        // of a composite that is not too long
	void      []*definition // further definitions of the name that differ (P1 3, E03)
	late      bool
}

// part is one part of a composite usage.
type part struct {
	token string
	name  string      // in lower case, without parentheses
	local bool        // in parentheses
	inner *definition // in the same file, nil if there is none (P1 2.7, D03)
}

// decode returns the text of a file. It converts UTF-16 with a byte-order mark, drops the mark of
// UTF-8, and keeps other bytes.
func decode(src []byte) string {
	if wideMark(src) {
		little := src[0] == 0xff
		var units []uint16
		for i := 2; i+1 < len(src); i += 2 {
			if little {
				units = append(units, uint16(src[i])|uint16(src[i+1])<<8)
			} else {
				units = append(units, uint16(src[i+1])|uint16(src[i])<<8)
			}
		}
		return string(utf16.Decode(units))
	}
	// P1 3 (A17): a byte-order mark, leading blanks, tabs and a blank before the colon do no harm
	return strings.TrimPrefix(string(src), "\ufeff")
}

// lineReader walks through the lines of a text: a line ends at CRLF, LF or CR, and at the end of
// the text (P1 3, A01).
type lineReader struct {
	rest    string
	returns int // CR still to come
}

func linesOf(text string) lineReader { return lineReader{text, strings.Count(text, "\r")} }

func (l *lineReader) next() (line string, ok bool) {
	if l.rest == "" {
		return "", false
	}
	var end int
	if l.returns > 0 {
		end = strings.IndexAny(l.rest, "\r\n")
	} else {
		end = strings.IndexByte(l.rest, '\n')
	}
	if end < 0 {
		line, l.rest = l.rest, ""
		return line, true
	}
	line = l.rest[:end]
	if l.rest[end] == '\r' {
		l.returns--
		if strings.HasPrefix(l.rest[end:], "\r\n") {
			end++
		}
	}
	l.rest = l.rest[end+1:]
	return line, true
}

// column returns the number of the character at offset, from 1.
func column(line string, offset int) int {
	return utf8.RuneCountInString(line[:min(offset, len(line))]) + 1
}

// Line returns the text of line n, from 1. It is empty beyond the end.
func (f *File) Line(n int) string {
	if f == nil || n < 1 {
		return ""
	}
	all := linesOf(f.text)
	for ; n > 1; n-- {
		all.next()
	}
	line, _ := all.next()
	return line
}

// Lines returns the text as lines. Lines()[0] is line 1.
func (f *File) Lines() []string {
	var out []string
	all := linesOf(f.text)
	for line, ok := all.next(); ok; line, ok = all.next() {
		out = append(out, line)
	}
	return out
}

// Version returns the ACAP version in effect, "" if none is declared (P1 2.8).
func (f *File) Version() string { return f.version.String() }

// gating returns the version that decides which fields count. In the strict variant a comment with
// another version makes it unclear (P1 2.1, B09).
func (f *File) gating(c *Crawler) version {
	v := f.version
	if c.Strict && v.state != unsupported && f.claimed.String() != v.String() {
		v.state = unclear
	}
	return v
}

// IgnoreConventional reports whether ACAP-ignore-conventional-records is in effect (P1 2.10.1).
func (f *File) IgnoreConventional() bool { return f.ignore }
