package policy

import (
	"net/url"
	"testing"
)

func TestKey(t *testing.T) {
	for raw, want := range map[string]string{
		"http://Example.com/a?b":       "http://example.com",
		"HTTP://example.com:80/":       "http://example.com",
		"http://example.com:0080/":     "http://example.com",
		"https://example.com:443":      "https://example.com",
		"https://example.com:80/":      "https://example.com:80",
		"http://u:p@example.com:8080/": "http://example.com:8080",
		"http://[::1]:80/":             "http://[::1]",
		"http://[2001:DB8::1]:99/":     "http://[2001:db8::1]:99",
		"http://bücher.example/":       "http://xn--bcher-kva.example",
		"ftp://example.com/":           "",
		"/robots.txt":                  "",
		"http:///x":                    "",
		"mailto:a@example.com":         "",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Key(u); got != want || (err == nil) != (want != "") {
			t.Errorf("Key(%s) = %q, %v", raw, got, err)
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add("http://[::1%25eth0]:80/")
	f.Add("https://BÜCHER.example:443")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		key, err := Key(u)
		if err != nil {
			return
		}
		if v, err := url.Parse(key + "/robots.txt"); err == nil {
			if again, err := Key(v); err != nil || again != key {
				t.Errorf("%q has key %q, which has key %q, %v", raw, key, again, err)
			}
		}
	})
}
