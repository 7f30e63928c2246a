package actions

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Holding describes the archived versions of a URL that a take-down would erase.
type Holding struct {
	Versions int       `json:"versions"`
	First    time.Time `json:"first,omitzero"` // when the oldest version was fetched
	Last     time.Time `json:"last,omitzero"`
}

// Add adds the versions that are archived elsewhere.
func (h *Holding) Add(o Holding) {
	h.Versions += o.Versions
	setOldest(&h.First, o.First)
	if o.Last.After(h.Last) {
		h.Last = o.Last
	}
}

// Status describes the open requests of the ledger, for the operator and for monitoring.
type Status struct {
	Open     int       `json:"open"`               // number of requests that are not finished
	Due      int       `json:"due"`                // number of open requests that wait for execution
	Waiting  int       `json:"waiting"`            // number of open requests that wait for confirmation
	Failed   int       `json:"failed"`             // number of open requests that failed in the last attempt
	TakeDown time.Time `json:"take_down,omitzero"` // when the oldest unexecuted take-down became due
	// when the oldest executed take-down that may still have left traces in the files was executed
	Erased time.Time `json:"erased,omitzero"`
}

// Status returns the numbers of open requests.
func (l *Ledger) Status() (s Status, err error) {
	err = l.view(func(t *txn) error {
		return t.tx.Bucket(bOpen).ForEach(func(id, kept []byte) error {
			o, ok := readBrief(kept)
			if !ok {
				return fmt.Errorf("%w: the summary of the open request %x cannot be read", ErrDamaged, id)
			}
			s.count(o)
			return nil
		})
	})
	return s, err
}

// Add adds the open requests of another ledger.
func (s *Status) Add(o Status) {
	s.Open, s.Due, s.Waiting, s.Failed = s.Open+o.Open, s.Due+o.Due, s.Waiting+o.Waiting, s.Failed+o.Failed
	setOldest(&s.TakeDown, o.TakeDown)
	setOldest(&s.Erased, o.Erased)
}

// setOldest sets a time to another one that is before it. The zero time is no time.
func setOldest(is *time.Time, other time.Time) {
	if is.IsZero() || !other.IsZero() && other.Before(*is) {
		*is = other
	}
}

// count counts an open request.
func (s *Status) count(o brief) {
	s.Open++
	switch o.is {
	case isWaiting:
		s.Waiting++
		return
	case isErased:
		setOldest(&s.Erased, o.since)
		return
	case isElsewhere:
		return
	case isFailedTakeDown, isFailedReCrawl:
		s.Failed++
	}
	s.Due++
	if o.is == isTakeDown || o.is == isFailedTakeDown {
		setOldest(&s.TakeDown, o.since)
	}
}

// brief is the summary of an open request, stored in the bucket bOpen. Counting open requests needs
// only the summaries.
type brief struct {
	is    byte
	since time.Time
}

const (
	isWaiting = 'w' // waits for confirmation
	isErased  = 'e' // executed, but files may contain traces
	// executed, but not by all machines
	isElsewhere = 'n'

	isTakeDown, isFailedTakeDown = 't', 'T'
	isReCrawl, isFailedReCrawl   = 'r', 'R'
)

// brief returns the summary of r, which must be open.
func (r *Request) brief() brief {
	since := r.Asked
	if since.Before(r.Confirmed) {
		since = r.Confirmed
	}
	switch {
	case r.State == Seen:
		return brief{isWaiting, since}
	case r.State == Done && !r.Gone.IsZero():
		return brief{isElsewhere, r.Done}
	case r.State == Done:
		return brief{isErased, r.Done}
	case r.Action == acap.TakeDown && r.State == Failed:
		return brief{isFailedTakeDown, since}
	case r.Action == acap.TakeDown:
		return brief{isTakeDown, since}
	case r.State == Failed:
		return brief{isFailedReCrawl, since}
	}
	return brief{isReCrawl, since}
}

func (b brief) bytes() []byte {
	return binary.BigEndian.AppendUint64([]byte{b.is}, uint64(b.since.UnixNano()))
}

func readBrief(kept []byte) (b brief, known bool) {
	if len(kept) != 9 {
		return b, false
	}
	return brief{kept[0], time.Unix(0, int64(binary.BigEndian.Uint64(kept[1:]))).UTC()}, true
}
