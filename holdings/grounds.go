package holdings

import (
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// grounds says why something is erased and by which line, for its tombstone. That holds no content: of a statement that the page makes
// itself the place is named, and not what stands there.
func grounds(d acap.Decision) (why, line string) {
	if d.Because == nil {
		return d.Why(), ""
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
		return d.Why(), place.String()
	}
	d.Because = &place
	return d.Why(), place.String()
}
