package course

import (
	"slices"
	"strings"
)

// Protocol is the document that a requirement belongs to. A crawler can obey the requirements of
// one protocol without knowing the other protocols.
type Protocol string

// The protocols.
const (
	REP  Protocol = "rep"  // RFC 9309, the Robots Exclusion Protocol
	Tags Protocol = "tags" // conventional META tags, headers and link relations
	ACAP Protocol = "acap"

	TDMRep Protocol = "tdmrep" // tdmrep.json of the TDM Reservation Protocol
	RSL    Protocol = "rsl"    // licence documents of Really Simple Licensing
)

// Protocols lists the protocols in the order of a report.
func Protocols() []Protocol { return []Protocol{REP, Tags, ACAP, TDMRep, RSL} }

// Categories lists the categories of the protocol in the order of a report.
func (p Protocol) Categories() []string {
	switch p {
	case REP:
		return []string{catRobots, catRules, catWays, catManners}
	case Tags:
		return []string{catTags}
	case TDMRep:
		return []string{catTDMFile}
	case RSL:
		return []string{catLicences, catDocuments}
	}
	return []string{catCrawl, catFollow, catFiles}
}

// Title returns the name of the protocol for reports.
func (p Protocol) Title() string {
	switch p {
	case REP:
		return "RFC 9309"
	case Tags:
		return "conventional tags"
	case TDMRep:
		return "TDMRep"
	case RSL:
		return "RSL"
	}
	return "ACAP"
}

// basis returns the source of a requirement, for example a section. The title of the protocol
// precedes it, unless rests begins with that title.
func (p Protocol) basis(rests string) string {
	if strings.HasPrefix(rests, p.Title()) {
		return rests
	}
	return p.Title() + ": " + rests
}

// Level says how binding a requirement is for a crawler.
type Level string

// The levels.
const (
	Must   Level = "must"
	Advice Level = "advice" // a custom that no document demands; ignoring it is not a violation
	May    Level = "may"    // something that a crawler is free to do
)

// The categories, in the order of a report.
const (
	catRobots  = "reading robots.txt"
	catRules   = "groups and rules"
	catWays    = "links of other kinds"
	catManners = "manners"
	catTags    = "nofollow"
	catCrawl   = "ACAP crawl"
	catFollow  = "ACAP follow"
	catFiles   = "ACAP files"

	catTDMFile   = "TDMRep file"
	catLicences  = "RSL licences"
	catDocuments = "RSL documents"
)

// Need is what the judge must know about a visitor before the visits can test the requirement of a
// station.
type Need string

// The needs.
const (
	NeedsName    Need = "a name in its User-Agent"
	NeedsPurpose Need = "a purpose declared with --purpose"
)

// Station is one requirement and the place on the course that tests it. Paths include the query and
// belong to the station's origin; "{{origin}}/path" is a path of another origin.
type Station struct {
	ID       string
	Origin   string
	Category string
	Protocol Protocol
	Level    Level
	Rests    string // the source of the requirement: a section, a paragraph or a reading
	Says     string
	Because  string // the line that prohibits the traps, as the publisher wrote it
	Needs    Need
	// the ID of another station; a visitor that violates the other station's requirement cannot be
	// tested by this station
	Presumes string

	Bait  string   // path of the page that links to the traps; "" means /ID/ with the ID of the station
	Traps []string // paths that must not be requested
	// paths that may be requested; a request for one of them shows that the visitor follows this
	// kind of link
	Controls []string
	From     string // if a trap is prohibited only as the target of a link: the page with that link; otherwise ""
	Whole    bool   // the whole origin is a trap, except robots.txt and the files that it refers to; Traps is empty

	pages map[string]content // path → content of a page of the station that is not a plain list of links
	watch func(*watch) finding
}

// content is what one address of a station answers.
type content struct {
	head, body string      // content of an HTML page; if body is empty, the page lists the links of the station
	header     [][2]string // additional fields of the response
	to         string      // if not empty: the target of a redirect
	status     int         // status; 0 means 302 for a redirect, and otherwise 200
	raw        string      // if not empty: the body, instead of an HTML page
}

// Page returns the path of the station's page, to which the index links.
func (s *Station) Page() string { return "/" + s.ID + "/" }

func (s *Station) bait() string {
	if s.Bait != "" {
		return s.Bait
	}
	return s.Page()
}

// Stations returns a new list of all stations in the order of a report.
func Stations() []*Station {
	return slices.Concat(robotsStations(), ruleStations(), wayStations(), mannerStations(), tagStations(),
		acapRecordStations(), acapCrawlStations(), acapFollowStations(), acapFileStations(),
		tdmrepStations(), licenceStations(), licencePageStations(), documentStations())
}

func presuming(id string, s *Station) *Station {
	s.Presumes = id
	return s
}

// Unobservable lists the requirements that cannot be tested by looking at requests. For each it
// says what a test would have to see. A report prints it, so that nobody mistakes silence about
// these requirements for compliance.
func Unobservable() [][2]string {
	return [][2]string{
		{"noindex, ACAP disallow-index, unavailable_after", "whether a page can be found in the crawler's index"},
		{"ACAP disallow-preserve, noarchive", "whether a copy is kept, and for how long (time-limit)"},
		{"ACAP disallow-present and its types, nosnippet, max-snippet, max-length", "what readers are shown"},
		{"must-use-resource, must-include-resource", "how the resource is used after it was fetched"},
		{"prohibited-modification, prohibited-context, required-context, target-condition",
			"how, where and to whom a page is shown"},
		{"Content-Usage, Content-Signal, TDMRep reservations, noai, PLUS, and licences without a licence server",
			"whether a page is indexed, kept, shown or given to a model"},
		{"ACAP-request-take-down, ACAP-request-re-crawl",
			"whether stored data is erased, and whether a visit was made because of the request"},
		{"the same visitor under another name or address",
			"whether two visitors are the same crawler, unless --run started it"},
	}
}
