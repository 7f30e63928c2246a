package course

import (
	"slices"
	"strings"
	"time"
)

// crowd indexes the visits of all visitors. A crawler may come from several addresses and with
// several User-Agents that share a name. It may also leave reading robots.txt to another program at
// its address. So the visits of one visitor can excuse another. Each run is one visitor, and visits
// of other visitors do not excuse it.
type crowd struct {
	// (common part of the User-Agents, origin) → the first request for robots.txt; see func kin
	robots map[[2]string]*Visit
	// (address, origin) → the first request for robots.txt, only of visitors that requested nothing
	// but policy files
	readers map[[2]string]*Visit
	// (common part of the User-Agents, origin, target) → time of the first GET. For visitors that
	// requested only policy files also ("at " and address, origin, target)
	got map[[3]string]time.Time
	// (common part of the User-Agents, origin) → number of requests for anything but policy files
	others map[[2]string]int
	pages  map[string]int // User-Agent → number of different pages that it got
}

func newCrowd(list []*Visitor) *crowd {
	c := &crowd{robots: map[[2]string]*Visit{}, readers: map[[2]string]*Visit{}, got: map[[3]string]time.Time{},
		others: map[[2]string]int{}, pages: map[string]int{}}
	seen := map[[3]string]bool{}
	for _, v := range list {
		reads := v.Run == "" && v.readsOnlyPolicy()
		for _, at := range v.visits {
			by, from := [2]string{v.kin, at.Origin}, [2]string{v.Address, at.Origin}
			page := [3]string{v.kin, at.Origin, target(at.Target)}
			if reads {
				c.recordGet([3]string{"at " + v.Address, at.Origin, target(at.Target)}, at)
			}
			c.recordGet(page, at)
			switch p := pathOf(at.Target); {
			case p == robotsPath:
				c.robots[by] = earlier(c.robots[by], at)
				if reads {
					c.readers[from] = earlier(c.readers[from], at)
				}
				continue
			case policyFile(p):
				continue
			}
			c.others[by]++
			if page[0] = v.Agent; at.answered() && !seen[page] {
				seen[page] = true
				c.pages[v.Agent]++
			}
		}
	}
	return c
}

// recordGet stores the time of the visit at under the key page, if the visit is a GET request and
// earlier than the stored time.
func (c *crowd) recordGet(page [3]string, at *Visit) {
	if t, ok := c.got[page]; at.Method == "GET" && (!ok || at.Time.Before(t)) {
		c.got[page] = at.Time
	}
}

// kin returns what the User-Agents of one crawler have in common: the first name in lower case, or
// the whole User-Agent if it has no name.
func kin(agent string) string {
	if names := Names(agent); len(names) > 0 {
		return strings.ToLower(names[0])
	}
	return agent
}

func earlier(a, b *Visit) *Visit {
	if a == nil || b.Time.Before(a.Time) {
		return b
	}
	return a
}

// answered reports whether the visitor got a page, and not a redirect or an error. A broken
// connection has status 0 and counts as answered.
func (v *Visit) answered() bool { return v.Status < 300 }

// readsOnlyPolicy reports whether a visitor requested nothing but robots.txt and policy files.
func (v *Visitor) readsOnlyPolicy() bool {
	return !slices.ContainsFunc(v.visits, func(at *Visit) bool {
		p := pathOf(at.Target)
		return !policyFile(p) && p != tdmPath
	})
}

// robotsReadBefore returns a request for robots.txt of the same origin that another visitor made
// before the visit at. The other visitor is the same crawler with another address or User-Agent, or
// a program at the same address that requests only policy files. robotsReadBefore returns nil if
// there is no such request, or if v is a run of a crawler that the course started.
func (c *crowd) robotsReadBefore(v *Visitor, at *Visit) *Visit {
	if v.Run != "" {
		return nil
	}
	for _, by := range []*Visit{c.robots[[2]string{v.kin, at.Origin}], c.readers[[2]string{v.Address, at.Origin}]} {
		if by != nil && by.Time.Compare(at.Time) <= 0 && (by.Agent != v.Agent || by.Address != v.Address) {
			return by
		}
	}
	return nil
}

// robotsReader is like robotsReadBefore, but returns nil if a visitor with the name of the crawler
// had already requested robots.txt. If the result is not nil, the crawler knows only the robots.txt
// that was served to the other program.
func (c *crowd) robotsReader(v *Visitor, at *Visit) *Visit {
	if own := c.robots[[2]string{v.kin, at.Origin}]; own != nil && own.Time.Compare(at.Time) <= 0 {
		return nil
	}
	return c.robotsReadBefore(v, at)
}

// gotLinkBefore reports whether, before the visit, the crawler had fetched the page whose link
// leads to the traps of s. A crawler that had not fetched that page did not follow the link. If s
// does not depend on a link, gotLinkBefore returns true.
func (c *crowd) gotLinkBefore(v *Visitor, s *Station, at *Visit) bool {
	t, ok := c.got[[3]string{v.kin, s.Origin, target(s.From)}]
	return s.From == "" || ok && !at.Time.Before(t)
}

// unreachableLimit is how long robots.txt must be unreachable before a crawler may ignore it:
// RFC 9309 2.3.1.4 says after 30 days.
const unreachableLimit = 30 * 24 * time.Hour

// waitedLongEnough reports whether the crawler requested the unreachable robots.txt of s for the
// first time more than unreachableLimit before the visit.
func (c *crowd) waitedLongEnough(v *Visitor, s *Station, at *Visit) bool {
	asked := c.robots[[2]string{v.kin, at.Origin}]
	return s.Whole && s.Protocol == REP && asked != nil && at.Time.Sub(asked.Time) > unreachableLimit
}

// isSingleLook reports whether the visitor requested no robots.txt and its User-Agent got at most
// one page, from any address. Such a visitor is a person who tries a tool, not a crawl. The run of
// a crawler that the course started is never a single look.
func (c *crowd) isSingleLook(v *Visitor) bool {
	return v.Run == "" && c.pages[v.Agent] < 2 &&
		!slices.ContainsFunc(v.visits, func(at *Visit) bool { return pathOf(at.Target) == robotsPath })
}
