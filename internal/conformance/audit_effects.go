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

// State is the combined effect of all statements about a usage.
type State string

// The states of a Cell.
const (
	Unsaid    State = "unsaid" // permitted because no statement mentions it
	Permitted State = "permitted"
	Limited   State = "limited" // permitted within limits, or only to some readers
	Ask       State = "ask"     // permission must be requested: a link says where, or a licence needs an agreement
	Refused   State = "refused"
)

// Effects holds the decisions about the audited addresses for a group of crawlers with the same
// decisions.
type Effects struct {
	Crawlers []string `json:"crawlers"` // names of the crawlers; "" is any crawler that is not named
	Rows     []Row    `json:"rows"`
}

// Row holds the decisions about one address.
type Row struct {
	URL   string `json:"url"`
	Cells []Cell `json:"cells"` // in the order of acap.Usages, then of acap.NewerUsages
}

// Cell is the decision about one usage.
type Cell struct {
	Usage   acap.Usage   `json:"usage"`
	State   State        `json:"state"`
	Reason  acap.Reason  `json:"reason"`
	Note    string       `json:"note,omitempty"`
	Because []*AuditLine `json:"because"` // the line that decided, then the lines that set limits
	Limits  acap.Limits  `json:"limits"`
	Terms   string       `json:"terms,omitempty"` // where the terms of a needed agreement are
	// the verdict of each vocabulary, if vocabularies say different things
	By     []VocabularyVerdict `json:"by,omitempty"`
	byACAP bool                // the prohibition or limit comes from ACAP, so a crawler without ACAP ignores it
}

// effects adds the decisions about u for each crawler. pg is the page, nil if it was not fetched.
func (a *auditor) effects(ctx context.Context, u *url.URL, pg *page.Page, one AuditPage) error {
	facts := acap.Facts{Now: a.o.Check.Now}
	rows := make([]Row, len(a.views))
	for i, v := range a.views {
		// all crawlers share one source of licence documents, so that each is requested once
		sources := terms.Sources{Policies: v.policies, Fetcher: a.site.Fetcher, Licences: a.site.Policies}
		t, err := terms.Reach(ctx, v.policy, u, pg, sources, facts)
		if err != nil {
			return err
		}
		rows[i].URL = one.URL
		for _, usage := range a.usages() {
			c := cellOf(t.Decide(usage), facts)
			c.By = verdicts(t, usage)
			rows[i].Cells = append(rows[i].Cells, c)
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
	c := Cell{Usage: d.Usage, State: Refused, Reason: d.Reason, Note: d.Note, Because: []*AuditLine{},
		Limits: d.Limits(facts), Terms: d.Terms}
	add := func(f *acap.Field) {
		if line := lineOf(f); line != nil && !slices.ContainsFunc(c.Because,
			func(have *AuditLine) bool { return *have == *line }) {
			c.Because = append(c.Because, line)
		}
	}
	add(d.Because)
	switch d.Reason {
	case acap.Conventional, acap.ByMeta, acap.ByHeader, acap.Unavailable, acap.ByPreference, acap.ByAgreement:
	default:
		c.byACAP = !d.Allowed && ofACAP(d.Because)
	}
	switch {
	case d.Reason == acap.ByTarget:
		c.State = Limited
	// P1 2.5.6 (L03): a reference says where to request permission for further usages
	case d.Usage == acap.Other && len(c.Limits.UsageRef) > 0, d.Reason == acap.ByAgreement:
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

// ofACAP reports whether a field is an ACAP field, and not a conventional tag or header.
func ofACAP(f *acap.Field) bool {
	switch {
	case f == nil, f.Source == acap.Header:
		return false
	case f.Source == acap.Meta:
		return len(f.Text) >= len("ACAP") && strings.EqualFold(f.Text[:len("ACAP")], "ACAP")
	}
	return true
}

// gather joins the tables of crawlers for which all decisions are the same. The table of crawlers
// that are not named comes first.
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
		crawled := row.Cells[0].State != Refused && row.Cells[0].State != Ask
		if crawled && slices.ContainsFunc(row.Cells[1:], func(c Cell) bool { return c.byACAP }) {
			a.Silent++
		}
	}
}

// Contradiction is a statement that another statement overrides, where at least one of the two is
// in a page or in its HTTP header.
type Contradiction struct {
	Kind  string     `json:"kind"`
	Wins  *AuditLine `json:"wins"`
	Loses *AuditLine `json:"loses"`
	Rule  string     `json:"rule,omitempty"` // the paragraphs and readings that say which statement wins
	// crawlers for which the statement is overridden; "" is any crawler that is not named
	Crawlers []string     `json:"crawlers"`
	Usages   []acap.Usage `json:"usages"`
	Pages    []string     `json:"pages"`
}

// The kinds of contradictions.
const (
	Overruled  = "overruled"  // a page permits what robots.txt, or a file to which it refers, prohibits
	Restricted = "restricted" // a conventional tag or header prohibits what ACAP permits on the same page
	Disputed   = "disputed"   // a page both permits and prohibits a usage
	Lifted     = "lifted"     // a page permits what the site prohibits, and the page wins
	Narrowed   = "narrowed"   // a page prohibits what the site generally permits, which is no mistake
)

// clash is the key of a contradiction, so that equal contradictions are reported once.
type clash struct {
	kind        string
	wins, loses said
}

// said is the key of a statement. If the statement is in a page, the key is its text, because many
// pages contain the same text. Otherwise the key is the place of the statement.
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

// contradict records contradictions between a page and its site.
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
		// the permission does not apply at this time or to this reader; check reports that
		case acap.ByLocation, acap.ByExpiry, acap.ByTarget, acap.Unavailable:
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

// meant reports whether publishers intend that one statement has priority over the other. P1 2.5.6
// (F19): disallow-other gives way to a statement about a specific usage. P1 2.5.5 (F17): a
// statement about a specific usage wins against one about present on the same page. P2 2.2.1 (N02):
// a statement with a name or a purpose wins against one for any crawler.
func meant(own acap.Own, wins, loses acap.Rival, kind string) bool {
	switch {
	case loses.Usage == acap.Other && wins.Usage != acap.Other:
		return true
	case kind == Disputed:
		return loses.Usage != wins.Usage || addressed(own, wins.Field) != addressed(own, loses.Field)
	}
	return kind == Overruled && strings.Contains(loses.Rule, "N02")
}

// addressed returns the crawler that a META tag names, "" for other statements.
func addressed(own acap.Own, f *acap.Field) string {
	for _, t := range own.Tags {
		if t.Source == acap.Meta && f.Source == acap.Meta && t.Line == f.Line && t.Column == f.Column {
			return strings.ToLower(t.Name)
		}
	}
	return ""
}

// clashes returns the kind of contradiction if the statement wins has priority over the statement
// loses. It returns "" if neither statement is in a page.
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
		*list = append(*list, Contradiction{Kind: key.kind, Wins: lineOf(wins), Loses: lineOf(loses.Field),
			Rule: loses.Rule})
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
