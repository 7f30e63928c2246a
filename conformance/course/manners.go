package course

import (
	"fmt"
	"strings"
	"time"
)

// watch is the record of one visitor, by origin.
type watch struct {
	visitor *Visitor
	origins map[string][]*Visit
	fetched map[string]bool // origin and target of what was got
}

// finding is what a record says of a requirement that is no trap.
type finding struct {
	outcome  Outcome
	why      string
	evidence []Evidence
}

func newWatch(v *Visitor) *watch {
	w := &watch{visitor: v, origins: map[string][]*Visit{}, fetched: map[string]bool{}}
	for _, at := range v.visits {
		w.origins[at.Origin] = append(w.origins[at.Origin], at)
		if at.Method == "GET" {
			w.fetched[at.Origin+target(at.Target)] = true
		}
	}
	return w
}

func (w *watch) requested(origin, at string) bool { return w.fetched[origin+target(at)] }

func (w *watch) any(s *Station, places []string) bool {
	for _, p := range places {
		if w.requested(s.place(p)) {
			return true
		}
	}
	return false
}

func evidence(v *Visit, because string) Evidence {
	return Evidence{Visit: *v, File: v.File, Line: v.Line, Because: because}
}

// robotsFirst looks at the first request to each origin.
func robotsFirst(w *watch) finding {
	f := finding{outcome: Untested, why: "it requested fewer than two pages"}
	pages := map[string]bool{}
	for _, at := range w.visitor.visits {
		if !policyFile(pathOf(at.Target)) {
			pages[at.Origin+target(at.Target)] = true
		}
	}
	if len(pages) < 2 { // one request is somebody's curiosity
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
		switch {
		case early != nil && asked:
			f.evidence = append(f.evidence, evidence(early, "robots.txt of this origin was requested later"))
		case early != nil:
			f.evidence = append(f.evidence, evidence(early, "robots.txt of this origin was never requested"))
		}
	}
	if len(f.evidence) > 0 {
		f.outcome = Violated
	}
	return f
}

// delay is what the origin slow asks for. Requests are held against half of it: nobody is blamed for the way that they take.
const delay = time.Second

func crawlDelay(w *watch) finding {
	f := finding{outcome: Untested, why: "it requested fewer than two pages of the origin slow after its robots.txt"}
	var last *Visit
	asked, pages := false, 0
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
			f.evidence = append(f.evidence, evidence(at, fmt.Sprintf("%d ms after the request before it; slow/robots.txt: Crawl-delay: 1", at.Time.Sub(last.Time).Milliseconds())))
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

// maxOpen is how many requests to one origin may be under way at once.
const maxOpen = 8

func parallel(w *watch) finding {
	f := finding{outcome: Kept}
	for _, at := range w.visitor.visits {
		if at.Open > maxOpen {
			f.evidence = append(f.evidence, evidence(at, fmt.Sprintf("%d requests were under way", at.Open)))
		}
	}
	if len(f.evidence) > 0 {
		f.outcome = Violated
	}
	return f
}

// robotsAgain lets robots.txt of an origin be read once for each three other requests, and three times besides.
func robotsAgain(w *watch) finding {
	f := finding{outcome: Untested, why: "it never asked for robots.txt"}
	for _, o := range origins {
		var reads, others int
		var last *Visit
		for _, at := range w.origins[o.name] {
			switch p := pathOf(at.Target); {
			case p == robotsPath:
				reads, last = reads+1, at
			case !policyFile(p):
				others++
			}
		}
		if reads > 0 && f.outcome == Untested {
			f = finding{outcome: Kept}
		}
		if reads > 3+others/3 && o.name != "down" && o.name != "broken" { // what could not be read may be tried again
			f.evidence = append(f.evidence, evidence(last, fmt.Sprintf("robots.txt was requested %d times for %d other requests", reads, others)))
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
	if strings.TrimSpace(w.visitor.Agent) == "" {
		because = "there is no User-Agent"
	}
	return finding{outcome: Violated, evidence: []Evidence{evidence(w.visitor.visits[0], because)}}
}
