package acap

// recorder is what a decision notes for Trace while it is made: which statements are left of each
// usage type, and against which other each of the rest lost. A nil recorder notes nothing, so that
// a decision that nobody explains pays for a comparison with nil alone.
type recorder struct {
	left     map[*statement]bool
	lost     map[*statement]loss
	opinions map[int]Opinion // by the place of the vocabulary
}

// loss is why a statement does not count, and the statement that counts in its place.
type loss struct {
	to    *statement
	cause cause
}

// cause is the rule by which a statement loses. Where a statement loses twice, since patterns are
// compared both as written and rooted (P1 2.4.6, F03: a pattern may begin anywhere), the lower
// cause is the one that explains more.
type cause uint8

const (
	// P1 2.5.5 (F17): the other permits a type based on present, for a scope that is no broader
	beaten      cause = iota + 1
	outranked         // P1 2.2.1 (C02-C04): the other is addressed more closely
	gaveWay           // P2 2.2.8 (N02, N03): the other is what the page says of itself
	narrowed          // P1 2.4.6 (F07): the other has the narrower pattern
	conflicting       // P1 2.4.6 (F02): the other prohibits, and may not be lifted
)

func newRecorder() *recorder {
	return &recorder{left: map[*statement]bool{}, lost: map[*statement]loss{}, opinions: map[int]Opinion{}}
}

// keep notes the statements of one usage type that are left.
func (rec *recorder) keep(v *statementSet) {
	if rec == nil {
		return
	}
	for i := range v.n {
		rec.left[v.at(i)] = true
	}
}

// opinion notes what the vocabulary at a place says.
func (rec *recorder) opinion(at int, o Opinion) {
	if rec != nil {
		rec.opinions[at] = o
	}
}

// lose notes that s lost against to, unless a lower cause is known.
func (rec *recorder) lose(s, to *statement, why cause) {
	if rec == nil {
		return
	}
	if l, known := rec.lost[s]; !known || why < l.cause {
		rec.lost[s] = loss{to, why}
	}
}

// beat notes that no, a prohibition of present that was left, lost against a specific permission.
func (rec *recorder) beat(no, yes *statement) {
	if rec != nil {
		rec.lost[no] = loss{yes, beaten}
	}
}

// outrank notes that s lost against the first of v that is addressed more closely.
func (rec *recorder) outrank(s *statement, v *statementSet) {
	if rec == nil {
		return
	}
	for i := range v.n {
		if to := v.at(i); outranks(to.rank(), s.rank()) {
			rec.lose(s, to, outranked)
			return
		}
	}
}

// outrankRest notes that those of a list that are not in v lost against one that is.
func (rec *recorder) outrankRest(list []*statement, v *statementSet) {
	if rec == nil || len(list) == v.n {
		return
	}
	for _, s := range list {
		rec.outrank(s, v)
	}
}

// giveWay notes that s, of an origin, lost against the first statement of its page that takes its
// place.
func (rec *recorder) giveWay(s *statement, page *statementSet) {
	if rec == nil {
		return
	}
	for i := range page.n {
		to := page.at(i)
		if to.page && (!to.allow || !s.all && to.rank() == s.rank() || outranks(to.rank(), s.rank())) {
			rec.lose(s, to, gaveWay)
			return
		}
	}
}

// conflict notes that all of v lost against a prohibition.
func (rec *recorder) conflict(v *statementSet, no *statement) {
	if rec == nil {
		return
	}
	for i := range v.n {
		rec.lose(v.at(i), no, conflicting)
	}
}

// loss returns against which statement s lost, of those that are left, and why. What s lost against
// may have lost itself.
func (rec *recorder) loss(s *statement) (l loss, ok bool) {
	l, ok = rec.lost[s]
	for ok && !rec.left[l.to] {
		next, known := rec.lost[l.to]
		if !known || next.cause != outranked && next.cause != narrowed {
			break
		}
		l.to, l.cause = next.to, min(l.cause, next.cause)
	}
	return l, ok
}
