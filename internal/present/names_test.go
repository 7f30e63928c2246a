package present

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// zone is a Resolver for tests. It returns "not found" for unknown names and addresses, never
// answers if the stored value is "slow", and returns an error if the stored value is "broken".
type zone struct {
	records map[string]string // names by address, and addresses by name
	asked   int
}

func (z *zone) lookup(ctx context.Context, what string) ([]string, error) {
	z.asked++
	switch v, found := z.records[what]; {
	case !found:
		return nil, &net.DNSError{Err: "no such host", Name: what, IsNotFound: true}
	case v == "slow":
		<-ctx.Done()
		return nil, &net.DNSError{Err: "i/o timeout", Name: what, IsTimeout: true, IsTemporary: true}
	case v == "broken":
		return []string{"rest.example."}, &net.DNSError{Err: "malformed", Name: what}
	default:
		return strings.Fields(v), nil
	}
}

func (z *zone) LookupAddr(ctx context.Context, addr string) ([]string, error) {
	return z.lookup(ctx, addr)
}

func (z *zone) LookupNetIP(ctx context.Context, network, host string) (list []netip.Addr, err error) {
	texts, err := z.lookup(ctx, host)
	for _, text := range texts {
		if ip, e := netip.ParseAddr(text); e == nil {
			list = append(list, ip)
		}
	}
	return list, err
}

func TestNames(t *testing.T) {
	var many []string
	for i := range maxNames + 1 {
		many = append(many, fmt.Sprintf("h%d.quay.example.", i))
	}
	const ip = "192.0.2.7"
	for _, c := range []struct {
		name, ip string
		records  map[string]string
		want     []string
		why      string // expected text in the error
	}{
		{name: "one name", records: map[string]string{ip: "Host.Quay.example.", "Host.Quay.example.": ip},
			want: []string{"host.quay.example"}},
		{name: "one of its addresses", records: map[string]string{ip: "h.quay.example.",
			"h.quay.example.": "2001:db8::1 192.0.2.9 192.0.2.7"}, want: []string{"h.quay.example"}},
		{name: "mapped", ip: "::ffff:192.0.2.7", records: map[string]string{ip: "h.quay.example.",
			"h.quay.example.": "::ffff:192.0.2.7"}, want: []string{"h.quay.example"}},
		{name: "IPv6 with a zone", ip: "2001:db8::1%eth0", records: map[string]string{"2001:db8::1": "h.quay.example.",
			"h.quay.example.": "2001:db8::1"}, want: []string{"h.quay.example"}},
		{name: "no name", why: "192.0.2.7 has no host name"},
		{name: "the name of somebody else", records: map[string]string{ip: "www.bank.example.",
			"www.bank.example.": "203.0.113.1"}, why: "resolves back"},
		{name: "a name without an address", records: map[string]string{ip: "h.quay.example."}, why: "resolves back"},
		{name: "several names", records: map[string]string{ip: "a.quay.example. b.shed.example.", "a.quay.example.": ip,
			"b.shed.example.": ip}, want: []string{"a.quay.example", "b.shed.example"}},
		{name: "several names, one of somebody else",
			records: map[string]string{ip: "www.bank.example. a.quay.example.", "www.bank.example.": "203.0.113.1",
				"a.quay.example.": ip},
			want: []string{"a.quay.example"}},
		{name: "several names, of one there is no answer",
			records: map[string]string{ip: "a.quay.example. b.shed.example.", "a.quay.example.": ip,
				"b.shed.example.": "slow"}, why: "b.shed.example"},
		{name: "too many names", records: map[string]string{ip: strings.Join(many, " "), many[0]: ip},
			why: "more than 8"},
		{name: "no answer", records: map[string]string{ip: "slow"}, why: "timeout"},
		{name: "half an answer", records: map[string]string{ip: "broken", "rest.example.": ip}, why: "malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ip == "" {
				c.ip = ip
			}
			var got []string
			var err error
			// inside synctest.Test, time advances only while the test waits for an answer
			synctest.Test(t, func(t *testing.T) {
				got, err = NewNames(&zone{records: c.records}).Of(t.Context(), netip.MustParseAddr(c.ip))
			})
			if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) || err != nil &&
				!strings.Contains(err.Error(), c.why) {
				t.Errorf("%q, %v, want %q, %q", got, err, c.want, c.why)
			}
		})
	}
}

func TestNamesAreKnownForAWhile(t *testing.T) {
	z := &zone{records: map[string]string{"192.0.2.7": "h.quay.example.", "h.quay.example.": "192.0.2.7"}}
	n, at := NewNames(z), noon
	n.now = func() time.Time { return at }
	ask := func(ip string, asked int) {
		t.Helper()
		n.Of(t.Context(), netip.MustParseAddr(ip))
		if z.asked != asked {
			t.Errorf("%s: DNS was asked %d times, want %d", ip, z.asked, asked)
		}
	}
	ask("192.0.2.7", 2)
	ask("::ffff:192.0.2.7", 2)
	ask("192.0.2.8", 3)
	ask("192.0.2.8", 3) // the answer that an address has no name is cached too
	at = at.Add(namesFor)
	ask("192.0.2.7", 5)

	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Of(over, netip.MustParseAddr("192.0.2.9")); err != context.Canceled {
		t.Errorf("a caller that went: %v", err)
	}
	ask("192.0.2.9", 7) // an answer is not cached if the caller stopped waiting

	ip := netip.MustParseAddr("198.51.100.0")
	for range maxKnown + 1 {
		n.Of(t.Context(), ip)
		ip = ip.Next()
	}
	if len(n.known) > maxKnown {
		t.Errorf("%d answers are kept", len(n.known))
	}
}
