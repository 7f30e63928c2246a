package holdings

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
)

// TestSweepLost checks a page with a missing copy. The error must name the page, and the page must
// not be counted as a page without changes.
func TestSweepLost(t *testing.T) {
	w := newWeb("ACAP-composite-usage: hoard follow")
	s := open(t, t.TempDir(), w, Options{})
	for i := range 6 {
		s.receive(pageOf(fmt.Sprint(article, i, ` <b class="the-acap:disallow-(hoard)">gull</b>`), a))
	}
	s.receive(pageOf(article, b))
	w.says("ACAP-composite-usage: hoard preserve\nACAP-disallow-preserve: /b")
	o := SweepOptions{Policies: policies(func(u *url.URL) (*acap.Policy, error) {
		if u.String() == a { // the oldest copy is erased after the copies were listed
			list, err := s.archive.Captures(a)
			if err != nil {
				return nil, err
			}
			if err := s.archive.EraseCapture(context.Background(), list[0].ID,
				archive.Tombstone{Why: "lost"}); err != nil {
				return nil, err
			}
		}
		return w.Policy(context.Background(), u)
	})}
	counts, err := s.Sweep(context.Background(), o, nil)
	if !errors.Is(err, archive.ErrCorrupt) || !errors.Is(err, archive.ErrNotHeld) ||
		!strings.Contains(err.Error(), a) || counts.Copies != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
	if len(s.copies(a)) != 6-sweepTries || len(s.copies(b)) != 0 {
		t.Errorf("held: %q %q", s.copies(a), s.copies(b))
	}
}

// TestSweepOtherUnread checks that data made from a resource of another origin is not erased
// because the policy of that origin could not be read (X63).
func TestSweepOtherUnread(t *testing.T) {
	const other = "http://other.example/s"
	for name, answer := range map[string]func() (*acap.Policy, error){
		"unknown": func() (*acap.Policy, error) { return nil, errors.New("no policy was read") },
		"unavailable": func() (*acap.Policy, error) {
			return acap.Unreachable("http://other.example/robots.txt", "HTTP status 503"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb("ACAP-allow-index: / must-use-resource=" + other)
			w.parts[other] = "<p>Tide tables"
			s := open(t, t.TempDir(), w, Options{})
			s.receive(pageOf(article, a))
			if s.found("tables") != "/a" {
				t.Fatal("the page is not indexed")
			}
			o := SweepOptions{Policies: policies(func(u *url.URL) (*acap.Policy, error) {
				if u.Host == "other.example" {
					return answer()
				}
				return w.Policy(context.Background(), u)
			})}
			counts, err := s.Sweep(context.Background(), o, func(x Swept) { t.Errorf("%+v", x) })
			if err != nil || counts != (SweepCounts{Pages: 1, Unjudged: 1}) || s.found("tables") != "/a" ||
				len(s.copies(a)) != 1 {
				t.Errorf("%+v, %v; found at %q", counts, err, s.found("tables"))
			}
			w.says("ACAP-allow-index: / must-use-resource=" + other + "\nACAP-disallow-crawl: /s")
			if counts, err := s.Sweep(context.Background(), SweepOptions{}, nil); err != nil || counts.Entries != 1 ||
				s.found("tables") != "" {
				t.Errorf("once it is known to be prohibited: %+v, %v", counts, err)
			}
		})
	}
}

// TestHopsByTheirPolicy checks that data about a redirect to a page is stored only as the policy of
// the redirect's own origin permits.
func TestHopsByTheirPolicy(t *testing.T) {
	w := newWeb("ACAP-disallow-preserve: /b")
	s := open(t, t.TempDir(), w, Options{})
	hop := func(address string) page.Hop {
		return sent(address, "302 Found", "Location: /a\nX-Secret: x\n", "", time.Now())
	}
	s.receive(page.New([]page.Hop{hop(b), hop(c), sent(a, "200 OK", html, article, time.Now())}))
	list, err := s.archive.Captures(a)
	if err != nil || len(list) != 1 || len(list[0].Hops) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if bare := list[0].Hops[0]; bare.URL != b || bare.Status != 302 || bare.Start.IsZero() ||
		len(bare.Head)+len(bare.Sent)+len(bare.Header) != 0 {
		t.Errorf("kept of the first: %+v", bare)
	}
	if list, err := s.archive.Captures(b); err != nil || len(list) != 0 {
		t.Errorf("kept of the first: %+v, %v", list, err)
	}
	list, err = s.archive.Captures(c)
	if err != nil || len(list) != 1 || len(list[0].Head) == 0 || len(list[0].Sent) == 0 ||
		list[0].Header.Get("X-Secret") != "x" {
		t.Errorf("kept of the second: %+v, %v", list, err)
	}
	// like other copies, the redirect is erased when it may no longer be preserved; the page stays
	w.says("ACAP-disallow-preserve: /c")
	s.sweep(SweepOptions{})
	if list, err := s.archive.Captures(c); err != nil || len(list) != 0 || len(s.copies(a)) != 1 {
		t.Errorf("kept of the second: %+v, %v", list, err)
	}
	if to, err := s.archive.Resolve(c); to != a || err != nil {
		t.Errorf("/c leads to %s, %v", to, err)
	}
}

// TestSweepOneTombstone checks that a page that may be neither preserved nor indexed gets only one
// tombstone, however often it is crawled and swept.
func TestSweepOneTombstone(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf(article, a))
	s.web.says("ACAP-disallow-preserve: /\nACAP-disallow-index: /")
	buried := 0
	for i := range 4 {
		s.sweep(SweepOptions{})
		stones, err := s.archive.Tombstones(a)
		if err != nil || len(stones) == 0 || described(s.resource(a)) || s.resource(a).FirstPreserved.IsZero() {
			t.Fatalf("%+v, %v", stones, err)
		}
		if i > 0 && len(stones) != buried {
			t.Errorf("buried %d times, then %d", buried, len(stones))
		}
		buried = len(stones)
		s.receive(pageOf(article, a))
	}
}
