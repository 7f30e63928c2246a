package acap

// statementSet holds the statements about one usage of a resource that are in force. Broader scopes
// come before narrower ones. Up to four statements need no allocation.
type statementSet struct {
	n    int
	few  [4]*statement
	more []*statement
	caps *restraint // limits of other vocabularies that are in force, too; nil if there are none
}

func (v *statementSet) add(s *statement) {
	if v.n < len(v.few) {
		v.few[v.n] = s
	} else {
		v.more = append(v.more, s)
	}
	v.n++
}

func (v *statementSet) at(i int) *statement {
	if i < len(v.few) {
		return v.few[i]
	}
	return v.more[i-len(v.few)]
}

// drop removes the last statement.
func (v *statementSet) drop() {
	v.n--
	if v.n >= len(v.few) {
		v.more = v.more[:v.n-len(v.few)]
	}
}

// merge adds the statements of w that are not in v.
func (v *statementSet) merge(w *statementSet) {
	if v.n+w.n > 2*len(v.few) {
		have := make(map[*statement]bool, v.n+w.n)
		for i := range v.n {
			have[v.at(i)] = true
		}
		for i := range w.n {
			if s := w.at(i); !have[s] {
				have[s] = true
				v.add(s)
			}
		}
		return
	}
	for i := range w.n {
		s, held := w.at(i), false
		for j := range v.n {
			held = held || v.at(j) == s
		}
		if !held {
			v.add(s)
		}
	}
}

// prohibition returns the first prohibition, nil if there is none. Prohibitions in the page come
// before prohibitions of the origin.
func (v *statementSet) prohibition() (found *statement) {
	for i := range v.n {
		s := v.at(i)
		if !s.allow && (found == nil || s.page && !found.page || s.page == found.page && s.seq < found.seq) {
			found = s
		}
	}
	return found
}

// permission returns the first permission in the order of appearance, nil if there is none.
func (v *statementSet) permission() (found *statement) {
	for i := range v.n {
		if s := v.at(i); s.allow && (found == nil || s.seq < found.seq) {
			found = s
		}
	}
	return found
}

// ranks is a set of ranks. A rank says how specific an addressee and a purpose are.
type ranks [4]bool

// outranks reports whether rank a is at least as specific as rank b in addressee and purpose, and
// more specific in one of the two (P1 2.2.1, C03).
func outranks(a, b uint8) bool { return a != b && a&b == b }

// override reports whether a rank in the set outranks the given one.
func (present *ranks) override(rank uint8) bool {
	for other := range uint8(4) {
		if present[other] && outranks(other, rank) {
			return true
		}
	}
	return false
}

// reach reports whether a rank in the set is at least as specific as the given one in addressee and
// in purpose.
func (present *ranks) reach(rank uint8) bool { return present[rank] || present.override(rank) }

// matched collects the statements about one usage that are in force. Its input are the statements
// that cover a resource, broader ones before narrower ones. It keeps those that no more specific
// addressee or purpose overrides (P1 2.2.1, C02-C04) and that are not broader than another one (P1
// 2.4.6, F07). If the scopes of two statements are equal or undetermined, it keeps both. All
// statements that are broader than a new one are at the end of the set, so the work is linear.
type matched struct {
	*statementSet
	present ranks
}

// collect adds s, unless a statement with a more specific addressee or purpose (P1 2.2.1, C02-C04),
// or with a narrower pattern (P1 2.4.6, F07), overrides it. It removes the statements that s
// overrides.
func (m *matched) collect(s *statement, p *Policy, rooted bool) {
	rank := s.rank()
	if m.present.override(rank) {
		p.recorder.outrank(s, m.statementSet)
		return
	}
	if !m.present[rank] {
		m.present[rank] = true
		if m.n > 0 {
			old := *m.statementSet
			*m.statementSet = statementSet{}
			for i := range old.n {
				if t := old.at(i); m.present.override(t.rank()) {
					p.recorder.lose(t, s, outranked)
				} else {
					m.add(t)
				}
			}
		}
	}
	for !s.all && m.n > 0 && p.compare(s, m.at(m.n-1), rooted) == narrower {
		p.recorder.lose(m.at(m.n-1), s, narrowed)
		m.drop()
	}
	m.add(s)
}
