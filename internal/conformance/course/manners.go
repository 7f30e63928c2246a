package course

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// watch holds the visits of one visitor, indexed as the stations need them.
type watch struct {
	visitor *Visitor
	origins map[string][]*Visit
	fetched map[string]bool // origin and target of each GET request
	tried   map[string]bool // origin and target of each request by any method
	crowd   *crowd
	look    bool // the visitor is a single look (see crowd.isSingleLook), so it is not accused of anything
}

// finding is the outcome of a requirement that is tested without traps.
type finding struct {
	outcome  Outcome
	why      string
	evidence []Evidence
}

func newWatch(v *Visitor, c *crowd) *watch {
	w := &watch{visitor: v, origins: map[string][]*Visit{}, fetched: map[string]bool{}, tried: map[string]bool{},
		crowd: c, look: c.isSingleLook(v)}
	for _, at := range v.visits {
		w.origins[at.Origin] = append(w.origins[at.Origin], at)
		address := at.Origin + target(at.Target)
		w.tried[address] = true
		if at.Method == "GET" {
			w.fetched[address] = true
		}
	}
	return w
}

func (w *watch) requested(origin, at string) bool { return w.fetched[origin+target(at)] }

func (w *watch) requestedAny(s *Station, places []string) bool {
	return slices.ContainsFunc(places, func(at string) bool { return w.requested(s.place(at)) })
}

// requestedTrap returns a trap of s that the visitor requested, by any method; "" if there is none.
func (w *watch) requestedTrap(s *Station) string {
	for _, at := range s.Traps {
		if origin, p := s.place(at); w.tried[origin+target(p)] {
			return origin + p
		}
	}
	return ""
}

func evidence(v *Visit, because string) Evidence {
	return Evidence{Visit: *v, File: v.File, Line: v.Line, Because: because}
}

// robotsFirst checks that the visitor requested robots.txt of each origin before anything else of
// that origin.
func robotsFirst(w *watch) finding {
	f := finding{outcome: Untested, why: "it received fewer than two pages"}
	pages := map[string]bool{}
	for _, at := range w.visitor.visits {
		if p := pathOf(at.Target); !policyFile(p) && p != tdmPath && at.answered() {
			pages[at.Origin+target(at.Target)] = true
		}
	}
	if len(pages) < 2 { // a single request may come from a person
		return f
	}
	f = finding{outcome: Kept}
	for _, o := range origins {
		var early *Visit
		asked := false
		for _, at := range w.origins[o.name] {
			switch p := pathOf(at.Target); {
			case p == robotsPath:
				asked = true
			case policyFile(p):
			case !asked && early == nil:
				early = at
			}
		}
		if early == nil {
			continue
		}
		by := w.crowd.robotsReadBefore(w.visitor, early)
		switch {
		case by != nil:
			f.outcome = Untested
			f.why = fmt.Sprintf("robots.txt of %s was requested before by %s: the two may be one crawler", o.name,
				title(by.Agent, by.Address))
		case asked:
			f.evidence = append(f.evidence, evidence(early, "robots.txt of this origin was requested later"))
		default:
			f.evidence = append(f.evidence, evidence(early, "robots.txt of this origin was never requested"))
		}
	}
	if len(f.evidence) > 0 {
		f.outcome, f.why = Violated, ""
	}
	return f
}

// delay is the Crawl-delay of the origin called slow. The judge accepts intervals of at least half
// the delay, because network latency varies.
const delay = time.Second

func crawlDelay(w *watch) finding {
	f := finding{outcome: Untested, why: "it requested fewer than two pages of the origin slow after its robots.txt"}
	var last *Visit
	// a visitor for which no program requested robots.txt must obey the delay from its first
	// request
	asked := !w.tried["slow"+robotsPath] && !slices.ContainsFunc(w.origins["slow"],
		func(at *Visit) bool { return w.crowd.robotsReadBefore(w.visitor, at) != nil })
	pages := 0
	for _, at := range w.origins["slow"] {
		if pathOf(at.Target) == robotsPath {
			asked, last = true, nil
			continue
		}
		if !asked {
			continue
		}
		pages++
		if last != nil && at.Time.Sub(last.Time) < delay/2 {
			f.evidence = append(f.evidence,
				evidence(at, fmt.Sprintf("%d ms after the previous request; slow/robots.txt: Crawl-delay: 1",
					at.Time.Sub(last.Time).Milliseconds())))
		}
		last = at
	}
	switch {
	case len(f.evidence) > 0:
		f.outcome, f.why = Violated, ""
	case pages >= 2:
		f.outcome, f.why = Kept, ""
	}
	return f
}

// maxOpen is how many requests to one origin may be in progress at once.
const maxOpen = 8

func parallel(w *watch) finding {
	f := finding{outcome: Kept}
	for _, at := range w.visitor.visits {
		if at.Open > maxOpen {
			f.evidence = append(f.evidence, evidence(at, fmt.Sprintf("%d requests were in progress", at.Open)))
		}
	}
	if len(f.evidence) > 0 {
		f.outcome = Violated
	}
	return f
}

// robotsAgain checks how often the visitor requested robots.txt. For each origin it permits three
// requests, one more for every three other requests of the crawler to the origin, and one more for
// every hour. An unreachable robots.txt may be requested any number of times.
func robotsAgain(w *watch) finding {
	f := finding{outcome: Untested, why: "it never requested robots.txt"}
	if w.visitor.readsOnlyPolicy() {
		f.why = "it requested nothing else: it may read robots.txt for another visitor"
		return f
	}
	for _, o := range origins {
		var reads []*Visit
		for _, at := range w.origins[o.name] {
			if pathOf(at.Target) == robotsPath {
				reads = append(reads, at)
			}
		}
		if len(reads) == 0 {
			continue
		}
		if f.outcome == Untested {
			f = finding{outcome: Kept}
		}
		last, others := reads[len(reads)-1], w.crowd.others[[2]string{w.visitor.kin, o.name}]
		hours := int(last.Time.Sub(reads[0].Time) / time.Hour)
		if len(reads) > 3+others/3+hours && o.name != "down" && o.name != "broken" {
			f.evidence = append(f.evidence, evidence(last, fmt.Sprintf("robots.txt was requested %d times for %s",
				len(reads), several(others, "other request"))))
		}
	}
	if len(f.evidence) > 0 {
		f.outcome = Violated
	}
	return f
}

func hasName(w *watch) finding {
	if len(w.visitor.Names) > 0 {
		return finding{outcome: Kept}
	}
	because := "the User-Agent has no product token"
	if len(w.visitor.called) > 1 {
		because = "the User-Agent changes, and with it the name"
	}
	if strings.TrimSpace(w.visitor.Agent) == "" {
		because = "there is no User-Agent"
	}
	return finding{outcome: Violated, evidence: []Evidence{evidence(w.visitor.visits[0], because)}}
}
