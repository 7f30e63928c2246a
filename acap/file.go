package acap

import (
	"net/url"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxSize is how many bytes of a robots.txt are read. A longer text is cut at the end of a line
// (RFC 9309 2.5, A19).
const MaxSize = 500 * 1024

// File is a parsed robots.txt, or a parsed file that a permissions reference names. It holds fields
// with their positions, and is the same for every crawler. It is immutable after Parse and safe for
// concurrent use.
type File struct {
	URL      string    // the name given to Parse
	Final    string    // the URL after redirects if it differs from URL; the caller of Parse sets it
	Findings []Finding // problems that the author should know, in the order of lines; a Policy may find more
	Sitemaps []string  // the values of Sitemap lines as written; Sitemap lines belong to no record (P1 2.10.1, O09)

	source  Source
	base    *url.URL // the parsed URL; nil if URL is not an absolute URL
	text    string   // the decoded text of the file
	version version
	// the version that a ##ACAP comment claims; without such a comment, the same as version; only
	// the strict variant uses it (P1 2.1, B09)
	claimed version
	ignore  bool // ACAP-ignore-conventional-records is in effect (P1 2.10.1)
	cut     bool // the file is longer than MaxSize, so no permission has effect (P1 4, A19)
	entries []*entry
	loose   []*entry // the entries that belong to no record
	records []*record
	subs    []*subRecord
	groups  []*group
	actions []*request
	others  []otherLine // lines that other vocabularies than ACAP may define
	usages  map[string]*definition
	sets    map[string]*resourceSet

	definitions    []*definition    // all definitions of usages, in the order of lines
	setDefinitions []*setDefinition // all definitions of resource sets, in the order of lines
}

// entry is one permission or prohibition field as it was written. It does not depend on the
// crawler.
type entry struct {
	field   *Field
	usage   string  // the name of the usage in lower case, without parentheses
	value   string  // resource specification and qualifiers; in META only qualifiers
	record  *record // nil if the field is outside any ACAP record (P1 2.3, A13)
	sub     *subRecord
	allow   bool
	local   bool // the usage is written "(usage)", which names a local definition
	stray   bool // the field is within a conventional record (P1 2.10.2, C10)
	suspect bool // a qualifier is on the next line, where it does not belong to the field (P1 2.7, A07)
	broken  bool // in META: the words after the field cannot be interpreted (P2 3, N15; PILOT 1.3.1, N18)
	bare    bool // the field has qualifiers but no resources (P1 2.4.4, X57)
}

// words splits the value of a field. This is done when a policy is made, since most policies need
// only a few records of a file.
func (e *entry) words(tokens *slab[string]) []string {
	all := split(e.value, tokens)
	if e.allow {
		return joinQualifiers(all)
	}
	return all
}

// record is an ACAP record (P1 2.3).
type record struct {
	heads      []*Field // the ACAP-crawler fields of the record
	field      *Field   // the last of heads
	used       bool     // the record has fields in addition to its head
	names      []string
	any        bool // "*" is one of the crawler names
	nobody     bool // all crawler names are empty (P1 3, A15)
	references []*Field
	locators   []string // the locators of the fields in references, in the same order
	entries    []*entry // the permissions and prohibitions of the record, which follow each other in the file
}

// subRecord is the head of a sub-record (P1 2.3.3).
type subRecord struct {
	field    *Field // the first ACAP-usage-purpose field; nil in a page
	used     bool   // the sub-record has fields in addition to its head
	purposes []*purpose
}

// request is an action request field (P1 2.6).
type request struct {
	field  *Field
	action string
	path   string
	record *record
	why    string // the reason why the request is refused; empty if it is not refused
	sub    bool   // the request is in a sub-record (P1 2.3, C13)
}

// group is a conventional group (RFC 9309 2.2.1).
type group struct {
	agents []string
	heads  []*Field // the User-agent lines, in the order of agents
	ruled  bool     // the group has Allow or Disallow lines, even if the lines are empty
	rules  []ruleLine
	delays []delay
}

// otherLine is a line that neither ACAP nor RFC 9309 defines, with its place in the file.
type otherLine struct {
	field  *Field
	group  *group // the group that contains the line; nil before any group
	agents int    // how many User-agent lines of the group are above the line
}

// delay is a Crawl-delay. It applies to the User-agent lines above it, even if further User-agent
// lines below it belong to the same group (RFC 9309, X53).
type delay struct {
	agents int // how many User-agent lines of the group are above the Crawl-delay
	pause  time.Duration
}

// resourceSet holds the patterns of a resource set (P1 2.7.3). Prohibitions use the patterns of all
// its definitions; permissions use those of the first definition (P1 3, E03).
type resourceSet = specification

// definition is a qualified or composite usage (P1 2.7.1, 2.7.2).
type definition struct {
	field     *Field
	file      *File
	composite bool
	name      string
	base      string        // the standard usage that a qualified usage limits
	tokens    []string      // the qualifiers of a qualified usage, or the parts of a composite usage
	parts     []part        // the parts of a composite usage with at most maxParts parts
	void      []*definition // further, different definitions of the same name (P1 3, E03)
	late      bool
}

// part is one part of a composite usage.
type part struct {
	token string
	name  string      // the name of the usage in lower case, without parentheses
	local bool        // the name is written in parentheses
	inner *definition // the definition of the name in the same file; nil if there is none (P1 2.7, D03)
}

// decode returns the text of a file. It converts UTF-16 with a byte-order mark, removes the
// byte-order mark of UTF-8, and does not change other bytes.
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
	// P1 3 (A17): a byte-order mark does not change the text
	return strings.TrimPrefix(string(src), "\ufeff")
}

// lineReader reads the lines of a text. A line ends at CRLF, LF or CR, and at the end of the text
// (P1 3, A01).
type lineReader struct {
	rest    string
	returns int // number of CR characters that have not been read yet
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

// column returns the number of the character at a byte offset, counted from 1.
func column(line string, offset int) int {
	return utf8.RuneCountInString(line[:min(offset, len(line))]) + 1
}

// Line returns the text of line n, counted from 1. It returns "" if there is no such line.
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

// Lines returns the lines of the text. Lines()[0] is line 1.
func (f *File) Lines() []string {
	var out []string
	all := linesOf(f.text)
	for line, ok := all.next(); ok; line, ok = all.next() {
		out = append(out, line)
	}
	return out
}

// Version returns the ACAP version in effect, or "" if the file declares none (P1 2.8).
func (f *File) Version() string { return f.version.String() }

// gating returns the version that decides which fields have effect. In the strict variant, a
// comment that names another version makes the version unclear (P1 2.1, B09).
func (f *File) gating(c *Crawler) version {
	v := f.version
	if c.Strict && v.state != unsupported && f.claimed.String() != v.String() {
		v.state = unclear
	}
	return v
}

// IgnoreConventional reports whether ACAP-ignore-conventional-records is in effect (P1 2.10.1).
func (f *File) IgnoreConventional() bool { return f.ignore }

// Root returns the root URL of the origin of the file, or nil if its URL is not absolute.
func (f *File) Root() *url.URL { return rootOf(f.base) }
