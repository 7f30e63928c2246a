package course

import (
	"fmt"
	"slices"
)

// maxVisitors is the highest number of visitors that are judged. Later visitors are left out.
const maxVisitors = 1000

// groupVisitors groups visits by visitor, in the order of arrival. left is the number of visits by
// visitors beyond maxVisitors.
func groupVisitors(visits []Visit, told Told) (list []*Visitor, left int) {
	sorted := make([]*Visit, len(visits))
	for i := range visits {
		sorted[i] = &visits[i]
	}
	slices.SortStableFunc(sorted, func(a, b *Visit) int { return a.Time.Compare(b.Time) })
	known, agents := map[string]*Visitor{}, map[string]bool{}
	list = []*Visitor{} // not nil, so that JSON has []
	for _, at := range sorted {
		key := fmt.Sprintf("%q %q %q %q", at.Address, at.Agent, at.Names, at.Purposes)
		if at.Run != "" {
			key = "run " + at.Run
		}
		v := known[key]
		if v == nil && len(list) == maxVisitors {
			left++
			continue
		}
		if v == nil {
			v = newVisitor(at, told)
			known[key] = v
			list = append(list, v)
		}
		if n := len(v.visits); n > 0 && v.visits[n-1].same(at) { // a visit that two overlapping logs contain
			continue
		}
		if agent := fmt.Sprintf("%q %q", key, at.Agent); !agents[agent] {
			agents[agent] = true
			v.Agents++
			v.addCalledName(at)
		}
		v.Last = at.Time
		v.Requests++
		v.visits = append(v.visits, at)
	}
	for _, v := range list {
		v.setServedNames()
	}
	return list, left
}

// newVisitor returns a visitor with the properties of its first visit.
func newVisitor(at *Visit, told Told) *Visitor {
	v := &Visitor{Agent: at.Agent, Address: at.Address, Run: at.Run, Names: at.Names, Purposes: at.Purposes,
		First: at.Time}
	v.kin = kin(at.Agent)
	if v.Run != "" {
		v.kin = "run " + v.Run // no name contains a blank, so no other visitor has this value
	}
	if len(told.Purposes) > 0 {
		v.Purposes = told.Purposes
	}
	if v.told = len(told.Crawler) > 0; v.told {
		v.Names = told.Crawler
	}
	return v
}

// addCalledName adds the name by which robots.txt addressed the visitor in this visit: the first
// name of its User-Agent.
func (v *Visitor) addCalledName(at *Visit) {
	name := ""
	if len(at.Names) > 0 {
		name = at.Names[0]
	}
	if len(v.called) < maxVisitors && !slices.Contains(v.called, name) {
		v.called = append(v.called, name)
	}
}

// setServedNames sets the names under which the course was served to the visitor. If a run sent
// several first names, no robots.txt addressed it by all of them, so the visitor is judged as a
// crawler without a name.
func (v *Visitor) setServedNames() {
	if v.Agents == 1 {
		v.Agents = 0
	}
	v.served = v.visits[0].Names
	if len(v.called) > 1 {
		v.served = nil
		if !v.told {
			v.Names = nil
		}
	}
}
