package present

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"

	"github.com/oschwald/maxminddb-golang/v2"
)

// Countries is a database that maps IP addresses to the countries where they are used, in MaxMind's
// format. It is safe for concurrent use.
type Countries struct{ db *maxminddb.Reader }

var countryCode = regexp.MustCompile(`^[A-Z]{2}$`)

// OpenCountries reads a database file into memory, so that the file may be replaced or overwritten
// at any time.
func OpenCountries(file string) (*Countries, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	db, err := maxminddb.OpenBytes(data)
	if err != nil {
		return nil, fmt.Errorf("it is not a database in MaxMind's format: %w", err)
	}
	for _, kind := range []string{"Country", "City", "Enterprise"} {
		if strings.Contains(db.Metadata.DatabaseType, kind) {
			return &Countries{db}, nil
		}
	}
	return nil, fmt.Errorf("a database of type %q does not contain countries", db.Metadata.DatabaseType)
}

// Country returns the ISO 3166 code of the country where ip is used, not where it is registered; ""
// if the database does not contain it.
func (c *Countries) Country(ip netip.Addr) (string, error) {
	ip = ip.Unmap() // K09: an IPv4 address written as IPv6 has the country of the IPv4 address
	if ip.Is6() && c.db.Metadata.IPVersion == 4 {
		return "", nil
	}
	var code *string
	if err := c.db.Lookup(ip).DecodePath(&code, "country", "iso_code"); err != nil || code == nil {
		return "", err
	}
	if !countryCode.MatchString(*code) {
		return "", fmt.Errorf("its value %q for %s is not a country code", *code, ip)
	}
	return *code, nil
}
