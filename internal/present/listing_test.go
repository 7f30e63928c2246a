package present

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// list returns the paths and version numbers in a listing. The key of an address is its path in lower case.
func (s *store) list(l Listing, who Reader) string {
	s.Helper()
	l.Key = func(address string) string { return strings.ToLower(strings.TrimPrefix(address, site)) }
	if l.In == nil {
		l.In = func(string) bool { return true }
	}
	l.Origin = func(origin string) bool { return origin == site }
	var out []string
	for v, err := range s.List(context.Background(), l, who) {
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, fmt.Sprint(strings.TrimPrefix(v.URL, site), v.Version))
	}
	return strings.Join(out, " ")
}

// TestList checks the order of a listing, and what it leaves out.
func TestList(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/b", "/A", "/a", "/b", "/c", "/a/x"} {
		s.receive(archive.Deposit{Resource: archive.Resource{URL: site + path}, Body: []byte("<p>" + path)})
	}
	s.receive(archive.Deposit{Resource: archive.Resource{URL: "http://other.example/a"}, Body: []byte("<p>other")})
	s.receive(archive.Deposit{Resource: archive.Resource{URL: site + "/c"}, Body: []byte("<p>c"),
		Aliases: []string{site + "/from"}})
	const all = "/A1 /a1 /a/x1 /b1 /b2 /c1 /c2"
	within := func(key string) bool { return key == "/a" || key == "/b" }
	for _, c := range []struct {
		name, robots string
		l            Listing
		who          Reader
		want         string
	}{
		{name: "all", want: all},
		{name: "few at a time", l: Listing{held: 2}, want: all},
		{name: "fewer than there are of one key", l: Listing{held: 1}, want: all},
		{name: "keys", l: Listing{In: within}, want: "/A1 /a1 /b1 /b2"},
		{name: "addresses", l: Listing{Addresses: []string{site + "/c", site + "/a", site + "/from", site + "/never"}},
			want: "/a1 /c1 /c2"},
		{name: "addresses and keys", l: Listing{Addresses: []string{site + "/c", site + "/a"}, In: within},
			want: "/a1"},
		{name: "no link", robots: "ACAP-disallow-present-link: /b", want: "/A1 /a1 /a/x1 /c1 /c2"},
		{name: "no link without a credit",
			robots: "ACAP-allow-present-link: /b must-include-resource=the-acap:credit:id:by",
			want:   "/A1 /a1 /a/x1 /c1 /c2"},
		{name: "nothing", robots: "ACAP-disallow-present: /b", want: "/A1 /a1 /a/x1 /c1 /c2"},
		{name: "no old copy", robots: "ACAP-disallow-present-oldcopy: /", want: "/A1 /a1 /a/x1 /b2 /c2"},
		{name: "taken down", robots: "ACAP-request-take-down: /b", want: "/A1 /a1 /a/x1 /c1 /c2"},
		{name: "not in this country", robots: "ACAP-allow-present: /b target-condition=prohibitedcountrylist:FR",
			who: Reader{Target: acap.Target{Country: "FR"}}, want: "/A1 /a1 /a/x1 /c1 /c2"},
	} {
		s.setRobots(c.robots)
		if got := s.list(c.l, c.who); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if s.policy = nil; s.list(Listing{}, Reader{}) != "" {
		t.Error("pages without a policy are listed")
	}
}

// TestListEnds checks that a listing ends when its context does.
func TestListEnds(t *testing.T) {
	s := open(t)
	s.hold("/a", "<p>a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	yes := func(string) bool { return true }
	l := Listing{Key: func(a string) string { return a }, In: yes, Origin: yes}
	for _, l.Addresses = range [][]string{nil, {site + "/a"}} {
		n := 0
		for _, err := range s.List(ctx, l, Reader{}) {
			if n++; !errors.Is(err, context.Canceled) || n > 1 {
				t.Errorf("%d: %v", n, err)
			}
		}
		if n == 0 {
			t.Error("the listing ends without an error")
		}
	}
}

// TestListedDecidesOnce checks that Listed and Linkable read the policy of a page once.
func TestListedDecidesOnce(t *testing.T) {
	s := open(t)
	s.hold("/a", "<p>a")
	s.asked = 0
	if listed, _, err := s.Listed(t.Context(), site+"/a", Reader{}); err != nil || !listed || s.asked != 1 {
		t.Errorf("listed: %t, the policy was read %d times, %v", listed, s.asked, err)
	}
	s.asked = 0
	if way, err := s.Linkable(t.Context(), site+"/a", Reader{}); err != nil || len(way) != 1 || s.asked != 1 {
		t.Errorf("linkable: %q, the policy was read %d times, %v", way, s.asked, err)
	}
}

// BenchmarkListed measures the decision whether a page is counted and listed.
func BenchmarkListed(b *testing.B) {
	s := open(b)
	s.hold("/a", "<p>a")
	b.ReportAllocs()
	for b.Loop() {
		if listed, _, err := s.Listed(b.Context(), site+"/a", Reader{}); err != nil || !listed {
			b.Fatal(listed, err)
		}
	}
}

// TestRefuses checks what the terms refuse of pages that are archived and of pages that never were.
func TestRefuses(t *testing.T) {
	s := open(t)
	s.hold("/a", "<p>a")
	const both = "[/a /never]"
	for robots, want := range map[string]string{
		"":                                 "[]",
		"ACAP-disallow-present-link: /":    both,
		"ACAP-disallow-present: /":         both,
		"ACAP-disallow-present: /n":        "[/never]",
		"ACAP-disallow-present-oldcopy: /": "[]", // the current copy may be shown
		"ACAP-disallow-present-currentcopy: /\nACAP-disallow-present-oldcopy: /": both,
		"ACAP-request-take-down: /a":                                        "[/a]",
		"ACAP-request-take-down: /never":                                    "[/never]",
		"ACAP-allow-present: / time-limit=until-2012-12-31":                 both,
		"ACAP-allow-present: / must-include-resource=the-acap:credit:id:by": "[]", // it may be in the copy
		"ACAP-allow-present: / target-condition=prohibitedcountrylist:FR":   both,
		"ACAP-allow-present: / target-condition=prohibitedcountrylist:BE":   "[]",
	} {
		s.setRobots(robots)
		refused := []string{}
		for _, path := range []string{"/a", "/never"} {
			is, unknown, err := s.Refuses(t.Context(), site+path, Reader{Target: acap.Target{Country: "FR"}})
			if unknown || err != nil {
				t.Errorf("%s of %q: unknown %v, %v", path, robots, unknown, err)
			}
			if is {
				refused = append(refused, path)
			}
		}
		if got := fmt.Sprint(refused); got != want {
			t.Errorf("%q refuses %s, not %s", robots, got, want)
		}
	}
	s.policy = nil
	if got, unknown, err := s.Refuses(t.Context(), site+"/a", Reader{}); got || !unknown || err != nil {
		t.Errorf("without a policy: %v %v %v", got, unknown, err)
	}
}
