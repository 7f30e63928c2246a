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
	again  bool   // what is erased is a page that must be crawled again soon
}

// byTakeDown returns the ground for a take-down request.
func byTakeDown(line *acap.Field) ground {
	return ground{reason: archive.ReasonTakenDown, why: takenDown, line: line.String(), asked: true}
}

// of returns the ground for the erasure of a page that scripts made from the resource at address, which is erased or
// may not be used for the ground g. The page itself is not taken down. It is crawled again soon, without the resource,
// unless the operator has erased that: then a crawl would only get it again.
func (g ground) of(address string) ground {
	why := g.why
	if g.reason == archive.ReasonForgotten {
		why = "erased by the operator: " + why
	}
	g.again = g.reason != archive.ReasonForgotten
	g.reason, g.why = archive.ReasonDerived, "its scripts made it from "+address+": "+why
	return g
}

// groundOf returns the ground of an earlier erasure.
func groundOf(t archive.Tombstone) ground {
	return ground{reason: t.Reason, why: t.Why, line: t.Line, asked: t.Asked}
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
