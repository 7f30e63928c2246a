package preference

import (
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// operator describes who uses the resources, for the terms user and geo.
type operator struct{ kind, country string }

// meets reports whether the operator is among the users and countries for whom a licence is. An
// operator who has not said what they are meets no such condition.
func (o operator) meets(l *licence) bool {
	if t := l.permits["user"]; t != nil && !t.has(o.kind) {
		return false
	}
	if t := l.prohibits["user"]; t != nil && (o.kind == "" || t.has(o.kind)) {
		return false
	}
	if t := l.permits["geo"]; t != nil && !t.within(o.country) {
		return false
	}
	t := l.prohibits["geo"]
	return t == nil || o.country != "" && !t.within(o.country)
}

// within reports whether the terms name a country, or the European Union if it is a member.
func (t *terms) within(country string) bool {
	return t.has(country) || t.has("EU") && slices.Contains(union, country)
}

// union lists the member states of the European Union.
var union = strings.Fields("AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE")

// The tokens that name a usage, narrowest first, with the width of each (RSL 3.4.1).
const (
	exact = iota
	aiAll
	all
	listed // the usage is missing in a closed list
)

// widthIn returns the width of the narrowest token in the terms that names a usage. ok is false if
// none does; then the width is that of all.
func (t *terms) widthIn(u acap.Usage) (width int, ok bool) {
	if u == acap.Crawl || u == acap.Follow {
		return all, false
	}
	token := ""
	switch {
	case u == acap.TrainAI:
		token = "ai-train"
	case u == acap.AIUse:
		token = "ai-input"
	case u == acap.AIIndex:
		token = "ai-index"
	case slices.Contains(search(), u):
		token = "search"
	}
	switch {
	case t.has(token):
		return exact, true
	case strings.HasPrefix(token, "ai-") && t.has("ai-all"):
		return aiAll, true
	}
	return all, t.has("all")
}

// claim is what one licence says of a usage.
type claim struct {
	acap.Opinion
	width int  // how wide the deciding token is
	ours  bool // the licence is for users like the operator, not for everybody
}

// claim returns what a licence says of a usage. The verdict is Unknown if it says nothing.
func (l *licence) claim(u acap.Usage, o operator, terms string) (c claim) {
	permits, prohibits := l.permits["usage"], l.prohibits["usage"]
	met := o.meets(l)
	ours := met && l.permits["user"] != nil
	if width, ok := prohibits.widthIn(u); ok {
		// what is both permitted and prohibited inside one licence is prohibited, by whatever token
		permitted, _ := permits.widthIn(u)
		return claim{verdict(acap.Prohibits, prohibits.field), min(width, permitted), ours}
	}
	width, permitted := permits.widthIn(u)
	f := l.field
	switch {
	case permits == nil && prohibits != nil: // prohibitions alone say nothing of the rest
		return claim{}
	case permits == nil:
		width, permitted = all, u != acap.Crawl && u != acap.Follow
	default:
		f = permits.field
	}
	switch {
	case permitted && l.free && met:
		return claim{verdict(acap.Permits, f), width, ours}
	case permitted, u.Newer(), slices.Contains(search(), u): // payment, reports, other users; or not on the closed list
		c = claim{verdict(acap.Agreement, f), width, ours}
		if !permitted {
			c.width = listed
		}
		if c.Terms = terms; l.standard != "" {
			c.Terms = l.standard
		}
	}
	return c
}

// beats reports whether the claim c decides rather than d. The narrower token decides, then the
// licence for users like the operator; in equal scope a prohibition, then a licence that grants the
// usage.
func (c claim) beats(d claim) bool {
	switch {
	case c.Verdict == acap.Unknown || d.Verdict == acap.Unknown:
		return c.Verdict != acap.Unknown
	case c.width != d.width:
		return c.width < d.width
	case c.ours != d.ours:
		return c.ours
	case c.Verdict == acap.Prohibits || d.Verdict == acap.Prohibits:
		return d.Verdict != acap.Prohibits
	}
	return c.Verdict == acap.Permits && d.Verdict != acap.Permits
}

// associated are the licence documents that one association names: a site, a page, or an element of
// a page. The contents of all its documents are in equal scope.
type associated struct {
	operator
	root     *url.URL // the site of the resources
	contents []*content
	paths    *acap.Paths
	unread   []acap.Opinion // on documents that were advertised but could not be read
	whole    bool           // contents without URL are for the resource that names the document
}

// add adds a document.
func (a *associated) add(doc *document) {
	for i := range doc.contents {
		a.contents = append(a.contents, &doc.contents[i])
	}
}

// NoteUnread is the note of an opinion on a licence document that was advertised but not read.
const NoteUnread = "the licence document could not be read"

// addUnread adds a document at address, which the field f advertises but which could not be read.
func (a *associated) addUnread(f *acap.Field, address string) {
	o := verdict(acap.Agreement, f)
	o.Note, o.Terms = NoteUnread, address
	a.unread = append(a.unread, o)
}

// arrange must be called after all documents are added.
func (a *associated) arrange() {
	patterns := make([]string, len(a.contents))
	for i, c := range a.contents {
		patterns[i] = a.pattern(c.url)
	}
	a.paths = acap.NewPaths(patterns)
}

// nowhere is a pattern that matches no path: only the empty path would match.
const nowhere = "$"

// pattern returns the path pattern of a content. An absolute URL of another site matches nothing, and
// so does an empty URL in the document of a site.
func (a *associated) pattern(value string) string {
	switch {
	case value == "" && a.whole:
		return "/"
	case value == "":
		return nowhere
	case strings.HasPrefix(value, "/"), strings.HasPrefix(value, "*"):
		return value
	}
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok { // a path without a slash is read with one, as in TDMRep
		return "/" + value
	}
	host, path, _ := strings.Cut(rest, "/")
	if a.root == nil || !sameHost(host, strings.ToLower(scheme), a.root) {
		return nowhere
	}
	return "/" + path
}

// sameHost reports whether host, with an optional port, is that of root. It ignores whether the
// scheme is http or https.
func sameHost(host, scheme string, root *url.URL) bool {
	bare := func(host, scheme string) string {
		return strings.TrimSuffix(strings.ToLower(host), map[string]string{"http": ":80", "https": ":443"}[scheme])
	}
	return (scheme == "http" || scheme == "https") && bare(host, scheme) == bare(root.Host, root.Scheme)
}

// opinion returns the verdict on a usage of r. The longest path decides; a content that says nothing
// of the usage leaves it to shorter paths.
func (a *associated) opinion(u acap.Usage, r *acap.Resource) acap.Opinion {
	var best claim
	needed := acap.Opinion{}
	for i, group := range a.paths.ByLength(r) {
		for _, at := range group {
			c := a.contents[at]
			if i == 0 && c.server != "" && needed.Because == nil {
				needed = verdict(acap.Agreement, c.field)
				needed.Terms = c.terms()
			}
			for _, l := range c.licences {
				terms := c.server
				if terms == "" {
					terms = c.field.URL
				}
				if said := l.claim(u, a.operator, terms); said.beats(best) {
					best = said
				}
			}
		}
		if best.Verdict != acap.Unknown {
			break
		}
	}
	switch {
	case needed.Verdict > best.Verdict:
		return needed
	case best.Verdict == acap.Unknown && len(a.unread) > 0 && u.Newer():
		return a.unread[0]
	}
	return best.Opinion
}

// terms returns where the terms of a content are, if its server must be asked.
func (c *content) terms() string {
	for _, l := range c.licences {
		if l.standard != "" {
			return l.standard
		}
	}
	return c.server
}

// usages returns the usages about which the documents say something.
func (a *associated) usages() []acap.Usage {
	if slices.ContainsFunc(a.contents, func(c *content) bool { return c.server != "" }) {
		return append(acap.Usages(), acap.NewerUsages()...)
	}
	return append(append(held(), acap.Other), acap.NewerUsages()...)
}
