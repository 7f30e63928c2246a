package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// maxDrifting is the maximum number of crawlers for which the ACAP fields and the conventional
// records are compared.
const maxDrifting = 200

// drift is a field of one layer (ACAP or conventional) that prohibits something that the other
// layer permits to some crawlers.
type drift struct {
	field    *acap.Field
	ofACAP   bool
	any      bool
	names    []string
	example  string
	opposite *acap.Field // the field of the other layer that permits what field prohibits; nil if there is none
}

// drifting compares what the ACAP fields and the conventional records say about crawling, if a file
// uses both and both are obeyed. For each of the two, it reports what only this one prohibits: once
// for named crawlers, and once for any crawler; the command diff lists all differences.
func (l *linter) drifting() {
	crawls := slices.ContainsFunc(l.statements, func(s acap.Statement) bool {
		return slices.Contains(s.Usages,
			acap.Crawl) && len(s.Crawlers) > 0
	})
	if !crawls || len(l.groups) == 0 || l.file.IgnoreConventional() || !l.looks(8*len(l.statements)+l.file.Size()) {
		return
	}
	d := &drifter{linter: l, blind: (&Document{File: l.file}).conventional(), found: map[int]*drift{},
		resources: map[string]acap.Resource{}}
	d.groups = d.blind.Groups()
	d.speaking, d.governing = d.speakers(), byAgent(d.groups)
	names := l.file.Crawlers()
	if len(names) > maxDrifting {
		names, l.cut = names[:maxDrifting], true
	}
	d.compare(acap.Crawler{Purposes: []string{}}, "")
	for _, n := range names {
		c := named(n)
		c.Purposes = []string{}
		d.compare(c, n)
	}
	d.tell()
}

type drifter struct {
	*linter
	blind     *acap.File // the file as it is read by a crawler that does not know ACAP
	groups    []acap.Group
	found     map[int]*drift           // differences, by line number
	resources map[string]acap.Resource // examples of patterns, by pattern
	speaking  map[string][]int         // indexes of the prohibitions of crawl, by the crawler names that they address
	governing map[string][]*acap.Group // the groups of the file, by crawler name
}

// speakers returns the indexes of the prohibitions of crawl, by the crawler names that they
// address. It leaves out prohibitions for a purpose.
func (d *drifter) speakers() map[string][]int {
	out := map[string][]int{}
	for i, a := range d.audiences {
		s := &d.statements[i]
		if a == nil || s.Allow || len(s.Purposes) > 0 || !slices.Contains(s.Usages, acap.Crawl) ||
			!d.looks(1+len(a.names)) {
			continue
		}
		if a.any {
			out["*"] = append(out["*"], i)
			continue
		}
		for _, n := range a.names {
			token := strings.ToLower(named(n).Names[0])
			out[token] = append(out[token], i)
		}
	}
	return out
}

// compare compares both layers for the crawler c, on an example of each field and rule that
// prohibits something to c.
func (d *drifter) compare(c acap.Crawler, name string) {
	both := d.policy(c)
	if both == nil {
		return
	}
	part := d.blind.For(c)
	if !d.looks(len(d.records) + len(d.groups) + 12*part.Size()) {
		return
	}
	blind := part.Policy(c)
	for _, i := range slices.Concat(d.speaking["*"], d.speaking[strings.ToLower(first(c.Names))]) {
		s := &d.statements[i]
		if !d.looks(2) {
			return
		}
		r := d.resource(s.Patterns[0])
		if no := both.Decide(acap.Crawl, r); !no.Allowed && no.Because == s.Field {
			if yes := blind.Decide(acap.Crawl, r); yes.Allowed {
				d.note(s.Field, true, name, s.Patterns[0], yes.Because)
			}
		}
	}
	own := d.governing[strings.ToLower(first(c.Names))]
	if len(own) == 0 {
		own = d.governing["*"]
	}
	for _, g := range own {
		for _, rule := range g.Rules {
			if rule.Allow {
				continue
			}
			if !d.looks(2) {
				return
			}
			r := d.resource(rule.Pattern)
			if no := blind.Decide(acap.Crawl, r); no.Allowed || no.Because != rule.Field {
				continue
			}
			switch yes := both.Decide(acap.Crawl, r); {
			case yes.Allowed:
				d.note(rule.Field, false, name, rule.Pattern, yes.Because)
			case yes.Reason == acap.Conventional:
				d.note(rule.Field, false, name, rule.Pattern, nil)
			}
		}
	}
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// resource returns an example of a resource that a pattern covers, and stores it for later calls.
func (d *drifter) resource(pattern string) acap.Resource {
	r, ok := d.resources[pattern]
	if !ok {
		r = resource(plainest(pattern))
		d.resources[pattern] = r
	}
	return r
}

func (d *drifter) note(f *acap.Field, ofACAP bool, name, pattern string, opposite *acap.Field) {
	n := d.found[f.Line]
	if n == nil {
		n = &drift{field: f, ofACAP: ofACAP, example: plainest(pattern), opposite: opposite}
		d.found[f.Line] = n
	}
	if name == "" {
		n.any = true
	} else {
		n.names = append(n.names, name)
	}
}

// whom returns the crawlers to which the field of the difference n prohibits something, as text for
// a message.
func (n *drift) whom() string {
	const few = 3
	list := slices.Clone(n.names)
	if n.any {
		list = []string{"any crawler"}
	}
	if len(list) > few {
		return fmt.Sprintf("%s and %d others", strings.Join(list[:few], ", "), len(list)-few)
	}
	return strings.Join(list, ", ")
}

// tell reports each kind of difference once, at its first line.
func (d *drifter) tell() {
	var lines []int
	for line := range d.found {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	type kind struct{ ofACAP, any bool }
	kinds := map[kind][]*drift{}
	for _, line := range lines {
		n := d.found[line]
		kinds[kind{n.ofACAP, n.any}] = append(kinds[kind{n.ofACAP, n.any}], n)
	}
	for _, k := range []kind{{true, true}, {true, false}, {false, true}, {false, false}} {
		if len(kinds[k]) == 0 {
			continue
		}
		n, more := kinds[k][0], ""
		if rest := kinds[k][1:]; len(rest) > 0 {
			more = fmt.Sprintf("; and %d more like this, the last in line %d", len(rest),
				rest[len(rest)-1].field.Line)
		}
		says, by := "the conventional records", ""
		if !k.ofACAP {
			says = "the ACAP fields"
		}
		if n.opposite != nil {
			by = fmt.Sprintf(" (line %d)", n.opposite.Line)
		}
		d.linter.tell(n.field, firstWord(n.field), "drifting-records", acap.Warning,
			"say the same in both; acapcrawl diff lists where they differ",
			"this refuses %s to %s; by %s alone%s it may be crawled%s", n.example, n.whom(), says, by, more)
	}
}
