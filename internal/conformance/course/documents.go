package course

import (
	"fmt"
	"strings"
	"time"
)

// tdmFirst checks that the crawler requested tdmrep.json of the origin tdm before the first page of
// that origin.
func tdmFirst(w *watch) finding {
	if w.look {
		return finding{outcome: Untested, why: onlyLook}
	}
	for _, at := range w.origins["tdm"] {
		if p := pathOf(at.Target); policyFile(p) || p == tdmPath {
			continue
		}
		if read, ok := w.fetchedAt("tdm", tdmPath); !ok {
			return finding{outcome: Violated, evidence: []Evidence{evidence(at, "tdmrep.json was never requested")}}
		} else if read.After(at.Time) {
			return finding{outcome: Violated, evidence: []Evidence{evidence(at, "tdmrep.json was requested later")}}
		}
		return finding{outcome: Kept}
	}
	return finding{outcome: Untested, why: "it requested no page of the origin tdm"}
}

// tdmOnce checks that the visitor requested tdmrep.json of the origin tdm once for each time that
// it requested robots.txt.
func tdmOnce(w *watch) finding {
	robots := 0
	for _, at := range w.origins["tdm"] {
		if at.Method == "GET" && at.Target == robotsPath {
			robots++
		}
	}
	return w.requestedAtMost("tdm", tdmPath, max(robots, 1))
}

// documentOnce checks that the visitor requested each licence document that robots.txt or several
// pages name once. The documents of the course are fresh for 30 days.
func documentOnce(w *watch) finding {
	f := finding{outcome: Untested, why: "it never requested a licence document"}
	for _, d := range [][2]string{{"rsl", policyRoot + "licence.xml"}, {"rslpages", policyRoot + "page.xml"}} {
		f = f.and(w.requestedAtMost(d[0], d[1], 1))
	}
	return f
}

// paidOnce checks that the visitor requested each page that asks for a licence once.
func paidOnce(w *watch) finding {
	f := finding{outcome: Untested, why: "it never requested a page that asks for a licence"}
	for _, at := range paidPages() {
		f = f.and(w.requestedAtMost("rslpaid", at, 1))
	}
	return f
}

// discardedOnce checks that the visitor requested each page whose own licence needs a licence
// server once.
func discardedOnce(w *watch) finding {
	f := finding{outcome: Untested, why: "it never requested a page whose own licence needs a licence server"}
	for _, id := range []string{"rsl-header", "rsl-link", "rsl-inline"} {
		f = f.and(w.requestedAtMost("rslpages", "/"+id+"/bait.html", 1))
	}
	return f
}

// and returns the joint outcome of two checks: Violated if one is, else Kept if one is.
func (f finding) and(o finding) finding {
	switch {
	case o.outcome == Untested:
		return f
	case f.outcome != Violated:
		return o
	}
	f.evidence = append(f.evidence, o.evidence...)
	return f
}

// requestedAtMost checks that the visitor requested a path at most as often as most says, and once
// more for every hour.
func (w *watch) requestedAtMost(origin, path string, most int) finding {
	var reads []*Visit
	for _, at := range w.origins[origin] {
		if at.Method == "GET" && target(at.Target) == target(path) {
			reads = append(reads, at)
		}
	}
	if len(reads) == 0 {
		return finding{outcome: Untested, why: "it never requested " + origin + path}
	}
	last := reads[len(reads)-1]
	if len(reads) <= most+int(last.Time.Sub(reads[0].Time)/time.Hour) {
		return finding{outcome: Kept}
	}
	return finding{outcome: Violated,
		evidence: []Evidence{evidence(last, fmt.Sprintf("it was requested %d times", len(reads)))}}
}

// Limits of requests for licence documents.
const (
	maxLoop      = 20 // requests for a document that redirects in a circle, within an hour
	maxDocuments = 50 // licence documents of one robots.txt
)

// documentLoop checks that the visitor stops to follow redirects that lead in a circle.
func documentLoop(w *watch) finding {
	return w.boundedBelow("rslloop", policyRoot+"loop/", maxLoop, "requests for a document that redirects in a circle")
}

// documentsBounded checks that the visitor requests a limited number of the documents that one
// robots.txt names.
func documentsBounded(w *watch) finding {
	return w.boundedBelow("rslmany", policyRoot+"many/", maxDocuments, "requests for licence documents of one origin")
}

// boundedBelow checks that the visitor made at most as many requests for paths with a prefix as
// most says, within an hour of the first.
func (w *watch) boundedBelow(origin, prefix string, most int, what string) finding {
	var reads []*Visit
	for _, at := range w.origins[origin] {
		if strings.HasPrefix(at.Target, prefix) && (len(reads) == 0 || at.Time.Sub(reads[0].Time) < time.Hour) {
			reads = append(reads, at)
		}
	}
	switch {
	case len(reads) == 0:
		return finding{outcome: Untested, why: "it never requested a document below " + origin + prefix}
	case len(reads) <= most:
		return finding{outcome: Kept}
	}
	return finding{outcome: Violated,
		evidence: []Evidence{evidence(reads[most], fmt.Sprintf("%d %s", len(reads), what))}}
}
