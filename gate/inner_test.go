package gate

import "testing"

func TestInner(t *testing.T) {
	for host, want := range map[string]string{
		"127.0.0.1": "a loopback", "::1": "a loopback", "localhost": "a loopback", "a.LocalHost.": "a loopback",
		"10.0.0.7": "a private", "fd00::1": "a private", "169.254.169.254": "a link-local", "fe80::1%eth0": "a link-local",
		"::ffff:10.0.0.7": "a private", "2130706433": "an unusually spelt", "0x7f.1": "an unusually spelt",
		"8.8.8.8": "", "example.com": "", "localhost.example": "", "10.0.0.7.example": "", "": "",
	} {
		if got := Inner(host); got != want {
			t.Errorf("%s is %q, want %q", host, got, want)
		}
	}
}
