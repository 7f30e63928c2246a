package course

import (
	"slices"
	"strings"
	"time"
)

// crowd is what the visitors of a record have in common. A crawler may come from several addresses
// and under several User-Agents with one name, and may leave it to another program at its address
// to read robots.txt: so what one visitor does can excuse another. A run is one visitor, and the
// visits of others do not affect it.
type crowd struct {
	robots  map[[2]string]*Visit    // first request for robots.txt, by kin and origin
	readers map[[2]string]*Visit    // the same by address and origin, of visitors that requested nothing but files of terms
	got     map[[3]string]time.Time // first GET, by kin, origin and target; by address instead of kin of those visitors
	others  map[[2]string]int       // requests for all but files of terms, by kin and origin
	pages   map[string]int          // different pages that were answered, by User-Agent
}

func newCrowd(list []*Visitor) *crowd {
	c := &crowd{robots: map[[2]string]*Visit{}, readers: map[[2]string]*Visit{}, got: map[[3]string]time.Time{},
		others: map[[2]string]int{}, pages: map[string]int{}}
	seen := map[[3]string]bool{}
	for _, v := range list {
		reads := v.Run == "" && v.onlyReads()
		for _, at := range v.visits {
			by, from := [2]string{v.kin, at.Origin}, [2]string{v.Address, at.Origin}
			page := [3]string{v.kin, at.Origin, target(at.Target)}
			if reads {
				c.get([3]string{"at " + v.Address, at.Origin, target(at.Target)}, at)
			}
			c.get(page, at)
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

// get notes a visit to a page, or file of terms, by whom it is.
func (c *crowd) get(page [3]string, at *Visit) {
	if t, ok := c.got[page]; at.Method == "GET" && (!ok || at.Time.Before(t)) {
		c.got[page] = at.Time
	}
}

// kin is what the User-Agents of one crawler have in common: their first name.
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

// answered reports whether the visitor was given a page, and neither sent on nor told that there is none.
func (v *Visit) answered() bool { return v.Status < 300 }

// onlyReads reports whether a visitor requested files of terms alone.
func (v *Visitor) onlyReads() bool {
	return !slices.ContainsFunc(v.visits, func(at *Visit) bool { return !policyFile(pathOf(at.Target)) })
}

// read gives who asked for robots.txt of the origin before a visit in the place of the visitor, which did not; nil where nobody did.
func (c *crowd) read(v *Visitor, at *Visit) *Visit {
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

// reader gives who had asked for robots.txt of the origin when the visitor itself, by its name, had not yet: what it knows of that origin
// is what the other was told.
func (c *crowd) reader(v *Visitor, at *Visit) *Visit {
	if own := c.robots[[2]string{v.kin, at.Origin}]; own != nil && own.Time.Compare(at.Time) <= 0 {
		return nil
	}
	return c.read(v, at)
}

// led reports whether the crawler had got the page with the link that leads to the traps of s by the time of the visit; without it
// no link was followed.
func (c *crowd) led(v *Visitor, s *Station, at *Visit) bool {
	t, ok := c.got[[3]string{v.kin, s.Origin, target(s.From)}]
	return s.From == "" || ok && !at.Time.Before(t)
}

// patience is for how long robots.txt has to be unreachable before a crawler may do without (RFC 9309 2.3.1.4).
const patience = 30 * 24 * time.Hour

// outlasted reports whether the crawler had by the time of a visit waited long enough for a robots.txt that cannot be had.
func (c *crowd) outlasted(v *Visitor, s *Station, at *Visit) bool {
	asked := c.robots[[2]string{v.kin, at.Origin}]
	return s.Whole && s.Protocol == REP && asked != nil && at.Time.Sub(asked.Time) > patience
}

// look reports whether a visitor only had a look: one page, and no robots.txt. A run is never one.
func (c *crowd) look(v *Visitor) bool {
	return v.Run == "" && c.pages[v.Agent] < 2 &&
		!slices.ContainsFunc(v.visits, func(at *Visit) bool { return pathOf(at.Target) == robotsPath })
}
