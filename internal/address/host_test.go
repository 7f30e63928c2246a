package address

import (
	"net/url"
	"testing"
)

func TestForms(t *testing.T) {
	// each value holds the results of Origin, of Endpoint, and of Host for the normal form of the
	// address; "" means an error
	for raw, want := range map[string][3]string{
		"http://Example.com/a?b":        {"http://example.com", "example.com:80", "example.com"},
		"https://example.com:443/":      {"https://example.com", "example.com:443", "example.com"},
		"https://example.com:0080/":     {"https://example.com:80", "example.com:80", "example.com:80"},
		"http://u:p@example.com:8080/x": {"http://example.com:8080", "example.com:8080", "example.com:8080"},
		"http://[2001:DB8::1]:99/":      {"http://[2001:db8::1]:99", "[2001:db8::1]:99", "[2001:db8::1]:99"},
		"http://[::1]/":                 {"http://[::1]", "[::1]:80", "[::1]"},
		"http://Bücher.example/": {"http://xn--bcher-kva.example", "xn--bcher-kva.example:80",
			"xn--bcher-kva.example"},
		"http://h:0/":     {"http://h:0", "", "h:0"},
		"http://h:99999/": {"", "", ""},
		"http:///x":       {"", "", ""},
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		origin, _ := Origin(u)
		endpoint, _ := Endpoint(u)
		host := ""
		if normal, err := Normal(raw); err == nil {
			host, _ = Host(normal)
		}
		if got := [3]string{origin, endpoint, host}; got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	for _, raw := range []string{"", "h", "http://", "http:///x", "http://h"} {
		if host, err := Host(raw); err == nil {
			t.Errorf("%q has host %q", raw, host)
		}
	}
}

func TestDomain(t *testing.T) {
	for host, want := range map[string]string{
		"a.b.example.co.uk": "example.co.uk", "example.com": "example.com", "localhost": "localhost",
		"127.0.0.1": "127.0.0.1", "co.uk": "co.uk",
	} {
		if got := Domain(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

func TestPublic(t *testing.T) {
	for host, want := range map[string]bool{"co.uk": true, "com": true, "example": true, "paper.example": false,
		"paper.co.uk": false, "github.io": true} {
		if Public(host) != want {
			t.Errorf("%s: %t", host, !want)
		}
	}
}
