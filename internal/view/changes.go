package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/policy"
)

// Limits on what is shown of a comparison.
const (
	maxChanged  = 200 // differences of one kind
	maxExamples = 5   // addresses of one difference
)

// compared is the difference between two robots.txt.
type compared struct {
	First, Second    string // names of the two texts
	Refused, Allowed string // titles of the groups of what only the first, and only the second, allows
	Crawlers         string
	Groups           []changeGroup
	Left             int // differences that are not shown
	Notes            []string
	Stopped          bool // the comparison took too long
}

// changeGroup is the differences of one kind.
type changeGroup struct {
	Title   string
	Changes []changeRow
}

// changeRow is one difference, for all crawlers and usages for which it is the same.
type changeRow struct {
	Crawlers []string
	What     []string // usages, or the kind of line
	Where    []string // addresses
	More     int      // addresses left out
	Before   changeSide
	After    changeSide
}

// changeSide is what one file says.
type changeSide struct {
	Answer string
	Class  string
	Why    string // the line that decides, with its number
	Reason string // why, if no line decides
	Limits string
}

// fill finds the differences between two documents at the time now. The error is that of ctx.
func (c *compared) fill(ctx context.Context, before, after *check.Document, now time.Time,
	ask, preferences check.Ask) error {
	found, err := check.CompareVersions(ctx, before, after, now, ask, preferences)
	if err != nil {
		return err
	}
	refused, allowed := changeGroup{Title: c.Refused}, changeGroup{Title: c.Allowed}
	limits := changeGroup{Title: "Allowed by both, with other limits"}
	for _, d := range found.Decisions {
		to := &limits
		if d.A.Allowed && !d.B.Allowed {
			to = &refused
		} else if !d.A.Allowed && d.B.Allowed {
			to = &allowed
		}
		c.add(to, rowOf(d.Crawler, string(d.Usage), d.Addresses, sideOf(d.A), sideOf(d.B)))
	}
	stated := changeGroup{Title: "Said differently in a newer vocabulary"}
	for _, one := range found.Contrasts {
		c.add(&stated, rowOf(one.Crawler, string(one.Usage)+" ("+one.Vocabulary+")", one.Addresses,
			sideOfSaid(one.Said[0]), sideOfSaid(one.Said[1])))
	}
	lines := changeGroup{Title: "Requests, references and delays"}
	for _, one := range found.Changes {
		row := rowOf(one.Crawler, one.What, nil, changeSide{Answer: orNone(one.Before), Why: fieldWords(one.Was)},
			changeSide{Answer: orNone(one.After), Why: fieldWords(one.Is)})
		if one.URL != "" {
			row.Where = []string{shorten(one.URL)}
		}
		c.add(&lines, row)
	}
	c.Notes = append(c.Notes, found.Left...)
	for _, g := range []changeGroup{refused, allowed, limits, stated, lines} {
		c.finish(g)
	}
	return nil
}

// add adds a difference to a group. Usages of one crawler with the same addresses and lines are one row.
func (c *compared) add(g *changeGroup, row changeRow) {
	for i := range g.Changes {
		if old := &g.Changes[i]; old.like(&row) && slices.Equal(old.Crawlers, row.Crawlers) {
			old.What = append(old.What, row.What...)
			return
		}
	}
	if len(g.Changes) == maxChanged*maxCrawlers {
		c.Left++
		return
	}
	g.Changes = append(g.Changes, row)
}

// finish joins the rows of crawlers with the same differences, and cuts the list.
func (c *compared) finish(g changeGroup) {
	var list []changeRow
	for _, row := range g.Changes {
		i := slices.IndexFunc(list, func(old changeRow) bool {
			return old.like(&row) && slices.Equal(old.What, row.What)
		})
		switch {
		case i >= 0:
			list[i].Crawlers = append(list[i].Crawlers, row.Crawlers...)
		case len(list) == maxChanged:
			c.Left++
		default:
			list = append(list, row)
		}
	}
	if g.Changes = list; len(list) > 0 {
		c.Groups = append(c.Groups, g)
	}
}

// like reports whether two rows have the same addresses and lines.
func (r *changeRow) like(o *changeRow) bool {
	return slices.Equal(r.Where, o.Where) && r.More == o.More && r.Before == o.Before && r.After == o.After
}

func rowOf(who acap.Crawler, what string, at []check.Address, before, after changeSide) changeRow {
	row := changeRow{Crawlers: []string{nameOf(who)}, What: []string{what}, Before: before, After: after}
	for _, a := range at[:min(len(at), maxExamples)] {
		row.Where = append(row.Where, shorten(a.URL.RequestURI()))
	}
	row.More = len(at) - len(row.Where)
	return row
}

// sideOf returns the answer of one file.
func sideOf(a check.Answer) changeSide {
	d := policy.PublicDecision(acap.Decision{Allowed: a.Allowed, Reason: a.Reason, Note: a.Note})
	s := changeSide{Why: fieldWords(a.Because),
		Limits: shorten(strings.Join(explain.LimitWords(a.Limits, longDate), "; "))}
	if s.Answer, s.Class = verdictOf(d); s.Why == "" {
		s.Reason = explain.Reason(d)
	}
	return s
}

// sideOfSaid returns what one file says in a newer vocabulary.
func sideOfSaid(said acap.Said) changeSide {
	s := changeSide{Why: fieldWords(said.Because)}
	s.Answer, s.Class = saidOf(said.Verdict)
	if said.Terms != "" {
		s.Limits = shorten("terms: " + said.Terms)
	}
	return s
}

// fieldWords returns line and text of a field; "" for nil.
func fieldWords(f *acap.Field) string {
	if f == nil {
		return ""
	}
	return shorten(fmt.Sprintf("line %d: %s", f.Line, f.Text))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return shorten(s)
}

func nameOf(c acap.Crawler) string {
	if len(c.Names) == 0 {
		return "any other crawler"
	}
	return shorten(c.Names[0])
}
