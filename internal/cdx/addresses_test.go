package cdx

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/warc"
)

func query(t *testing.T, values ...string) *Query {
	t.Helper()
	list := url.Values{}
	for i := 0; i < len(values); i += 2 {
		list.Add(values[i], values[i+1])
	}
	q, err := Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestAddresses checks that a query for one page names the archived spellings of its address, and only
// addresses with its key.
func TestAddresses(t *testing.T) {
	for given, want := range map[string][]string{
		"harbour.example": {"http://harbour.example/", "https://harbour.example/", "http://www.harbour.example/",
			"https://www.harbour.example/"},
		"https://WWW.harbour.example:443": {"http://harbour.example/", "https://www.harbour.example/"},
		"www2.harbour.example/":           {"http://www2.harbour.example/", "http://harbour.example/"},
		"http://harbour.example:8080/A/": {"http://harbour.example:8080/A/", "http://harbour.example:8080/A",
			"https://harbour.example:8080/a"},
		"http://harbour.example/A?y=1&x=2": {"http://harbour.example/A?y=1&x=2", "https://harbour.example/a?x=2&y=1",
			"http://harbour.example/A/?y=1&x=2"},
		"http://[2001:db8::1]/a":       {"http://[2001:db8::1]/a"},
		"http://bücher.example/ü":      {"http://xn--bcher-kva.example/%C3%BC"},
		"  http://harbour.example/a b": {"http://harbour.example/a%20b"},
	} {
		q := query(t, "url", given)
		list := q.Addresses()
		for _, one := range want {
			if !slices.Contains(list, one) {
				t.Errorf("%s: %s is missing in %q", given, one, list)
			}
		}
		for _, one := range list {
			if key := warc.URLKey(one); !q.InRanges(key) || len(list) > 24 {
				t.Errorf("%s: %s has the key %s", given, one, key)
			}
		}
	}
	if list := query(t, "url", "urn:a").Addresses(); list == nil || len(list) > 0 {
		t.Errorf("%q", list)
	}
	if list := query(t, "url", "*.harbour.example").Addresses(); list != nil {
		t.Errorf("%q", list)
	}
}

// TestInOrigin checks that no origin is left out that has a key in the ranges.
func TestInOrigin(t *testing.T) {
	for _, row := range []struct{ match, given, in string }{
		{"host", "harbour.example", "01"}, {"domain", "harbour.example", "012"},
		{"host", "http://harbour.example:8080", "3"},
		{"prefix", "http://harbour.example/a", "01"}, {"prefix", "http://harbour.example", "01"},
		{"exact", "http://harbour.example/a", "01"}, {"domain", "example", "012345"},
	} {
		got := ""
		for i, origin := range []string{"http://harbour.example", "https://www.harbour.example",
			"http://maps.harbour.example", "http://harbour.example:8080", "http://harbours.example",
			"http://harbour-a.example", "http://harbour.org"} {
			if query(t, "matchType", row.match, "url", row.given).InOrigin(origin) {
				got += string(rune('0' + i))
			}
		}
		if strings.Trim(got, row.in) != "" || len(got) < len(row.in) {
			t.Errorf("%s %s: %s, want %s", row.match, row.given, got, row.in)
		}
	}
}
