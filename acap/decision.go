package acap

import "fmt"

// Reason says what kind of rule decided.
type Reason string

// The reasons of a decision.
const (
	ByPermission  Reason = "permission"
	ByProhibition Reason = "prohibition"
	ByDefault     Reason = "default" // no statement names the usage, so it is permitted (P1 2.4.3, F21)
	ByOther       Reason = "other"   // disallow-other prohibits the usage (P1 2.5.6, F19)
	// permissions and prohibitions have an undetermined or equal scope (P1 2.4.6)
	ByConflict   Reason = "conflict"
	ByFallback   Reason = "fallback"     // a field that is partly unsupported (P1 2.4.3)
	ByExpiry     Reason = "expired"      // a time limit has passed (P1 2.5.3.1, H09)
	ByLocation   Reason = "location"     // the permission is for another location of the page (P2 2.2.9.1)
	ByTarget     Reason = "target"       // the reader does not meet a target-condition (P1 2.5.5.9)
	Conventional Reason = "conventional" // the conventional records of robots.txt (RFC 9309)
	ByHeader     Reason = "header"       // the response header X-Robots-Tag or Robots-Tag
	ByMeta       Reason = "meta"         // a conventional META tag, such as noindex
	Unavailable  Reason = "unavailable"  // robots.txt or a referenced file could not be read
	// a required resource is missing, or no field can permit the usage without an agreement
	Unfulfillable Reason = "unfulfillable"
	ByPreference  Reason = "preference" // a statement in a newer vocabulary
	ByAgreement   Reason = "agreement"  // a newer vocabulary requires an agreement first, such as a payment
)

// Decision is the decision on one usage of one resource. The zero value refuses. Decide fills a
// Decision without allocating; its methods Limits and At compute their results on each call.
type Decision struct {
	Usage   Usage
	Allowed bool
	Reason  Reason
	Because *Field // the field that decided; nil for default and for an unreadable robots.txt
	Note    string // one clause that adds a detail to the field, for example "HTTP status 503"
	Terms   string // where the terms of an agreement are; set only for ByAgreement, and may be empty
	// the usage of Crawler.For that is not allowed, if that is why Usage is refused; Reason, Because and
	// Terms are then about this usage
	For Usage

	fields statementSet
}

// AboutFor returns the decision on d.For if that is why d.Usage is refused, otherwise d.
func (d Decision) AboutFor() Decision {
	if d.For != "" {
		d.Usage, d.For = d.For, ""
	}
	return d
}

// Refused is the error that Decision.Err returns for a refused usage.
type Refused struct {
	Decision Decision
	URL      string
}

// Err returns nil for a permitted usage, otherwise a *Refused that names url.
func (d Decision) Err(url string) error {
	if d.Allowed {
		return nil
	}
	return &Refused{Decision: d, URL: url}
}

// Error returns one sentence with the file, line and text of the deciding field, or with the rule
// if no line decided.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s of %s is not permitted: %s", r.Decision.Usage, r.URL, r.Decision.Why())
}

// Refuse returns d as a refusal for reason. The deciding field stays the same.
func (d Decision) Refuse(reason Reason, note string) Decision {
	d.Allowed, d.Reason, d.Note = false, reason, note
	return d
}
