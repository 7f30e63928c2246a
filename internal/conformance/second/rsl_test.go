package second

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// advert is the place that names a document of RSL, or contains it.
type advert struct {
	at       because
	address  string // as it is written
	base     *url.URL
	web      *question // the web in which the document is read
	absolute bool      // the address must be absolute
	page     bool      // about one page, not about the site
	element  bool      // about an element of the body
	inline   string
	line     int // of the beginning of an inline document
}

// offer is one licence that applies to the resource, or one document that cannot be read.
type offer struct {
	licence
	content    content
	advert     advert
	document   string // URL of the document
	path       int    // length of the pattern
	unreadable bool
}

// rsl adds what licences say of a resource. p is nil before the fetch. What the licences of the page
// do not say is left to those of the site. The licences of an element of the body count for the whole
// page if they prohibit or need an agreement.
func (e *engine) rsl(v views, u *url.URL, g preferenceGroup, p *page) {
	site, page := e.siteAdverts(g), pageAdverts(p)
	elements := []advert{}
	page = slices.DeleteFunc(page, func(a advert) bool {
		if a.element {
			elements = append(elements, a)
		}
		return a.element
	})
	for _, usage := range everyUsage() {
		o := e.associated(usage, page, u)
		if o.stance == unknown {
			o = e.associated(usage, site, u)
		}
		v.add(o, usage)
		for _, a := range elements {
			if o := e.associated(usage, []advert{a}, u); o.stance != permit {
				v.add(o, usage)
			}
		}
	}
}

// refused adds that a page needs an agreement if its answer asks for a licence.
func (e *engine) refused(v views, u *url.URL) {
	if r, ok := e.q.Web[u.String()]; ok && e.mayCrawl(u) && asksForLicence(r) {
		v.add(opinion{stance: agreement, because: []because{{Source: "header", URL: u.String()}}, terms: []string{""}},
			everyUsage()...)
	}
}

// associated returns what the documents of one association say of a usage. If the narrowest content
// has a server, each usage needs an agreement.
func (e *engine) associated(usage string, adverts []advert, u *url.URL) opinion {
	offers := e.offers(u, adverts)
	o := e.licensed(usage, offers)
	if server, needed := narrowestServer(offers); server && o.stance != prohibit {
		if o.stance == agreement {
			needed.because = append(needed.because, o.because...)
			needed.terms = append(needed.terms, o.terms...)
		}
		return needed
	}
	return o
}

// asksForLicence reports whether an answer with the status 401 or 402 asks for a licence.
func asksForLicence(r response) bool {
	return (r.Status == 401 || r.Status == 402) && slices.ContainsFunc(canonical(r.Header)["Www-Authenticate"],
		func(s string) bool {
			return slices.ContainsFunc(strings.Split(s, ","), func(challenge string) bool {
				scheme, _, _ := strings.Cut(strings.TrimSpace(challenge), " ")
				return strings.EqualFold(scheme, "License")
			})
		})
}

// needsServer reports whether a licence server must be asked before u is requested, or after the
// fetch of the page p.
func (e *engine) needsServer(u *url.URL, p *page) bool {
	v := views{}
	if e.inForce("rsl") {
		e.rsl(v, u, e.preferenceGroup(u), p)
	}
	return v["crawl"].stance == agreement
}

// narrowestServer returns whether one of the contents with the longest path has a server, and the
// opinion that follows.
func narrowestServer(offers []offer) (bool, opinion) {
	path := -1
	for _, o := range offers {
		if !o.unreadable {
			path = max(path, o.path)
		}
	}
	out := opinion{stance: agreement}
	for _, o := range offers {
		if o.unreadable || o.path != path || o.content.server == "" {
			continue
		}
		out.because = append(out.because, because{Source: "license", URL: o.document, Line: o.content.line})
		if out.terms = append(out.terms, o.content.server); o.standard != "" {
			out.terms = append(out.terms, o.standard)
		}
	}
	return len(out.because) > 0, out
}

// licensed returns what the offers of one association say of one usage. The narrowest scope decides:
// the longer path, then the narrower token, then the licence for operators like ours.
func (e *engine) licensed(usage string, offers []offer) opinion {
	type said struct {
		scope [3]int
		opinion
	}
	var all []said
	for _, o := range offers {
		opinion, token, user := e.licence(usage, o)
		if opinion.stance != unknown {
			all = append(all, said{[3]int{o.path, token, user}, opinion})
		}
	}
	if len(all) == 0 {
		return opinion{}
	}
	best := slices.MaxFunc(all, func(a, b said) int { return slices.Compare(a.scope[:], b.scope[:]) }).scope
	var out opinion
	for _, s := range all {
		if s.scope != best {
			continue
		}
		// in equal scope, prohibit beats permit, and one offer that is met is enough
		order := []stance{unknown, agreement, permit, prohibit}
		switch a, b := slices.Index(order, s.stance), slices.Index(order, out.stance); {
		case a > b:
			out = s.opinion
		case a == b:
			out.because = slices.Concat(out.because, s.because)
			out.terms = slices.Concat(out.terms, s.terms)
		}
	}
	return out
}

// licence returns what one offer says of one usage, with the narrowness of the token that names it
// and of its users.
func (e *engine) licence(usage string, o offer) (opinion, int, int) {
	if o.unreadable {
		if slices.Contains(newer(), usage) {
			return opinion{agreement, []because{o.advert.at}, []string{o.document, ""}}, -1, 0
		}
		return opinion{}, 0, 0
	}
	at := []because{{Source: "license", URL: o.document, Line: o.line}}
	user := 0
	if e.meetsOperator(o.licence) && o.permits["user"] != nil {
		user = 1
	}
	granted := opinion{stance: permit, because: at}
	if o.paid || o.reported || !e.meetsOperator(o.licence) {
		granted = opinion{agreement, at, []string{o.terms()}}
	}
	permitted, prohibited := named(usage, o.permits["usage"]), named(usage, o.prohibits["usage"])
	switch {
	case prohibited > 0:
		return opinion{stance: prohibit, because: at}, max(prohibited, permitted), user
	case permitted > 0:
		return granted, permitted, user
	case o.permits["usage"] != nil: // a closed list
		if slices.Contains(slices.Concat(newer(), searching()), usage) {
			return opinion{agreement, at, []string{o.terms()}}, 0, user
		}
	case o.prohibits["usage"] == nil && usage != "crawl" && usage != "follow":
		return granted, 1, user
	}
	return opinion{}, 0, 0
}

// terms returns where the terms of a licence are.
func (o offer) terms() string {
	switch {
	case o.standard != "":
		return o.standard
	case o.content.server != "":
		return o.content.server
	}
	return o.document
}

// named returns how narrow the narrowest token is that names a usage, 0 if none does.
func named(usage string, tokens []string) int {
	own := map[string]string{"train-ai": "ai-train", "ai-use": "ai-input", "ai-index": "ai-index"}[usage]
	if slices.Contains(searching(), usage) {
		own = "search"
	}
	switch {
	case usage == "crawl", usage == "follow":
		return 0
	case own != "" && slices.Contains(tokens, own):
		return 3
	case strings.HasPrefix(own, "ai-") && slices.Contains(tokens, "ai-all"):
		return 2
	case slices.Contains(tokens, "all"):
		return 1
	}
	return 0
}

// meetsOperator reports whether the licence is for operators of our kind and country.
func (e *engine) meetsOperator(l licence) bool {
	kinds, countries := []string{e.q.OperatorKind}, []string{strings.ToUpper(e.q.OperatorCountry)}
	const union = "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE"
	if slices.Contains(strings.Fields(union), countries[0]) {
		countries = append(countries, "EU")
	}
	for kind, ours := range map[string][]string{"user": kinds, "geo": countries} {
		meets := func(s string) bool { return s != "" && slices.Contains(ours, s) }
		if list := l.permits[kind]; list != nil && !slices.ContainsFunc(list, meets) {
			return false
		}
		if list := l.prohibits[kind]; list != nil && (ours[0] == "" || slices.ContainsFunc(list, meets)) {
			return false
		}
	}
	return true
}

// offers returns the licences that apply to a resource, and the documents that cannot be read.
func (e *engine) offers(u *url.URL, adverts []advert) []offer {
	var out []offer
	for _, a := range adverts {
		list, document, err := e.document(a, u)
		if err != nil {
			out = append(out, offer{advert: a, document: document, unreadable: true, path: -1})
			continue
		}
		for _, c := range list {
			path, ok := covers(c.url, a.page, u)
			if !ok {
				continue
			}
			for _, l := range c.licences {
				out = append(out, offer{licence: l, content: c, advert: a, document: document, path: path})
			}
		}
	}
	return out
}

// covers reports whether the URL of a content matches u, and the length of its path. An empty URL is
// the page itself.
func covers(pattern string, page bool, u *url.URL) (int, bool) {
	if pattern == "" {
		return 1, page
	}
	if scheme, rest, ok := strings.Cut(pattern, "://"); ok { // http and https are the same site
		host, path, _ := strings.Cut(rest, "/")
		port := map[string]string{"http": ":80", "https": ":443"}
		written, found := port[strings.ToLower(scheme)]
		if !found || strings.TrimSuffix(strings.ToLower(host), written) != strings.TrimSuffix(u.Host, port[u.Scheme]) {
			return 0, false
		}
		pattern = path
	}
	if !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "*") {
		pattern = "/" + pattern
	}
	pattern = normalPath(pattern)
	return len(pattern), matches(pattern, matchString(u))
}

// document reads the document that an advert names or contains, for a page of the origin of u.
func (e *engine) document(a advert, u *url.URL) (list []content, address string, err error) {
	if a.inline != "" {
		if list, err = readRSL(a.inline); err == nil && len(list) != 1 {
			err = errNotRSL
		}
		for i := range list {
			list[i].line += a.line - 1
			for k := range list[i].licences {
				list[i].licences[k].line += a.line - 1
			}
		}
		if err != nil {
			return nil, "", err
		}
		return list, u.String(), nil
	}
	at, err := a.base.Parse(a.address)
	if written, _ := url.Parse(a.address); err != nil || a.absolute && !written.IsAbs() {
		return nil, "", errNotRSL
	}
	if at.Fragment = ""; at.Scheme != "http" && at.Scheme != "https" || !strings.Contains(a.address, "://") {
		return nil, "", errNotRSL
	}
	got := a.web.get(at, func(hop *url.URL) bool {
		return reachable(hop, u) && (hop.Scheme == "https" || hop.Scheme == "http" && a.base.Scheme == "http")
	})
	if !got.ok || got.response.Status < 200 || got.response.Status > 299 {
		return nil, at.String(), errNotRSL
	}
	list, err = readRSL(got.response.bytes())
	return list, at.String(), err
}

func (e *engine) siteAdverts(g preferenceGroup) []advert {
	var out []advert
	for _, l := range g.licences {
		out = append(out, advert{at: g.at(l), address: l.value, base: g.url, absolute: true, web: e.q})
	}
	return out
}

// pageAdverts returns the adverts of the header and of the page.
func pageAdverts(p *page) []advert {
	if p == nil {
		return nil
	}
	var out []advert
	for i, value := range p.header["Link"] {
		for _, address := range licenceLinks(value) {
			out = append(out, advert{at: p.headerAt(i), address: address, base: p.url, absolute: true, page: true,
				web: p.web})
		}
	}
	if p.document == nil {
		return out
	}
	for n := range p.document.Descendants() {
		if n.Type != html.ElementNode || !isRSL(attribute(n, "type")) {
			continue
		}
		a := advert{at: because{Line: p.lines[n]}, base: p.url, page: true, web: p.web, element: !within(n, "head")}
		switch {
		case n.Data == "link" && slices.ContainsFunc(strings.Fields(attribute(n, "rel")), isLicence):
			a.address = attribute(n, "href")
		case n.Data == "script":
			a.inline, a.line = textOf(n)+" ", p.lines[n]
		default:
			continue
		}
		out = append(out, a)
	}
	return out
}

func isRSL(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/rsl+xml")
}

func isLicence(rel string) bool { return strings.EqualFold(rel, "license") }

// licenceLinks returns the targets of the links of a Link header that are licences of RSL.
func licenceLinks(value string) []string {
	var out []string
	for _, link := range splitQuoted(value, ',') {
		parts := splitQuoted(link, ';')
		rel, kind := "", ""
		for _, part := range parts[1:] {
			key, value, _ := strings.Cut(part, "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			switch strings.ToLower(strings.TrimSpace(key)) {
			case "rel":
				rel = value
			case "type":
				kind = value
			}
		}
		if isRSL(kind) && slices.ContainsFunc(strings.Fields(rel), isLicence) {
			out = append(out, strings.Trim(strings.TrimSpace(parts[0]), "<>"))
		}
	}
	return out
}
