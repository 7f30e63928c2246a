package acap

import "slices"

// Outcome is what became of a field that speaks of a usage.
type Outcome string

// The outcomes, in the order in which Trace lists them.
const (
	Decides Outcome = "decides"
	Binds   Outcome = "binds"  // permits too: its limits hold beside those of the field that decides (F15)
	Agrees  Outcome = "agrees" // refuses too
	Loses   Outcome = "loses"
	Within  Outcome = "within" // speaks of an element of the page alone (P2 2.2.5)
	Apart   Outcome = "apart"  // speaks to another crawler, for another purpose or of other resources
)

// Rival is one field that speaks of a usage of a resource, and what became of it.
type Rival struct {
	Field   *Field
	Usage   Usage // what it speaks of: the usage asked for, present on which that is based (F17), or other (F19)
	Allow   bool  // as it counts: a permission that cannot be interpreted is a prohibition (P1 2.4.3)
	Outcome Outcome
	Why     string // a clause that says why, empty for the one that decides
	Rule    string // paragraphs and readings behind Why
	Over    *Field // what it lost against or agrees with; nil where no field is to be named

	order int
}

// Trace lists the fields that speak of u and r to this crawler, with what became of each under the facts: the one that decides
// first, which is the Because of Decide and At; then those that bind or agree, those that lost, and what is said of elements of the
// page. Within these the usage itself comes before present, and that before other; each in the order of appearance.
// A usage of which nothing is said, and a policy that could not be read, may have none that decides. Refs are the files that
// robots.txt refers to, as they were given to File.Policy; without them conventional rules that they hold and that are cancelled
// are not listed.
//
// Under one purpose a field that lost can be taken away without changing what is permitted, with two exceptions: one that another
// is listed to have lost against, and one of crawl that has the pattern of a conventional rule, which it may cancel, or keep from
// being cancelled, all the same (O04, X72).
//
// Trace is for explaining: it costs many times what Decide does, and of a hostile file it lists a part only.
func (p *Policy) Trace(u Usage, r Resource, f Facts, refs ...Reference) []Rival {
	k := u.kind()
	if p == nil || k == noKind {
		return nil
	}
	if p.byPurpose != nil {
		return p.traceCommon(u, r, f, refs)
	}
	t := &trace{Policy: p, kind: k, resource: r, decision: p.Decide(u, r).At(f), refs: refs}
	t.all()
	return t.rivals.ordered()
}

// trace goes through what speaks of one usage, once it is decided.
type trace struct {
	*Policy
	kind     kind
	resource Resource
	decision Decision
	refs     []Reference
	rivals   rivals
}

func (t *trace) all() {
	exact, general := t.speaking(t.kind), speakers{}
	if t.kind.derived() {
		general = t.speaking(kPresent)
		if exact.n > 0 && exact.prohibition() == nil && general.prohibition() != nil && !t.stands(&general) { // F18, as meet has it
			for _, rooted := range []bool{false, true} {
				permitted := t.permissions(kPresent, &t.resource, rooted)
				general.verdict.merge(&permitted)
			}
			general.prevail = general.verdict.set()
		}
	}
	because, why, rule := t.barrier()
	if because != nil {
		t.add(because, t.kind, false, Decides, "", "", nil)
	}
	if why != "" {
		for _, s := range slices.Concat(exact.all, general.all, t.others()) {
			t.lose(s, because, why, rule)
		}
		if t.kind == kCrawl {
			t.overruledRecords(because, why, rule)
		}
		return
	}
	if t.kind == kCrawl {
		t.conventionalRecords()
	}
	for _, g := range []*speakers{&exact, &general} {
		for _, s := range g.all {
			if g.prevail[s] {
				t.weigh(s, &exact, &general)
			} else {
				t.displaced(s, g)
			}
		}
	}
	t.weighOthers()
	t.tags()
	t.elements()
}

// stands reports whether a prohibition that prevails among g is what decides.
func (t *trace) stands(g *speakers) bool {
	for i := range g.n {
		if s := g.at(i); !s.allow && s.field == t.decision.Because {
			return true
		}
	}
	return false
}

// maxTraced bounds how many statements of one type are looked at, but for those of the field that decides.
const maxTraced = 500

// speakers are the statements of one exact type that cover the resource, and those of them that prevail: in the end, and in the
// files of the origin alone.
type speakers struct {
	all []*statement // in the order of appearance
	verdict
	origin verdict
	// the same as sets
	prevail, prevailed map[*statement]bool
}

func (t *trace) speaking(k kind) speakers {
	var g speakers
	for _, s := range t.by[k] {
		if s.covers(&t.resource) {
			g.all = append(g.all, s)
		}
	}
	slices.SortFunc(g.all, bySeq)
	g.all = t.some(g.all)
	g.verdict = prevailing(t.Policy, k, &t.resource)
	g.origin = g.verdict
	if t.own != nil {
		g.all = append(g.all, t.some(t.own.by[k])...)
		files := *t.Policy
		files.own = nil
		g.origin = prevailing(&files, k, &t.resource)
	}
	g.prevail, g.prevailed = g.verdict.set(), g.origin.set()
	return g
}

// prevailing gives what prevails when patterns are compared one way or the other: either may decide (F03).
func prevailing(p *Policy, k kind, r *Resource) (v verdict) {
	var rooted verdict
	p.prevailing(k, r, false, &v)
	p.prevailing(k, r, true, &rooted)
	v.merge(&rooted)
	return v
}

func bySeq(a, b *statement) int { return a.seq - b.seq }

// some bounds a list of statements.
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

func (v *verdict) set() map[*statement]bool {
	m := make(map[*statement]bool, v.n)
	for i := range v.n {
		m[v.at(i)] = true
	}
	return m
}

// find gives a statement of which something is true, one that prevails if there is one.
func (g *speakers) find(is func(*statement) bool) *statement {
	for _, v := range []*verdict{&g.verdict, &g.origin} {
		for i := range v.n {
			if s := v.at(i); is(s) {
				return s
			}
		}
	}
	if i := slices.IndexFunc(g.all, is); i >= 0 {
		return g.all[i]
	}
	return nil
}

// barrier is what settles the usage before any of its fields is looked at; why is empty where there is nothing of the kind.
func (t *trace) barrier() (because *Field, why, rule string) {
	if t.refusal != nil {
		return t.refusal.Because, "nothing counts until the policy can be read", "D07, O11"
	}
	if t.own == nil {
		return nil, "", ""
	}
	d, barred := t.own.barred(t.kind)
	switch {
	case !barred:
		return nil, "", ""
	case t.own.discard != nil && d.Note != "":
		return d.Because, d.Note, ""
	case t.own.discard != nil:
		return d.Because, "a page that prohibits its own crawling is not used at all", "X01"
	}
	return d.Because, "what is said of an element holds for the whole page here", "P2 2.2.6, N28"
}

// weigh says what became of a statement that prevails among those of its type.
func (t *trace) weigh(s *statement, exact, general *speakers) {
	d := &t.decision
	if s.field == d.Because {
		t.add(s.field, s.kind, s.allow, Decides, "", "", nil)
		return
	}
	decider := t.decider(exact, general)
	switch {
	case !s.allow && s.kind != t.kind && t.outdone(s, exact):
		t.lose(s, t.lifter(s, exact), "what is said of this type itself goes before", "P1 2.5.5, F17")
	case s.allow && d.Allowed && (s.kind != t.kind || general.find(func(o *statement) bool { return o.field == d.Because }) != nil):
		t.add(s.field, s.kind, true, Binds, "the limits of present and of its type both bind", "P1 2.5.5, F18", d.Because)
	case s.allow && d.Allowed:
		t.add(s.field, s.kind, true, Binds, "no other permission is narrower, so the limits of all bind", "P1 2.4.6, F15", d.Because)
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
		t.lose(s, decider.field, "what is said of this type itself goes before", "P1 2.5.5, F17")
	}
}

// others are the prohibitions that reach a usage of which nothing is said: disallow-other (F19), and for other itself
// replaced permissions (L05).
func (t *trace) others() []*statement {
	var list []*statement
	from, own := t.by[kOther], []*statement(nil)
	if t.own != nil && t.kind != kCrawl { // X68
		own = t.own.by[kOther]
	}
	if t.kind == kOther {
		from, own = t.beyond, nil
		if t.own != nil {
			own = t.own.beyond
		}
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
		case d.Reason == ByOther || t.kind == kOther && !d.Allowed:
			t.add(s.field, s.kind, false, Agrees, "it prohibits too", "", d.Because)
		default:
			t.lose(s, d.Because, "it reaches only usages of which nothing else is said", "P1 2.5.6, F19")
		}
	}
}

// tags lists the conventional rules of META and headers that bear on the usage.
func (t *trace) tags() {
	if t.own == nil {
		return
	}
	d := &t.decision
	if f := t.own.prohibited[t.kind]; f != nil {
		if f == d.Because {
			t.add(f, t.kind, false, Decides, "", "", nil)
		} else {
			t.add(f, t.kind, false, Agrees, "a conventional restriction stands beside every permission", "N12, N19", d.Because)
		}
	}
	c := t.own.caps
	if c == nil {
		return
	}
	for _, f := range []*Field{c.snippet, c.untilField} {
		switch {
		case f == nil, f == c.snippet && !snippets.has(t.kind), f == c.untilField && !endsByTag(t.kind):
		case f == d.Because:
			t.add(f, t.kind, false, Decides, "", "", nil)
		case d.Allowed:
			t.add(f, t.kind, true, Binds, "conventional limits bind beside every permission", "N12, N19", d.Because)
		}
	}
}

// elements lists what is said of elements, each token with its first place.
func (t *trace) elements() {
	if t.own == nil || t.kind.whole() {
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
		t.add(s.field, s.kind, s.allow, Within, "it speaks of its element alone", "P2 2.2.5, N05", nil)
	}
}

// rivals is the list in the making: a field stands in it once for each usage it speaks of, with its strongest outcome.
type rivals struct {
	list []Rival
	at   map[spoken]int
}

// spoken is a field and the usage it speaks of. Fields are told apart by what they say: those of a page are read anew for each
// purpose.
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

// traceCommon is Trace where several purposes are declared (X11, X78).
func (p *Policy) traceCommon(u Usage, r Resource, f Facts, refs []Reference) []Rival {
	d := p.Decide(u, r).At(f)
	joint := !d.Allowed // it is their limits together that refuse
	for _, q := range p.byPurpose {
		joint = joint && q.Decide(u, r).At(f).Allowed
	}
	var out rivals
	for i, q := range p.byPurpose {
		allowed, purpose := q.Decide(u, r).At(f).Allowed, "purpose "+p.purposes[i]
		for _, v := range q.Trace(u, r, f, refs...) {
			switch {
			case v.Outcome == Loses, v.Outcome == Within:
			case same(v.Field, d.Because) && (allowed == d.Allowed || joint):
				v.Outcome, v.Why, v.Rule, v.Over = Decides, "", "", nil
			case allowed == d.Allowed && v.Outcome != Decides:
			case allowed && d.Allowed:
				v.Outcome, v.Why, v.Rule, v.Over = Binds, "it binds for "+purpose, "X78", d.Because
			case joint:
				v.Outcome, v.Why, v.Rule, v.Over = Loses, "it permits for "+purpose+", but what the other demands is not met", "X78, F16", d.Because
			case allowed:
				v.Outcome, v.Why, v.Rule, v.Over = Loses, "it permits for "+purpose+", and every purpose must be permitted", "X11", d.Because
			case d.Allowed:
				v.Outcome, v.Why, v.Rule, v.Over = Loses, "it refuses for "+purpose+", and one purpose that may crawl is enough", "X11", d.Because
			default:
				v.Outcome, v.Why, v.Rule, v.Over = Agrees, "it refuses for "+purpose, "X11", d.Because
			}
			out.put(v)
		}
	}
	return out.ordered()
}
