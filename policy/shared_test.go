package policy

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// sharedRecord is a Shared for one origin. before is called in Replace, once.
type sharedRecord struct {
	r      Record
	mark   uint64
	err    error
	before func()
}

func (s *sharedRecord) Newest(context.Context, string) (Record, uint64, error) {
	return s.r, s.mark, s.err
}

func (s *sharedRecord) Replace(_ context.Context, _ string, r Record, mark uint64) error {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	switch {
	case s.err != nil:
		return s.err
	case mark != s.mark:
		return ErrOvertaken
	}
	text, err := r.Encode()
	if err != nil {
		return err
	}
	s.r, err = DecodeRecord(text)
	s.mark++
	return err
}

// sharedTest is two authorities that share the record of one origin.
type sharedTest struct {
	shared *sharedRecord
	robots string
	reads  int
	now    time.Time
}

func (x *sharedTest) authority(t *testing.T) *Authority {
	t.Helper()
	f := answering(func(string) (Response, error) {
		x.reads++
		return Response{Status: 200, Body: []byte(x.robots)}, nil
	})
	a := New(f, acap.Crawler{Names: []string{"x"}}, NewMemory(), Options{Shared: x.shared,
		Now: func() time.Time { return x.now }})
	t.Cleanup(func() { a.Close() })
	return a
}

func parseURL(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestSharedPolicies checks that a machine uses what another one has read while that is fresh, and that versions follow
// each other although the clocks differ.
func TestSharedPolicies(t *testing.T) {
	x := &sharedTest{shared: &sharedRecord{}, robots: "User-agent: *\nDisallow: /a\n", now: time.Unix(1e9, 0)}
	u := parseURL(t, "http://a.example/a")
	one, two := x.authority(t), x.authority(t)
	first, err := one.Origin(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	second, err := two.Origin(t.Context(), u)
	if err != nil || x.reads != 1 || !second.Since.Equal(first.Since) {
		t.Fatalf("%d reads, %v and %v, %v", x.reads, first.Since, second.Since, err)
	}
	x.robots, x.now = "User-agent: *\nDisallow: /b\n", x.now.Add(-time.Second)
	third, err := two.Refresh(t.Context(), u)
	if err != nil || !third.Since.After(first.Since) {
		t.Fatalf("the next version is of %v, after %v, %v", third.Since, first.Since, err)
	}
	if err := one.Adopt(first.Key, x.shared.r); err != nil {
		t.Fatal(err)
	}
	held, known := one.HeldOf(first.Key)
	if !known || !held.Since.Equal(third.Since) {
		t.Errorf("adopted %v, want %v", held.Since, third.Since)
	}
	old := Record{Last: Document{URL: "http://a.example/robots.txt", Fetched: first.Fetched}, Held: &Version{
		Since: first.Since}}
	for range 2 { // an old order that arrives late, and again
		if err := one.Adopt(first.Key, old); err != nil {
			t.Fatal(err)
		}
	}
	if held, _ := one.HeldOf(first.Key); !held.Since.Equal(third.Since) {
		t.Errorf("an older version of %v is adopted", held.Since)
	}
}

// TestSharedPolicyOvertaken checks that of two readings at the same time the later one counts on all machines.
func TestSharedPolicyOvertaken(t *testing.T) {
	for _, later := range []bool{true, false} {
		x := &sharedTest{shared: &sharedRecord{}, robots: "User-agent: *\nDisallow: /mine\n", now: time.Unix(1e9, 0)}
		u := parseURL(t, "http://a.example/")
		at := x.now.Add(time.Minute)
		if !later {
			at = x.now.Add(-time.Minute)
		}
		text := []byte("User-agent: *\nDisallow: /theirs\n")
		robots := Document{URL: "http://a.example/robots.txt", HTTP: 200, Digest: digest(text), Text: text, Fetched: at,
			Expires: at.Add(time.Hour)}
		x.shared.before = func() {
			x.shared.r, x.shared.mark = Record{robots, &Version{Since: at, Robots: robots}}, 5
		}
		o, err := x.authority(t).Origin(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		theirs := !o.Policy.Decide(acap.Crawl, acap.NewResource(parseURL(t, "http://a.example/theirs"))).Allowed
		if theirs != later || !x.shared.r.Held.Since.Equal(o.Since) {
			t.Errorf("later %t: theirs is in force: %t, shared %v, own %v", later, theirs, x.shared.r.Held.Since,
				o.Since)
		}
	}
}

// TestSharedPolicyUnavailable checks that a machine obeys no policy that the others cannot learn.
func TestSharedPolicyUnavailable(t *testing.T) {
	x := &sharedTest{shared: &sharedRecord{}, robots: "User-agent: *\n", now: time.Unix(1e9, 0)}
	u := parseURL(t, "http://a.example/")
	a := x.authority(t)
	apart := errors.New("no quorum")
	x.shared.before = func() { x.shared.err = apart }
	if _, err := a.Origin(t.Context(), u); !errors.Is(err, apart) {
		t.Errorf("%v", err)
	}
	if _, known := a.Held(u); known {
		t.Error("the policy is stored")
	}
	x.shared.err = nil
	if o, err := a.Origin(t.Context(), u); err != nil || o.Status != Read {
		t.Errorf("%+v, %v", o, err)
	}
}
