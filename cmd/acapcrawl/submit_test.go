package main

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/policy"
)

var (
	spelledHosts = []string{"example.com", "Example.COM", "example.com.", "example.com:80", "example.com:080",
		"example.com:443", "example.com:0", "example.com:8080",
		"example.com:65535", "example.com:65536", "example.com:", "127.0.0.1", "127.1", "2130706433", "0x7f000001",
		"[::1]", "[::1]:80", "[2001:DB8::1]:99", "[::ffff:127.0.0.1]",
		"bücher.example", "BÜCHER.example:443", "xn--bcher-kva.example", "faß.example", "a_b.example", "u@example.com",
		"u:p@example.com", "example.com%2F", "exa mple.com",
		"example.com\\", "ex%61mple.com", "", ":80", "a..b", "-a.example", "例え.テスト", "xn--a.example"}
	spelledPaths = []string{"", "/", "/x", "/./x", "/a/../x", "/a/%2e%2E/x", "/../x", "/a/..", "/a/.", "//x", "/a//b",
		"/%7Ex", "/%7ex", "/~x", "/%41", "/a%2Fb", "/a%2fb",
		"/%c3%BC", "/ü", "/a;b=c", "/a\\b", "/a'b", "/a\"b", "/a|b", "/[x]", "/{x}", "/a?", "/a?b", "/a?b=%41&c=%2f",
		"/a?b=ü", "/a?b?c", "/a%2A", "/a%24", "/a:b", "/a@b", "/a%", "/a%zz",
		"/a%20b", "/a+b", "/a,b", "/http://other.example/x", "/a/b/../../../x", "/%2e%2e/x", "/.", "/..", "/...",
		"/a/...", "/%", "/a#b", "/*", "/a$", "/a*b?c", "/\u00a0"}
)

// The ledger stores the origin whose policy applies, and the address that the crawler fetches. For
// every spelling of an address, a request over HTTP names the same resource as a line with this
// address in the robots.txt of that origin.
func TestSubmitSpellings(t *testing.T) {
	ledger, err := actions.Open(filepath.Join(t.TempDir(), "actions.db"), actions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	agrees := func(raw string) {
		t.Helper()
		r, _, err := ledger.Submit(actions.Submission{Action: acap.TakeDown, URL: raw})
		if err != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Errorf("%q is %s", raw, r.URL)
			return
		}
		if key, err := policy.Key(u); err != nil || key != r.Origin {
			t.Errorf("%q is of %s, and its policy of %q, %v", raw, r.Origin, key, err)
		}
		if !strings.HasPrefix(r.URL, r.Origin+"/") {
			t.Errorf("%q is %s of %s", raw, r.URL, r.Origin)
		}
		address, err := address.Normal(raw)
		if err != nil {
			t.Errorf("%q is %s, and not crawled: %v", raw, r.URL, err)
			return
		}
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := acap.NewResource(at).URL; got != r.URL {
			t.Errorf("%q is %s, and what is crawled is %s", raw, r.URL, got)
		}
		path, _ := strings.CutPrefix(r.URL, r.Origin)
		if strings.HasPrefix(path, "//") { // P1 2.6 (P03): in robots.txt this path would name a host
			path = "/." + path
		}
		text := "ACAP-version: 1.1\nACAP-crawler: *\nACAP-request-take-down: " + path + "\n"
		lines := acap.Parse(r.Origin+"/robots.txt",
			[]byte(text)).Policy(acap.Crawler{Names: []string{"acapcrawl"}}).Actions()
		if len(lines) != 1 || !lines[0].Execute || lines[0].URL != r.URL {
			t.Errorf("%q is %s, and a line would ask for %+v", raw, r.URL, lines)
		}
	}
	accepted := 0
	for _, scheme := range []string{"http://", "https://", "HTTP://", "ftp://", "//", ""} {
		for _, host := range spelledHosts {
			agrees(scheme + host + "/x")
		}
	}
	for _, path := range spelledPaths {
		agrees("http://example.com" + path)
	}
	err = ledger.Each(actions.Filter{}, func(actions.Request) error {
		accepted++
		return nil
	})
	if err != nil || accepted < 50 {
		t.Errorf("%d spellings were accepted, %v", accepted, err)
	}
}

func TestOriginArg(t *testing.T) {
	for arg, want := range map[string]string{
		"HTTP://Example.com:80/":          "http://example.com",
		"https://bücher.example":          "https://xn--bcher-kva.example",
		"https://example.com:8443":        "https://example.com:8443",
		"https://example.com/a":           "",
		"https://example.com/?a":          "",
		"https://u@example.com/":          "",
		"example.com":                     "",
		"ftp://example.com":               "",
		"https://example.com:99999":       "",
		"https://" + "*" + ".example.com": "https://*.example.com",
	} {
		got, err := originArg(arg)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", arg, got, err)
		}
	}
}

func TestValidity(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for want, c := range map[string]actions.Credential{
		"valid":                            {},
		"valid until 2026-11-01T12:00:01Z": {Expires: now.Add(time.Second)},
		"expired 2026-11-01T12:00:00Z":     {Expires: now},
		"revoked 2026-11-01T11:00:00Z":     {Expires: now, Revoked: now.Add(-time.Hour)},
	} {
		if got := validity(c, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
