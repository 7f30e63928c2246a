package acap

import (
	"fmt"
	"net/url"
	"sort"
)

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

// maxReCrawls bounds the re-crawls that one policy may ask for; take-downs are not limited (P09).
const maxReCrawls = 1000

// requests lists the action requests of a file and of the files it refers to that reach c. Take-downs come first, so that a
// re-crawl of the same resource confirms its absence (P11, X31). A repeated request is listed once.
func (f *File) requests(c *Crawler, refs []Reference, tell *reporter) []Action {
	var out []Action
	seen := map[string]bool{}
	root, recrawls := rootOf(f.base), 0
	var last *record
	reached := false
	list := func(g *File, foreign bool) {
		for _, r := range g.actions {
			if r.record != nil && r.record != last {
				last = r.record
				reached, _ = last.reaches(c)
				reached = reached && !last.nobody
			}
			if r.record != nil && !reached {
				continue
			}
			a := Action{Action: r.action, Field: r.field, Why: r.why, Execute: r.why == ""}
			if foreign && a.Execute { // P13
				a.refuse(tell, "it stands in a file of another host")
			}
			u, err := f.resolve(r.path)
			if err != nil || *rootOf(u) != *root || u.User != nil { // P03
				continue
			}
			a.URL = NewResource(u).URL
			key := a.Action + " " + a.URL
			if seen[key] && a.Execute {
				continue
			}
			seen[key] = seen[key] || a.Execute
			if a.Action == ReCrawl && a.Execute {
				if recrawls++; recrawls > maxReCrawls { // P09
					a.refuse(tell, fmt.Sprintf("%d re-crawls are requested before it", maxReCrawls))
				}
			}
			out = append(out, a)
		}
	}
	list(f, false)
	for i := range refs {
		if ref := &refs[i]; ref.File != nil && ref.File != f {
			list(ref.File, root == nil || !ref.from(root))
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Action == TakeDown && out[j].Action != TakeDown })
	return out
}

// refuse notes why a request that is well formed is not executed.
func (a *Action) refuse(tell *reporter, why string) {
	a.Execute, a.Why = false, why
	tell.report(a.Field, "refused-request", Error, "", "the request is not executed: %s", why)
}

// from reports whether the file that a reference led to is of the origin with the given root, also after redirects.
func (r *Reference) from(root *url.URL) bool {
	if r.File.base == nil || *rootOf(r.File.base) != *root {
		return false
	}
	if r.Final == "" {
		return true
	}
	final, err := url.Parse(r.Final)
	return err == nil && *rootOf(final) == *root
}
