package main

import (
	"context"
	"errors"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// bar tells a frontier, which may be nil, what is taken down of an origin, and queues again what no longer is.
func (s *store) bar(f *crawler.Frontier, o *policy.Origin) error {
	if f == nil {
		return nil
	}
	down, err := s.down(o)
	if err == nil {
		err = f.Bar(down...)
	}
	if err == nil {
		_, err = f.Lift(o.Key+"/", s.stands)
	}
	return err
}

// barLed tells a frontier what leads to what is taken down, before that is forgotten.
func (s *store) barLed(f *crawler.Frontier) error {
	origins, err := s.policy.Origins()
	if err != nil {
		return err
	}
	for _, key := range origins {
		o, known := s.policy.HeldOf(key)
		if !known {
			continue
		}
		down, err := s.down(o)
		for _, address := range down {
			err = errors.Join(err, barLed(s.holdings, f, address))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func barLed(h *holdings.Holdings, f *crawler.Frontier, down string) error {
	led, err := h.Aliases(down)
	return errors.Join(err, f.BarLed(down, led...))
}

// down gives the addresses of an origin that are taken down, however they are spelt.
func (s *store) down(o *policy.Origin) (addresses []string, err error) {
	p, err := s.ledger.Bind(o.Key, o.Policy)
	if err != nil {
		return nil, err
	}
	for _, a := range p.Actions() {
		address, err := crawler.Normal(a.URL)
		if err != nil || a.Action != acap.TakeDown || !a.Execute {
			continue
		}
		spelt, err := s.holdings.Spellings(address)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, spelt...)
	}
	return addresses, nil
}

// stands reports whether a take-down of what is at an address stands, or may: as long as a policy cannot be read whole, nobody knows.
func (s *store) stands(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	o, known := s.policy.Held(u)
	if !known || o.Status == policy.Unreachable || o.Incomplete {
		return true
	}
	p, err := s.held().Policy(context.Background(), u)
	return err != nil || terms.TakeDown(p, u) != nil
}
