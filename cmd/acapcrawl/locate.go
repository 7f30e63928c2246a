package main

import (
	"context"
	"fmt"
	"net"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// locate completes who, the reader: it looks up the country and the host names of the reader's IP
// address if the user has not given them and the configuration permits the lookup.
func (c *Command) locate(ctx context.Context, cfg *config.Config, who *acap.Target) error {
	if !who.IP.IsValid() {
		return nil
	}
	if who.Country == "" && cfg.CountryDatabase != "" {
		var err error
		if who.Country, err = c.country(cfg.CountryDatabase, who); err != nil {
			return err
		}
	}
	if len(who.Domains) == 0 && cfg.ReaderDNS {
		names := present.NewNames(c.resolver())
		if c.owner != nil {
			names = c.owner.Names()
		}
		var err error
		if who.Domains, err = names.Of(ctx, who.IP); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			fmt.Fprintf(c.Stderr, "Notice: the reader's domain is not known: %v\n", err)
		}
	}
	return nil
}

// country looks up the country of the IP address of a reader in a database file. It returns every
// error, because a failed lookup must not be treated as an unknown country.
func (c *Command) country(file string, who *acap.Target) (string, error) {
	if err := c.readable(file); err != nil {
		return "", err
	}
	countries, err := present.OpenCountries(file)
	if err != nil {
		return "", misuse("", "country_database: %s: %w", file, bare(err))
	}
	code, err := countries.Country(who.IP)
	if err != nil {
		return "", misuse("", "country_database: %s: %w", file, err)
	}
	return code, nil
}

func (c *Command) resolver() present.Resolver {
	if c.Resolver != nil {
		return c.Resolver
	}
	return net.DefaultResolver
}
