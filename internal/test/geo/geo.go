// Package geo writes small databases of networks and countries in MaxMind's format, for tests.
package geo

import (
	"errors"
	"net"
	"os"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// Options are the properties of a database.
type Options struct {
	Type string // "": "Test-Country"
	IPv4 bool   // the database has no IPv6 networks
}

// Write writes a database to file. countries maps a network to the code of the country where it is
// used; "" omits the country. Each network is registered in Greenland, so tests notice if the wrong
// record is read.
func Write(file string, o Options, countries map[string]string) error {
	if o.Type == "" {
		o.Type = "Test-Country"
	}
	version := 6
	if o.IPv4 {
		version = 4
	}
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: o.Type, IPVersion: version, RecordSize: 24,
		IncludeReservedNetworks: true})
	if err != nil {
		return err
	}
	for network, code := range countries {
		_, prefix, err := net.ParseCIDR(network)
		if err != nil {
			return err
		}
		record := mmdbtype.Map{"registered_country": mmdbtype.Map{"iso_code": mmdbtype.String("GL")}}
		if code != "" {
			record["country"] = mmdbtype.Map{"iso_code": mmdbtype.String(code)}
		}
		if err := tree.Insert(prefix, record); err != nil {
			return err
		}
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = tree.WriteTo(f)
	return errors.Join(err, f.Close())
}
