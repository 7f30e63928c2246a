package course

import (
	"fmt"
	"slices"
	"time"
)

// Reads says whether a visitor shows that it reads a protocol that crawlers need not know, and how
// many of its requests only that protocol prohibits.
//
// A crawler that does not know ACAP, TDMRep or RSL does not have to obey it. So violations of it
// are reported only after a sign that the crawler reads it. Each sign is unlikely for a crawler
// that does not:
//
//   - ACAP, RSL: after robots.txt, the visitor fetched a file that only a field of this protocol
//     in that robots.txt names: a file of a permissions reference, a resource that must be used in
//     place of a page, or a licence document.
//   - ACAP: at 7 × (n + 1) or more stations the visitor left the trap, which only ACAP prohibits,
//     and requested the control, which the same kind of bait leads to. n is the number of stations
//     where it requested the trap and not the control. A crawler that stops early, or follows only
//     some of the links, leaves traps and controls alike.
//   - TDMRep: the visitor fetched tdmrep.json, to which no page links.
//
// Nothing else is a sign. A crawler that knows no ACAP can also leave a few traps and request
// robots.txt. A crawler that ignores robots.txt also makes requests that ACAP permits against a
// conventional rule.
type Reads struct {
	Judged     bool   `json:"judged"`         // whether violations of the protocol are reported
	Sign       string `json:"sign,omitempty"` // the sign that the visitor reads the protocol; "" if there is none
	Prohibited int    `json:"prohibited"`     // the number of requests that only this protocol prohibits
}

// namedFile is a file of the course that only one field in the robots.txt of an origin names.
type namedFile struct {
	named        string // the origin whose robots.txt names the file
	origin, path string // the address of the file
}

// acapFiles returns the files of the course that only an ACAP field names.
func acapFiles() []namedFile {
	return []namedFile{
		{"refer", "refer", policyRoot + "terms.txt"},
		{"refer", "elsewhere", policyRoot + "terms.txt"},
		{"lost", "lost", policyRoot + "lost.txt"},
		{"acap", "acap", "/acap-must-use/open.txt"},
	}
}

// rslFiles returns the files of the course that only a License field names.
func rslFiles() []namedFile {
	return []namedFile{
		{"rsl", "rsl", policyRoot + "licence.xml"},
		{"rslnamed", "rslnamed", policyRoot + "all.xml"},
		{"rslnamed", "rslnamed", policyRoot + "named.xml"},
		{"rslall", "rslall", policyRoot + "all.xml"},
		{"rslloop", "rslloop", policyRoot + "loop/1"},
	}
}

// minLeft is the number of stations at which a visitor must leave the trap and request the control,
// as a sign of reading ACAP. A crawler that requests either the trap or the control at random
// requests seven controls in a row with a probability of 1/128.
const minLeft = 7

// reads returns what is known about a protocol that crawlers need not know. It returns nil for any
// other protocol, and if the visitor was not judged.
func (v *Visitor) reads(p Protocol) *Reads {
	return map[Protocol]*Reads{ACAP: v.ACAP, TDMRep: v.TDMRep, RSL: v.RSL}[p]
}

// Judged reports whether violations of the protocol are reported.
func (v *Visitor) Judged(p Protocol) bool {
	r := v.reads(p)
	return r == nil || r.Judged
}

// judgeReads sets ACAP, TDMRep, RSL and Counted. For a protocol that the visitor is not judged by,
// it sets the outcomes of the stations to NotJudged and removes their evidence.
func (v *Visitor) judgeReads(w *watch, stations []*Station, against map[*Station][]Evidence, protocols []Protocol) {
	v.ACAP = &Reads{Sign: w.fetchedNamed(ACAP, acapFiles())}
	if v.ACAP.Sign == "" {
		v.ACAP.Sign = v.leftTraps(w, stations, against)
	}
	v.TDMRep = &Reads{Sign: w.fetchedTDMFile()}
	v.RSL = &Reads{Sign: w.fetchedNamed(RSL, rslFiles())}
	v.Counted = protocols
	if len(protocols) == 0 {
		v.Counted = []Protocol{REP}
	}
	for _, p := range Protocols() {
		r := v.reads(p)
		if r == nil {
			continue
		}
		if len(protocols) == 0 && r.Sign != "" {
			v.Counted = append(v.Counted, p)
		}
		r.Judged = r.Sign != "" || slices.Contains(v.Counted, p)
		for i, s := range stations {
			if s.Protocol != p {
				continue
			}
			if s.Level == Must {
				r.Prohibited += len(against[s])
			}
			if res := &v.Results[i]; !r.Judged {
				res.Outcome, res.Why, res.Evidence, res.More = NotJudged, "", nil, 0
			}
		}
	}
}

// leftTraps returns a sentence about the ACAP stations whose traps the visitor left, if there are
// enough of them for a sign; otherwise "".
func (v *Visitor) leftTraps(w *watch, stations []*Station, against map[*Station][]Evidence) string {
	left, taken := 0, 0
	for i, s := range stations {
		switch {
		case s.Protocol != ACAP || s.Level != Must || s.Whole:
		case v.Results[i].Outcome == Kept:
			left++
		case len(against[s]) > 0 && !w.requestedAny(s, s.Controls):
			taken++
		}
	}
	if left < minLeft*(taken+1) {
		return ""
	}
	return fmt.Sprintf("it left the traps of %d exercises that only ACAP closes, and took their controls", left)
}

// fetchedNamed returns a sentence about a file that only a field of the protocol names and that the
// visitor fetched; "" if there is no such file.
func (w *watch) fetchedNamed(p Protocol, files []namedFile) string {
	field := map[Protocol]string{ACAP: "an ACAP", RSL: "a License"}[p]
	for _, f := range files {
		robots, asked := w.fetchedAt(f.named, robotsPath)
		file, got := w.fetchedAt(f.origin, f.path)
		if asked && got && !file.Before(robots) {
			return fmt.Sprintf("it fetched %s%s, which only %s field of %s%s names", f.origin, f.path, field, f.named,
				robotsPath)
		}
	}
	return ""
}

// fetchedTDMFile returns a sentence about a tdmrep.json that the visitor fetched; "" if it fetched
// none.
func (w *watch) fetchedTDMFile() string {
	for _, o := range origins {
		if _, got := w.fetchedAt(o.name, tdmPath); got {
			return fmt.Sprintf("it fetched %s%s, to which no page links", o.name, tdmPath)
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
