package acap

// conventionalRecords lists the Allow and Disallow lines that match the resource (RFC 9309 2.2.2,
// P1 2.10).
func (t *trace) conventionalRecords() {
	d := &t.decision
	kept, _ := t.preference(recordsAt).(*rules)
	counted, silenced := t.conventionalLines()
	winner := ruleOf(t.recorder.opinions[recordsAt].Because, counted)
	for _, r := range counted {
		if !r.matches(t.resource.rep) {
			continue
		}
		switch {
		case kept == nil || ruleOf(r.field, kept.list) == nil:
			t.addRule(r, Loses, "an ACAP field with the same pattern cancels it", "P1 2.10.2, O04", t.canceller(r))
		case t.resource.rep == "/robots.txt":
			t.addRule(r, Loses, "robots.txt itself may always be fetched", "RFC 9309 2.2.2", d.Because)
		case r.field == d.Because:
			t.addRule(r, Decides, "", "", nil)
		case r.field != winner.field && len(r.exact) == len(winner.exact):
			t.addRule(r, Loses, "of equally long rules Allow wins against Disallow, and then the first rule",
				"RFC 9309 2.2.2, O10", winner.field)
		case r.field != winner.field:
			t.addRule(r, Loses, "the other is the longer match", "RFC 9309 2.2.2", winner.field)
		case d.Allowed:
			t.addRule(r, Binds, "both ACAP and the conventional records must permit", "P1 2.10.2, O05", d.Because)
		case r.allow:
			t.addRule(r, Loses, "both ACAP and the conventional records must permit", "P1 2.10.2, O05", d.Because)
		default:
			t.addRule(r, Agrees, "it prohibits too", "", d.Because)
		}
	}
	for _, r := range silenced {
		if r.matches(t.resource.rep) {
			t.addRule(r, Loses, "ACAP-ignore-conventional-records is in effect", "P1 2.10.1", nil)
		}
	}
}

// ruleOf returns the rule in list whose field is f, or nil if there is none.
func ruleOf(f *Field, list []*rule) *rule {
	for _, r := range list {
		if r.field == f {
			return r
		}
	}
	return nil
}

// overruledRecords lists the Allow and Disallow lines that match the resource. They lost against a
// decision that was made without comparing statements.
func (t *trace) overruledRecords(because *Field, why, rule string) {
	counted, _ := t.conventionalLines()
	for _, r := range counted {
		if r.matches(t.resource.rep) {
			t.addRule(r, Loses, why, rule, because)
		}
	}
}

func (t *trace) addRule(r *rule, o Outcome, why, rule string, over *Field) {
	t.add(r.field, kCrawl, r.allow, o, why, rule, over)
}

// conventionalLines returns the rules of the groups that apply to the crawler, and the rules that
// ACAP-ignore-conventional-records disables (P1 2.3.2, D06; P1 2.10.1, O09).
func (t *trace) conventionalLines() (counted, silenced []*rule) {
	var heard, ignored []*group
	t.files(t.refs, func(f, parent *File, _ bool) {
		if f.ignore || parent != nil && parent.ignore {
			ignored = append(ignored, f.groups...)
		} else {
			heard = append(heard, f.groups...)
		}
	})
	lines, _, _ := governing(heard, &t.crawler)
	others, _, _ := governing(ignored, &t.crawler)
	return readAll(lines), readAll(others)
}

// canceller returns the ACAP field that cancels a conventional rule (P1 2.10.2, O04). It prefers a
// field that names the crawler (P1 2.10.2, O07).
func (t *trace) canceller(r *rule) (f *Field) {
	for _, s := range t.by[kCrawl] {
		if s.pattern != nil && s.pattern.exact == r.exact && s.allow != r.allow && (f == nil || s.named) {
			f = s.field
		}
	}
	return f
}

// files calls visit with robots.txt and each of its references that could be read.
func (p *Policy) files(refs []Reference, visit func(f, parent *File, second bool)) {
	if p.file == nil {
		return
	}
	visit(p.file, nil, false)
	p.file.eachReference(&p.crawler, func(want Reference, second bool) {
		for _, got := range refs {
			if got.Field == want.Field && got.File != nil {
				visit(got.File, p.file, second)
				return
			}
		}
	})
}
