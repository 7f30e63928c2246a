package holdings

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/archive"
)

// TestHolds checks that, before Erase, Holds reports true for a URL in any spelling if anything is
// stored for the URL. After Erase it must report false.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		name, robots, page, url string
		led                     bool // whether /old redirects to the address
	}{
		{name: "a copy", page: a, url: a},
		{name: "an excerpt", robots: "ACAP-disallow-preserve: /\nACAP-disallow-index: /\nACAP-allow-present-snippet: /",
			page: a, url: a},
		{name: "an index entry", robots: "ACAP-disallow-preserve: /", page: a, url: a},
		{name: "another spelling", page: site + "/x*y%24", url: site + "/x%2Ay%24"},
		{name: "many spellings", page: site + "/$*$*$*$*$*$*", url: site + "/%24%2A%24%2A%24%2A%24%2A%24%2A%24%2A"},
		{name: "an address that leads to a page", page: a, url: site + "/old", led: true},
		{name: "a page that an address leads to", page: a, url: a, led: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(c.robots), Options{})
			holds := func(want bool) {
				t.Helper()
				if held, err := s.Holds(c.url); held != want || err != nil {
					t.Errorf("held %v, %v", held, err)
				}
			}
			holds(false)
			urls := []string{c.page}
			if c.led {
				urls = []string{site + "/old", c.page}
			}
			s.receive(pageOf(article, urls...))
			holds(true)
			if _, err := s.Erase(context.Background(), c.url, "asked", "line"); err != nil {
				t.Fatal(err)
			}
			holds(false)
			if r, err := s.Holdings.Receipt(c.url); err != nil || !r.Verified() {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestSpellings checks that all spellings of an address are found. It also checks that the number
// of spellings tried for one policy line is limited (P09: protection against flooding).
func TestSpellings(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	var pages []string
	for n := range 1 << 10 {
		address := site + "/"
		for bit := range 10 {
			address += []string{"*", "%2A"}[n>>bit&1]
		}
		pages = append(pages, address+"/x")
	}
	if err := s.archive.UpdateAll(t.Context(), pages, func(r *archive.Resource) { r.Kept.Title = "x" }); err != nil {
		t.Fatal(err)
	}
	mixed, rest := strings.Repeat("*%2A", maxDoubtful/2), 10-maxDoubtful
	known := []string{pages[0], pages[1<<10-1], site + "/" + mixed + strings.Repeat("*", rest) + "/x", site + "/" +
		mixed + strings.Repeat("%2A", rest) + "/x"}
	for _, address := range []string{known[0], known[1], site + "/" + strings.Repeat("%2A*", 5) + "/x"} {
		got, err := s.Spellings(address)
		if err != nil || len(got) > 2<<maxDoubtful+1 || !slices.Contains(got, address) {
			t.Errorf("%s: %d, %v", address, len(got), err)
		}
		for _, page := range known {
			if !slices.Contains(got, page) {
				t.Errorf("%s does not name %s", address, page)
			}
		}
	}
}

// TestHoldsDerived checks that Holds reports true if data of other pages was made from a resource,
// even if the resource itself is not stored.
func TestHoldsDerived(t *testing.T) {
	s := withParts(t, "")
	for _, source := range []string{site + "/credit", site + "/lead"} {
		for _, want := range []bool{true, false} {
			if held, err := s.Holds(source); held != want || err != nil {
				t.Errorf("%s: held %v, %v", source, held, err)
			}
			if _, err := s.Erase(context.Background(), source, "asked", "line"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
