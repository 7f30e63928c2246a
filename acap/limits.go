package acap

import (
	"net/netip"
	"time"
)

// Limits holds the limits of a permitted usage. Times are UTC. The zero value limits nothing.
type Limits struct {
	// the first instant at which the usage is no longer permitted (P1 2.5.3.1, X03)
	Until                  time.Time `json:"until,omitzero"`
	UntilRecrawled         bool      `json:"until_recrawled,omitempty"`
	MaxChars               *int      `json:"max_chars,omitempty"` // greatest number of code points (P1 2.5.5.4, J01)
	MaxWords               *int      `json:"max_words,omitempty"` // greatest number of words (P1 2.5.5.4, J02)
	MustUse                []string  `json:"must_use,omitempty"`
	MustInclude            []string  `json:"must_include,omitempty"`
	ProhibitedModification []string  `json:"prohibited_modification,omitempty"`
	ProhibitedContext      []string  `json:"prohibited_context,omitempty"`
	RequiredContext        []string  `json:"required_context,omitempty"`
	Target                 []string  `json:"target,omitempty"`
	Location               []string  `json:"location,omitempty"`
	UsageRef               []string  `json:"usage_ref,omitempty"`
}

// Facts holds the clock, the history and the reader that Decision.At compares with limits. A zero
// date of a usage means that it did not happen yet: its first use is now (P1 2.5.3.1, X04).
type Facts struct {
	Now            time.Time
	FirstCrawled   time.Time
	FirstIndexed   time.Time
	FirstPreserved time.Time
	FirstPresented time.Time
	// Recrawled reports whether the resource was crawled successfully after this version of the
	// resource was obtained (P1 2.5.3.1, H05).
	Recrawled bool
	Target    Target

	// Fetched is when a held resource was fetched. Preferences that its site stated then are obeyed,
	// too (see Policy.Since). Zero: the resource is not held.
	Fetched time.Time

	// Next receives the earliest time limit later than Now that Decision.At has compared with Now:
	// a later Now changes none of these decisions before that time. It may be nil; zero means that
	// there is no such limit.
	Next *time.Time
}

// note updates f.Next with a time limit.
func (f *Facts) note(until time.Time) {
	if f.Next != nil && f.Now.Before(until) && (f.Next.IsZero() || until.Before(*f.Next)) {
		*f.Next = until
	}
}

// Target is the device of the reader (P1 2.5.5.9). A zero field means that the value is unknown; a
// condition on an unknown value is not met (P1 2.5.5.9, K15).
type Target struct {
	IP      netip.Addr
	Domains []string // all verified reverse DNS names of the device (P1 2.5.5.9, K10)
	Country string   // country code, ISO 3166 alpha-2
}

// Empty reports whether l limits nothing.
func (l Limits) Empty() bool {
	return l.Until.IsZero() && !l.UntilRecrawled && l.MaxChars == nil && l.MaxWords == nil && len(l.MustUse) == 0 &&
		len(l.MustInclude) == 0 &&
		len(l.ProhibitedModification) == 0 && len(l.ProhibitedContext) == 0 && len(l.RequiredContext) == 0 &&
		len(l.Target) == 0 &&
		len(l.Location) == 0 && len(l.UsageRef) == 0
}
