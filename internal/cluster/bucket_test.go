package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// While servers of a cluster store a change of a key, they refuse every other one. The refusal does not say whether the
// key has changed.
func TestSettled(t *testing.T) {
	t.Parallel()
	refused := func(code jetstream.ErrorCode) error { return &jetstream.APIError{Code: 400, ErrorCode: code} }
	for _, last := range []error{nil, errChanged} {
		calls := 0
		revision, err := settled(t.Context(), func() (uint64, error) {
			if calls++; calls < 3 {
				return 0, errors.Join(refused(changeInFlight), jetstream.ErrKeyExists) // as from Create
			}
			if last != nil {
				return 0, refused(wrongLastSequence)
			}
			return 7, nil
		})
		if calls != 3 || !errors.Is(err, last) || err == nil && revision != 7 {
			t.Errorf("%d calls: %d, %v", calls, revision, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*flightPause)
	defer cancel()
	if _, err := settled(ctx, func() (uint64, error) { return 0, refused(changeInFlight) }); !errors.Is(err,
		ErrNoQuorum) {
		t.Errorf("without an end: %v", err)
	}
}
