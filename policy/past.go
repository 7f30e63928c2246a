package policy

import (
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// maxPast is of how many origins earlier versions are kept in memory.
const maxPast = 16

// past holds the versions of an origin's policy, for one crawler. mu of Authority protects it.
type past struct {
	last     time.Time // Since of the version that was read last when the others were loaded
	versions []Version
	policies []*acap.Policy // nil until they are needed
}

// At returns the policy of the origin of u that was in force at a time. It returns nil if that is the
// policy that was read last, if no policy was known then, or if the crawler obeys no vocabulary for
// which the past counts. It also returns nil if the store fails, because then today's policy cannot be
// read either.
func (a *Authority) At(u *url.URL, t time.Time) *acap.Policy {
	if _, last, err := a.Since(u); err != nil || last.IsZero() || !t.Before(last) {
		return nil
	}
	return a.Then(u, t)
}

// Then is At, but also returns the policy that was read last, if it was in force at the time.
func (a *Authority) Then(u *url.URL, t time.Time) *acap.Policy {
	if len(a.crawler.Vocabularies) == 0 {
		return nil
	}
	key, last, err := a.Since(u)
	if err != nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	of := pastKey{key, a.id}
	p := a.past[of]
	if p == nil || !p.last.Equal(last) {
		versions, err := a.store.History(key)
		if err != nil {
			return nil
		}
		if len(a.past) >= maxPast {
			clear(a.past)
		}
		p = &past{last: last, versions: versions, policies: make([]*acap.Policy, len(versions))}
		a.past[of] = p
	}
	for i := len(p.versions) - 1; i >= 0; i-- {
		v := &p.versions[i]
		if v.Since.After(t) {
			continue
		}
		if p.policies[i] == nil {
			p.policies[i] = a.build(key, parse(key, v.Robots), v).Policy
		}
		return p.policies[i]
	}
	return nil
}

// pastKey is the key of an origin and of a crawler.
type pastKey struct{ origin, crawler string }
