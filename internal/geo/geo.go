// Package geo writes small databases of countries in MaxMind's format, for tests.
package geo

import (
	"errors"
	"net"
	"os"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// Options says what a database claims to be.
type Options struct {
	Type string // "Test-Country" where it is empty
	IPv4 bool   // it holds no IPv6
}

// Write writes to file the country of each network. It is of where the network is used; every network is registered in Greenland.
func Write(file string, o Options, countries map[string]string) error {
	if o.Type == "" {
		o.Type = "Test-Country"
	}
	version := 6
	if o.IPv4 {
		version = 4
	}
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: o.Type, IPVersion: version, RecordSize: 24, IncludeReservedNetworks: true})
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
