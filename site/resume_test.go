package site

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/actions"
)

// fussy is an eraser that returns an error for one origin.
type fussy struct {
	eraser
	origin string
}

var errFussy = errors.New("the record is damaged")

func (e fussy) Erase(ctx context.Context, rawurl, why, line string) (int, error) {
	if strings.HasPrefix(rawurl, e.origin+"/") {
		return 0, errFussy
	}
	return e.eraser.Erase(ctx, rawurl, why, line)
}

// TestResumeGoesOn checks that a take-down that fails for one site does not stop the take-downs for
// other sites, at the first attempt and at each later attempt.
func TestResumeGoesOn(t *testing.T) {
	one, other := newPublisher(t, "/a.html"), newPublisher(t, "/a.html")
	if one.origin > other.origin {
		one, other = other, one
	}
	data := t.TempDir()
	s := open(t, data)
	crawl(t, s, one.origin+"/a.html", other.origin+"/a.html")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, data)
	nameHosts(s.gate, []string{one.origin + "/", other.origin + "/"})
	for _, p := range []*publisher{one, other} {
		p.setRobots("ACAP-crawler: *\nACAP-request-take-down: /a.html\n")
		at, err := url.Parse(p.origin)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.policy.Refresh(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	x := actions.NewExecutor(s.ledger, fussy{eraser{holdings: s.holdings, room: s.room}, one.origin}, nil,
		actions.Limits{})
	for range 2 {
		if err := s.resumeRequests(t.Context(), x, nil); !errors.Is(err, errFussy) {
			t.Error(err)
		}
		state := map[string]actions.State{}
		if err := s.ledger.Each(actions.Filter{}, func(r actions.Request) error {
			state[r.Origin] = r.State
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if state[one.origin] != actions.Failed || state[other.origin] != actions.Done {
			t.Errorf("%v", state)
		}
	}
	if held, err := s.holdings.Holds(other.origin + "/a.html"); held || err != nil {
		t.Errorf("held: %v, %v", held, err)
	}
}

func TestUnexecuted(t *testing.T) {
	failed, other := error(new(actions.Failure)), errors.New("the ledger cannot be written")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{failed, true}, {errors.Join(failed), true}, {errors.Join(errors.Join(failed, failed), failed), true},
		{other, false}, {errors.Join(failed, other), false}, {errors.Join(failed, errors.Join(failed, other)), false},
		{context.Canceled, false},
	} {
		if got := unexecuted(c.err); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
