package crawler

import (
	"net/url"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		pattern string
		in, out []string
	}{
		{"/news/", []string{"http://h/news/", "https://other/news/a?b"},
			[]string{"http://h/news", "http://h/old/news/"}},
		{"/news/*.html", []string{"http://h/news/a.html", "http://h/news/a/b.html?x"},
			[]string{"http://h/news/a.htm", "http://h/a.html"}},
		{"/news/*.html$", []string{"http://h/news/a.html"}, []string{"http://h/news/a.html?x", "http://h/news/.htm"}},
		{"*.iso$", []string{"http://h/a.iso", "http://h/b/?.iso"}, []string{"http://h/a.iso?b", "http://h/a.isolate"}},
		{"*sort=", []string{"http://h/?sort=a", "http://h/x?a&sort="}, []string{"http://h/sort"}},
		{"*a*a$", []string{"http://h/aa", "http://h/abca"}, []string{"http://h/a", "http://h/ab"}},
		{"/a$", []string{"http://h/a"}, []string{"http://h/ab", "http://h/a?"}},
		{"/a?", []string{"http://h/a?", "http://h/a?b"}, []string{"http://h/a", "http://h/ab"}},
		{"/x$y", []string{"http://h/x$y/z"}, []string{"http://h/x"}},
		{"*", []string{"http://h/", "https://h:8080/x?y"}, nil},
		{"/$", []string{"http://h/"}, []string{"http://h/x"}},
		{"https://h/", []string{"https://h/", "https://h/x"}, []string{"http://h/", "https://h.example/",
			"https://h:8443/"}},
		{"https://H.Example:443/x", []string{"https://h.example/x"}, []string{"https://h.example/"}},
		{"http://bücher.example/ä", []string{"http://xn--bcher-kva.example/%C3%A4"}, nil},
		{"/%7ejoe/%c3%a4", []string{"http://h/~joe/ä"}, []string{"http://h/"}},
		{"/a%2fb", []string{"http://h/a%2Fb"}, []string{"http://h/a/b"}},
		{"http://*.example/", []string{"http://a.example/", "http://h/?http://b.example/"},
			[]string{"http://example/"}},
		{"http://www.", []string{"http://www.example/"}, []string{"http://example/"}},
	} {
		excluding, including := newFilter(nil, []string{c.pattern}), newFilter([]string{"/never/", c.pattern}, nil)
		for i, raw := range append(append([]string{}, c.in...), c.out...) {
			u, err := address.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			matches := i < len(c.in)
			if ok, why := excluding.admits(u); ok == matches || (why == "") != ok || !ok &&
				!strings.Contains(why, c.pattern) {
				t.Errorf("without %s, %s: %t, %q", c.pattern, raw, ok, why)
			}
			if ok, why := including.admits(u); ok != matches || (why == "") != ok || !ok &&
				!strings.Contains(why, c.pattern) {
				t.Errorf("with %s alone, %s: %t, %q", c.pattern, raw, ok, why)
			}
		}
	}
}

func TestFilterOfBoth(t *testing.T) {
	f := newFilter([]string{"/news/"}, []string{"/news/live/", "*.pdf"})
	for raw, want := range map[string]bool{
		"http://h/news/a": true, "http://h/news/live/a": false, "http://h/news/a.pdf": false, "http://h/": false,
	} {
		u, err := address.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if ok, why := f.admits(u); ok != want {
			t.Errorf("%s: %t, %q", raw, ok, why)
		}
	}
	if ok, _ := newFilter(nil, nil).admits(&url.URL{Scheme: "http", Host: "h", Path: "/"}); !ok {
		t.Error("a filter without patterns admits all")
	}
}

// FuzzFilter compares the pattern matcher with a simple implementation.
func FuzzFilter(f *testing.F) {
	f.Add("/a*b*$", "/aXbYb")
	f.Add("*.iso$", "/x.iso")
	f.Add("http://h/*", "/x")
	f.Add("/*/*/$", "/a/b/")
	f.Fuzz(func(t *testing.T, raw, path string) {
		if raw == "" || len(raw) > 50 || len(path) > 100 {
			return
		}
		u, err := address.Parse("http://h/" + path)
		if err != nil {
			return
		}
		p := patterns([]string{raw})[0]
		local := u.RequestURI()
		whole := "http://h" + local
		s := local
		if p.whole {
			s = whole
		}
		want, _ := globText(raw)
		want, end := strings.CutSuffix(want, "$")
		if !end {
			want += "*"
		}
		if got := p.matches(local, whole); got != glob(want, s) {
			t.Errorf("%q matches %q: %t", raw, s, got)
		}
	})
}

func glob(pattern, s string) bool {
	fits := make([]bool, len(s)+1) // fits[i]: the part of the pattern read so far matches s[:i]
	fits[0] = true
	for _, c := range []byte(pattern) {
		next := make([]bool, len(s)+1)
		for i := range next {
			if c == '*' {
				next[i] = fits[i] || i > 0 && next[i-1]
			} else {
				next[i] = i > 0 && fits[i-1] && s[i-1] == c
			}
		}
		fits = next
	}
	return fits[len(s)]
}

func TestScope(t *testing.T) {
	seeds := []string{"http://www.example.co.uk:8080/docs/index.html", "http://127.0.0.1:99/x"}
	for _, c := range []struct {
		address string
		in      string // the scopes to which the address belongs
	}{
		{"https://www.example.co.uk/docs/a", "host domain prefix any"},
		{"http://www.example.co.uk/other", "host domain any"},
		{"http://www.example.co.uk/docsother", "host domain any"},
		{"http://example.co.uk/docs/", "domain any"},
		{"http://other.co.uk/docs/", "any"},
		{"http://127.0.0.1/y", "host domain prefix any"},
		{"http://128.0.0.1/", "any"},
		{"http://2130706433/", "any"},
		{"http://[::ffff:127.0.0.1]/", "any"},
		{"http://x.127.0.0.1/", "any"},
	} {
		u, err := address.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Scope{ScopeHost, ScopeDomain, ScopePrefix, ScopeAny} {
			a, err := newArea(s, seeds)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Contains(c.in, string(s)); a.holds(u) != want {
				t.Errorf("scope %s holds %s: %t", s, c.address, !want)
			}
		}
	}
	if _, err := newArea("web", nil); err == nil {
		t.Error("an unknown scope was accepted")
	}
}
