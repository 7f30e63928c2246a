package course

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outcome is what the visits of one visitor say of one requirement.
type Outcome string

// The outcomes.
const (
	Kept      Outcome = "kept"
	Violated  Outcome = "violated"
	Untested  Outcome = "not exercised"
	Unheeded  Outcome = "not heeded" // of advice
	Used      Outcome = "used"       // of a freedom
	NotJudged Outcome = "not judged" // of ACAP, where the visitor shows no sign of reading it
)

// Report is what the judge says of a record of visits.
type Report struct {
	Visitors     []*Visitor  `json:"visitors"`
	Left         int         `json:"left_out,omitempty"` // visits of visitors beyond maxVisitors; who serves adds Server.Left
	Stations     []*Station  `json:"-"`
	Unobservable [][2]string `json:"unobservable"`
}

// Visitor is one run of a crawler that --run started, whatever User-Agents it sent, or otherwise
// one User-Agent at one address.
type Visitor struct {
	Agent    string     `json:"agent"`            // the first
	Agents   int        `json:"agents,omitempty"` // how many different ones it sent, if more than one
	Address  string     `json:"address"`          // the first
	Run      string     `json:"run,omitempty"`
	Names    []string   `json:"names,omitempty"`
	Purposes []string   `json:"purposes,omitempty"`
	First    time.Time  `json:"first"`
	Last     time.Time  `json:"last"`
	Requests int        `json:"requests"`
	Unjudged string     `json:"unjudged,omitempty"` // why it was not judged
	Counted  []Protocol `json:"counted,omitempty"`  // whose violations count as failures
	ACAP     *ReadsACAP `json:"acap,omitempty"`     // nil if the visitor was not judged
	Results  []Result   `json:"results,omitempty"`

	visits []*Visit
	told   bool
	served []string // by which names the course spoke to it; none if it came under several
	called []string // of a run with several first names, those names
	kin    string   // see crowd
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
	Why      string     `json:"why,omitempty"` // of what was not exercised
	Evidence []Evidence `json:"evidence,omitempty"`
	More     int        `json:"more_evidence,omitempty"` // how many there are beside these
}

// Evidence is a visit, and what it stands against.
type Evidence struct {
	Visit
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Because string `json:"because"`
}

// maxEvidence is how many visits are shown for one requirement of one visitor.
const maxEvidence = 20

// Told is what is known of the judged crawler in addition to its visits.
type Told struct {
	Crawler   []string   // names it answers to; visitors with another name are not judged
	Purposes  []string   // it collects for
	Protocols []Protocol // whose violations count; none: RFC 9309, and ACAP for a visitor that shows a sign of reading it
}

// Judge says of each visitor which requirements it kept, violated and was not tested by. Visits may come in any order.
func Judge(ctx context.Context, visits []Visit, told Told) (*Report, error) {
	r := &Report{Unobservable: Unobservable()}
	r.Visitors, r.Left = visitors(visits, told)
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

// unjudged says why nothing is said of a visitor.
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
	case browser(v.Agent):
		return "a person's browser, by its User-Agent"
	case clicked && !robotic.MatchString(v.Agent): // a browser that a program drives clicks, too
		return "a person's browser, which says that somebody clicked (Sec-Fetch-User)"
	}
	return ""
}

// judge fills Results, ACAP and Counted.
func (v *Visitor) judge(ctx context.Context, c *crowd, told Told) error {
	web := NewWeb(v.served, v.visits[0].Purposes, symbolic) // as it was served
	w := newWatch(v, c)
	against, err := v.against(ctx, c, w, web)
	if err != nil {
		return err
	}
	for _, s := range web.stations {
		v.Results = append(v.Results, s.result(w, against[s]))
	}
	v.presume(c, web.stations)
	v.judgeACAP(w, web.stations, against, told.Protocols)
	return nil
}

// against returns the visits that break the requirement of a station: no reading permits them.
func (v *Visitor) against(ctx context.Context, c *crowd, w *watch, web *Web) (map[*Station][]Evidence, error) {
	own := newRefusals(readings(web, web, v.Names, v.Purposes, v.told, v.First))
	others := map[*Visit]*refusals{} // by who read robots.txt instead
	against := map[*Station][]Evidence{}
	for _, at := range v.visits {
		s := web.of(at.Origin, at.Target)
		if s == nil || w.look || v.severalNames(s) || c.outlasted(v, s, at) || policyFile(pathOf(at.Target)) ||
			!c.led(v, s, at) {
			continue
		}
		because, err := own.of(ctx, at.Origin, at.Target)
		if err != nil {
			return nil, err
		}
		if reader := c.reader(v, at); because != "" && reader != nil {
			if others[reader] == nil {
				files := NewWeb(reader.Names, reader.Purposes, symbolic)
				others[reader] = newRefusals(readings(web, files, v.Names, v.Purposes, v.told, v.First))
			}
			if because, err = others[reader].of(ctx, at.Origin, at.Target); err != nil {
				return nil, err
			}
		}
		if because != "" {
			against[s] = append(against[s], evidence(at, because))
		}
	}
	return against, nil
}

// severalNames reports whether a station cannot judge a visitor because it depends on the name, and
// the visitor came under several.
func (v *Visitor) severalNames(s *Station) bool { return s.Needs == NeedsName && len(v.called) > 1 }

// presume takes back violations that may come from another one: a rule that ends in $ tells nothing else of who does not know $. Who reads no
// robots.txt, or keeps nothing of the same kind, does not fail at that.
func (v *Visitor) presume(c *crowd, stations []*Station) {
	of := map[string]Outcome{}
	for i := range v.Results {
		of[v.Results[i].ID] = v.Results[i].Outcome
	}
	for i, s := range stations {
		r := &v.Results[i]
		reads := c.robots[[2]string{v.kin, s.Origin}] != nil && v.Tally(s.Category, Kept) > 0
		if s.Presumes != "" && reads && r.Outcome == Violated && of[s.Presumes] == Violated {
			r.Outcome, r.Why, r.Evidence, r.More = Untested, "it did not keep "+s.Presumes+", without which this cannot be told", nil, 0
		}
	}
}

// refusals asks all readings, once for each address.
type refusals struct {
	readings []*reading
	known    map[string]string
}

func newRefusals(list []*reading) *refusals { return &refusals{list, map[string]string{}} }

// maxKnown is how many answers are kept.
const maxKnown = 10_000

// of says why no reading permits a request; "" where one does.
func (r *refusals) of(ctx context.Context, origin, at string) (string, error) {
	key := origin + target(at)
	if because, ok := r.known[key]; ok {
		return because, nil
	}
	first := ""
	for _, reading := range r.readings {
		because, err := reading.refuses(ctx, origin, at)
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

// result puts together what a station says.
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

// untested says why a station with traps has not tested the visitor; "" where it has.
func (s *Station) untested(w *watch) string {
	v, served := w.visitor, w.visitor.visits[0]
	switch {
	case w.look:
		return "it requested one page without robots.txt: that is a look, not a crawl"
	case v.severalNames(s):
		return fmt.Sprintf("robots.txt called it by %d names, since its User-Agent changed; name the crawler with --crawler", len(v.called))
	case s.Needs == NeedsName && len(v.Names) == 0:
		return "its User-Agent has no name by which robots.txt could address it"
	case s.Needs == NeedsName && !v.told && len(v.Names) > 1:
		return "its User-Agent has several names; say with --crawler which it answers to"
	case s.Needs == NeedsName && !v.answers(served):
		return "robots.txt did not call it by a name that it answers to; say with --crawler what that is when the course is served"
	case s.Needs == NeedsPurpose && len(served.Purposes) == 0:
		return "its purposes were not known when the course was served; say them with --purpose"
	case s.Whole && !w.requested(s.Origin, robotsPath):
		return "it never asked for robots.txt of that origin"
	case s.Whole:
		return ""
	case s.Level == May:
		if w.any(s, s.Controls) {
			return ""
		}
		return "it did not use it"
	case !w.requested(s.Origin, s.bait()):
		return "it never fetched " + s.Origin + s.bait() + ", which holds the bait"
	case !w.any(s, s.Controls):
		return "it never took such a bait where it may: " + s.Origin + s.Controls[0] + " was not requested"
	case w.trap(s) != "":
		return "it requested " + w.trap(s) + ", and may have been free to: that depends on who it is, or on how it came there"
	}
	return ""
}

// answers reports whether the name by which the course spoke to the visitor is its own.
func (v *Visitor) answers(served *Visit) bool {
	return len(served.Names) > 0 && slices.ContainsFunc(v.Names, func(n string) bool { return strings.EqualFold(n, served.Names[0]) })
}

// Violations counts the requirements of the given protocols that a visitor violated.
func (v *Visitor) Violations(of ...Protocol) int {
	n := 0
	for _, r := range v.Results {
		if r.Outcome == Violated && slices.Contains(of, r.Protocol) {
			n++
		}
	}
	return n
}

// Tally counts the outcomes of one category, or of all where it is "".
func (v *Visitor) Tally(category string, o ...Outcome) int {
	n := 0
	for _, r := range v.Results {
		if (category == "" || r.Category == category) && slices.Contains(o, r.Outcome) {
			n++
		}
	}
	return n
}

// Categories lists the categories in the order of a report.
func Categories() []string {
	var list []string
	for _, p := range Protocols() {
		list = append(list, p.Categories()...)
	}
	return list
}
