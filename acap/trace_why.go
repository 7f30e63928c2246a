package acap

import "slices"

// decider returns the prohibition that decides, or nil if something else than a prohibition
// decides.
func (t *trace) decider() (found *statement) {
	if t.decision.Allowed || t.decision.Because == nil {
		return nil
	}
	for s := range t.recorder.left {
		if !s.allow && s.field == t.decision.Because &&
			(found == nil || s.kind == t.kind && found.kind != t.kind || s.kind == found.kind && s.seq < found.seq) {
			found = s
		}
	}
	return found
}

// beyondFields returns why a usage is refused although an ACAP permission covers it and no ACAP
// field prohibits it, for example by a conventional record. rule is the paragraph that says so.
func (t *trace) beyondFields(s *statement) (why, rule string) {
	switch t.decision.Reason {
	case Conventional:
		return t.uncancelling(s)
	case ByMeta, ByHeader:
		return "no permission of ACAP lifts a conventional restriction", "N12, N19"
	}
	return "it permits, but a condition of the other is not met", "F16"
}

// uncancelling returns why a permission of crawl does not cancel the conventional rule that
// decides, and the rule for that.
func (t *trace) uncancelling(s *statement) (why, rule string) {
	counted, _ := t.conventionalLines()
	decides := ruleOf(t.decision.Because, counted)
	switch {
	case s.pattern == nil || s.pattern.exact != decides.exact:
		return "both ACAP and the conventional records must permit", "P1 2.10.2, O05"
	case slices.ContainsFunc(t.by[kCrawl], func(o *statement) bool {
		return !o.allow && o.pattern != nil && o.pattern.exact == decides.exact
	}):
		return "it does not cancel the rule of its pattern, since another ACAP field prohibits the pattern",
			"P1 2.10.2, X72, X85"
	}
	return "it is for any crawler, and does not cancel the rule of its pattern in a group that names this crawler",
		"P1 2.10.2, O07"
}

// conflict returns why the permission yes loses against no, a prohibition of the same usage type,
// and the rule for that.
func (t *trace) conflict(yes, no *statement) (why, rule string) {
	raw, rooted := t.compare(yes, no, false), t.compare(yes, no, true)
	switch {
	case no.all:
		return "the prohibition covers everything, and no narrower pattern wins against it", "X35"
	case yes.page && no.page:
		return "if a page permits and prohibits the same, the prohibition wins", "P2 2.2.8"
	case yes.page != no.page:
		return "the prohibition has a more specific address than the permission of the page", "P2 2.2.8, N02"
	case raw == identical:
		return "with the same pattern the prohibition wins", "P1 2.4.6, F05"
	case raw != rooted:
		return "which pattern is narrower depends on whether it starts at the root", "F03"
	}
	return "neither pattern is narrower, so the prohibition wins", "P1 2.4.6, F02"
}

// unlifted returns why yes, a permission of a type, loses against no, a prohibition of "present",
// and the rule for that (P1 2.5.5, F17).
func (t *trace) unlifted(yes, no *statement) (why, rule string) {
	switch raw := t.compare(yes, no, false); {
	case no.all:
		return "the prohibition of present covers everything, and no narrower pattern wins against it", "X35"
	case no.instead:
		return "a permission of present that cannot be interpreted prohibits, " +
			"and no permission of a type based on it wins against it", "P1 2.4.3, X81"
	case yes.page && !no.page:
		return "the prohibition of present has a more specific address than the permission of the page", "P2 2.2.8, N02"
	case raw == broader:
		return "the prohibition of present has the narrower pattern", "P1 2.4.6, F17"
	case raw != t.compare(yes, no, true):
		return "which pattern is narrower depends on whether it starts at the root", "F03, F17"
	}
	return "the prohibition of present has a pattern that is not broader", "P1 2.4.6, F17"
}

// whyLost returns why a statement lost against another statement of the same usage type, and the
// rule for that.
func (t *trace) whyLost(s *statement, l loss) (why, rule string) {
	switch {
	case l.cause == outranked && l.to.named && !s.named:
		return "a field that names this crawler wins against one for any crawler", "P1 2.2.1, C02"
	case l.cause == outranked:
		return "a field for its purpose wins against one for any purpose", "P1 2.2.1, C04"
	case l.cause == gaveWay:
		return "a statement of the page wins", "P2 2.2.8, N02, N03"
	case l.cause == narrowed:
		return "the other pattern is narrower", "P1 2.4.6, F07"
	}
	return t.conflict(s, l.to)
}
