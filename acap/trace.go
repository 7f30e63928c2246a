package acap

import "slices"

// Outcome is the effect of a field on the decision on a usage.
type Outcome string

// The outcomes of fields, in the order in which Trace lists them.
const (
	Decides Outcome = "decides"
	// the field also permits the usage, so the limits of the field are in force, too (P1 2.4.6,
	// F15)
	Binds  Outcome = "binds"
	Agrees Outcome = "agrees" // the field also refuses the usage
	Loses  Outcome = "loses"
	Within Outcome = "within" // the field is only about an element of the page (P2 2.2.5)
	Apart  Outcome = "apart"  // the field is for another crawler, another purpose or other resources
)

// Rival is one field about a usage of a resource, with its effect on the decision.
type Rival struct {
	Field *Field
	// the usage in question; present if the usage is based on it (P1 2.5.5, F17); or other (P1
	// 2.5.6, F19)
	Usage Usage
	// the field is treated as a permission; a permission that cannot be interpreted is treated as a
	// prohibition (P1 2.4.3)
	Allow   bool
	Outcome Outcome
	Why     string // the reason for Outcome as a clause; empty for the field that decides
	Rule    string // paragraphs and readings that support Why
	Over    *Field // the field against which Field lost, or with which Field agrees; may be nil

	order int
}

// Trace returns the fields about the usage u of the resource r that address this crawler, with the
// effect of each under the facts f. The field that decides comes first: it is the Because of Decide
// and At. Then come fields that set further limits or agree, fields that lost, and fields about
// elements of the page. Within these groups, fields about the usage itself come first, then fields
// about "present", then fields about "other", each in the order of appearance. If no field is about
// the usage, or if the policy could not be read, the list may contain no field that decides. refs
// must be the references that File.Policy received; without them Trace does not list cancelled
// rules of referred files.
//
// For a crawler with one purpose, removing a field that lost does not change the decision, with two
// exceptions. The first is a field against which another field lost. The second is a field about
// crawl with the pattern of a conventional rule: it may cancel that rule, or prevent that (P1
// 2.10.2, O04, X72).
//
// Trace takes many times as long as Decide. It lists only a part of a hostile file.
func (p *Policy) Trace(u Usage, r Resource, f Facts, refs ...Reference) []Rival {
	k := u.anyKind()
	if p == nil || k == noKind {
		return nil
	}
	if several := p.parts(); several != nil {
		return p.traceSeveral(several, u, r, f, refs)
	}
	q := *p
	q.recorder = newRecorder()
	t := &trace{Policy: &q, kind: k, resource: r, decision: q.Decide(u, r).At(f), refs: refs}
	t.list()
	return t.rivals.ordered()
}

// trace lists the fields about one usage, with the information that the recorder of the decision
// stored.
type trace struct {
	*Policy
	kind     kind
	resource Resource
	decision Decision
	refs     []Reference
	rivals   rivals
}

func (t *trace) list() {
	exact, general := t.speaking(t.kind), []*statement(nil)
	if t.kind.derived() {
		general = t.speaking(kPresent)
	}
	if early := t.foreclosed(t.kind); early != nil {
		t.listForeclosed(early, slices.Concat(exact, general, t.others()))
		return
	}
	if t.kind == kCrawl {
		t.conventionalRecords()
	}
	for _, s := range slices.Concat(exact, general) {
		switch l, lost := t.recorder.loss(s); {
		case t.recorder.left[s]:
			t.weigh(s, general)
		case lost:
			why, rule := t.whyLost(s, l)
			t.lose(s, l.to.field, why, rule)
		}
	}
	t.weighOthers()
	t.tags()
	t.otherOpinions()
	t.elements()
}

// listForeclosed lists the field of a decision that was made without comparing statements, and all
// fields that lost against it.
func (t *trace) listForeclosed(early *Decision, all []*statement) {
	because := early.Because
	why, rule := "what is said of an element holds for the whole page here", "P2 2.2.6, N28"
	switch {
	case t.refusal != nil:
		why, rule = "nothing counts until the policy can be read", "D07, O11"
	case t.own.discard != nil && early.Note != "":
		why, rule = early.Note, ""
	case t.own.discard != nil:
		why, rule = "a page that prohibits its own crawling is not used at all", "X01"
	}
	if because != nil {
		t.add(because, t.kind, false, Decides, "", "", nil)
	}
	for _, s := range all {
		t.lose(s, because, why, rule)
	}
	if t.kind == kCrawl {
		t.overruledRecords(because, why, rule)
	}
}

// maxTraced is how many statements of one usage type are listed, in addition to the statements of
// the field that decides.
const maxTraced = 500

// speaking returns the statements about exactly the usage type k that cover the resource, in the
// order of appearance.
func (t *trace) speaking(k kind) (list []*statement) {
	if k >= kinds {
		return nil
	}
	t.covering(k, &t.resource, false, func(s *statement) { list = append(list, s) })
	slices.SortFunc(list, bySeq)
	list = t.some(list)
	if t.own != nil {
		list = append(list, t.some(t.own.by[k])...)
	}
	return list
}

func bySeq(a, b *statement) int { return a.seq - b.seq }

// some returns the first maxTraced statements of a list, and in addition the first statement of the
// field that decides.
func (t *trace) some(list []*statement) []*statement {
	n := min(len(list), maxTraced)
	out := list[:n:n]
	for _, s := range list[n:] {
		if s.field == t.decision.Because {
			return append(out, s)
		}
	}
	return out
}

// weigh lists a statement that did not lose against another statement of its usage type. general
// holds the statements about "present".
func (t *trace) weigh(s *statement, general []*statement) {
	d := &t.decision
	if s.field == d.Because {
		t.add(s.field, s.kind, s.allow, Decides, "", "", nil)
		return
	}
	decider := t.decider()
	l, lost := t.recorder.lost[s]
	switch {
	case lost && l.cause == beaten:
		t.lose(s, l.to.field, "a statement about this type itself wins", "P1 2.5.5, F17")
	case s.allow && d.Allowed && (s.kind != t.kind ||
		slices.ContainsFunc(general, func(o *statement) bool { return o.field == d.Because })):
		t.add(s.field, s.kind, true, Binds, "the limits of present and of its type both bind", "P1 2.5.5, F18",
			d.Because)
	case s.allow && d.Allowed:
		t.add(s.field, s.kind, true, Binds, "no other permission is narrower, so the limits of all bind",
			"P1 2.4.6, F15", d.Because)
	case !s.allow:
		t.add(s.field, s.kind, false, Agrees, "it prohibits too", "", d.Because)
	case decider == nil:
		why, rule := t.beyondFields(s)
		t.lose(s, d.Because, why, rule)
	case s.kind == decider.kind:
		why, rule := t.conflict(s, decider)
		t.lose(s, decider.field, why, rule)
	case s.kind == t.kind:
		why, rule := t.unlifted(s, decider)
		t.lose(s, decider.field, why, rule)
	default:
		t.lose(s, decider.field, "a statement about this type itself wins", "P1 2.5.5, F17")
	}
}

// others returns the prohibitions that apply to a usage that no field names. These are
// disallow-other (P1 2.5.6, F19), and for the usage other itself the prohibitions that replace its
// permissions (P1 2.4.3, L05).
func (t *trace) others() []*statement {
	var list []*statement
	from, own := t.by[kOther], []*statement(nil)
	if t.own != nil && t.kind != kCrawl { // P1 2.5.6 (X68): disallow-other in META does not prohibit crawl
		own = t.own.by[kOther]
	}
	if t.kind >= kOther {
		beyond := []*statement(nil)
		if t.own != nil {
			beyond = t.own.beyond
		}
		if t.kind == kOther {
			from, own = nil, nil
		}
		from, own = slices.Concat(from, t.beyond), slices.Concat(own, beyond)
	}
	for _, s := range from {
		if !s.allow && s.covers(&t.resource) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, bySeq)
	for _, s := range own {
		if !s.allow {
			list = append(list, s)
		}
	}
	return t.some(list)
}

func (t *trace) weighOthers() {
	d := &t.decision
	for _, s := range t.others() {
		switch {
		case s.field == d.Because:
			t.add(s.field, s.kind, false, Decides, "", "", nil)
		case d.Reason == ByOther || t.kind >= kOther && !d.Allowed:
			t.add(s.field, s.kind, false, Agrees, "it prohibits too", "", d.Because)
		default:
			t.lose(s, d.Because, "it covers only usages of which nothing else is said", "P1 2.5.6, F19")
		}
	}
}

// tags lists the conventional rules of META and headers about the usage.
func (t *trace) tags() {
	said, _ := t.preference(tagsAt).(*tags)
	if said == nil {
		return
	}
	d := &t.decision
	if f := said.prohibits(t.kind); f != nil {
		if f == d.Because {
			t.add(f, t.kind, false, Decides, "", "", nil)
		} else {
			t.add(f, t.kind, false, Agrees, "a conventional restriction wins against every permission", "N12, N19",
				d.Because)
		}
	}
	c := said.limits
	for _, f := range []*Field{c.snippet, c.untilField} {
		switch {
		case f == nil, f == c.snippet && !snippets.has(t.kind), f == c.untilField && !endsByTag(t.kind):
		case f == d.Because:
			t.add(f, t.kind, false, Decides, "", "", nil)
		case d.Allowed:
			t.add(f, t.kind, true, Binds, "conventional limits are in force with every permission", "N12, N19",
				d.Because)
		}
	}
}

// otherOpinions lists the fields about the usage that belong to Crawler.Vocabularies.
func (t *trace) otherOpinions() {
	d := &t.decision
	for i := addedAt; i < max(len(t.preferences), len(t.earlier)); i++ {
		switch o := t.recorder.opinions[i]; {
		case o.Because == nil:
		case o.Because == d.Because:
			t.add(o.Because, t.kind, o.Verdict == Permits, Decides, "", "", nil)
		case o.Verdict == Agreement:
			t.add(o.Because, t.kind, false, Agrees, "it requires an agreement", "", d.Because)
		case o.Verdict == Prohibits:
			t.add(o.Because, t.kind, false, Agrees, "it prohibits too", "", d.Because)
		case d.Allowed:
			t.add(o.Because, t.kind, true, Binds, "it permits too", "", d.Because)
		default:
			t.add(o.Because, t.kind, true, Loses, "no vocabulary lifts a prohibition", "", d.Because)
		}
	}
}

// elements lists the statements about elements of the page. Each class token is listed once, with
// its first position.
func (t *trace) elements() {
	if t.own == nil || t.kind.whole() || t.kind >= kinds {
		return
	}
	var list []*statement
	for _, statements := range t.own.marks {
		for _, s := range statements {
			if s.kind == t.kind || s.kind == t.kind.basic() || s.kind == kOther && !s.allow {
				list = append(list, s)
			}
		}
	}
	slices.SortFunc(list, bySeq)
	for _, s := range list {
		t.add(s.field, s.kind, s.allow, Within, "it applies only to its element", "P2 2.2.5, N05", nil)
	}
}

// rivals is the list of fields under construction. It contains each field once for each usage, with
// its strongest outcome.
type rivals struct {
	list []Rival
	at   map[spoken]int
}

// spoken is a field and the usage that it is about. Fields are compared by value, because the
// fields of a page are read once for each purpose.
type spoken struct {
	field Field
	usage Usage
}

var outcomes = [...]Outcome{Decides, Binds, Agrees, Loses, Within, Apart}

func (o Outcome) rank() int { return slices.Index(outcomes[:], o) }

func (l *rivals) put(r Rival) {
	key := spoken{*r.Field, r.Usage}
	i, known := l.at[key]
	switch {
	case !known && l.at == nil:
		l.at = map[spoken]int{}
		fallthrough
	case !known:
		l.at[key] = len(l.list)
		r.order = len(l.list)
		l.list = append(l.list, r)
	case r.Outcome.rank() < l.list[i].Outcome.rank() || r.Outcome == l.list[i].Outcome && l.list[i].Over == nil:
		r.order = i
		l.list[i] = r
	}
}

func same(a, b *Field) bool { return a == b || a != nil && b != nil && *a == *b }

func (l *rivals) ordered() []Rival {
	slices.SortFunc(l.list, func(a, b Rival) int {
		if c := a.Outcome.rank() - b.Outcome.rank(); c != 0 {
			return c
		}
		return a.order - b.order
	})
	return l.list
}

func (t *trace) add(f *Field, k kind, allow bool, o Outcome, why, rule string, over *Field) {
	if over == f {
		over = nil
	}
	t.rivals.put(Rival{Field: f, Usage: k.usage(), Allow: allow, Outcome: o, Why: why, Rule: rule, Over: over})
}

func (t *trace) lose(s *statement, over *Field, why, rule string) {
	t.add(s.field, s.kind, s.allow, Loses, why, rule, over)
}

// several describes, for Trace, a policy that consists of several policies: one for each purpose of a crawler
// (P1 2.3.3, X11, X78), or one before and one after the scripts of a page changed its statements.
type several struct {
	policies    []*Policy
	names       []string // names of the policies in texts
	need        string   // why a permission of one policy is not enough
	all, limits string   // the readings that need comes from, and that the limits of all policies apply; "" for none
}

// parts returns the policies that p consists of, or nil if p is a single policy.
func (p *Policy) parts() *several {
	switch {
	case p.byPurpose != nil:
		s := &several{policies: p.byPurpose, need: "every purpose must be permitted", all: "X11", limits: "X78"}
		for _, name := range p.purposes {
			s.names = append(s.names, "purpose "+name)
		}
		return s
	case p.stages != nil:
		return &several{policies: p.stages, names: []string{"the page as sent", "the page after its scripts ran"},
			need: "both must permit it"}
	}
	return nil
}

// traceSeveral does the work of Trace for a policy that consists of several.
func (p *Policy) traceSeveral(s *several, u Usage, r Resource, f Facts, refs []Reference) []Rival {
	d := p.Decide(u, r).At(f)
	// the usage is refused although each policy permits it: only the limits of all together refuse
	joint := !d.Allowed
	for _, q := range s.policies {
		joint = joint && q.Decide(u, r).At(f).Allowed
	}
	var out rivals
	for i, q := range s.policies {
		allowed, name := q.Decide(u, r).At(f).Allowed, s.names[i]
		for _, v := range q.Trace(u, r, f, refs...) {
			switch {
			case v.Outcome == Loses, v.Outcome == Within:
			case same(v.Field, d.Because) && (allowed == d.Allowed || joint):
				v.Outcome, v.Why, v.Rule, v.Over = Decides, "", "", nil
			case allowed == d.Allowed && v.Outcome != Decides:
			case allowed && d.Allowed:
				v.Outcome, v.Why, v.Rule, v.Over = Binds, "it binds for "+name, s.limits, d.Because
			case joint:
				v.Outcome, v.Why, v.Over = Loses, "it permits for "+name+", but a condition of the other is not met",
					d.Because
				if v.Rule = s.limits; v.Rule != "" {
					v.Rule += ", F16"
				}
			case allowed:
				v.Outcome, v.Why, v.Rule, v.Over = Loses, "it permits for "+name+", and "+s.need, s.all, d.Because
			case d.Allowed:
				v.Outcome, v.Why, v.Rule, v.Over = Loses,
					"it refuses for "+name+", and one purpose that may crawl is enough", s.all, d.Because
			default:
				v.Outcome, v.Why, v.Rule, v.Over = Agrees, "it refuses for "+name, s.all, d.Because
			}
			out.put(v)
		}
	}
	return out.ordered()
}
