package acap

import "time"

// Bound is a field with the limits that it sets for a permitted usage.
type Bound struct {
	Field  *Field
	Limits Limits
}

// Bounds returns the fields that set the limits of d, in the order of appearance. It leaves out a
// time or a length if another field sets a stricter time or length.
func (d Decision) Bounds(f Facts) (list []Bound) {
	all := d.Limits(f)
	add := func(by *Field, l Limits) {
		if !l.Until.Equal(all.Until) {
			l.Until = time.Time{}
		}
		l.MaxChars, l.MaxWords = ifEqual(l.MaxChars, all.MaxChars), ifEqual(l.MaxWords, all.MaxWords)
		if by != nil && !l.Empty() {
			list = append(list, Bound{by, l})
		}
	}
	for _, s := range d.bound() {
		var l Limits
		s.limit(&l, d, f)
		add(s.field, l)
	}
	if c := d.fields.caps; c != nil {
		for _, one := range []restraint{{maxChars: c.maxChars, snippet: c.snippet},
			{until: c.until, untilField: c.untilField}} {
			var l Limits
			one.limit(&l, d)
			by := one.snippet
			if by == nil {
				by = one.untilField
			}
			add(by, l)
		}
	}
	return list
}

func ifEqual(a, b *int) *int {
	if a == nil || b == nil || *a != *b {
		return nil
	}
	return a
}

// Holder returns the first field with a limit in force for which the function is returns true. If
// there is none, it returns d.Because.
func (d Decision) Holder(f Facts, is func(Limits) bool) *Field {
	for _, b := range d.Bounds(f) {
		if is(b.Limits) {
			return b.Field
		}
	}
	return d.Because
}
