package present

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/geo"
)

func countries(t *testing.T, o geo.Options, list map[string]string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.mmdb")
	if err := geo.Write(file, o, list); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCountry(t *testing.T) {
	both := map[string]string{"192.0.2.0/25": "BE", "192.0.2.128/25": "NL", "2001:db8::/33": "FR",
		"198.51.100.0/24": "", "203.0.113.0/25": "B1", "203.0.113.128/25": "be"}
	four := map[string]string{"192.0.2.0/24": "BE"}
	for _, c := range []struct {
		name string
		o    geo.Options
		list map[string]string
		ip   string
		want string // the expected country; "!" means an error
	}{
		{"IPv4", geo.Options{}, both, "192.0.2.7", "BE"},
		{"the next network", geo.Options{}, both, "192.0.2.200", "NL"},
		{"IPv6", geo.Options{}, both, "2001:db8::7", "FR"},
		{"IPv6 with a zone", geo.Options{}, both, "2001:db8::7%eth0", "FR"},
		{"mapped", geo.Options{}, both, "::ffff:192.0.2.7", "BE"},
		{"not in it", geo.Options{}, both, "192.0.3.1", ""},
		{"registered only", geo.Options{}, both, "198.51.100.1", ""},
		{"no code", geo.Options{}, both, "203.0.113.1", "!"},
		{"a small code", geo.Options{}, both, "203.0.113.200", "!"},
		{"IPv4 alone", geo.Options{IPv4: true}, four, "192.0.2.7", "BE"},
		{"IPv4 alone, mapped", geo.Options{IPv4: true}, four, "::ffff:192.0.2.7", "BE"},
		{"IPv6 where there is none", geo.Options{IPv4: true}, four, "2001:db8::7", ""},
		{"a city", geo.Options{Type: "GeoLite2-City"}, four, "192.0.2.7", "BE"},
	} {
		db, err := OpenCountries(countries(t, c.o, c.list))
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.Country(netip.MustParseAddr(c.ip))
		if err != nil {
			got = "!" + got
		}
		if got != c.want {
			t.Errorf("%s: %q (%v), want %q", c.name, got, err, c.want)
		}
	}
}

func TestOpenCountries(t *testing.T) {
	whole, err := os.ReadFile(countries(t, geo.Options{}, map[string]string{"192.0.2.0/24": "BE"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": {}, "text": []byte("192.0.2.0/24 BE\n"),
		"its beginning": whole[:len(whole)/2]} {
		file := filepath.Join(t.TempDir(), "c.mmdb")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenCountries(file); err == nil {
			t.Errorf("%s: it was opened", name)
		}
	}
	for name, file := range map[string]string{"missing": filepath.Join(t.TempDir(), "none.mmdb"),
		"a directory":  t.TempDir(),
		"another type": countries(t, geo.Options{Type: "GeoLite2-ASN"}, map[string]string{"192.0.2.0/24": "BE"})} {
		if _, err := OpenCountries(file); err == nil {
			t.Errorf("%s: it was opened", name)
		}
	}
}

// TestCountryBroken changes octets of a database. The lookup must return a country that the intact
// database contains, no country or an error, and must never panic.
func TestCountryBroken(t *testing.T) {
	whole, err := os.ReadFile(countries(t, geo.Options{},
		map[string]string{"192.0.2.0/24": "BE", "2001:db8::/32": "FR"}))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "c.mmdb")
	for i := range whole {
		data := append([]byte{}, whole...)
		data[i] ^= 0xff
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := OpenCountries(file)
		if err != nil {
			continue
		}
		for _, ip := range []string{"192.0.2.7", "2001:db8::7", "203.0.113.1"} {
			if got, _ := db.Country(netip.MustParseAddr(ip)); got != "" && !countryCode.MatchString(got) {
				t.Errorf("octet %d: %s is in %q", i, ip, got)
			}
		}
	}
}
