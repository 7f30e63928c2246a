package conformance

import (
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/check"
)

// Audit is the result for one site.
type Audit struct {
	Site     string    `json:"site"` // scheme and host
	Time     time.Time `json:"time"`
	Crawler  []string  `json:"crawler"`            // as who it was looked at
	Purposes []string  `json:"purposes,omitempty"` // for what
	Complete bool      `json:"complete"`
	Status   string    `json:"status"` // of robots.txt: read, none, unreachable

	Files          []AuditFile     `json:"files"`
	Said           []Said          `json:"said"`
	Findings       []acap.Finding  `json:"findings"`
	Notes          []string        `json:"notes"`
	Contradictions []Contradiction `json:"contradictions"`
	Departures     []Contradiction `json:"departures"` // by which a page restricts what the site permits, as it may
	Effects        []Effects       `json:"effects"`
	Drifts         []Drift         `json:"drifts"`
	// addresses of which ACAP limits what a conventional crawler may take for free
	Silent   int            `json:"silent"`
	Actions  []AuditAction  `json:"actions"`
	Sitemaps []AuditSitemap `json:"sitemaps"`
	Pages    []AuditPage    `json:"pages"`

	report *check.Report
}

// AuditFile is a file of policy.
type AuditFile struct {
	URL          string `json:"url"`
	Final        string `json:"final,omitempty"` // where redirects led
	Status       int    `json:"status"`          // of the last answer; 0: there was none
	Type         string `json:"type,omitempty"`
	Bytes        int    `json:"bytes"`
	Version      string `json:"version,omitempty"`
	Ignores      bool   `json:"ignores_conventional,omitempty"`
	Why          string `json:"why,omitempty"` // it could not be read
	Statements   int    `json:"statements"`
	Conventional int    `json:"conventional_rules"`
}

// AuditLine is a field that decided something.
type AuditLine struct {
	Source acap.Source `json:"source"`
	URL    string      `json:"url"`
	Line   int         `json:"line"`
	Field  string      `json:"field"`
}

func lineOf(f *acap.Field) *AuditLine {
	if f == nil {
		return nil
	}
	return &AuditLine{f.Source, f.URL, f.Line, f.Text}
}

// AuditAction is a request of the publisher.
type AuditAction struct {
	Action   string     `json:"action"`
	URL      string     `json:"url"`
	Crawlers []string   `json:"crawlers"` // to whom; "" alone is any
	Execute  bool       `json:"execute"`
	Why      string     `json:"why,omitempty"`
	By       *AuditLine `json:"by"`
}

// AuditSitemap is a sitemap that robots.txt, or another one, names.
type AuditSitemap struct {
	URL   string `json:"url"`
	Pages int    `json:"pages"`
	Why   string `json:"why,omitempty"` // it could not be read, or in part
}

// AuditPage is an address that the audit examined.
type AuditPage struct {
	URL       string `json:"url"`
	Requested bool   `json:"requested"`
	Status    int    `json:"status,omitempty"`
	Title     string `json:"title,omitempty"`
	Final     string `json:"final,omitempty"`
	Why       string `json:"why,omitempty"` // there is no page
	refused   bool
}

// failed reports whether the request for the page failed.
func (p *AuditPage) failed() bool { return p.Requested && p.Why != "" && !p.refused }

// Weighs reports whether the publisher should correct something.
func (a *Audit) Weighs() bool {
	w := a.report.Worst()
	return w == acap.Error || w == acap.Warning || len(a.Contradictions) > 0
}

// Refused reports whether no page could be read because policy prohibits all requests.
func (a *Audit) Refused() bool {
	return slices.ContainsFunc(a.Pages, func(p AuditPage) bool { return p.refused }) &&
		!slices.ContainsFunc(a.Pages, func(p AuditPage) bool { return p.Requested && !p.refused })
}

// Fetched reports whether any page was read.
func (a *Audit) Fetched() bool {
	return slices.ContainsFunc(a.Pages, func(p AuditPage) bool { return p.Requested && p.Why == "" })
}

// Excerpt returns the line of a finding with the place marked, "" if it is unknown.
func (a *Audit) Excerpt(f acap.Finding) string {
	line := a.report.Line(f)
	if line == "" {
		return ""
	}
	return f.Excerpt(line)
}
