package present

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// Around returns at most five of the versions that Versions returns, oldest first: the first
// version, the version to show for the time at, the versions before and after that one, and the
// last version. The version to show is the last one that is not later than at, or the first
// version if all are later. If several versions have the same second, only the last of them
// counts. If the list is empty, the state says why.
//
// Around decides about these few versions only, if they may be shown. So it costs much less than
// Versions for a page with thousands of versions.
func (p *Presenter) Around(ctx context.Context, rawurl string, at time.Time, who Reader) ([]Version, State, error) {
	return p.versions(ctx, rawurl, who, func(ctx context.Context, way []string, who Reader) ([]Version, acap.Decision,
		error) {
		s, err := p.newStrip(ctx, way, who)
		if err != nil {
			return nil, acap.Decision{}, err
		}
		list, err := s.around(ctx, at)
		return list, s.refused, err
	})
}

// strip holds the copies of one page. It decides whether a copy may be shown only when the answer
// is needed.
type strip struct {
	*Presenter
	way     []string
	page    archive.Resource
	who     Reader
	moments []archive.Moment
	decided map[int]*Version // by the number in moments; nil: may not be shown
	refused acap.Decision    // the refusal of the latest copy that may not be shown
	latest  int              // number of that copy
}

func (p *Presenter) newStrip(ctx context.Context, way []string, who Reader) (*strip, error) {
	s := &strip{Presenter: p, way: way, who: who, decided: map[int]*Version{}}
	at := way[len(way)-1]
	var known bool
	var err error
	if s.page, known, err = p.library.Page(ctx, at); err != nil || !known {
		return s, err
	}
	if d, all, err := p.closed(ctx, way, s.page, who, copies); err != nil || all {
		s.refused = d
		return s, err
	}
	s.moments, err = p.library.Moments(ctx, at)
	return s, err
}

// around returns the versions that Around returns.
func (s *strip) around(ctx context.Context, at time.Time) ([]Version, error) {
	at = second(at)
	later := 0 // number of the first copy that is later than at
	for later < len(s.moments) && !second(s.moments[later].Fetched).After(at) {
		later++
	}
	chosen, err := s.before(ctx, later)
	if err == nil && chosen < 0 {
		chosen, err = s.from(ctx, later)
	}
	if err != nil || chosen < 0 {
		return nil, err
	}
	begin, end := s.sameSecond(chosen)
	numbers := []int{chosen}
	for _, find := range []func() (int, error){
		func() (int, error) { return s.from(ctx, 0) },
		func() (int, error) { return s.before(ctx, begin) },
		func() (int, error) { return s.from(ctx, end) },
		func() (int, error) { return s.before(ctx, len(s.moments)) },
	} {
		i, err := find()
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			numbers = append(numbers, i)
		}
	}
	slices.Sort(numbers)
	var list []Version
	for _, i := range slices.Compact(numbers) {
		list = append(list, *s.decided[i])
	}
	return list, nil
}

func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// sameSecond returns the range of the copies that were fetched in the same second as copy i.
func (s *strip) sameSecond(i int) (begin, end int) {
	at := second(s.moments[i].Fetched)
	for begin = i; begin > 0 && second(s.moments[begin-1].Fetched).Equal(at); begin-- {
	}
	for end = i + 1; end < len(s.moments) && second(s.moments[end].Fetched).Equal(at); end++ {
	}
	return begin, end
}

// before returns the number of the last copy that may be shown and has a number below n. It
// returns -1 if there is no such copy.
func (s *strip) before(ctx context.Context, n int) (int, error) {
	for i := n - 1; i >= 0; i-- {
		if v, err := s.decide(ctx, i); err != nil || v != nil {
			return i, err
		}
	}
	return -1, nil
}

// from returns the number of the first copy that may be shown and has at least the number n. If
// others of the same second may be shown, it returns the last of them. It returns -1 if there is
// no such copy.
func (s *strip) from(ctx context.Context, n int) (int, error) {
	for i := n; i < len(s.moments); i++ {
		v, err := s.decide(ctx, i)
		if err != nil {
			return i, err
		}
		if v != nil {
			_, end := s.sameSecond(i)
			return s.before(ctx, end)
		}
	}
	return -1, nil
}

// decide returns copy i as a version, or nil if it may not be shown.
func (s *strip) decide(ctx context.Context, i int) (*Version, error) {
	if v, done := s.decided[i]; done {
		return v, nil
	}
	c, err := s.library.Capture(ctx, s.moments[i].ID)
	var v *version
	var d acap.Decision
	if err == nil {
		v, d, err = s.mayShow(ctx, s.way, s.page, c, s.who)
	}
	switch {
	case errors.Is(err, archive.ErrNotHeld): // erased since the list was read
	case err != nil:
		return nil, err
	case d.Allowed:
		found := describe(v, c, d)
		s.decided[i] = &found
		return &found, nil
	case i >= s.latest:
		s.refused, s.latest = d, i
	}
	s.decided[i] = nil
	return nil, nil
}
