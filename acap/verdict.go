package acap

// verdict is a small set of statements: those that decide a usage of a resource, broader scopes before narrower. Up to four stand
// in place, so that deciding does not allocate.
type verdict struct {
	n    int
	few  [4]*statement
	more []*statement
	caps *restraint // conventional caps that bind beside them
}

func (v *verdict) add(s *statement) {
	if v.n < len(v.few) {
		v.few[v.n] = s
	} else {
		v.more = append(v.more, s)
	}
	v.n++
}

func (v *verdict) at(i int) *statement {
	if i < len(v.few) {
		return v.few[i]
	}
	return v.more[i-len(v.few)]
}

// drop takes the last statement away.
func (v *verdict) drop() {
	v.n--
	if v.n >= len(v.few) {
		v.more = v.more[:v.n-len(v.few)]
	}
}

// merge adds the statements of w that v does not hold.
func (v *verdict) merge(w *verdict) {
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

// prohibition gives the first prohibition in the order of appearance, those of the page before those of the origin; nil if there is
// none.
func (v *verdict) prohibition() (found *statement) {
	for i := range v.n {
		s := v.at(i)
		if !s.allow && (found == nil || s.page && !found.page || s.page == found.page && s.seq < found.seq) {
			found = s
		}
	}
	return found
}

// permission gives the first permission in the order of appearance, nil if there is none.
func (v *verdict) permission() (found *statement) {
	for i := range v.n {
		if s := v.at(i); s.allow && (found == nil || s.seq < found.seq) {
			found = s
		}
	}
	return found
}

// ranks notes which places among addressees and purposes are taken.
type ranks [4]bool

// outranks reports whether rank a is at least as specific as b in addressee and in purpose, and more so in one (C03).
func outranks(a, b uint8) bool { return a != b && a&b == b }

// override reports whether a statement of that rank yields to one that outranks it.
func (present *ranks) override(rank uint8) bool {
	for other := range uint8(4) {
		if present[other] && outranks(other, rank) {
			return true
		}
	}
	return false
}

// reach reports whether a statement of that rank meets one at least as specific in addressee and in purpose.
func (present *ranks) reach(rank uint8) bool { return present[rank] || present.override(rank) }

// matched builds the verdict of one usage: from statements that cover the resource, broader before narrower, it keeps those that
// are not overridden (C02-C04) and have nothing narrower beside them (F07). Two that an undetermined or identical scope sets side
// by side are both kept; whatever is broader than the newcomer stands together at the end, so that the work is linear.
type matched struct {
	*verdict
	present ranks
}

func (m *matched) take(s *statement, p *Policy, rooted bool) {
	rank := s.rank()
	if m.present.override(rank) {
		p.recorder.outrank(s, m.verdict)
		return
	}
	if !m.present[rank] {
		m.present[rank] = true
		if m.n > 0 {
			old := *m.verdict
			*m.verdict = verdict{}
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
