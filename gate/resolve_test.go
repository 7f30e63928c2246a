package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// lookups is a DNS resolver with fixed answers.
type lookups map[string][]string

func (l lookups) lookup(_ context.Context, _, name string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, a := range l[name] {
		found = append(found, netip.MustParseAddr(a))
	}
	if found == nil {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return found, nil
}

func TestAddressOfAName(t *testing.T) {
	ac := newAddressCache()
	ac.lookup = lookups{
		"rotates":  {"93.184.215.15", "93.184.215.14", "2606:4700::1"},
		"six":      {"2606:4700::2", "93.184.215.14", "2606:4700::1"},
		"mixed":    {"10.0.0.1", "93.184.215.14"},
		"embedded": {"::ffff:93.184.215.14"},
	}.lookup
	for key, want := range map[string]string{
		"rotates:80": "93.184.215.14", "six:80": "2606:4700::1", "mixed:80": "93.184.215.14",
		"embedded:80":  "93.184.215.14",
		"127.0.0.1:80": "127.0.0.1", "[::ffff:10.0.0.1]:80": "10.0.0.1", "[::1]:80": "::1",
	} {
		if a, err := ac.addressOf(t.Context(), key); err != nil || a.String() != want {
			t.Errorf("%s is at %s, %v, want %s", key, a, err, want)
		}
	}
	var dns *net.DNSError
	if _, err := ac.addressOf(t.Context(), "nowhere.invalid:80"); !errors.As(err, &dns) || !dns.IsNotFound {
		t.Errorf("nowhere: %v", err)
	}
}

func TestOldAnswersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ac := newAddressCache()
		asked := 0
		ac.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
			asked++
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		}
		for i := range 3 * manyHosts {
			for range 2 {
				if _, err := ac.addressOf(t.Context(), fmt.Sprintf("h%d:80", i)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
		}
		if len(ac.m) > manyHosts || asked != 3*manyHosts {
			t.Errorf("%d names kept, %d lookups", len(ac.m), asked)
		}
	})
}

// A request waits until the pause of its network address is over. Then it is sent to that address,
// even if DNS now gives another address for the name.
func TestDialledAsResolved(t *testing.T) {
	serve := func(address string) *httptest.Server {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Skip("this machine has no second loopback address: ", err)
		}
		s := &httptest.Server{Listener: l,
			Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, r.Context().Value(http.LocalAddrContextKey))
			})}}
		s.Start()
		t.Cleanup(s.Close)
		return s
	}
	first := serve("127.0.0.1:0").Listener.Addr().(*net.TCPAddr)
	second := serve(fmt.Sprintf("127.0.0.2:%d", first.Port)).Listener.Addr()
	g := newGate(t, Options{ByAddress: true, AllowPrivate: true}, rule(open))
	names := lookups{"moving.example": {"127.0.0.1"}}
	g.addresses.lookup = names.lookup
	address := fmt.Sprintf("http://moving.example:%d/", first.Port)
	get := func(want net.Addr) {
		t.Helper()
		trace, err := g.Get(t.Context(), PageRequest, address)
		if err != nil || string(trace.Hops[0].Body) != want.String() {
			t.Errorf("%v, %+v, want %s", err, trace, want)
		}
	}
	get(first)
	names["moving.example"] = []string{"127.0.0.2"}
	get(first) // the first answer of the DNS is still cached
	clear(g.addresses.m)
	get(second) // this request must not use the connection to the first address
}

func TestClosedAddressIsNotWaitedFor(t *testing.T) {
	g := newGate(t, Options{ByAddress: true, Delay: time.Hour}, rule(open))
	g.addresses.lookup = lookups{"inner.example": {"10.0.0.1"}}.lookup
	for range 2 {
		if _, err := g.Get(t.Context(), PageRequest, "http://inner.example/"); refusal(t, err).Rule != RuleAddress {
			t.Error(err)
		}
	}
	if _, err := g.Get(t.Context(), PageRequest, "http://nowhere.invalid/"); err == nil || g.pages != 0 {
		t.Errorf("%v, %d pages counted", err, g.pages)
	}
}
