package course

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outcome is the result of one requirement for one visitor.
type Outcome string

// The outcomes.
const (
	Kept      Outcome = "kept"
	Violated  Outcome = "violated"
	Untested  Outcome = "not exercised"
	Unheeded  Outcome = "not heeded" // a violated requirement of level Advice
	Used      Outcome = "used"       // a kept requirement of level May
	NotJudged Outcome = "not judged" // a requirement of a protocol that the visitor shows no sign of reading
)

// Report is the result of Judge.
type Report struct {
	Visitors []*Visitor `json:"visitors"`
	// number of visits by visitors beyond maxVisitors; a caller that serves the course adds
	// Server.Left
	Left         int         `json:"left_out,omitempty"`
	Stations     []*Station  `json:"-"`
	Unobservable [][2]string `json:"unobservable"`
}

// Visitor is a run of a crawler that the course started, with all its User-Agents, or otherwise one
// User-Agent at one address.
type Visitor struct {
	Agent    string     `json:"agent"`            // the first User-Agent of the visitor
	Agents   int        `json:"agents,omitempty"` // the number of different User-Agents, if more than one
	Address  string     `json:"address"`          // the first address of the visitor
	Run      string     `json:"run,omitempty"`
	Names    []string   `json:"names,omitempty"`
	Purposes []string   `json:"purposes,omitempty"`
	First    time.Time  `json:"first"`
	Last     time.Time  `json:"last"`
	Requests int        `json:"requests"`
	Unjudged string     `json:"unjudged,omitempty"` // why the visitor was not judged; "" if it was judged
	Counted  []Protocol `json:"counted,omitempty"`  // the protocols for which violations count as failures
	ACAP     *Reads     `json:"acap,omitempty"`     // nil if the visitor was not judged; so are TDMRep and RSL
	TDMRep   *Reads     `json:"tdmrep,omitempty"`
	RSL      *Reads     `json:"rsl,omitempty"`
	Results  []Result   `json:"results,omitempty"`

	visits []*Visit
	told   bool
	// the names under which the course was served to the visitor; nil if it sent several different
	// first names
	served []string
	called []string // the different first names of the visitor by which robots.txt addressed it
	kin    string   // the part that all User-Agents of the visitor have in common: see func kin
}

// Result is the outcome of one station.
type Result struct {
	ID       string     `json:"id"`
	Category string     `json:"category"`
	Protocol Protocol   `json:"protocol"`
	Level    Level      `json:"level"`
	Rests    string     `json:"rests_on"`
	Says     string     `json:"says"`
	Outcome  Outcome    `json:"outcome"`
	Why      string     `json:"why,omitempty"` // why the requirement was not exercised
	Evidence []Evidence `json:"evidence,omitempty"`
	More     int        `json:"more_evidence,omitempty"` // the number of further visits that Evidence does not contain
}

// Evidence is a visit and the rule that it violates.
type Evidence struct {
	Visit
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Because string `json:"because"`
}

// maxEvidence limits the visits in Evidence for one requirement of one visitor.
const maxEvidence = 20

// Told holds what the user of the judge says about the crawler.
type Told struct {
	Crawler  []string // names of the crawler in robots.txt; visitors with other names are not judged
	Purposes []string // purposes for which the crawler collects pages
	// protocols for which violations count as failures; if empty: RFC 9309, and also ACAP, TDMRep
	// and RSL for a visitor that shows a sign of reading them
	Protocols []Protocol
}

// Judge returns for each visitor which requirements it kept, which it violated, and which the
// visits did not test. Visits may be in any order.
func Judge(ctx context.Context, visits []Visit, told Told) (*Report, error) {
	r := &Report{Unobservable: Unobservable()}
	r.Visitors, r.Left = groupVisitors(visits, told)
	c := newCrowd(r.Visitors)
	for _, v := range r.Visitors {
		if v.Unjudged = v.unjudged(told); v.Unjudged != "" {
			continue
		}
		if err := v.judge(ctx, c, told); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// unjudged returns why a visitor is not judged; "" if it is judged.
func (v *Visitor) unjudged(told Told) string {
	if len(told.Crawler) > 0 {
		for _, n := range told.Crawler {
			own := func(at *Visit) bool {
				return strings.Contains(strings.ToLower(at.Agent), strings.ToLower(n)) || v.Run != "" &&
					slices.Contains(at.Names, n)
			}
			if slices.ContainsFunc(v.visits, own) {
				return ""
			}
		}
		return "another crawler than the one to be judged, by its User-Agent"
	}
	clicked := slices.ContainsFunc(v.visits, func(at *Visit) bool { return at.Clicked })
	switch {
	case v.Run != "":
		return ""
	case isBrowser(v.Agent):
		return "a person's browser, by its User-Agent"
	case clicked && !robotic().MatchString(v.Agent): // a program that controls a browser sends Sec-Fetch-User, too
		return "a person's browser, which says that somebody clicked (Sec-Fetch-User)"
	}
	return ""
}

// judge computes the fields Results, ACAP, TDMRep, RSL and Counted of the visitor.
func (v *Visitor) judge(ctx context.Context, c *crowd, told Told) error {
	web := NewWeb(v.served, v.visits[0].Purposes, symbolic) // the course as it was served to the visitor
	w := newWatch(v, c)
	against, err := v.findViolations(ctx, c, w, web)
	if err != nil {
		return err
	}
	for _, s := range web.stations {
		v.Results = append(v.Results, s.result(w, against[s]))
	}
	v.dropDependentViolations(c, web.stations)
	v.judgeReads(w, web.stations, against, told.Protocols)
	return nil
}

// findViolations returns, for each station, the visits that no reading permits.
func (v *Visitor) findViolations(ctx context.Context, c *crowd, w *watch, web *Web) (map[*Station][]Evidence, error) {
	own := newRefusals(readings(web, web, v.Names, v.Purposes, v.told, v.First))
	others := map[*Visit]*refusals{} // key: the request for robots.txt that another program made for the crawler
	against := map[*Station][]Evidence{}
	for _, at := range v.visits {
		s := web.stationOf(at.Origin, at.Target)
		if s == nil || w.look || v.severalNames(s) || c.waitedLongEnough(v, s, at) || policyFile(pathOf(at.Target)) ||
			!c.gotLinkBefore(v, s, at) {
			continue
		}
		because, err := own.reason(ctx, at.Origin, at.Target)
		if err != nil {
			return nil, err
		}
		if reader := c.robotsReader(v, at); because != "" && reader != nil {
			if others[reader] == nil {
				files := NewWeb(reader.Names, reader.Purposes, symbolic)
				others[reader] = newRefusals(readings(web, files, v.Names, v.Purposes, v.told, v.First))
			}
			if because, err = others[reader].reason(ctx, at.Origin, at.Target); err != nil {
				return nil, err
			}
		}
		if because != "" {
			against[s] = append(against[s], evidence(at, because))
		}
	}
	return against, nil
}

// severalNames reports whether a station cannot test a visitor because it depends on the name, and
// robots.txt addressed the visitor by several names.
func (v *Visitor) severalNames(s *Station) bool { return s.Needs == NeedsName && len(v.called) > 1 }

// dropDependentViolations drops a violation that may only be a consequence of another one, that of
// the station named in Presumes. For example, a rule that ends in $ shows nothing else about a
// crawler that does not know $. The violation stays if the crawler reads no robots.txt or kept
// nothing of the same category.
func (v *Visitor) dropDependentViolations(c *crowd, stations []*Station) {
	of := map[string]Outcome{}
	for i := range v.Results {
		of[v.Results[i].ID] = v.Results[i].Outcome
	}
	for i, s := range stations {
		r := &v.Results[i]
		reads := c.robots[[2]string{v.kin, s.Origin}] != nil && v.Tally(s.Category, Kept) > 0
		if s.Presumes != "" && reads && r.Outcome == Violated && of[s.Presumes] == Violated {
			r.Outcome, r.Evidence, r.More = Untested, nil, 0
			r.Why = "it violated " + s.Presumes + ", which can explain these requests, too"
		}
	}
}

// refusals asks every reading whether an address may be requested, and caches the result.
type refusals struct {
	readings []*reading
	known    map[string]string
}

func newRefusals(list []*reading) *refusals { return &refusals{list, map[string]string{}} }

// maxKnown is the maximum number of addresses in the cache of refusals.
const maxKnown = 10_000

// reason returns a rule that prohibits a request. If some reading permits the request, reason
// returns "". If readings name different rules, it returns the rule of the first reading.
func (r *refusals) reason(ctx context.Context, origin, at string) (string, error) {
	key := origin + target(at)
	if because, ok := r.known[key]; ok {
		return because, nil
	}
	first := ""
	for _, reading := range r.readings {
		because, err := reading.reasonAgainst(ctx, origin, at)
		if err != nil {
			return "", err
		}
		first = cmp.Or(first, because)
		if because == "" {
			first = ""
			break
		}
	}
	if len(r.known) < maxKnown {
		r.known[key] = first
	}
	return first, nil
}

func pathOf(at string) string {
	p, _, _ := strings.Cut(target(at), "?")
	return p
}

// result returns the result of the station s. against contains the visits that violate its
// requirement.
func (s *Station) result(w *watch, against []Evidence) Result {
	r := Result{ID: s.ID, Category: s.Category, Protocol: s.Protocol, Level: s.Level, Rests: s.Rests, Says: s.Says}
	switch {
	case len(against) > 0:
		r.Outcome, r.Evidence = Violated, against
	case s.watch != nil:
		f := s.watch(w)
		r.Outcome, r.Why, r.Evidence = f.outcome, f.why, f.evidence
	default:
		if r.Why = s.untested(w); r.Why != "" {
			r.Outcome = Untested
		} else {
			r.Outcome = Kept
		}
	}
	if s.Level == May && r.Outcome == Kept {
		r.Outcome = Used
	}
	if s.Level == Advice && r.Outcome == Violated {
		r.Outcome = Unheeded
	}
	if len(r.Evidence) > maxEvidence {
		r.Evidence, r.More = r.Evidence[:maxEvidence], len(r.Evidence)-maxEvidence
	}
	return r
}

// onlyLook is why a single look tests nothing.
const onlyLook = "it requested one page without robots.txt: that is a look, not a crawl"

// untested returns why the visits did not test the requirement of a station with traps; "" if they
// did.
func (s *Station) untested(w *watch) string {
	v, served := w.visitor, w.visitor.visits[0]
	switch {
	case w.look:
		return onlyLook
	case v.severalNames(s):
		return fmt.Sprintf("robots.txt called it by %d names, since its User-Agent changed; "+
			"name the crawler with --crawler", len(v.called))
	case s.Needs == NeedsName && len(v.Names) == 0:
		return "its User-Agent has no name by which robots.txt could address it"
	case s.Needs == NeedsName && !v.told && len(v.Names) > 1:
		return "its User-Agent has several names; set with --crawler which one it obeys"
	case s.Needs == NeedsName && !v.servedOwnName(served):
		return "robots.txt did not call it by a name that it obeys; " +
			"set the name with --crawler when the course is served"
	case s.Needs == NeedsPurpose && len(served.Purposes) == 0:
		return "its purposes were not known when the course was served; set them with --purpose"
	case s.Whole && !w.requested(s.Origin, robotsPath):
		return "it never requested robots.txt of that origin"
	case s.Whole:
		return ""
	case s.Level == May:
		if w.requestedAny(s, s.Controls) {
			return ""
		}
		return "it did not make use of this option"
	case !w.requested(s.Origin, s.bait()):
		return "it never fetched " + s.Origin + s.bait() + ", which contains the bait"
	case !w.requestedAny(s, s.Controls):
		return "it never requested the control " + s.Origin + s.Controls[0]
	case w.requestedTrap(s) != "":
		return "it requested " + w.requestedTrap(s) +
			", which may be permitted, depending on its name, its purpose or the link that it followed"
	}
	return ""
}

// servedOwnName reports whether the course addressed the visitor by the visitor's own name when it
// served robots.txt.
func (v *Visitor) servedOwnName(served *Visit) bool {
	return len(served.Names) > 0 && slices.ContainsFunc(v.Names,
		func(n string) bool { return strings.EqualFold(n, served.Names[0]) })
}

// Violations returns the number of requirements of the given protocols that the visitor violated.
func (v *Visitor) Violations(of ...Protocol) int {
	n := 0
	for _, r := range v.Results {
		if r.Outcome == Violated && slices.Contains(of, r.Protocol) {
			n++
		}
	}
	return n
}

// Tally returns the number of results with one of the outcomes in a category, or in all categories
// if it is "".
func (v *Visitor) Tally(category string, o ...Outcome) int {
	n := 0
	for _, r := range v.Results {
		if (category == "" || r.Category == category) && slices.Contains(o, r.Outcome) {
			n++
		}
	}
	return n
}

// Categories lists the categories of all protocols in the order of a report.
func Categories() []string {
	var list []string
	for _, p := range Protocols() {
		list = append(list, p.Categories()...)
	}
	return list
}
