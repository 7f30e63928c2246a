package acap

import "fmt"

// Reason says what kind of rule decided.
type Reason string

// The reasons of a decision.
const (
	ByPermission  Reason = "permission"
	ByProhibition Reason = "prohibition"
	ByDefault     Reason = "default"       // nothing said (P1 2.4.3, F21)
	ByOther       Reason = "other"         // disallow-other (P1 2.5.6, F19)
	ByConflict    Reason = "conflict"      // undetermined or tied scope (P1 2.4.6)
	ByFallback    Reason = "fallback"      // a field that cannot be interpreted fully (P1 2.4.3)
	ByExpiry      Reason = "expired"       // a time limit has passed (P1 2.5.3.1, H09)
	ByLocation    Reason = "location"      // P2 2.2.9.1
	ByTarget      Reason = "target"        // P1 2.5.5.9
	Conventional  Reason = "conventional"  // RFC 9309 records
	ByHeader      Reason = "header"        // X-Robots-Tag, Robots-Tag
	ByMeta        Reason = "meta"          // conventional META
	Unavailable   Reason = "unavailable"   // robots.txt or a referenced file could not be read
	Unfulfillable Reason = "unfulfillable" // a required resource is missing, or a use that no field alone permits
)

// Decision is the answer for one usage of one resource. The zero value refuses. Decide fills it
// without allocating. Limits and At compute what they return.
type Decision struct {
	Usage   Usage
	Allowed bool
	Reason  Reason
	Because *Field // the field that decided; nil for default and for an unreadable robots.txt
	Note    string // one clause that adds to the field: "HTTP status 503"

	fields statementSet
}

// Refused is the error of a decision that refuses.
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

// Error returns one sentence with file, line and field, or with the rule if no line decided.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s of %s is not permitted: %s", r.Decision.Usage, r.URL, r.Decision.Why())
}

// Refuse returns d as a refusal for reason. The field that decided stays the same.
func (d Decision) Refuse(reason Reason, note string) Decision {
	d.Allowed, d.Reason, d.Note = false, reason, note
	return d
}
