package check

import (
	"maps"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// ruled holds the rules of all groups for the same crawlers. A crawler reads these groups as one
// group (RFC 9309 2.2.1).
type ruled struct {
	first map[said]*acap.Rule
	list  []covered // the Disallow lines
}

// said is the content of a rule, which identifies duplicates.
type said struct {
	allow   bool
	pattern string
}

// rules reports conventional rules that have no effect because of other rules in the same group.
func (l *linter) rules() {
	all := map[string]*ruled{}
	for g := range l.groups {
		group := &l.groups[g]
		if !l.looks(len(group.Agents) + 2*len(group.Rules)) {
			return
		}
		key := keyOf(group.Agents)
		in := all[key]
		if in == nil {
			in = &ruled{first: map[said]*acap.Rule{}}
			all[key] = in
		}
		for i := range group.Rules {
			l.rule(in, &group.Rules[i])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		l.underBroader(all[key].list)
	}
}

func (l *linter) rule(in *ruled, r *acap.Rule) {
	if same := in.first[said{r.Allow, r.Pattern}]; same != nil {
		l.tell(r.Field, "", "duplicate-field", acap.Notice, "keep one", "line %v says the same to the same crawlers",
			same.Field)
		return
	}
	in.first[said{r.Allow, r.Pattern}] = r
	if other := in.first[said{!r.Allow, r.Pattern}]; other != nil && !l.refused[r.Pattern] {
		allow, disallow := r, other
		if !r.Allow {
			allow, disallow = other, r
		}
		l.tell(disallow.Field, firstWord(disallow.Field), "contradictory-field", acap.Error, "keep one of the two",
			"line %v allows the same to the same crawlers: of two rules with the same pattern Allow wins, and "+
				"this has no effect (RFC 9309 2.2.2)", allow.Field)
		return
	}
	if !r.Allow {
		in.list = append(in.list, covered{r.Field, acap.Crawl, r.Pattern, literal(r.Pattern)})
	}
}
