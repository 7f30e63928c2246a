package acap

// recorder stores information for Trace while a decision is made: which statements of each usage
// type are in force, and against which statement each of the other statements lost. A nil recorder
// stores nothing, so a decision without a trace costs only comparisons with nil.
type recorder struct {
	left     map[*statement]bool
	lost     map[*statement]loss
	opinions map[int]Opinion // the opinions of vocabularies, by the index of the vocabulary
}

// loss says why a statement lost, and against which statement.
type loss struct {
	to    *statement
	cause cause
}

// cause is the rule by which another statement wins against a statement. A statement may lose for
// two causes, because patterns are compared as written and with a leading slash (P1 2.4.6, F03).
// Then the recorder stores the smaller of the two numbers, the more exact explanation.
type cause uint8

const (
	// P1 2.5.5 (F17): the winner permits a usage type that is based on "present", such as
	// present-snippet, and its pattern is not broader than the pattern of the loser
	beaten      cause = iota + 1
	outranked         // P1 2.2.1 (C02-C04): the winner has a more specific addressee or purpose
	gaveWay           // P2 2.2.8 (N02, N03): the winner is a statement of the page
	narrowed          // P1 2.4.6 (F07): the winner has a narrower pattern
	conflicting       // P1 2.4.6 (F02): the winner is a prohibition that the loser may not replace
)

func newRecorder() *recorder {
	return &recorder{left: map[*statement]bool{}, lost: map[*statement]loss{}, opinions: map[int]Opinion{}}
}

// keep stores that the statements of v, of one usage type, are in force.
func (rec *recorder) keep(v *statementSet) {
	if rec == nil {
		return
	}
	for i := range v.n {
		rec.left[v.at(i)] = true
	}
}

// opinion stores the opinion of the vocabulary with the index at.
func (rec *recorder) opinion(at int, o Opinion) {
	if rec != nil {
		rec.opinions[at] = o
	}
}

// lose stores that the statement s lost against the statement to, unless a loss of s with a lower
// cause is known.
func (rec *recorder) lose(s, to *statement, why cause) {
	if rec == nil {
		return
	}
	if l, known := rec.lost[s]; !known || why < l.cause {
		rec.lost[s] = loss{to, why}
	}
}

// beat stores that the statement no, a prohibition of "present" that was in force, lost against the
// statement yes, a permission of a type based on "present".
func (rec *recorder) beat(no, yes *statement) {
	if rec != nil {
		rec.lost[no] = loss{yes, beaten}
	}
}

// outrank stores that s lost against the first statement of v with a more specific addressee or
// purpose.
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

// outrankRest stores, for each statement of list that is not in v, that this statement lost against
// a statement of v.
func (rec *recorder) outrankRest(list []*statement, v *statementSet) {
	if rec == nil || len(list) == v.n {
		return
	}
	for _, s := range list {
		rec.outrank(s, v)
	}
}

// giveWay stores that s, a statement of an origin, lost against the first statement of the page
// that replaces it.
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

// conflict stores that all statements of v lost against the prohibition no.
func (rec *recorder) conflict(v *statementSet, no *statement) {
	if rec == nil {
		return
	}
	for i := range v.n {
		rec.lose(v.at(i), no, conflicting)
	}
}

// loss returns why s lost, and against which statement that is in force. If that statement also
// lost, loss follows the chain of lost statements to its end.
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
