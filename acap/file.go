package acap

import (
	"net/url"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxSize is how much of a robots.txt is read, in bytes; the text is cut at a whole line (RFC 9309 2.5, A19).
const MaxSize = 500 * 1024

// File is a robots.txt, or a file that a permissions reference names, read into fields with positions. It speaks of no crawler
// yet. It is immutable after Parse and safe for concurrent use.
type File struct {
	URL      string    // the name given to Parse
	Final    string    // where redirects led from there, if elsewhere; whoever fetched it sets it
	Findings []Finding // what its author should know, in the order of lines; more come with a Policy
	Sitemaps []string  // Sitemap lines as written; they stand outside all records (O09)

	source  Source
	base    *url.URL // nil when URL is not an absolute URL
	text    string   // decoded
	version version
	claimed version // what a ##ACAP comment says, or version (B09, strict variant)
	ignore  bool    // ACAP-ignore-conventional-records is in effect (P1 2.10.1)
	cut     bool    // longer than MaxSize: no permission counts (A19)
	entries []*entry
	loose   []*entry // those of entries that stand in no record
	records []*record
	subs    []*subRecord
	groups  []*group
	actions []*request
	others  []otherLine // that may be of a vocabulary
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
	record  *record // nil: outside any ACAP record (A13)
	sub     *subRecord
	allow   bool
	local   bool // (usage) names a local definition
	stray   bool // within a conventional record (C10)
	suspect bool // a qualifier stands alone on a following line (A07)
	broken  bool // in META: what stands with its qualifiers cannot be interpreted (N15, N18)
	bare    bool // qualifiers stand where its resources should (X57)
}

// words splits the value of a field, which is done when a policy is made: most files are read for few of their records.
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
	nobody     bool // only empty names (A15)
	references []*Field
	locators   []string // beside references
	entries    []*entry // its fields; they stand together in the file
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
	sub    bool   // it stands in a sub-record (C13)
}

// group is a conventional group (RFC 9309 2.2.1).
type group struct {
	agents []string
	heads  []*Field // beside agents
	ruled  bool     // it has Allow or Disallow lines, be they empty
	rules  []ruleLine
	delays []delay
}

// otherLine is a line that is neither ACAP's nor RFC 9309's, with where it stands.
type otherLine struct {
	field  *Field
	group  *group // nil before any
	agents int    // User-agent lines of the group above it
}

// delay is a Crawl-delay: it is for the agents that stand above it, even where further ones share the rules below (X53).
type delay struct {
	agents int // of the group, how many
	pause  time.Duration
}

// resourceSet is what a resource set stands for (P1 2.7.3): the patterns of all of its definitions in prohibitions, those of the
// first in permissions (E03).
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
	void      []*definition // further definitions of the name that say otherwise (E03)
	late      bool
}

// part is one part of a composite usage.
type part struct {
	token string
	name  string      // in lower case, without parentheses
	local bool        // in parentheses
	inner *definition // in the same file, nil if there is none (D03)
}

// decode gives the text of a file: UTF-16 with a mark is converted, a UTF-8 mark dropped, other bytes are kept.
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
	return strings.TrimPrefix(string(src), "\ufeff") // A17
}

// lineReader walks through the lines of a text: a line ends at CRLF, LF or CR, and at the end of the text (A01).
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

// column counts characters, from 1.
func column(line string, offset int) int {
	return utf8.RuneCountInString(line[:min(offset, len(line))]) + 1
}

// Line gives the text of line n, from 1, for a caret under a field; it is empty beyond the end.
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

// Lines gives the text line by line; Lines()[0] is line 1.
func (f *File) Lines() []string {
	var out []string
	all := linesOf(f.text)
	for line, ok := all.next(); ok; line, ok = all.next() {
		out = append(out, line)
	}
	return out
}

// Version is the ACAP version in effect, "" when none is declared (P1 2.8).
func (f *File) Version() string { return f.version.String() }

// gating is the version that decides which fields count. In the strict variant a comment that says otherwise makes it unclear (B09).
func (f *File) gating(c *Crawler) version {
	v := f.version
	if c.Strict && v.state != unsupported && f.claimed.String() != v.String() {
		v.state = unclear
	}
	return v
}

// IgnoreConventional reports whether ACAP-ignore-conventional-records is in effect (P1 2.10.1).
func (f *File) IgnoreConventional() bool { return f.ignore }
