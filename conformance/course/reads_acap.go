package course

import (
	"fmt"
	"slices"
	"time"
)

// ReadsACAP says whether a visitor shows that it reads ACAP, and how many of its requests ACAP
// alone prohibits.
//
// A crawler owes ACAP nothing if it does not know it, so violations of ACAP are counted only after
// a sign that it does. There are two signs, and each is unlikely for a crawler that does not read
// ACAP:
//
//   - after robots.txt it fetched a file that only an ACAP field of that robots.txt names: one of a permissions
//     reference, or one that must be used in the place of a page;
//   - it left, in at least seven exercises, the trap that only ACAP closes and took the control, which the same
//     kind of bait offers; and seven times as many as those in which it took the trap and left the control.
//     A crawler that stops early, or takes a part of the links, meets with both alike.
//
// Nothing else is a sign: not a few traps that were left, nor a request for robots.txt, nor a
// request that ACAP permits against a conventional rule, which a crawler that ignores robots.txt
// makes too.
type ReadsACAP struct {
	Judged     bool   `json:"judged"`         // violations of ACAP are reported
	Sign       string `json:"sign,omitempty"` // that the visitor reads ACAP; empty: there is none
	Prohibited int    `json:"prohibited"`     // requests of the visitor that only ACAP prohibits
}

// acapFiles are the files of the course that only an ACAP field names, and the origin of its
// robots.txt.
func acapFiles() []struct{ named, origin, path string } {
	return []struct{ named, origin, path string }{
		{"refer", "refer", policyRoot + "terms.txt"},
		{"refer", "elsewhere", policyRoot + "terms.txt"},
		{"lost", "lost", policyRoot + "lost.txt"},
		{"acap", "acap", "/acap-must-use/open.txt"},
	}
}

// minLeft is how many traps have to be left for a sign: of crawlers that take links by chance, 1 in
// 128 leaves seven traps and no control.
const minLeft = 7

// judgeACAP fills ACAP and Counted, and takes back what is said of ACAP if it is not judged.
func (v *Visitor) judgeACAP(w *watch, stations []*Station, against map[*Station][]Evidence, protocols []Protocol) {
	a := &ReadsACAP{Sign: w.acapFile()}
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
		case len(against[s]) > 0 && !w.any(s, s.Controls):
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

// acapFile says which file that only ACAP names the visitor fetched; "" if none.
func (w *watch) acapFile() string {
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

// fetchedAt returns when the visitor first got a file, or the program at its address that reads
// files of terms for it.
func (w *watch) fetchedAt(origin, path string) (at time.Time, ok bool) {
	v := w.visitor
	if at, ok = w.crowd.got[[3]string{v.kin, origin, path}]; !ok && v.Run == "" {
		at, ok = w.crowd.got[[3]string{"at " + v.Address, origin, path}]
	}
	return at, ok
}

// Failures counts the violations that count.
func (v *Visitor) Failures() int { return v.Violations(v.Counted...) }
