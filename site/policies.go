package site

import (
	"context"
	"fmt"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/address"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// lastPolicies answers for policies without a request, by the version that was read last (H11: a
// reader of what is held requests nothing), with the take-downs in force.
type lastPolicies struct {
	*policy.Authority
	ledger *actions.Ledger
}

func (s *Site) lastPolicies() lastPolicies { return lastPolicies{s.policy, s.ledger} }

// LastPolicies returns the policies that were read last, with the take-downs in force. They answer
// without a request.
func (s *Site) LastPolicies() terms.Policies { return s.lastPolicies() }

// Policy returns the policy of u's origin that was read last.
func (p lastPolicies) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	o, known := p.Held(u)
	if !known {
		return nil, fmt.Errorf("the policy of %s was never read", u.Host)
	}
	return p.ledger.Bind(o.Key, o.Policy)
}

// version returns the version of policy that is in force for u; zero if none was read.
func (p lastPolicies) version(u *url.URL) archive.PolicyVersion {
	o, known := p.Held(u)
	if !known || o.Since.IsZero() {
		return archive.PolicyVersion{}
	}
	return archive.PolicyVersion{Origin: o.Key, Since: o.Since}
}

// mayBeTakenDown reports whether a take-down of the page at an address is in force, or may be: as
// long as a policy cannot be read whole, nobody knows.
func (s *Site) mayBeTakenDown(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	o, known := s.policy.Held(u)
	if !known || o.Status == policy.Unreachable || o.Incomplete {
		return true
	}
	p, err := s.lastPolicies().Policy(context.Background(), u)
	return err != nil || terms.TakeDown(p, u) != nil
}

// blockTakenDown blocks in a queue, which may be nil, the pages that o asks to take down, and
// queues those again that it no longer asks for.
func (s *Site) blockTakenDown(f *crawler.Frontier, o *policy.Origin) error {
	if f == nil {
		return nil
	}
	down, err := s.takenDownBy(o)
	if err == nil {
		err = f.Bar(down...)
	}
	if err == nil {
		_, err = f.Lift(o.Key+"/", s.mayBeTakenDown)
	}
	return err
}

// blockRedirects blocks in a queue the addresses that redirect to pages taken down, before the
// redirects are erased.
func (s *Site) blockRedirects(f *crawler.Frontier) error {
	origins, err := s.policy.Origins()
	if err != nil {
		return err
	}
	for _, key := range origins {
		o, known := s.policy.HeldOf(key)
		if !known {
			continue
		}
		down, err := s.takenDownBy(o)
		if err != nil {
			return err
		}
		for _, address := range down {
			if err := blockRedirectsTo(s.holdings, f, address); err != nil {
				return err
			}
		}
	}
	return nil
}

// takenDownBy returns the addresses that an origin asks to take down, in every spelling that pages
// are held under.
func (s *Site) takenDownBy(o *policy.Origin) (addresses []string, err error) {
	p, err := s.ledger.Bind(o.Key, o.Policy)
	if err != nil {
		return nil, err
	}
	for _, a := range p.Actions() {
		address, err := address.Normal(a.URL)
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
