package address

import (
	"net/netip"
	"testing"
)

func TestInner(t *testing.T) {
	for host, want := range map[string]string{
		"127.0.0.1": "a loopback", "::1": "a loopback", "localhost": "a loopback", "a.LocalHost.": "a loopback",
		"10.0.0.7": "a private", "fd00::1": "a private", "169.254.169.254": "a link-local",
		"fe80::1%eth0":    "a link-local",
		"::ffff:10.0.0.7": "a private", "2130706433": "an unusually spelt", "0x7f.1": "an unusually spelt",
		"8.8.8.8": "", "example.com": "", "localhost.example": "", "10.0.0.7.example": "", "": "",
	} {
		if got := Inner(host); got != want {
			t.Errorf("%s is %q, want %q", host, got, want)
		}
	}
}

func TestSpecial(t *testing.T) {
	for _, a := range []string{
		"127.0.0.1", "127.255.0.3", "::1", "::ffff:127.0.0.1", "0.0.0.0", "0.1.2.3", "::", "10.0.0.1", "172.16.0.1",
		"172.31.255.255", "192.168.1.1", "::ffff:10.0.0.1", "fc00::1", "fd12::1", "169.254.169.254", "fe80::1",
		"fe80::1%eth0",
		"100.64.0.1", "100.127.255.255", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1", "192.0.0.8",
		"192.0.2.1",
		"198.18.0.1", "198.51.100.1", "203.0.113.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
		"2002:7f00:1::",
		"2002:a00:1::1", "2001::1", "::7f00:1", "2001:db8::1", "fec0::1",
	} {
		if Special(netip.MustParseAddr(a)) == "" {
			t.Errorf("%s is open", a)
		}
	}
	for _, a := range []string{"8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808",
		"2001:200::1", "2002:808:808::1"} {
		if what := Special(netip.MustParseAddr(a)); what != "" {
			t.Errorf("%s is %s address", a, what)
		}
	}
}

func TestOdd(t *testing.T) {
	for host, odd := range map[string]bool{
		"2130706433": true, "0x7f000001": true, "0x7f.1": true, "127.1": true, "0177.0.0.1": true, "127.0.0.1.": true,
		"1.2.3.4.5": true,
		"127.0.0.1": false, "::1": false, "example.com": false, "example.com.": false, "123.example": false,
		"0x.example": false, "a.0x": true,
	} {
		if Odd(host) != odd {
			t.Errorf("Odd(%q) = %v", host, !odd)
		}
	}
}
