package acap

import (
	"maps"
	"slices"
)

// staged returns a policy that permits what both asSent and scripted permit: p narrowed to a page as sent, and
// p narrowed to the page after its scripts ran.
func (p *Policy) staged(asSent, scripted *Policy) *Policy {
	q := *asSent
	q.stages = []*Policy{asSent, scripted}
	q.spoken = maps.Clone(asSent.spoken)
	if q.spoken == nil {
		q.spoken = map[string]bool{}
	}
	maps.Copy(q.spoken, scripted.spoken)
	if scripted != p {
		q.findings = slices.Concat(asSent.findings, scripted.findings[len(p.findings):])
	}
	return &q
}

// stricter returns the stricter opinion of list and other for each vocabulary. It changes list.
func stricter(list, other []Said) []Said {
	for _, o := range other {
		i := slices.IndexFunc(list, func(s Said) bool { return s.Vocabulary == o.Vocabulary })
		switch {
		case i < 0:
			list = append(list, o)
		case o.Verdict > list[i].Verdict:
			list[i] = o
		}
	}
	return list
}
