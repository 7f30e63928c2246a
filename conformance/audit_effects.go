package conformance

import (
	"context"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// State is what comes of all that is said about a usage.
type State string

// The states of a Cell.
const (
	Unsaid    State = "unsaid" // nothing is said of it, and so it is permitted
	Permitted State = "permitted"
	Limited   State = "limited" // permitted within limits, or to some readers
	Ask       State = "ask"     // it is said where to ask for it
	Refused   State = "refused"
)

// Effects are what may be done with the addresses of an audit by crawlers for whom that is the same.
type Effects struct {
	Crawlers []string `json:"crawlers"` // "" is any that is not named
	Rows     []Row    `json:"rows"`
}

// Row is what may be done with one address.
type Row struct {
	URL   string `json:"url"`
	Cells []Cell `json:"cells"` // in the order of acap.Usages
}

// Cell is what is decided about one usage.
type Cell struct {
	Usage   acap.Usage   `json:"usage"`
	State   State        `json:"state"`
	Reason  acap.Reason  `json:"reason"`
	Note    string       `json:"note,omitempty"`
	Because []*AuditLine `json:"because"` // what decided, then what limits
	Limits  acap.Limits  `json:"limits"`
	byACAP  bool         // it is refused or limited, and a crawler without ACAP knows nothing of that
}

// effects adds what may be done with u, of which pg is the page, nil where it is not known, by each crawler.
func (a *auditor) effects(ctx context.Context, u *url.URL, pg *page.Page, one AuditPage) error {
	facts := acap.Facts{Now: a.o.Check.Now}
	rows := make([]Row, len(a.views))
	for i, v := range a.views {
		sources := terms.Sources{Policies: v.policies, Fetcher: a.site.Fetcher}
		t, err := terms.Reach(ctx, v.policy, u, pg, sources, facts)
		if err != nil {
			return err
		}
		rows[i].URL = one.URL
		for _, usage := range acap.Usages() {
			rows[i].Cells = append(rows[i].Cells, cellOf(t.Decide(usage), facts))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if pg != nil {
			a.contradict(v, t, pg, facts)
		}
	}
	for i, v := range a.views {
		v.rows = append(v.rows, rows[i])
	}
	return nil
}

func cellOf(d acap.Decision, facts acap.Facts) Cell {
	c := Cell{Usage: d.Usage, State: Refused, Reason: d.Reason, Note: d.Note, Because: []*AuditLine{}, Limits: d.Limits(facts)}
	add := func(f *acap.Field) {
		if line := lineOf(f); line != nil && !slices.ContainsFunc(c.Because, func(have *AuditLine) bool { return *have == *line }) {
			c.Because = append(c.Because, line)
		}
	}
	add(d.Because)
	switch d.Reason {
	case acap.Conventional, acap.ByMeta, acap.ByHeader, acap.Unavailable:
	default:
		c.byACAP = !d.Allowed && ofACAP(d.Because)
	}
	switch {
	case d.Reason == acap.ByTarget:
		c.State = Limited
	case d.Usage == acap.Other && len(c.Limits.UsageRef) > 0: // L03
		c.State = Ask
	case !d.Allowed:
	case !c.Limits.Empty():
		c.State = Limited
		for _, b := range d.Bounds(facts) {
			add(b.Field)
			c.byACAP = c.byACAP || ofACAP(b.Field)
		}
	case d.Because == nil:
		c.State = Unsaid
	default:
		c.State = Permitted
	}
	return c
}

// ofACAP tells a field of ACAP from a conventional tag or header.
func ofACAP(f *acap.Field) bool {
	switch {
	case f == nil, f.Source == acap.Header:
		return false
	case f.Source == acap.Meta:
		return len(f.Text) >= len("ACAP") && strings.EqualFold(f.Text[:len("ACAP")], "ACAP")
	}
	return true
}

// gather puts the rows of crawlers together for whom they are the same, those of any other first.
func (a *auditor) gather() {
	for _, v := range a.views {
		i := slices.IndexFunc(a.Effects, func(e Effects) bool { return reflect.DeepEqual(e.Rows, v.rows) })
		if i < 0 {
			i = len(a.Effects)
			a.Effects = append(a.Effects, Effects{Rows: v.rows})
		}
		a.Effects[i].Crawlers = append(a.Effects[i].Crawlers, v.name)
	}
	for _, row := range a.views[0].rows {
		crawled := row.Cells[0].State != Refused
		if crawled && slices.ContainsFunc(row.Cells[1:], func(c Cell) bool { return c.byACAP }) {
			a.Silent++
		}
	}
}

// Contradiction is a statement that another one keeps from having effect, where one of them stands in a page or its header.
type Contradiction struct {
	Kind     string       `json:"kind"`
	Wins     *AuditLine   `json:"wins"`
	Loses    *AuditLine   `json:"loses"`
	Rule     string       `json:"rule,omitempty"` // paragraphs and readings
	Crawlers []string     `json:"crawlers"`       // for whom; "" is any that is not named
	Usages   []acap.Usage `json:"usages"`
	Pages    []string     `json:"pages"`
}

// The kinds of contradictions.
const (
	Overruled  = "overruled"  // a page permits what robots.txt or a file that it refers to prohibits
	Restricted = "restricted" // a conventional tag or header prohibits what ACAP permits on the same page
	Disputed   = "disputed"   // a page says both
	Lifted     = "lifted"     // a page permits what the site prohibits, and wins
	Narrowed   = "narrowed"   // a page prohibits what the site permits in general: it may
)

// clash is what contradictions have in common that are told as one.
type clash struct {
	kind        string
	wins, loses said
}

// said is a statement by its words where it stands in a page, since many pages say the same, and by its place elsewhere.
type said struct {
	source acap.Source
	place  string
	text   string
}

func saidBy(f *acap.Field) said {
	s := said{source: f.Source, text: f.Text}
	if !ofPage(f) {
		s.place = f.String()
	}
	return s
}

func ofPage(f *acap.Field) bool { return f.Source != acap.Robots && f.Source != acap.Referred }

// contradict notes what a page and its site say against each other.
func (a *auditor) contradict(v *auditView, t *terms.Reached, pg *page.Page, facts acap.Facts) {
	own := pg.Own()
	if len(own.Tags) == 0 && len(own.Marks) == 0 {
		return
	}
	for _, u := range acap.Usages() {
		list := t.Policy().Trace(u, t.Resource(), facts, v.refs...)
		if len(list) == 0 || list[0].Outcome != acap.Decides {
			continue
		}
		d := t.Policy().Decide(u, t.Resource()).At(facts)
		switch d.Reason {
		case acap.ByLocation, acap.ByExpiry, acap.ByTarget, acap.Unavailable: // a permission that does not hold here, or now: a finding
			continue
		}
		for _, r := range list[1:] {
			kind := clashes(list[0], r, d.Reason)
			if r.Outcome != acap.Loses || r.Allow == list[0].Allow || kind == "" || meant(own, list[0], r, kind) {
				continue
			}
			a.clash(clash{kind, saidBy(list[0].Field), saidBy(r.Field)}, list[0].Field, r, v.name, u, pg.URL().String())
		}
	}
}

// meant reports whether one yields to the other as publishers mean it: what is said of all else (F19), or of present in general on the
// same page (F17, N04), to what is said of a usage, and what a page says to any crawler to what is said by name, or for a purpose (N02).
func meant(own acap.Own, wins, loses acap.Rival, kind string) bool {
	switch {
	case loses.Usage == acap.Other && wins.Usage != acap.Other:
		return true
	case kind == Disputed:
		return loses.Usage != wins.Usage || addressed(own, wins.Field) != addressed(own, loses.Field)
	}
	return kind == Overruled && strings.Contains(loses.Rule, "N02")
}

// addressed is to whom a META tag speaks, "" for what is none.
func addressed(own acap.Own, f *acap.Field) string {
	for _, t := range own.Tags {
		if t.Source == acap.Meta && f.Source == acap.Meta && t.Line == f.Line && t.Column == f.Column {
			return strings.ToLower(t.Name)
		}
	}
	return ""
}

// clashes says what kind of contradiction it is that one wins against the other, "" where it is none of a page.
func clashes(wins, loses acap.Rival, reason acap.Reason) string {
	above, below := ofPage(wins.Field), ofPage(loses.Field)
	switch {
	case !above && !below:
		return ""
	case wins.Allow && above && !below:
		return Lifted
	case wins.Allow:
		return Disputed
	case above && below && (reason == acap.ByMeta || reason == acap.ByHeader):
		return Restricted
	case above && below:
		return Disputed
	case above:
		return Narrowed
	}
	return Overruled
}

func (a *auditor) clash(key clash, wins *acap.Field, loses acap.Rival, crawler string, u acap.Usage, address string) {
	list := &a.Contradictions
	if key.kind == Narrowed {
		list = &a.Departures
	}
	i, known := a.at[key]
	if !known {
		if a.at == nil {
			a.at = map[clash]int{}
		}
		i = len(*list)
		a.at[key] = i
		*list = append(*list, Contradiction{Kind: key.kind, Wins: lineOf(wins), Loses: lineOf(loses.Field), Rule: loses.Rule})
	}
	c := &(*list)[i]
	if !slices.Contains(c.Crawlers, crawler) {
		c.Crawlers = append(c.Crawlers, crawler)
	}
	if !slices.Contains(c.Usages, u) {
		c.Usages = append(c.Usages, u)
	}
	if !slices.Contains(c.Pages, address) {
		c.Pages = append(c.Pages, address)
	}
}
