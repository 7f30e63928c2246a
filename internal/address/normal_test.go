package address

import (
	"net/url"
	"strings"
	"testing"
)

func TestNormal(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"HTTP://Example.COM:80", "http://example.com/"},
		{"https://example.com:443/a#frag", "https://example.com/a"},
		{"https://example.com:80/", "https://example.com:80/"},
		{"http://h:0080/x", "http://h/x"},
		{"http://h:/x", "http://h/x"},
		{"http://h?b=2&a=1", "http://h/?b=2&a=1"},
		{"http://h/?", "http://h/?"},
		{"http://h/a/./b/../c", "http://h/a/c"},
		{"http://h/a/..", "http://h/"},
		{"http://h/a/.", "http://h/a/"},
		{"http://h/../../x", "http://h/x"},
		{"http://h/%2e%2E/x", "http://h/x"},
		{"http://h//a//b", "http://h//a//b"},
		{"http://h/.well-known/x", "http://h/.well-known/x"},
		{"http://h/%7Ejoe/%41", "http://h/~joe/A"},
		{"http://h/a%2fb%3fc", "http://h/a%2Fb%3Fc"},
		{"http://h/a%2Fb?x=%2f%7e", "http://h/a%2Fb?x=%2F~"},
		{"http://h/?a+b&c=%2b", "http://h/?a+b&c=%2B"},
		{"http://h/ä?ö", "http://h/%C3%A4?%C3%B6"},
		{"http://h/100%", "http://h/100%25"},
		{"http://h/%zz", "http://h/%25zz"},
		{"http://h/a b\"<>", "http://h/a%20b%22%3C%3E"},
		{"http://h/a[1]*$;=,'()", "http://h/a[1]*$;=,'()"},
		{"http://Bücher.example/", "http://xn--bcher-kva.example/"},
		{"http://a_b.example/", "http://a_b.example/"},
		{"http://user:secret@h/x", "http://h/x"},
		{"http://[::1]:8080/x", "http://[::1]:8080/x"},
		{"http://2130706433/", "http://2130706433/"},
		{"http://0x7f.1/", "http://0x7f.1/"},
		{" http://h/x\n", "http://h/x"},
	} {
		got, err := Normal(c.in)
		if err != nil || got != c.want {
			t.Errorf("Normal(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", "/x", "example.com", "ftp://h/x", "mailto:a@b", "javascript:void(0)", "http:///x",
		"http:x", "http://h:99999/", "http://h:x/", "http://" + strings.Repeat("a", MaxLength), "//h/x",
		"http://a\x00b/"} {
		if got, err := Normal(in); err == nil {
			t.Errorf("Normal(%q) = %q; want an error", in, got)
		}
	}
}

func FuzzNormal(f *testing.F) {
	for _, s := range []string{"http://h/a/../%2e/b?c%zz#d", "HTTPS://Ü:443//./..", "http://[::1%25eth0]/",
		"http://h/%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if u := already(in); u != nil {
			if want, err := rewritten(in); err != nil || *u != *want {
				t.Fatalf("%q is taken for normal as %#v, not %#v, %v", in, u, want, err)
			}
		}
		once, err := Normal(in)
		if err != nil {
			return
		}
		twice, err := Normal(once)
		if err != nil && len(once) <= MaxLength || err == nil && twice != once {
			t.Fatalf("Normal(%q) = %q, of which the normal form is %q, %v", in, once, twice, err)
		}
		u, err := url.Parse(once)
		if err != nil || u.String() != once || u.Hostname() == "" || u.User != nil || strings.Contains(once, "#") {
			t.Fatalf("Normal(%q) = %q: %v", in, once, err)
		}
		if _, err := Host(once); err != nil {
			t.Fatal(err)
		}
	})
}

// The function already accepts addresses in normal form, but no addresses that only look similar.
func TestAlready(t *testing.T) {
	for _, raw := range []string{"http://example.com/", "https://example.com:8443/a/b.html?x=1&y=~",
		"http://127.0.0.1:8080/p//7.html", "http://a/.b"} {
		u := already(raw)
		if u == nil {
			if raw != "http://a/.b" {
				t.Errorf("%s is not taken", raw)
			}
			continue
		}
		if want, err := rewritten(raw); err != nil || *u != *want || u.String() != raw {
			t.Errorf("%s: %#v, want %#v, %v", raw, u, want, err)
		}
	}
	for _, raw := range []string{"http://example.com", "HTTP://example.com/", "http://Example.com/",
		"http://u@example.com/", "http://example.com:80/",
		"https://example.com:443/", "http://example.com:/", "http://example.com:08/", "http://example.com:99999/",
		"http://example.com/a/../b", "http://example.com/%7e",
		"http://example.com/?", "http://example.com/#x", "http://example.com/a b", "http:///a", "ftp://example.com/",
		"http://[::1]/", " http://example.com/",
		"http://bücher.example/", "/a", ""} {
		if u := already(raw); u != nil {
			t.Errorf("%s is taken as %#v", raw, u)
		}
	}
}
