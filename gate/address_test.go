package gate

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestLoopbackOnlyWhenNamed(t *testing.T) {
	other := newSite(t, hello)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/", http.StatusFound)
	})
	g := newGate(t, Options{}, rule(open), s)
	trace, err := g.Get(t.Context(), PageRequest, s.URL+"/")
	if r := refusal(t, err); r.Rule != RuleAddress || r.URL != other.URL+"/" || trace.Refused != r ||
		len(trace.Hops) != 1 {
		t.Errorf("%+v, %d hops", r, len(trace.Hops))
	}
	for _, kind := range []Kind{PageRequest, Part, Sitemap, PolicyFile} {
		if _, err := g.Get(t.Context(), kind, other.URL); refusal(t, err).Rule != RuleAddress {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
	if n := len(other.requests()); n != 0 {
		t.Errorf("%d requests to a host that was not named", n)
	}
	g.Name(other.url(t))
	if _, err := g.Get(t.Context(), PageRequest, s.URL+"/"); err != nil {
		t.Error(err)
	}
}

// The address rule is applied to the address that is dialled. Naming a host does not allow other
// spellings of its address.
func TestOtherSpellings(t *testing.T) {
	s := newSite(t, hello)
	g := newGate(t, Options{}, rule(open), s)
	_, port, _ := strings.Cut(s.url(t).Host, ":")
	for _, host := range []string{"localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "0.0.0.0"} {
		_, err := g.Get(t.Context(), PolicyFile, "http://"+host+":"+port+"/")
		if r := refusal(t, err); r.Rule != RuleAddress {
			t.Errorf("%s: %+v", host, r)
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	g.Name(parse(t, "http://localhost:"+port))
	if _, err := g.Get(t.Context(), PageRequest, "http://LOCALHOST:"+port+"/"); err != nil {
		t.Error(err)
	}
}

func TestAllowPrivate(t *testing.T) {
	s := newSite(t, hello)
	g := newGate(t, Options{AllowPrivate: true}, rule(open))
	if _, err := g.Get(t.Context(), PageRequest, s.URL); err != nil {
		t.Error(err)
	}
}

// After a named host was reached at a public address, DNS cannot redirect it to an internal one.
func TestNamedHostSeenPublic(t *testing.T) {
	g := newGate(t, Options{}, rule(open))
	g.Name(parse(t, "http://news.example/"))
	inside, outside := netip.MustParseAddr("10.1.1.1"), netip.MustParseAddr("8.8.8.8")
	if err := g.checkAddress("news.example:80", inside); err != nil {
		t.Errorf("named: %v", err)
	}
	if err := g.checkAddress("news.example:80", outside); err != nil {
		t.Error(err)
	}
	if refusal(t, g.checkAddress("news.example:80", inside)).Rule != RuleAddress {
		t.Error("rebound inwards")
	}
	if g.checkAddress("news.example:8080", inside) == nil {
		t.Error("another port is open")
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"http://h/a?b#c", "HTTP://[::1]:80/", "https://bücher.example/ü", "http://u:p@h:99/%2e",
		"http:x", "//h", "http://h:0x1/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		req, err := http.NewRequest("GET", raw, nil)
		if err != nil {
			return
		}
		u, key, err := target(req)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RequestURI() != req.URL.RequestURI() {
			t.Errorf("%q became %q", raw, u)
		}
		if key != strings.ToLower(key) || strings.ContainsFunc(key, func(r rune) bool { return r >= 0x80 }) {
			t.Errorf("%q has key %q", raw, key)
		}
	})
}
