package course

import "net/http"

// tdmrepStations test when the crawler requests tdmrep.json.
func tdmrepStations() []*Station {
	tdm := func(id, origin, rests, says string) *Station {
		s := &Station{ID: id, Origin: origin, Category: catTDMFile, Protocol: TDMRep, Level: Must, Rests: rests,
			Says: says, Controls: []string{"/" + id + "/open.html", "/" + id + "/more.html"}}
		s.pages = map[string]content{s.Page(): {body: anchor(s.Controls[0]) + anchor(s.Controls[1])}}
		return s
	}
	first := tdm("tdmrep-first", "tdm", "6.7", "tdmrep.json is requested before the first page of its origin")
	first.watch = tdmFirst
	once := tdm("tdmrep-once", "tdm", "6.7",
		"tdmrep.json is cached: it is requested once for each request for robots.txt, not for each page")
	once.watch = tdmOnce
	closed := tdm("tdmrep-closed", "tdmshut", "RFC 9309 2.2.2",
		"tdmrep.json is not requested if robots.txt prohibits it")
	closed.Because, closed.Traps = "Disallow: /.well-known/", []string{tdmPath}
	return []*Station{first, once, closed}
}

// newLicence returns a station of the origin called rsl: the licence document of the site says that
// the traps need a licence server.
func newLicence(id, rests, says, path string, traps ...string) *Station {
	return &Station{ID: id, Origin: "rsl", Category: catLicences, Protocol: RSL, Level: Must, Rests: rests, Says: says,
		Because: `<content url="` + path + `" server="` + server + `">`,
		Traps:   traps, Controls: []string{"/" + id + "/open.html"}}
}

// licenceStations test whether the crawler leaves out the pages that need a licence server by the
// licence of their site.
func licenceStations() []*Station {
	redirect := newLicence("rsl-redirect", "3.3",
		"the target of a redirect is not requested if it needs a licence server", "/rsl-redirect/closed/",
		"/rsl-redirect/closed/trap.html")
	redirect.Bait = "/rsl-redirect/to-closed.html"
	redirect.pages = map[string]content{
		redirect.Page():              {body: anchor(redirect.Bait) + anchor("/rsl-redirect/to-open.html")},
		redirect.Bait:                {to: redirect.Traps[0]},
		"/rsl-redirect/to-open.html": {to: redirect.Controls[0]},
	}
	image := newLicence("rsl-image", "3.3", "an image is not requested if it needs a licence server",
		"/rsl-image/trap.gif", "/rsl-image/trap.gif")
	image.Controls = []string{"/rsl-image/open.png"}
	image.pages = map[string]content{image.Page(): {body: element(`<img src="%s" alt="a picture">`, image.Traps[0]) +
		element(`<img src="%s" alt="a picture">`, image.Controls[0])}}
	narrow := newLicence("rsl-narrow", "3.6", "the licence of the longest path decides", "/rsl-narrow/closed/",
		"/rsl-narrow/closed/trap.html")
	narrow.Controls = []string{"/rsl-narrow/closed/open.html"}
	named := alone("rslnamed", needs(NeedsName, newLicence("rsl-own-group", "4.4",
		"the licence in the group with the crawler's name is obeyed instead of the one for the site",
		"/rsl-own-group/trap.html", "/rsl-own-group/trap.html")))
	return []*Station{
		newLicence("rsl-server", "3.3", "a page that needs a licence server is not requested", "/rsl-server/closed/",
			"/rsl-server/closed/trap.html"),
		narrow,
		newLicence("rsl-pattern", "3.1", "* matches any characters, and $ the end of the address",
			"/rsl-pattern/*.pdf$", "/rsl-pattern/2026/trap.pdf"),
		newLicence("rsl-absolute", "3.1", "a licence may name its pages with an absolute address",
			"{{rsl}}/rsl-absolute/closed/", "/rsl-absolute/closed/trap.html"),
		redirect, image, named,
		{ID: "rsl-all", Origin: "rslall", Category: catLicences, Protocol: RSL, Level: Must, Rests: "3.3",
			Says: "if every page needs a licence server, only robots.txt, tdmrep.json and licence documents are " +
				"requested",
			Because: `<content url="/" server="` + server + `">`, Whole: true},
	}
}

// licencePageStations test whether the crawler discards a page if the licence that the page names
// needs a licence server: the links of the page are not followed.
func licencePageStations() []*Station {
	const name = "{{rslpages}}" + policyRoot + "page.xml"
	page := func(id, rests, says string, bait content) *Station {
		s := newFork(id, rests, says, `<content url="" server="`+server+`">`, bait)
		s.Origin, s.Category, s.Protocol = "rslpages", catLicences, RSL
		return s
	}
	const kind = `type="application/rsl+xml"`
	plainLink := page("rsl-plain", "4.5", "a licence link without the type application/rsl+xml is no licence of RSL",
		content{})
	plainLink.Level, plainLink.Because, plainLink.Traps, plainLink.Bait, plainLink.From = May, "", nil, "", ""
	plainLink.pages = map[string]content{plainLink.Page(): {head: `<link rel="license" href="` + name + `">`,
		body: anchor(plainLink.Controls[0])}}
	return []*Station{
		page("rsl-header", "4.5", "a page is discarded if a licence in its Link header needs a licence server",
			content{header: [][2]string{{"Link", "<" + name + `>; rel="license"; ` + kind}}}),
		page("rsl-link", "4.6", "a page is discarded if a licence that it links to needs a licence server",
			content{head: `<link rel="license" ` + kind + ` href="` + name + `">`}),
		page("rsl-inline", "4.6", "a page is discarded if a licence that it contains needs a licence server",
			content{head: `<script ` + kind + `><rsl xmlns="https://rslstandard.org/rsl"><content url="" server="` +
				server + `"><license/></content></rsl></script>`}),
		plainLink,
	}
}

// documentStations test how often the crawler requests licence documents, and pages that ask for a
// licence.
func documentStations() []*Station {
	document := func(id, origin string, level Level, rests, says string, w func(*watch) finding) *Station {
		return &Station{ID: id, Origin: origin, Category: catDocuments, Protocol: RSL, Level: level, Rests: rests,
			Says: says, Controls: []string{"/" + id + "/open.html"}, watch: w}
	}
	paid := document("rsl-paid", "rslpaid", Must, "3.3",
		"a page that answers with 401 or 402 and asks for a licence is not requested again", paidOnce)
	paid.pages = map[string]content{paid.Page(): {body: anchor(paidPages()[0]) + anchor(paidPages()[1]) +
		anchor(paid.Controls[0])}}
	for i, status := range []int{http.StatusUnauthorized, http.StatusPaymentRequired} {
		paid.pages[paidPages()[i]] = content{status: status, header: [][2]string{
			{"WWW-Authenticate", `License error="invalid_request"`},
			{"Link", "<{{rslpaid}}" + policyRoot + `paid.xml>; rel="license"; type="application/rsl+xml"`}},
			body: "<p>This page needs a licence.</p>"}
	}
	return []*Station{
		document("rsl-once", "rsl", Must, "3.1, max-age", "a licence document is requested once while it is fresh",
			documentOnce),
		document("rsl-discarded", "rslpages", Must, "3.3",
			"a page that names a licence that needs a licence server is discarded, and not requested again",
			discardedOnce),
		document("rsl-loop", "rslloop", Must, "RFC 9110 15.4",
			"redirects of a licence document in a circle are not followed without end", documentLoop),
		document("rsl-many", "rslmany", Advice, "custom",
			"of a hundred licence documents that robots.txt names, at most fifty are requested", documentsBounded),
		paid,
	}
}

// paidPages returns the pages of the origin rslpaid that ask for a licence.
func paidPages() []string { return []string{"/rsl-paid/401.html", "/rsl-paid/402.html"} }
