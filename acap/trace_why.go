package acap

import "slices"

// decider is the prohibition among the statements that the decision rests on, nil where it rests on something else.
func (t *trace) decider(groups ...*speakers) *statement {
	if t.decision.Allowed || t.decision.Because == nil {
		return nil
	}
	for _, g := range groups {
		for i := range g.n {
			if s := g.at(i); !s.allow && s.field == t.decision.Because {
				return s
			}
		}
	}
	return nil
}

// outdone reports whether specific permissions beat a prohibition of present, whichever way patterns are compared (F17).
func (t *trace) outdone(s *statement, exact *speakers) bool {
	return !s.instead && exact.n > 0 && exact.prohibition() == nil && t.beaten(s, &exact.verdict, false) &&
		t.beaten(s, &exact.verdict, true)
}

// lifter is the specific permission that beats a prohibition of present.
func (t *trace) lifter(s *statement, exact *speakers) *Field {
	yes := exact.find(func(o *statement) bool {
		var one verdict
		one.add(o)
		return o.allow && t.beaten(s, &one, false)
	})
	return yes.field
}

// beyondFields says why a permission that prevails among the ACAP fields does not decide, where none of them refuses.
func (t *trace) beyondFields(s *statement) (why, rule string) {
	switch t.decision.Reason {
	case Conventional:
		return t.uncancelling(s)
	case ByMeta, ByHeader:
		return "no permission of ACAP lifts a conventional restriction", "N12, N19"
	}
	return "it permits, but what the other demands is not met", "F16"
}

// uncancelling says why a permission of crawl does not prevail over the conventional rule that
// decides.
func (t *trace) uncancelling(s *statement) (why, rule string) {
	decides := t.rules.judge(t.resource.rep)
	switch {
	case s.pattern == nil || s.pattern.exact != decides.exact:
		return "both ACAP and the conventional records must permit", "P1 2.10.2, O05"
	case slices.ContainsFunc(t.by[kCrawl], func(o *statement) bool {
		return !o.allow && o.pattern != nil && o.pattern.exact == decides.exact
	}):
		return "it does not cancel the rule of its pattern, since another ACAP field prohibits the pattern",
			"P1 2.10.2, X72, X85"
	}
	return "said to any crawler, it does not cancel the rule of its pattern in a group that names this crawler",
		"P1 2.10.2, O07"
}

// conflict says why a permission yields to a prohibition of the same type that prevails beside it.
func (t *trace) conflict(yes, no *statement) (why, rule string) {
	raw, rooted := t.compare(yes, no, false), t.compare(yes, no, true)
	switch {
	case no.all:
		return "the prohibition covers everything, and yields to no pattern", "X35"
	case yes.page && no.page:
		return "where a page says both it prohibits", "P2 2.2.8"
	case yes.page != no.page:
		return "the prohibition is addressed more closely than what the page permits", "P2 2.2.8, N02"
	case raw == identical:
		return "with the same pattern the prohibition stands", "P1 2.4.6, F05"
	case raw != rooted:
		return "which pattern is narrower depends on whether it starts at the root", "F03"
	}
	return "neither pattern is narrower, so the prohibition stands", "P1 2.4.6, F02"
}

// unlifted says why a specific permission does not lift a prohibition of present (F17).
func (t *trace) unlifted(yes, no *statement) (why, rule string) {
	switch raw := t.compare(yes, no, false); {
	case no.all:
		return "the prohibition of present covers everything, and yields to no pattern", "X35"
	case no.instead:
		return "a permission of present that cannot be interpreted prohibits, and yields to no permission of a type based on it", "P1 2.4.3, X81"
	case yes.page && !no.page:
		return "the prohibition of present is addressed more closely than what the page permits", "P2 2.2.8, N02"
	case raw == broader:
		return "the prohibition of present has the narrower pattern", "P1 2.4.6, F17"
	case raw != t.compare(yes, no, true):
		return "which pattern is narrower depends on whether it starts at the root", "F03, F17"
	}
	return "the prohibition of present has a pattern that is not broader", "P1 2.4.6, F17"
}

// displaced says why a statement does not prevail among those of its type.
func (t *trace) displaced(s *statement, g *speakers) {
	closer := g.find(func(o *statement) bool { return o.page == s.page && outranks(o.rank(), s.rank()) })
	if closer != nil {
		if closer.named && !s.named {
			t.lose(s, closer.field, "what names this crawler goes before what speaks to any", "P1 2.2.1, C02")
		} else {
			t.lose(s, closer.field, "what is said for its purpose goes before what is said for any", "P1 2.2.1, C04")
		}
		return
	}
	if !s.page && g.prevailed[s] {
		o := g.find(func(o *statement) bool {
			return o.page && (!o.allow || !s.all && o.rank() == s.rank() || outranks(o.rank(), s.rank()))
		})
		if o != nil {
			t.lose(s, o.field, "what a page says of itself goes before", "P2 2.2.8, N02, N03")
			return
		}
	}
	narrow := g.find(func(o *statement) bool {
		return o.page == s.page && (t.compare(o, s, false) == narrower || t.compare(o, s, true) == narrower)
	})
	if narrow != nil {
		t.lose(s, narrow.field, "the other pattern is narrower", "P1 2.4.6, F07")
	} else if no := g.prohibition(); no != nil {
		why, rule := t.conflict(s, no)
		t.lose(s, no.field, why, rule)
	}
}
