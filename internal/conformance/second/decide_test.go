package second

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// subject is the resource in question, for one purpose, with the policy of its origin and, if
// known, the page.
type subject struct {
	e      *engine
	url    *url.URL
	pur    purpose
	origin *origin
	policy policy
	page   *page
	marks  []mark
	whole  map[string]bool // usages that statements in class attributes prohibit for the whole page
	tags   restriction
	views  map[string]views // what newer vocabularies say
}

// subject reads the policy for u and the statements of its page, if there is one.
func (e *engine) subject(u *url.URL, pur purpose, p *page) *subject {
	o := e.origin(u, pur)
	s := &subject{e: e, url: u, pur: pur, origin: o}
	s.policy = policy{robots: o.statements, path: matchString(u), strict: e.ability.strict}
	if p != nil {
		s.read(p)
	}
	return s
}

func (s *subject) read(p *page) {
	s.page = p
	s.policy.page = s.e.metaStatements(p, s.pur, s.origin.defs)
	s.marks = s.e.marks(p, pageVersion(s.e.tags(p)), s.origin.defs)
	s.whole = s.e.pageProhibitions(s.marks)
	s.tags = s.e.restrictions(p)
}

// shut reports whether everything is prohibited because a policy file could not be read. RFC 9309
// 2.3.1.4; D07.
func (s *subject) shut() bool { return s.origin.status == "unreachable" || s.origin.unavailable }

// crawlable reports whether robots.txt and references permit crawling: both the ACAP and the
// conventional layer must allow it. P1 2.10.2 (O05).
func (s *subject) crawlable() bool {
	return !s.shut() && s.crawl().Allowed
}

func (s *subject) crawl() decision {
	c := s.policy.chooseTwice("crawl")
	d := s.limited("crawl", c)
	if !d.Allowed || s.origin.status != "read" {
		return d
	}
	list := s.policy.of(s.origin.statements, "crawl")
	allowed, r := conventional(s.origin.rules, s.origin.named, s.policy.path, list)
	if !allowed {
		return decision{Reason: "conventional", Because: &because{Source: "robots.txt", Line: r.line}}
	}
	return d
}

// discarded reports whether the page's own statements prohibit crawl. P2 2.2.9.1 (M06, N26).
func (s *subject) discarded() bool {
	if s.page == nil {
		return false
	}
	own := s.policy
	own.robots = nil
	c := own.choose("crawl")
	if s.whole["crawl"] || !c.allowed {
		return true
	}
	// an unfulfilled permission matters only if it decides; it does not if robots.txt prohibits
	// crawling for this purpose anyway
	return s.policy.chooseTwice("crawl").allowed && !s.limited("crawl", c).Allowed
}

// older returns the decision of ACAP and RFC 9309 about one usage.
func (s *subject) older(usage string) decision {
	if s.shut() {
		return decision{Reason: "unavailable"}
	}
	if s.discarded() { // X01: a page that prohibits crawl after it was fetched may not be used at all
		return decision{Reason: "prohibition"}
	}
	if usage == "crawl" {
		return s.crawl()
	}
	if slices.Contains(newer(), usage) {
		return s.fourth()
	}
	c := s.policy.chooseTwice(usage)
	d := s.limited(usage, c)
	if !d.Allowed || s.page == nil {
		return d
	}
	if usage == "other" && s.whole["offer"] {
		return decision{Reason: "fallback"}
	}
	if s.whole["other"] && c.reason == "default" {
		return decision{Reason: "other"}
	}
	if s.whole[usage] || s.whole["present"] && strings.HasPrefix(usage, "present-") {
		return decision{Reason: "prohibition"}
	}
	return s.tagged(usage, d)
}

// tagged applies the conventional META tags and headers to the decision d about a usage (step 11).
func (s *subject) tagged(usage string, d decision) decision {
	prohibited, until := s.tags.prohibits(usage, s.e.q.Facts.Now)
	if prohibited {
		return decision{Reason: "meta"}
	}
	if until != nil {
		d.Limits.until(*until)
	}
	if (usage == "present-snippet" || usage == "present-oldsnippet") && s.tags.chars != nil {
		d.Limits.least(&d.Limits.MaxChars, s.tags.chars)
	}
	if s.tooLong(d.Limits) {
		return decision{Reason: "unfulfillable"}
	}
	return d
}

// tooLong reports whether a required extract is longer than a snippet may be. P1 2.5.5.4 (J04).
func (s *subject) tooLong(l *limits) bool {
	for _, v := range l.MustInclude {
		selector, ok := cutFold(v, "the-acap:extract:")
		if !ok || s.page.document == nil {
			continue
		}
		kind, arg, _ := strings.Cut(selector, ":")
		var parts []string
		for n := range s.page.document.Descendants() {
			if n.Type == html.ElementNode && selected(n, strings.ToLower(kind), arg) {
				parts = append(parts, pageText(n, nil, true))
				if strings.EqualFold(kind, "id") {
					break
				}
			}
		}
		all := strings.Join(parts, " ") // X07: the extract is the text of all elements with blanks between them
		if l.MaxChars != nil && len([]rune(all)) > *l.MaxChars || l.MaxWords != nil &&
			len(strings.Fields(all)) > *l.MaxWords {
			return true
		}
	}
	return false
}

func (l *limits) until(t time.Time) {
	if l.Until == nil || t.Before(*l.Until) {
		l.Until = &t
	}
}

func (l *limits) least(to **int, n *int) {
	if n != nil && (*to == nil || *n < **to) {
		*to = n
	}
}

// limited turns the qualifiers of the deciding permissions into limits of the decision. If a
// qualifier is not fulfilled, the decision is a prohibition (step 12).
func (s *subject) limited(usage string, c choice) decision {
	d := decision{Allowed: c.allowed, Reason: c.reason, Limits: &limits{}}
	if len(c.by) > 0 && sameLine(c.by) {
		d.Because = &because{Source: c.by[0].source, Line: c.by[0].line}
	}
	if !c.allowed {
		return d
	}
	if usage == "other" && len(c.by) > 0 { // P1 2.5.6 (X38): a field for other usages never permits them by itself
		return decision{Reason: "unfulfillable", Because: d.Because}
	}
	for _, st := range c.by {
		if reason := s.bind(usage, st, d.Limits, false); reason != "" {
			return decision{Reason: reason}
		}
	}
	for _, st := range c.general {
		if reason := s.bind(usage, st, d.Limits, true); reason != "" {
			return decision{Reason: reason}
		}
	}
	// P1 2.5.5.7 (K03, X75): a contradiction prohibits every usage except present itself
	if usage != "present" && d.Limits.contradict() {
		return decision{Reason: "unfulfillable"}
	}
	return d
}

// contradict reports whether one context is both prohibited and required. P1 2.5.5.7 (K03).
func (l *limits) contradict() bool {
	return slices.Contains(l.ProhibitedContext, "within-user-frame") && slices.Contains(l.RequiredContext,
		"within-user-frame")
}

func sameLine(list []statement) bool {
	for _, s := range list {
		if s.line != list[0].line || s.source != list[0].source {
			return false
		}
	}
	return true
}

// bind adds the limits of the permission st to l. If a limit cannot be fulfilled, it returns the
// reason. general means a permission of present, which limits a specific type where its qualifiers
// apply to that type. P1 2.5.5 (F18, X44).
func (s *subject) bind(usage string, st statement, l *limits, general bool) string {
	t := st.terms
	full := usage == "present-original" || usage == "present-currentcopy" || usage == "present-oldcopy"
	snippet := usage == "present-snippet" || usage == "present-oldsnippet"
	if reason := s.bindTime(usage, t, l); reason != "" {
		return reason
	}
	if reason := s.bindPlace(t, l); reason != "" {
		return reason
	}
	if !general || full {
		l.ProhibitedContext = union(l.ProhibitedContext, t.prohibited)
		l.RequiredContext = union(l.RequiredContext, t.required)
	}
	// P1 2.5.5.5 (K02, X28): the usage shows a form of the page that needs a prohibited
	// modification
	if general && forbidsDerived(usage, t.mods) {
		return "prohibition"
	}
	if usage != "present-link" {
		l.ProhibitedModification = union(l.ProhibitedModification, t.mods)
	}
	l.least(&l.MaxChars, t.chars)
	l.least(&l.MaxWords, t.words)
	// P1 2.5.3.2 (X05, X73): a length of zero leaves no text
	if s.page != nil && (t.chars != nil && *t.chars == 0 || t.words != nil && *t.words == 0) {
		return "unfulfillable"
	}
	relative := root(s.url, "/")
	if st.page {
		relative = s.url
	}
	if t.mustUse != "" {
		if general && full { // P1 2.5.5.3 (I09): the original and copies cannot be derived from a substitute
			return "unfulfillable"
		}
		l.MustUse = union(l.MustUse, []string{t.mustUse})
		if s.page != nil && !s.e.fulfils(usage, t.mustUse, relative, s.page, s.marks) {
			return "unfulfillable"
		}
	}
	for _, value := range t.mustInclude {
		_, extract := cutFold(value, "the-acap:extract:")
		if general && extract && !full && !snippet { // P1 2.5.5.6 (J07): an extract can accompany only textual forms
			continue
		}
		l.MustInclude = union(l.MustInclude, []string{value})
		if s.page != nil && !s.e.includes(usage, value, relative, s.page, s.marks) {
			return "unfulfillable"
		}
	}
	return ""
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// forbidsDerived reports whether a modification that is prohibited for present makes a derived form
// impossible. P1 2.5.5.5 (K02, X28).
func forbidsDerived(usage string, mods []string) bool {
	for _, m := range mods {
		switch usage {
		case "present-thumbnail", "present-oldthumbnail":
			if slices.Contains([]string{"style", "appearance", "format", "content", "any"}, m) {
				return true
			}
		case "present-snippet", "present-oldsnippet":
			if slices.Contains([]string{"content", "structure", "any"}, m) {
				return true
			}
		}
	}
	return false
}

// bindTime adds time limits. P1 2.5.3.1 (H02 to H09).
func (s *subject) bindTime(usage string, t terms, l *limits) string {
	now := s.e.q.Facts.Now
	for _, d := range t.dates {
		l.until(d)
	}
	for _, n := range t.days {
		l.until(s.firstUse(usage).AddDate(0, 0, n))
	}
	if t.recrawled {
		l.UntilRecrawled = true
		if s.e.q.Facts.Recrawled {
			return "expired"
		}
	}
	if len(t.dates)+len(t.days) > 0 && !now.Before(*l.Until) {
		return "expired"
	}
	return ""
}

// firstUse returns the time from which the days of a time limit are counted. For present it is the
// earliest known date. P1
// 2.5.3.1 (H04, X04).
func (s *subject) firstUse(usage string) time.Time {
	f := s.e.q.Facts
	var list []*time.Time
	switch usage {
	case "index":
		list = []*time.Time{f.FirstIndexed}
	case "preserve":
		list = []*time.Time{f.FirstPreserved}
	default:
		list = []*time.Time{f.FirstCrawled, f.FirstIndexed, f.FirstPreserved, f.FirstPresented}
	}
	first := f.Now
	for _, t := range list {
		if t != nil && t.Before(first) {
			first = *t
		}
	}
	return first
}

// bindPlace adds conditions on the reader's device and on the location.
func (s *subject) bindPlace(t terms, l *limits) string {
	l.Target = union(l.Target, t.targets)
	for _, c := range t.targets { // P1 2.5.5.9 (K12): all conditions must be met
		if !meets(c, s.e.q.Target) {
			return "target"
		}
	}
	if len(t.locations) == 0 {
		return ""
	}
	l.Location = union(l.Location, t.locations)
	for _, v := range t.locations { // PILOT 1.3.4 (M02): one matching location is enough
		if u, err := s.url.Parse(v); err == nil && normalURL(u) == normalURL(s.url) {
			return ""
		}
	}
	return "location"
}

// normalURL returns the normal form of a URL without its fragment. P2 2.2.9.1 (M01).
func normalURL(u *url.URL) string {
	host := strings.ToLower(u.Host)
	scheme := strings.ToLower(u.Scheme)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
	return scheme + "://" + host + matchString(u)
}
