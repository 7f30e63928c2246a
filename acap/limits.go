package acap

import (
	"net/netip"
	"time"
)

// Limits is what still binds a permitted usage. Times are UTC. The zero value binds nothing.
type Limits struct {
	Until                  time.Time `json:"until,omitzero"` // the first instant no longer permitted (P1 2.5.3.1, X03)
	UntilRecrawled         bool      `json:"until_recrawled,omitempty"`
	MaxChars               *int      `json:"max_chars,omitempty"` // code points (P1 2.5.5.4, J01)
	MaxWords               *int      `json:"max_words,omitempty"` // (P1 2.5.5.4, J02)
	MustUse                []string  `json:"must_use,omitempty"`
	MustInclude            []string  `json:"must_include,omitempty"`
	ProhibitedModification []string  `json:"prohibited_modification,omitempty"`
	ProhibitedContext      []string  `json:"prohibited_context,omitempty"`
	RequiredContext        []string  `json:"required_context,omitempty"`
	Target                 []string  `json:"target,omitempty"`
	Location               []string  `json:"location,omitempty"`
	UsageRef               []string  `json:"usage_ref,omitempty"`
}

// Facts are the clock, the history and the reader that Decision.At compares with limits. A zero
// date means "not yet": the first use is now (P1 2.5.3.1, X04).
type Facts struct {
	Now            time.Time
	FirstCrawled   time.Time
	FirstIndexed   time.Time
	FirstPreserved time.Time
	FirstPresented time.Time
	// a later successful crawl happened since the version in question was obtained (P1 2.5.3.1,
	// H05)
	Recrawled bool
	Target    Target
}

// Target is the device that a presentation is for (P1 2.5.5.9). A zero field is unknown, and a
// condition on it is not met (P1 2.5.5.9, K15).
type Target struct {
	IP      netip.Addr
	Domains []string // all its verified reverse DNS names (P1 2.5.5.9, K10)
	Country string   // ISO 3166 alpha-2
}

// Empty reports whether l limits nothing.
func (l Limits) Empty() bool {
	return l.Until.IsZero() && !l.UntilRecrawled && l.MaxChars == nil && l.MaxWords == nil && len(l.MustUse) == 0 &&
		len(l.MustInclude) == 0 &&
		len(l.ProhibitedModification) == 0 && len(l.ProhibitedContext) == 0 && len(l.RequiredContext) == 0 &&
		len(l.Target) == 0 &&
		len(l.Location) == 0 && len(l.UsageRef) == 0
}
