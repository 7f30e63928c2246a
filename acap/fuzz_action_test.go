package acap

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzNewAction tests that NewAction reads a request like a line of robots.txt: both accept the
// same paths, and return the same URL (P1 2.6, P01, P02, P10).
func FuzzNewAction(f *testing.F) {
	for _, path := range []string{"/x", "/x?a=1", "/%2a", "/*", "/x$", "//h/x", "http://h/x", "/a b", "/%zz",
		"/%7e/../b", "/\u00fc", "/x#y", "", "/robots.txt", "/?", "/.", "/a;b", "/a:b", "/..//", "/.//a/../"} {
		f.Add(path)
	}
	const origin = "http://quay.example"
	f.Fuzz(func(t *testing.T, path string) {
		_, _ = NewAction(TakeDown, "http://"+path, nil) // any path must be read without a panic
		if len(path) > 1000 || !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "#\r\n") ||
			strings.TrimSpace(path) != path || !valid(path) {
			return // a line of robots.txt cannot contain this path, or would read a part of it as a comment
		}
		policy := Parse(origin+"/robots.txt", []byte("ACAP-crawler: *\nACAP-request-take-down: "+path+"\n")).Policy(
			Crawler{Names: []string{"gazer"}})
		var line *Action
		for i, a := range policy.Actions() {
			if a.Execute {
				line = &policy.Actions()[i]
			}
		}
		a, err := NewAction(TakeDown, origin+path, nil)
		switch {
		case err != nil && line != nil:
			t.Errorf("%q: the line takes down %q, the channel refuses it: %v", path, line.URL, err)
		// a line whose path begins with two slashes names a host, so only NewAction accepts such a
		// path
		case err == nil && line == nil && !strings.HasPrefix(path, "//"):
			t.Errorf("%q: the channel takes down %q, the line does not", path, a.URL)
		case err == nil && line != nil && a.URL != line.URL:
			t.Errorf("%q: the channel takes down %q, the line %q", path, a.URL, line.URL)
		}
		if err != nil {
			return
		}
		u, err := url.Parse(a.URL)
		if err != nil || NewResource(u).URL != a.URL || !strings.HasPrefix(a.URL, origin+"/") {
			t.Errorf("%q: %q is not in its normal form", path, a.URL)
		}
	})
}

// valid reports whether a line of a file can contain s without changing its meaning.
func valid(s string) bool {
	return strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == 0xfeff || r == '\u0085' || r == '\u2028' || r == '\u2029'
	})
}
