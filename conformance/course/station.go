package course

import (
	"slices"
	"strings"
)

// Protocol is what a requirement belongs to. Who honours one need not know the next.
type Protocol string

// The protocols.
const (
	REP  Protocol = "rep"  // RFC 9309, the Robots Exclusion Protocol
	Tags Protocol = "tags" // conventional META, headers and link relations
	ACAP Protocol = "acap"
)

// Protocols lists them.
func Protocols() []Protocol { return []Protocol{REP, Tags, ACAP} }

// Categories lists the categories of the protocol, in the order of a report.
func (p Protocol) Categories() []string {
	switch p {
	case REP:
		return []string{catRobots, catRules, catWays, catManners}
	case Tags:
		return []string{catTags}
	}
	return []string{catCrawl, catFollow, catFiles}
}

// Title names the protocol for a reader.
func (p Protocol) Title() string {
	switch p {
	case REP:
		return "RFC 9309"
	case Tags:
		return "conventional tags"
	}
	return "ACAP"
}

// basis names the protocol and what in it a requirement rests on.
func (p Protocol) basis(rests string) string {
	if strings.HasPrefix(rests, p.Title()) {
		return rests
	}
	return p.Title() + ": " + rests
}

// Level says what not to keep a requirement means.
type Level string

// The levels.
const (
	Must   Level = "must"
	Advice Level = "advice" // good manners and customs that no document demands: no violation
	May    Level = "may"    // a freedom that a crawler may use
)

// The categories, in the order of reports.
const (
	catRobots  = "robots.txt is read"
	catRules   = "groups and rules"
	catWays    = "ways into what is closed"
	catManners = "manners"
	catTags    = "nofollow"
	catCrawl   = "ACAP crawl"
	catFollow  = "ACAP follow"
	catFiles   = "ACAP files"
)

// Need is what must be known of a visitor before a station can test it.
type Need string

// The needs.
const (
	NeedsName    Need = "a name in its User-Agent"
	NeedsPurpose Need = "a purpose that is told with --purpose"
)

// Station is one requirement, and where on the course it is tested. Paths are of its origin, with their query; "{{origin}}/path" is one of another.
type Station struct {
	ID       string
	Origin   string
	Category string
	Protocol Protocol
	Level    Level
	Rests    string // on what: a section, a paragraph or a reading
	Says     string
	Because  string // the line that refuses, as its author wrote it
	Needs    Need
	Presumes string // another station: who does not keep that cannot be tested by this one

	Bait     string   // the page that holds the bait; "": /ID/
	Traps    []string // must not be requested
	Controls []string // may be, and tell that the visitor takes such a bait; any of them
	From     string   // of traps that only a link leads to which must not be followed: the page with that link
	Whole    bool     // nothing of the origin may be requested but its robots.txt and what that names: it has no traps

	pages map[string]content // of the station, where links alone do not make them
	watch func(*watch) finding
}

// content is one address of a station.
type content struct {
	head, body string      // of a page; an empty body has the links of the station
	header     [][2]string // of the answer
	to         string      // a redirect leads there
	status     int         // of the redirect; 0: 302
	raw        string      // instead of a page
}

// Page is the path of the page that the index leads to.
func (s *Station) Page() string { return "/" + s.ID + "/" }

func (s *Station) bait() string {
	if s.Bait != "" {
		return s.Bait
	}
	return s.Page()
}

// Stations lists all, in the order of reports.
func Stations() []*Station {
	return slices.Concat(robotsStations(), ruleStations(), wayStations(), mannerStations(), tagStations(),
		acapRecordStations(), acapCrawlStations(), acapFollowStations(), acapFileStations())
}

func presuming(id string, s *Station) *Station {
	s.Presumes = id
	return s
}

// Unobservable lists what a server cannot see, so that nobody takes silence for obedience.
func Unobservable() [][2]string {
	return [][2]string{
		{"noindex, ACAP disallow-index, unavailable_after", "whether a page can be found in the crawler's index"},
		{"ACAP disallow-preserve, noarchive", "whether a copy is kept, and for how long (time-limit)"},
		{"ACAP disallow-present and its types, nosnippet, max-snippet, max-length", "what readers are shown"},
		{"must-use-resource, must-include-resource", "what is made of the resource, once it has been fetched"},
		{"prohibited-modification, prohibited-context, required-context, target-condition", "how, where and to whom it is shown"},
		{"ACAP-request-take-down, ACAP-request-re-crawl", "whether what is held is erased, and whether a visit was made because of the request"},
		{"the same visitor under another name or address",
			"that two visitors are one crawler, unless --run started it"},
	}
}
