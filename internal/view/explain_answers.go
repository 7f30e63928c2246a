package view

import (
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Limits on what is shown of one answer, for hostile files.
const (
	maxRivals  = 30  // competing fields
	maxBounds  = 30  // limits
	maxWritten = 500 // characters of a field
)

// explained is an explanation as it is shown.
type explained struct {
	URL        string
	Crawler    string
	AsOf       time.Time
	Reader     string // "": unknown
	Policy     string // what was read of the policy, in a sentence
	PolicyRead time.Time
	Page       string // what was read of the page, in a sentence
	TakeDown   *takeDownRow
	Unfetched  bool // the crawler may not fetch the page
	Answers    []answerRow
	Sources    []sourceText
}

// takeDownRow is the take-down in force: a line of a policy file, or a request in the ledger.
type takeDownRow struct {
	Line    *fieldRow
	By      string // who made the request in the ledger
	Request int    // number of the request
}

// answerRow is the answer about one usage.
type answerRow struct {
	Usage    acap.Usage
	Words    string // the usage in plain words
	Answer   string // allowed, refused, needs an agreement, unknown
	Class    string // of the style sheet
	Reason   string
	Line     *fieldRow // the deciding line; nil: none decided
	Limits   []limitRow
	Groups   []rivalGroup
	Opinions []opinionRow
	Then     *answerRow // the answer with a second file; nil: there is none
}

// fieldRow is a field with its place.
type fieldRow struct {
	Place string
	Text  string
	Href  string // of its line on the page; "": it is not shown
}

type limitRow struct {
	Words string
	By    []fieldRow
}

// rivalGroup is the competing fields with one effect.
type rivalGroup struct {
	Title  string
	Rivals []rivalRow
	More   int // number of fields left out
}

type rivalRow struct {
	fieldRow
	Effect string
}

// opinionRow is what one vocabulary says.
type opinionRow struct {
	Vocabulary string
	Verdict    string
	Class      string
	Line       *fieldRow
	Note       string
	Terms      string
}

// Differs reports whether the answer with a second file, or its limits, are others.
func (a answerRow) Differs() bool {
	return a.Then != nil && (a.Answer != a.Then.Answer || !slices.EqualFunc(a.Limits, a.Then.Limits,
		func(x, y limitRow) bool { return x.Words == y.Words }))
}

// Refused reports whether the answer is a refusal.
func (a answerRow) Refused() bool { return a.Class == "no" }

// describe returns an explanation as it is shown to a visitor.
func (h *Handler) describe(e *explain.Explanation, form *explainForm, who Visitor) explained {
	t := e.Facts().Target
	out := explained{URL: e.URL.String(), Crawler: crawlerWords(e.Crawler), AsOf: e.Facts().Now,
		Policy: policyWords(e, form, who), Page: pageWords(e)}
	if form.Robots == "" && !form.empty && e.Origin.Robots != nil {
		out.PolicyRead = e.Origin.Fetched
	}
	var reader []string
	if t.IP.IsValid() {
		reader = append(reader, t.IP.String())
	}
	reader = append(reader, t.Domains...)
	if t.Country != "" {
		reader = append(reader, t.Country)
	}
	out.Reader = strings.Join(reader, ", ")
	s := h.sources(e, form, who)
	out.Sources = s.texts
	// P04: a page with a take-down in force is neither stored nor shown; the decisions do not change (X64)
	if down := terms.TakeDown(e.Origin.Policy, e.URL); down != nil && down.Source == acap.Request {
		out.TakeDown = &takeDownRow{By: actions.Requester(down), Request: down.Line}
	} else if down != nil {
		row := s.row(down, out.URL)
		out.TakeDown = &takeDownRow{Line: &row}
	}
	for _, a := range e.Answers {
		out.Answers = append(out.Answers, answerOf(a, s, out.URL))
		out.Unfetched = out.Unfetched || a.Usage == acap.Crawl && !a.Decision.Allowed
	}
	return out
}

func crawlerWords(c acap.Crawler) string {
	words := strings.Join(c.Names, ", ")
	if words == "" {
		words = "a crawler that no line names"
	}
	if len(c.Purposes) > 0 {
		words += ", collecting for " + strings.Join(c.Purposes, ", ")
	} else if c.Purposes != nil {
		words += ", collecting for no purpose"
	}
	if len(c.Cannot) > 0 {
		words += ", which treats " + strings.Join(c.Cannot, ", ") + " as unsupported"
	}
	return shorten(words)
}

// policyWords returns what was read of the policy of the origin.
func policyWords(e *explain.Explanation, form *explainForm, who Visitor) string {
	o := e.Origin
	where, why := o.Key+"/robots.txt", o.Why
	if who.Role != Operator {
		why = policy.PublicWhy(why)
	}
	switch {
	case form.empty:
		return "No robots.txt was pasted, and none of this site was ever read here, so it counts as empty."
	case form.Robots != "":
		return "The pasted robots.txt, in place of " + where + ": " + e.Declares() + "."
	case o.Robots == nil:
		return sentence(where + " could not be read: " + why)
	case o.Status == policy.Unreachable:
		return sentence(where + ", as last read: " + e.Declares() + ". The last attempt to read it failed (" + why +
			"), so nothing may be requested now")
	case o.Status == policy.None:
		return where + " does not exist, so there are no restrictions."
	}
	return where + ": " + e.Declares() + "."
}

// pageWords returns what was read of the page.
func pageWords(e *explain.Explanation) string {
	switch {
	// P1 2.5.1 (X02): statements of a page that may not be crawled are not read
	case e.Page != nil && !e.Origin.Policy.Decide(acap.Crawl, acap.NewResource(e.URL)).Allowed:
		return "The page may not be crawled, so its own statements are not read."
	case e.Page != nil:
		return "The pasted page."
	case e.Past.URL != "" && !e.Past.LastCrawled.IsZero():
		return "The page as last crawled, on " + longDate(e.Past.LastCrawled) + "."
	}
	return "The page itself was not read: the answers depend on its address alone."
}

// answerOf returns one answer as it is shown. at is the address of the question.
func answerOf(a explain.Explained, s *sources, at string) answerRow {
	d := a.Decision
	if s.who.Role != Operator {
		d = policy.PublicDecision(d)
	}
	out := answerRow{Usage: a.Usage, Words: usageWords(a.Usage), Reason: shorten(explain.Reason(d))}
	out.Answer, out.Class = verdictOf(d)
	if d.Because != nil {
		row := s.row(d.Because, at)
		out.Line = &row
	}
	for i, limit := range explain.LimitsOf(a, longDate) {
		if i == maxBounds {
			out.Limits = append(out.Limits, limitRow{Words: "and more limits, which are left out"})
			break
		}
		row := limitRow{Words: shorten(limit.Words)}
		for _, f := range limit.By[:min(len(limit.By), maxBounds)] {
			row.By = append(row.By, s.row(f, at))
		}
		out.Limits = append(out.Limits, row)
	}
	out.Groups = rivalsOf(a, s, at)
	for _, said := range a.Opinions {
		row := opinionRow{Vocabulary: said.Vocabulary, Note: shorten(said.Note), Terms: shorten(said.Terms)}
		row.Verdict, row.Class = saidOf(said.Verdict)
		if said.Because != nil {
			line := s.row(said.Because, at)
			row.Line = &line
		}
		out.Opinions = append(out.Opinions, row)
	}
	return out
}

// verdictOf returns an answer in one word, and its class.
func verdictOf(d acap.Decision) (answer, class string) {
	switch {
	case d.Allowed && d.Reason == acap.ByDefault && d.Usage.Newer():
		return "unknown", "maybe" // no vocabulary says anything, which neither permits nor prohibits
	case d.Allowed:
		return "allowed", "yes"
	case d.Reason == acap.ByAgreement:
		return "needs an agreement", "maybe"
	}
	return "refused", "no"
}

// rivalsOf returns the competing fields of an answer by their effect.
func rivalsOf(a explain.Explained, s *sources, at string) (groups []rivalGroup) {
	titles := []string{"Other lines that also apply", "Lines that were overruled", "Lines about parts of the page"}
	all := make([]rivalGroup, len(titles))
	for _, v := range a.Rivals {
		i := 0
		switch {
		case explain.Aside(a, v):
			continue
		case v.Outcome == acap.Loses:
			i = 1
		case v.Outcome == acap.Within:
			i = 2
		}
		g := &all[i]
		if g.Title = titles[i]; len(g.Rivals) == maxRivals {
			g.More++
			continue
		}
		v.Rule = "" // its codes are for readers of the documents
		g.Rivals = append(g.Rivals, rivalRow{s.row(v.Field, at), shorten(explain.Effect(v))})
	}
	for _, g := range all {
		if len(g.Rivals) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// shorten returns text safe to show, cut after maxWritten characters.
func shorten(text string) string {
	text = display.Line(text)
	n := 0
	for i := range text {
		if n++; n > maxWritten {
			return text[:i] + "…"
		}
	}
	return text
}
