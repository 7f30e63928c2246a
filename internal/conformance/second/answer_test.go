package second

import (
	"net/url"
	"strings"
	"time"
)

// second answers a question with the second engine.
func second(q *question) (*answer, error) {
	u, err := url.Parse(q.URL)
	if err != nil {
		return nil, err
	}
	u = u.ResolveReference(u) // F12, a reading without a paragraph: dot segments are removed
	u.Fragment = ""
	e := newEngine(q)
	a := &answer{Decisions: map[string]decision{}, ByPurpose: map[string]map[string]decision{}}
	var subjects []*subject
	var p *page
	// P1 2.3.3 (C16, X02): a page that any purpose may crawl is fetched; statements of other pages
	// are not read
	if e.mayCrawl(u) {
		p = e.known(u)
	}
	if then := e.then(); then != nil && p == nil {
		p = then.known(u) // what a held page says itself is in force until the next visit
	}
	views := e.views(u, p)
	for _, pur := range e.purposes() {
		s := e.subject(u, pur, p)
		s.views = views
		subjects = append(subjects, s)
		if pur.name != "" {
			a.ByPurpose[pur.name] = s.all()
		}
	}
	for _, usage := range everyUsage() {
		a.Decisions[usage] = common(usage, subjects)
	}
	a.Preferences = subjects[0].preferences()
	a.Policy = &policyAnswer{e.q.robots(u).status}
	a.textModelled, a.linksModelled = e.content(subjects, a)
	return a, nil
}

func (s *subject) all() map[string]decision {
	out := map[string]decision{}
	for _, usage := range everyUsage() {
		out[usage] = s.decide(usage)
	}
	return out
}

// known returns the page at u, if the web has one. An answer that asks for a licence is one, too.
func (e *engine) known(u *url.URL) *page {
	r, listed := e.q.Web[u.String()]
	if !listed || r.Error != "" || r.Status != 0 && (r.Status < 200 || r.Status > 299) && !asksForLicence(r) {
		return nil
	}
	p := readPage(u, r)
	p.web = e.q
	return p
}

// common joins the decisions for several purposes. Crawl is permitted if it is permitted for any
// purpose. Another usage is permitted if it is permitted for all purposes, with the limits of all.
// P1 2.3.3 (X11, X78).
func common(usage string, subjects []*subject) decision {
	out := subjects[0].decide(usage)
	for _, s := range subjects[1:] {
		d := s.decide(usage)
		switch {
		case usage == "crawl" && d.Allowed != out.Allowed:
			if d.Allowed {
				out = d
			}
		case d.Allowed && out.Allowed:
			out.Limits.join(d.Limits)
			out.Because = nil
			// P1 2.5.5.7 (K03): a context that is both prohibited and required makes the permission
			// unfulfillable
			if out.Limits.contradict() && usage != "present" {
				out = decision{Reason: "prohibition"}
			}
		case out.Allowed:
			out = d
		}
	}
	return out
}

func (l *limits) join(m *limits) {
	if m == nil {
		return
	}
	if m.Until != nil {
		l.until(*m.Until)
	}
	l.UntilRecrawled = l.UntilRecrawled || m.UntilRecrawled
	l.least(&l.MaxChars, m.MaxChars)
	l.least(&l.MaxWords, m.MaxWords)
	l.MustUse = union(l.MustUse, m.MustUse)
	l.MustInclude = union(l.MustInclude, m.MustInclude)
	l.ProhibitedModification = union(l.ProhibitedModification, m.ProhibitedModification)
	l.ProhibitedContext = union(l.ProhibitedContext, m.ProhibitedContext)
	l.RequiredContext = union(l.RequiredContext, m.RequiredContext)
	l.Target = union(l.Target, m.Target)
	l.Location = union(l.Location, m.Location)
}

// day returns the time that a text with date and hour says, for the generator of questions.
func day(s string) time.Time {
	if !strings.Contains(s, "T") {
		s += "T12:00:00Z"
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}
