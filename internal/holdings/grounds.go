package holdings

import (
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// ground is the reason for an erasure.
type ground struct {
	reason string // a reason constant of package archive
	why    string // explanation, as a clause
	line   string // the policy line that decided; "" if none did
	asked  bool   // the publisher requested the erasure (P1 2.6.1)
}

// byTakeDown returns the ground for a take-down request.
func byTakeDown(line *acap.Field) ground {
	return ground{archive.ReasonTakenDown, takenDown, line.String(), true}
}

// of returns the ground for the erasure of a page that scripts made from the resource at address, which is erased or
// may not be used for the ground g. The page itself is not taken down.
func (g ground) of(address string) ground {
	g.reason = archive.ReasonDerived
	g.why = "its scripts made it from " + address + ": " + g.why
	return g
}

// tombstone returns the tombstone of an erasure for the reason g.
func (g ground) tombstone() archive.Tombstone {
	return archive.Tombstone{Reason: g.reason, Why: g.why, Line: g.line, Asked: g.asked}
}

// grounds returns why something is erased, for its tombstone. A tombstone must not contain text of
// the page. Therefore, if a statement in the page itself decided, the line names the place of the
// statement but not its text.
func grounds(d acap.Decision) ground {
	if d.Because == nil {
		return ground{reason: string(d.Reason), why: d.Why()}
	}
	place := *d.Because
	switch place.Source {
	case acap.Meta:
		place.Text = "META"
	case acap.Class:
		place.Text = "class of an element"
	case acap.Header:
		place.Text, _, _ = strings.Cut(place.Text, ":")
	default:
		return ground{reason: string(d.Reason), why: d.Why(), line: place.String()}
	}
	d.Because = &place
	return ground{reason: string(d.Reason), why: d.Why(), line: place.String()}
}
