package conformance

import (
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
)

// Audit is the result for one site.
type Audit struct {
	Site     string    `json:"site"` // scheme and host
	Time     time.Time `json:"time"`
	Crawler  []string  `json:"crawler"`            // names of the crawler as which the audit requested pages
	Purposes []string  `json:"purposes,omitempty"` // purposes for which the audit requested pages
	Complete bool      `json:"complete"`
	Status   string    `json:"status"` // state of robots.txt: read, none, unreachable

	Files          []AuditFile     `json:"files"`
	Said           []Said          `json:"said"`
	Findings       []acap.Finding  `json:"findings"`
	Notes          []string        `json:"notes"`
	Contradictions []Contradiction `json:"contradictions"`
	Departures     []Contradiction `json:"departures"` // pages that restrict what the site permits, which is no mistake
	Effects        []Effects       `json:"effects"`
	Drifts         []Drift         `json:"drifts"`
	// Silent is the number of addresses that ACAP limits and that crawlers without ACAP use without
	// limit.
	Silent   int            `json:"silent"`
	Actions  []AuditAction  `json:"actions"`
	Sitemaps []AuditSitemap `json:"sitemaps"`
	Pages    []AuditPage    `json:"pages"`

	report *check.Report
}

// AuditFile is a policy file.
type AuditFile struct {
	URL          string `json:"url"`
	Final        string `json:"final,omitempty"` // URL after redirects
	Status       int    `json:"status"`          // HTTP status of the last answer; 0: there was no answer
	Type         string `json:"type,omitempty"`
	Bytes        int    `json:"bytes"`
	Version      string `json:"version,omitempty"`
	Ignores      bool   `json:"ignores_conventional,omitempty"`
	Why          string `json:"why,omitempty"` // why the policy file could not be read
	Statements   int    `json:"statements"`
	Conventional int    `json:"conventional_rules"`
	Vocabulary   string `json:"vocabulary,omitempty"` // the newer vocabulary that needs the file; "" for others
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

// AuditAction is an action request of the publisher: a take-down or a re-crawl.
type AuditAction struct {
	Action   string     `json:"action"`
	URL      string     `json:"url"`
	Crawlers []string   `json:"crawlers"` // the addressed crawlers; "" is any crawler
	Execute  bool       `json:"execute"`
	Why      string     `json:"why,omitempty"`
	By       *AuditLine `json:"by"`
}

// AuditSitemap is a sitemap that robots.txt or another sitemap names.
type AuditSitemap struct {
	URL   string `json:"url"`
	Pages int    `json:"pages"`
	Why   string `json:"why,omitempty"` // why the sitemap could not be read completely
}

// AuditPage is an address that the audit examined.
type AuditPage struct {
	URL       string `json:"url"`
	Requested bool   `json:"requested"`
	Status    int    `json:"status,omitempty"`
	Title     string `json:"title,omitempty"`
	Final     string `json:"final,omitempty"`
	Why       string `json:"why,omitempty"` // why there is no page
	refused   bool
}

// failed reports whether the page was requested and the request failed.
func (p *AuditPage) failed() bool { return p.Requested && p.Why != "" && !p.refused }

// Weighs reports whether the audit found something that the publisher should correct.
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

// Excerpt returns the source line of a finding with its place marked, "" if the line is unknown.
func (a *Audit) Excerpt(f acap.Finding) string {
	line := a.report.Line(f)
	if line == "" {
		return ""
	}
	return f.Excerpt(line)
}
