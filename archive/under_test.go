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
