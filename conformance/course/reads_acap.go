package course

import (
	"fmt"
	"slices"
	"time"
)

// ReadsACAP says whether a visitor shows that it reads ACAP, and how many of its requests only ACAP
// prohibits.
//
// A crawler that does not know ACAP does not have to obey it. So violations of ACAP are reported
// only after a sign that the crawler reads it. There are two signs. Each is unlikely for a crawler
// that does not read ACAP:
//
//   - After robots.txt, the visitor fetched a file that only an ACAP field of that robots.txt names: a file of a
//     permissions reference, or a resource that must be used in place of a page.
//   - At 7 × (n + 1) or more stations the visitor left the trap, which only ACAP prohibits, and requested the
//     control, which the same kind of bait leads to. n is the number of stations where it requested the trap and not
//     the control. A crawler that stops early, or follows only some of the links, leaves traps and controls alike.
//
// Nothing else is a sign. A crawler that knows no ACAP can also leave a few traps and request
// robots.txt. A crawler that ignores robots.txt also makes requests that ACAP permits against a
// conventional rule.
type ReadsACAP struct {
	Judged     bool   `json:"judged"`         // whether violations of ACAP are reported
	Sign       string `json:"sign,omitempty"` // the sign that the visitor reads ACAP; "" if there is none
	Prohibited int    `json:"prohibited"`     // the number of requests that only ACAP prohibits
}

// acapFiles returns the files of the course that only an ACAP field names. In the result, named is
// the origin whose robots.txt names the file, and origin and path are the address of the file.
func acapFiles() []struct{ named, origin, path string } {
	return []struct{ named, origin, path string }{
		{"refer", "refer", policyRoot + "terms.txt"},
		{"refer", "elsewhere", policyRoot + "terms.txt"},
		{"lost", "lost", policyRoot + "lost.txt"},
		{"acap", "acap", "/acap-must-use/open.txt"},
	}
}

// minLeft is the number of stations at which a visitor must leave the trap and request the control,
// as a sign of reading ACAP. A crawler that requests either the trap or the control at random
// requests seven controls in a row with a probability of 1/128.
const minLeft = 7

// judgeACAP sets ACAP and Counted. If the visitor is not judged by ACAP, it sets the outcomes of
// ACAP stations to NotJudged and removes their evidence.
func (v *Visitor) judgeACAP(w *watch, stations []*Station, against map[*Station][]Evidence, protocols []Protocol) {
	a := &ReadsACAP{Sign: w.findACAPFile()}
	left, taken := 0, 0
	for i, s := range stations {
		if s.Protocol != ACAP || s.Level != Must {
			continue
		}
		a.Prohibited += len(against[s])
		switch {
		case s.Whole:
		case v.Results[i].Outcome == Kept:
			left++
		case len(against[s]) > 0 && !w.requestedAny(s, s.Controls):
			taken++
		}
	}
	if a.Sign == "" && left >= minLeft*(taken+1) {
		a.Sign = fmt.Sprintf("it left the traps of %d exercises that only ACAP closes, and took their controls", left)
	}
	v.ACAP, v.Counted = a, protocols
	if len(protocols) == 0 {
		v.Counted = []Protocol{REP}
		if a.Sign != "" {
			v.Counted = append(v.Counted, ACAP)
		}
	}
	if a.Judged = a.Sign != "" || slices.Contains(v.Counted, ACAP); a.Judged {
		return
	}
	for i := range v.Results {
		if r := &v.Results[i]; r.Protocol == ACAP {
			r.Outcome, r.Why, r.Evidence, r.More = NotJudged, "", nil, 0
		}
	}
}

// findACAPFile returns a sentence about a file that only an ACAP field names and that the visitor
// fetched; "" if there is no such file.
func (w *watch) findACAPFile() string {
	for _, f := range acapFiles() {
		robots, asked := w.fetchedAt(f.named, robotsPath)
		file, got := w.fetchedAt(f.origin, f.path)
		if asked && got && !file.Before(robots) {
			return fmt.Sprintf("it fetched %s%s, which only an ACAP field of %s%s names", f.origin, f.path, f.named,
				robotsPath)
		}
	}
	return ""
}

// fetchedAt returns when the visitor first fetched a file. If the visitor did not fetch it,
// fetchedAt returns when another program at the same address did, if that program requests only
// robots.txt and policy files.
func (w *watch) fetchedAt(origin, path string) (at time.Time, ok bool) {
	v := w.visitor
	if at, ok = w.crowd.got[[3]string{v.kin, origin, path}]; !ok && v.Run == "" {
		at, ok = w.crowd.got[[3]string{"at " + v.Address, origin, path}]
	}
	return at, ok
}

// Failures returns the number of violations of the protocols in Counted.
func (v *Visitor) Failures() int { return v.Violations(v.Counted...) }
