package archive

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// TestEachOrigin checks that each origin is found once, and the addresses of each.
func TestEachOrigin(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	addresses := []string{"http://a-b.example/", "http://a.example.org/x", "http://a.example/", "http://a.example/0",
		"http://a.example/b/c?d", "http://a.example:8080/", "http://a.example0/", "https://a.example/",
		"https://[2001:db8::1]/", "https://[2001:db8::1]:1/"}
	for i := range 3 * batch {
		addresses = append(addresses, fmt.Sprintf("http://h%d.example/", i))
	}
	var want []string
	for _, address := range addresses {
		_, err := a.Receive(context.Background(), Deposit{Resource: Resource{URL: address, Status: 200}, Fetched: noon,
			Body: []byte("a")})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, originOf(address))
	}
	slices.Sort(addresses)
	slices.Sort(want)
	var origins, found []string
	err := a.EachOrigin(func(origin string) error {
		origins = append(origins, origin)
		return a.EachAddress(origin+"/", func(address string) error {
			found = append(found, address)
			return nil
		})
	})
	slices.Sort(origins)
	slices.Sort(found)
	if err != nil || !slices.Equal(origins, slices.Compact(want)) || !slices.Equal(found, addresses) {
		t.Errorf("%v\n%q\n%q", err, origins, found)
	}
	stop := fmt.Errorf("stop")
	if err := a.EachOrigin(func(string) error { return stop }); err != stop {
		t.Error(err)
	}
}

// TestHoldsCopy checks that an origin counts only while a capture of it is stored, and that Stored is called for each
// capture.
func TestHoldsCopy(t *testing.T) {
	var stored []string
	a := open(t, t.TempDir(), Options{Stored: func(url string) { stored = append(stored, url) }})
	receive := func(url string, status int, body []byte) {
		t.Helper()
		_, err := a.Receive(context.Background(), Deposit{Resource: Resource{URL: url, Status: status}, Fetched: noon,
			Body: body})
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(origin string, want bool) {
		t.Helper()
		if held, err := a.HoldsCopy(origin); err != nil || held != want {
			t.Errorf("%s: %t, %v", origin, held, err)
		}
	}
	for i := range 2 * batch { // pages of which no copy may be stored
		receive(fmt.Sprintf("http://a.example/%d", i), 200, nil)
	}
	receive("http://a.example.org/", 200, []byte("a"))
	receive("http://moved.example/", 301, []byte("moved")) // never the current version
	check("http://a.example", false)
	check("http://a.example.org", true)
	check("http://moved.example", true)
	check("http://none.example", false)
	receive("http://a.example/z", 200, []byte("z"))
	check("http://a.example", true)
	want := []string{"http://a.example.org/", "http://moved.example/", "http://a.example/z"}
	if !slices.Equal(stored, want) {
		t.Errorf("stored: %q", stored)
	}
	if _, err := a.Erase(context.Background(), Tombstone{URL: "http://a.example/z"}); err != nil {
		t.Fatal(err)
	}
	check("http://a.example", false)
}
