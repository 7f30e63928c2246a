package acap

import "sort"

// Action is an action request that reaches the crawler (P1 2.6).
type Action struct {
	Action  string // "take-down" or "re-crawl"
	URL     string // absolute, normalised; of the origin of the file
	Field   *Field
	Execute bool   // false: refused, with Why
	Why     string // one clause
}

// The actions of P1 2.6.1 and 2.6.2.
const (
	TakeDown = "take-down"
	ReCrawl  = "re-crawl"
)

// requests lists the action requests of a file and of the files it refers to that reach c. Take-downs come first, so that a
// re-crawl of the same resource confirms its absence (P11, X31). A repeated request is listed once.
func (f *File) requests(c *Crawler, refs []Reference) []Action {
	var out []Action
	seen := map[string]bool{}
	list := func(g *File, foreign bool) {
		for _, r := range g.actions {
			if r.record != nil {
				if reaches, _ := r.record.reaches(c); !reaches || r.record.nobody {
					continue
				}
			}
			a := Action{Action: r.action, Field: r.field, Why: r.why, Execute: r.why == ""}
			if foreign && a.Execute { // P13
				a.Execute, a.Why = false, "it stands in a file of another host"
			}
			u, err := f.resolve(r.path)
			if err != nil || rootOf(u).String() != rootOf(f.base).String() || u.User != nil { // P03
				continue
			}
			a.URL = NewResource(u).URL
			key := a.Action + " " + a.URL
			if seen[key] && a.Execute {
				continue
			}
			seen[key] = seen[key] || a.Execute
			out = append(out, a)
		}
	}
	list(f, false)
	for _, ref := range refs {
		if ref.File != nil && ref.File != f {
			list(ref.File, ref.File.base == nil || f.base == nil || rootOf(ref.File.base).String() != rootOf(f.base).String())
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Action == TakeDown && out[j].Action != TakeDown })
	return out
}
