package present

import (
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// Entry is one archived version in a list of an archive.
type Entry struct {
	URL       string     `json:"url"`
	Version   int        `json:"version"`
	Fetched   time.Time  `json:"fetched"`
	Status    int        `json:"status"` // of the archived answer
	MIME      string     `json:"mime"`
	Digest    string     `json:"digest"` // "sha256:" and hexadecimal digits; of the stored body
	Bytes     int64      `json:"bytes"`  // length of the stored body
	Until     *time.Time `json:"until"`  // the time after which the capture may no longer be kept; null: no limit
	Recrawled bool       `json:"until_recrawled,omitempty"`
	Truncated bool       `json:"truncated"`          // the end of the page is missing
	Rendered  string     `json:"rendered,omitempty"` // digest of the document that scripts made of the page
	// Cuts are names of the parts that were too large to be kept, read or indexed.
	Cuts      []string `json:"cuts,omitempty"`
	Permitted bool     `json:"permitted"` // today's policy permits keeping the capture
}

// NewEntry returns the entry of a capture. d is the decision to preserve it, with the facts f.
func NewEntry(c archive.Capture, d acap.Decision, f acap.Facts) Entry {
	e := Entry{URL: c.URL, Version: c.Version, Fetched: c.Fetched, Status: c.Status, MIME: c.MIME, Digest: c.Digest,
		Bytes: c.Bytes, Truncated: c.Truncated, Rendered: c.Rendered, Cuts: c.Cuts, Permitted: d.Allowed}
	limits := d.Limits(f)
	e.Recrawled = limits.UntilRecrawled
	if !limits.Until.IsZero() {
		e.Until = &limits.Until
	}
	return e
}

// Totals are counts and sizes of a whole archive. They include pages that may not be shown to
// readers, so only the operator may see them.
type Totals struct {
	archive.Stats
	Verdicts map[acap.Usage]VerdictCounts `json:"verdicts"` // of the newer usages, counted by captures
}

// VerdictCounts counts captures by a verdict of ACAP and the newer vocabularies together.
type VerdictCounts struct {
	Prohibit  int `json:"prohibit"`
	Agreement int `json:"agreement"`
	Permit    int `json:"permit"`
	Unknown   int `json:"unknown"`
}

// Add counts a capture with the decision d.
func (n *VerdictCounts) Add(d acap.Decision) {
	switch {
	case d.Allowed && d.Reason == acap.ByDefault:
		n.Unknown++
	case d.Allowed:
		n.Permit++
	case d.Reason == acap.ByAgreement:
		n.Agreement++
	default:
		n.Prohibit++
	}
}
