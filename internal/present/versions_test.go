package present

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// compareVersions checks that Versions lists exactly the versions that Copy shows, and that Open shows
// the same bytes. It does not record a presentation.
func (s *store) compareVersions(path string, who Reader) {
	s.Helper()
	ctx, before := context.Background(), s.writes.Load()
	list, state, err := s.Versions(ctx, site+path, who)
	if err != nil || s.writes.Load() != before {
		s.Fatalf("%v; %d writes", err, s.writes.Load()-before)
	}
	if (len(list) > 0) != (state.Availability == Showable) {
		s.Errorf("%d versions, availability %d", len(list), state.Availability)
	}
	r, _, _ := s.archive.Resource(site + path)
	for n := 1; n <= r.Versions && !r.FirstPresented.IsZero(); n++ {
		c, err := s.Copy(ctx, site+path, Which{Version: n}, who)
		i := slices.IndexFunc(list, func(v Version) bool { return v.Version == n })
		if (err == nil) != (i >= 0) {
			s.Errorf("version %d: %v, listed %t", n, err, i >= 0)
		}
		if i < 0 {
			continue
		}
		opened, err := s.Open(ctx, site+path, list[i], who)
		if err != nil || string(opened.Body) != string(c.Body) || opened.Version != n {
			s.Errorf("version %d opens as %+v, %v", n, opened, err)
		}
	}
}

// TestStandings checks what a reader learns about a page of which no copy may be shown.
func TestStandings(t *testing.T) {
	france := Reader{Target: acap.Target{Country: "FR"}}
	for _, c := range []struct {
		name, robots string
		do           func(s *store)
		who          Reader
		want         string
	}{
		{name: "shown", want: "4"},
		{name: "never held", do: func(s *store) { s.erase("/a", ""); s.erase("/b", "") },
			want: "1 requested by the publisher"},
		{name: "no copy, a link", robots: "ACAP-disallow-present-currentcopy: /\nACAP-disallow-present-oldcopy: /",
			want: "3 prohibition 3"},
		{name: "only the old copy", robots: "ACAP-disallow-present-currentcopy: /", want: "4"},
		{name: "no copy and no link", robots: "ACAP-disallow-present: /", want: "0"},
		{name: "no link, but a copy", robots: "ACAP-disallow-present-link: /", want: "4"},
		{name: "another country, not even a link",
			robots: "ACAP-allow-present: / target-condition=prohibitedcountrylist:FR", who: france, want: "0"},
		{name: "a limit that has ended", robots: "ACAP-allow-present-currentcopy: / time-limit=2-days\n" +
			"ACAP-disallow-present-oldcopy: /",
			who: Reader{AsOf: noon.AddDate(0, 0, 5)}, want: "3 expired 3"},
		{name: "no policy", do: func(s *store) { s.policy = nil }, want: "2 unavailable"},
		{name: "taken down, not yet erased", robots: "ACAP-request-take-down: /a", want: "1 line 3"},
		{name: "taken down, and no link", robots: "ACAP-request-take-down: /a\nACAP-disallow-present-link: /",
			want: "0"},
		{name: "taken down and erased", robots: "ACAP-request-take-down: /a",
			do: func(s *store) { s.erase("/a", "") }, want: "1 line 3, erased"},
		{name: "erased", do: func(s *store) { s.erase("/a", "") }, want: "1 requested by the publisher"},
		{name: "erased, and no link", robots: "ACAP-disallow-present-link: /",
			do: func(s *store) { s.erase("/a", "") }, want: "0"},
		{name: "erased, no policy", do: func(s *store) { s.erase("/a", ""); s.policy = nil }, want: "2 unavailable"},
		{name: "one version erased", do: func(s *store) { s.erase("/a", "1") }, want: "4"},
		{name: "preserve prohibited, not yet erased", robots: "ACAP-disallow-preserve: /", want: "3 prohibition 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			s.hold("/a", "<p>one")
			s.hold("/a", article)
			if s.setRobots(c.robots); c.do != nil {
				c.do(s)
			}
			_, state, err := s.Versions(context.Background(), site+"/a", c.who)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(int(state.Availability))
			switch d := state.Decision; {
			case state.Availability == Erased && d.Because != nil:
				if got += fmt.Sprint(" line ", d.Because.Line); !state.Erased.When.IsZero() {
					got += ", erased"
				}
			case state.Availability == Erased:
				got += " " + state.Erased.Why
			case d.Because != nil:
				got += fmt.Sprint(" ", d.Reason, " ", d.Because.Line)
			case d.Usage != "":
				got += fmt.Sprint(" ", d.Reason)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			s.setRobots(c.robots)
			if _, state, _ := s.Versions(context.Background(), site+"/never", c.who); state.Availability != NotHeld {
				t.Errorf("a page that was never held: %+v", state)
			}
		})
	}
}

// erase erases the page at path, or only the given version.
func (s *store) erase(path, version string) {
	s.Helper()
	stone := archive.Tombstone{URL: site + path, When: noon, Why: "requested by the publisher", Asked: true}
	var err error
	if version == "" {
		_, err = s.archive.Erase(context.Background(), stone)
	} else {
		list, _ := s.archive.Captures(site + path)
		err = s.archive.EraseCapture(context.Background(), list[0].ID, stone)
	}
	if err != nil && !errors.Is(err, archive.ErrNotHeld) {
		s.Fatal(err)
	}
}

// TestArchivedRedirect checks that a redirect is a version of its own address, with its target, and
// that terms of this address decide about it.
func TestArchivedRedirect(t *testing.T) {
	s, ctx := open(t), context.Background()
	d := archive.Deposit{Resource: archive.Resource{URL: site + "/from", Status: 301}, Fetched: noon.Add(-time.Hour),
		Body: []byte{}, Header: http.Header{"Location": {"/to"}, "Set-Cookie": {"a=b"}}}
	if _, err := s.archive.Receive(ctx, d); err != nil {
		t.Fatal(err)
	}
	s.receive(archive.Deposit{Resource: archive.Resource{URL: site + "/to"}, Body: []byte("<p>to"),
		Aliases: []string{site + "/from"}})
	list, _, err := s.Versions(ctx, site+"/from", Reader{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	c, err := s.Open(ctx, site+"/from", list[0], Reader{})
	if err != nil || list[0].Location != "/to" || c.Status != 301 || len(c.Body) > 0 || len(c.Header) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	for robots, want := range map[string]Availability{
		"ACAP-disallow-present-oldcopy: /from": Showable, // the current copy of the page

		"ACAP-disallow-present-currentcopy: /from": Withheld,
		"ACAP-disallow-present: /from":             NotHeld,
	} {
		s.setRobots(robots)
		list, state, err := s.Versions(ctx, site+"/from", Reader{})
		if err != nil || state.Availability != want {
			t.Errorf("%s: %d versions, %d %v", robots, len(list), state.Availability, err)
		}
	}
}

// TestStateOfParts checks the state of a page whose link is shown with an element of the page: it is known, and is
// not taken for a page that was never archived.
func TestStateOfParts(t *testing.T) {
	s := open(t)
	s.hold("/a", `<title>A</title><p class="abstract">Short.</p><p>Long.`)
	s.setRobots("ACAP-allow-present: / must-use-resource=the-acap:extract:class:abstract")
	list, state, err := s.Versions(t.Context(), site+"/a", Reader{Public: true})
	if err != nil || len(list) > 0 || state.Availability != Withheld || state.Decision.Because.Line != 3 {
		t.Errorf("%v %+v %v", list, state, err)
	}
}

// TestRedirectToHidden checks that a redirect to a hidden page is shown to the public like a redirect to a page that
// was never archived.
func TestRedirectToHidden(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/hidden", "/never"} {
		address := site + "/to" + path
		if _, err := s.archive.Receive(t.Context(),
			archive.Deposit{Resource: archive.Resource{URL: address, Status: 302,
				Own: acap.Own{URL: address}}, Fetched: noon, Header: http.Header{"Location": {path}},
				Body: []byte{}}); err != nil {
			t.Fatal(err)
		}
	}
	s.hold("/hidden", "<p>secret")
	if err := s.archive.Lead(t.Context(), []string{site + "/to/hidden"}, site+"/hidden"); err != nil {
		t.Fatal(err)
	}
	s.setRobots("ACAP-disallow-present: /hidden")
	for _, who := range []Reader{{Public: true}, {Public: true, Framed: true}} {
		var answers [2]string
		for i, path := range []string{"/to/hidden", "/to/never"} {
			out := &answers[i]
			versions, state, err := s.Versions(t.Context(), site+path, who)
			*out += fmt.Sprint(len(versions), state.Availability, err)
			around, state, err := s.Around(t.Context(), site+path, noon, who)
			*out += fmt.Sprint(len(around), state.Availability, err)
			for _, v := range around {
				c, err := s.Open(t.Context(), site+path, v, who)
				*out += fmt.Sprint(c.Status, c.Version, err)
			}
			for _, which := range []Which{{}, {Version: 1}, {Version: 2}, {At: noon.AddDate(0, 0, 1)}} {
				c, err := s.Copy(t.Context(), site+path, which, who)
				*out += fmt.Sprint(c.Status, c.Version, err)
				_, err = s.Snippet(t.Context(), site+path, "secret", which, who)
				*out += fmt.Sprint(err)
				_, err = s.Thumbnail(t.Context(), site+path, which, who)
				*out += fmt.Sprint(err)
			}
			_, err = s.Original(t.Context(), site+path, who)
			listed, _, failed := s.Listed(t.Context(), site+path, who)
			way, wrong := s.Linkable(t.Context(), site+path, who)
			*out = strings.ReplaceAll(fmt.Sprint(*out, err, listed, failed, way, wrong), path, "")
		}
		if answers[0] != answers[1] {
			t.Errorf("to the hidden page:\n%s\nto one that was never archived:\n%s", answers[0], answers[1])
		}
	}
	if _, err := s.Copy(t.Context(), site+"/to/hidden", Which{}, Reader{}); errors.Is(err, ErrNotHeld) || err == nil {
		t.Errorf("the operator's terminal learns nothing of the hidden page: %v", err)
	}
}

// TestRedirectRequires checks that a page is shown for a redirecting address only if what the policy of this address
// requires is shown.
func TestRedirectRequires(t *testing.T) {
	for robots, shown := range map[string]bool{
		"": true,
		"ACAP-allow-present: / must-include-resource=the-acap:credit:text:Ada":                                   true,
		"ACAP-allow-present: /old must-include-resource=the-acap:credit:text:Ada":                                false,
		"ACAP-allow-present: /old must-use-resource=the-acap:extract:class:x":                                    false,
		"ACAP-allow-present: /new must-include-resource=the-acap:credit:text:Ada":                                true,
		"ACAP-allow-present: /old time-limit=until-2099-12-31\nACAP-allow-present: /new":                         true,
		"ACAP-allow-present: /old must-include-resource=the-acap:credit:text:Ada\nACAP-disallow-present: /never": false,
	} {
		s := open(t)
		s.hold("/new", "<p>The pilot came at noon.")
		if err := s.archive.Lead(t.Context(), []string{site + "/old"}, site+"/new"); err != nil {
			t.Fatal(err)
		}
		s.setRobots(robots)
		_, err := s.Copy(t.Context(), site+"/old", Which{}, Reader{})
		_, short := s.Snippet(t.Context(), site+"/old", "pilot", Which{}, Reader{})
		if (err == nil) != shown || (short == nil) != shown {
			t.Errorf("%q: copy %v, snippet %v", robots, err, short)
		}
		if refused, is := errors.AsType[*acap.Refused](err); !shown && (!is || refused.Decision.Allowed) {
			t.Errorf("%q: %v", robots, err)
		}
	}
}
