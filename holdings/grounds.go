package holdings

import (
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// ground is why something is erased.
type ground struct {
	reason string // as in archive.Erasure
	why    string // a clause
	line   string // the line that decided, if one did
}

// byTakeDown is the ground of a take-down request.
func byTakeDown(line *acap.Field) ground {
	return ground{archive.ReasonTakenDown, takenDown, line.String()}
}

// tombstone returns what is noted of an erasure for g.
func (g ground) tombstone() archive.Tombstone {
	return archive.Tombstone{Reason: g.reason, Why: g.why, Line: g.line, Asked: g.reason == archive.ReasonTakenDown}
}

// grounds returns why something is erased, for its tombstone. A tombstone holds no content: of a
// statement that the page itself makes, the line names the place and not the text.
func grounds(d acap.Decision) ground {
	if d.Because == nil {
		return ground{string(d.Reason), d.Why(), ""}
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
		return ground{string(d.Reason), d.Why(), place.String()}
	}
	d.Because = &place
	return ground{string(d.Reason), d.Why(), place.String()}
}
