package course

// acapCrawlStations test permissions and prohibitions of the usage crawl.
func acapCrawlStations() []*Station {
	set := newCrawlStation("acap-set", "P1 2.7.3", "a resource set covers each of its patterns",
		"ACAP-disallow-crawl: the-acap:resource-set:shelf", "/acap-set/trap.html", "/acap-set/cellar/trap.html")
	redirect := newCrawlStation("acap-redirect", "P1 2.5.1",
		"the target of a redirect is not requested if ACAP prohibits it",
		"ACAP-disallow-crawl: /acap-redirect/closed/", "/acap-redirect/closed/trap.html")
	redirect.Bait = "/acap-redirect/to-closed.html"
	redirect.pages = map[string]content{
		"/acap-redirect/": {body: anchor("/acap-redirect/to-closed.html") +
			anchor("/acap-redirect/to-open.html")},
		"/acap-redirect/to-closed.html": {to: redirect.Traps[0]},
		"/acap-redirect/to-open.html":   {to: redirect.Controls[0]},
	}
	image := newCrawlStation("acap-image", "P1 2.5.1", "an image of a page is not requested if ACAP prohibits it",
		"ACAP-disallow-crawl: /acap-image/trap.gif", "/acap-image/trap.gif")
	image.Controls = []string{"/acap-image/open.png"}
	image.pages = map[string]content{"/acap-image/": {body: element(`<img src="%s" alt="a picture">`, image.Traps[0]) +
		element(`<img src="%s" alt="a picture">`, image.Controls[0])}}
	sitemap := newCrawlStation("acap-sitemap", "P1 2.5.1",
		"an entry of a sitemap is not requested if ACAP prohibits it", "ACAP-disallow-crawl: /acap-sitemap/trap.html",
		"/acap-sitemap/trap.html")
	sitemap.Bait = "/sitemap.txt"
	sitemap.pages = map[string]content{
		"/acap-sitemap/": {body: "<p>The links of this station are in the sitemap that robots.txt names.</p>"},
		"/sitemap.txt": {header: [][2]string{{"Content-Type", "text/plain; charset=utf-8"}},
			raw: "{{acap}}/acap-sitemap/trap.html\n{{acap}}/acap-sitemap/open.html\n"},
	}
	must := newCrawlStation("acap-must-use", "P1 2.5.3.2, I02",
		"a resource that must be used instead of a page is requested only if it may be crawled",
		"ACAP-disallow-crawl: /acap-must-use/trap.txt", "/acap-must-use/trap.txt")
	must.Bait, must.Controls = "/acap-must-use/closed.html", []string{"/acap-must-use/open.txt"}
	must.pages = map[string]content{
		"/acap-must-use/": {body: anchor("/acap-must-use/closed.html") +
			anchor("/acap-must-use/opened.html")},
		"/acap-must-use/closed.html": {body: "<p>Only another text may be indexed for this page, and that text may " +
			"not be crawled.</p>"},
		"/acap-must-use/opened.html": {body: "<p>Only another text may be indexed for this page.</p>"},
	}
	// P1 2.6.1 asks the crawler to erase what it stores of the resource. P1 2.6.1 does not say
	// whether the crawler may fetch the resource again to see if it is gone, so this station is
	// advice.
	takeDown := newCrawlStation("acap-take-down", "P1 2.6.1, P04",
		"a resource that the publisher asks to take down is not fetched again",
		"ACAP-request-take-down: /acap-take-down/trap.html", "/acap-take-down/trap.html")
	takeDown.Level = Advice
	return []*Station{
		newCrawlStation("acap-any", "P1 2.4.2", "a prohibition in a record for any crawler is obeyed",
			"ACAP-disallow-crawl: /acap-any/trap.html", "/acap-any/trap.html"),
		newCrawlStation("acap-scope", "P1 2.4.6", "the field with the narrowest scope decides",
			"ACAP-disallow-crawl: /acap-scope/closed/", "/acap-scope/closed/trap.html"),
		newCrawlStation("acap-order", "P1 2.4.6", "the order of fields does not matter",
			"ACAP-disallow-crawl: /acap-order/closed/", "/acap-order/closed/trap.html"),
		newCrawlStation("acap-tie", "P1 2.4.6, F05",
			"if two fields of equal scope permit and prohibit, the resource is prohibited",
			"ACAP-disallow-crawl: /acap-tie/trap.html", "/acap-tie/trap.html"),
		presuming("acap-wildcard", newCrawlStation("acap-undetermined", "P1 2.4.6, F02",
			"if neither of two scopes is narrower than the other, the prohibition decides",
			"ACAP-disallow-crawl: /acap-undetermined/*b", "/acap-undetermined/trap-ab.html")),
		newCrawlStation("acap-wildcard", "P1 2.9", "* matches any characters, and $ the end of the address",
			"ACAP-disallow-crawl: /acap-wildcard/*.pdf$", "/acap-wildcard/2026/trap.pdf"),
		newCrawlStation("acap-case", "P1 2.9, F10", "letter case does not matter in patterns",
			"ACAP-disallow-crawl: /acap-case/TRAP.html", "/acap-case/trap.html"),
		newCrawlStation("acap-percent", "F11", "a percent-encoded letter in a pattern matches the letter",
			"ACAP-disallow-crawl: /acap-percent/%74rap.html", "/acap-percent/trap.html"),
		newCrawlStation("acap-field-case", "P1 3", "letter case does not matter in field names",
			"acap-DISALLOW-crawl: /acap-field-case/trap.html", "/acap-field-case/trap.html"),
		set,
		newCrawlStation("acap-composite", "P1 2.7.2, E06", "a composite usage covers each of its parts",
			"ACAP-disallow-(harvest): /acap-composite/trap.html", "/acap-composite/trap.html"),
		newCrawlStation("acap-uninterpretable", "P1 2.4.3",
			"a permission that cannot be interpreted completely is treated as a prohibition",
			"ACAP-allow-crawl: /acap-uninterpretable/trap.html colour=blue", "/acap-uninterpretable/trap.html"),
		newCrawlStation("acap-qualified", "P1 2.4.3", "a prohibition with unknown qualifiers is obeyed",
			"ACAP-disallow-crawl: /acap-qualified/trap.html colour=blue", "/acap-qualified/trap.html"),
		newCrawlStation("acap-usage", "P1 2.4.3, G02",
			"a crawler that does not know a prohibited usage does not crawl the resource",
			"ACAP-disallow-print: /acap-usage/trap.html", "/acap-usage/trap.html"),
		newCrawlStation("acap-other", "P1 2.5.6, F19", "disallow-other prohibits every usage that no field permits",
			"ACAP-disallow-other: /acap-other/trap.html", "/acap-other/trap.html"),
		needs(NeedsPurpose, newCrawlStation("acap-purpose", "P1 2.3.3",
			"a prohibition for the crawler's purpose is obeyed",
			"ACAP-disallow-crawl: /acap-purpose/trap.html", "/acap-purpose/trap.html")),
		needs(NeedsPurpose, newCrawlStation("acap-purpose-other", "P1 2.3.3",
			"a permission for another purpose does not lift a prohibition",
			"ACAP-disallow-crawl: /acap-purpose-other/trap.html", "/acap-purpose-other/trap.html")),
		takeDown, redirect, image, sitemap, must,
		alone("shut", newCrawlStation("acap-shut", "P1 2.4.6",
			"if everything except one folder is prohibited, only that folder is crawled", "ACAP-disallow-crawl: /", "/",
			"/elsewhere/trap.html")),
		alone("both", newCrawlStation("acap-both", "P1 2.10.2, O05",
			"an ACAP prohibition is obeyed despite a conventional Allow", "ACAP-disallow-crawl: /acap-both/trap.html",
			"/acap-both/trap.html")),
	}
}

// acapRecordStations test which records the crawler obeys. Records that a crawler may misread in
// different ways are on different origins.
func acapRecordStations() []*Station {
	return []*Station{
		needs(NeedsName, alone("addressed", newCrawlStation("acap-named", "P1 2.3.1",
			"a prohibition in a record with the crawler's name is obeyed", "ACAP-disallow-crawl: /acap-named/trap.html",
			"/acap-named/trap.html"))),
		presuming("acap-named", needs(NeedsName, alone("among",
			newCrawlStation("acap-named-among", "P1 2.3.1", "a record may name several crawlers, in any letter case",
				"ACAP-disallow-crawl: /acap-named-among/trap.html", "/acap-named-among/trap.html")))),
		presuming("acap-any", needs(NeedsName, alone("addressed",
			newCrawlStation("acap-merged", "P1 2.3.1, C01",
				"a record for any crawler is obeyed in addition to the one with the crawler's name",
				"ACAP-disallow-crawl: /acap-merged/trap.html", "/acap-merged/trap.html")))),
		presuming("acap-any", alone("records", newCrawlStation("acap-again", "P1 2.3, C05",
			"several records for the same crawler are combined", "ACAP-disallow-crawl: /acap-again/",
			"/acap-again/first/trap.html", "/acap-again/last/trap.html"))),
		presuming("acap-named", needs(NeedsName, alone("addressed",
			newCrawlStation("acap-named-wins", "P1 2.3.1, C02",
				"a prohibition with the crawler's name wins against a permission for any crawler",
				"ACAP-disallow-crawl: /acap-named-wins/trap.html", "/acap-named-wins/trap.html")))),
	}
}

// newCrawlStation returns a station of the origin called acap that tests the usage crawl.
func newCrawlStation(id, rests, says, because string, traps ...string) *Station {
	return &Station{ID: id, Origin: "acap", Category: catCrawl, Protocol: ACAP, Level: Must, Rests: rests, Says: says,
		Because: because,
		Traps:   traps, Controls: []string{"/" + id + "/open.html"}}
}

func needs(n Need, s *Station) *Station {
	s.Needs = n
	return s
}

// acapFollowStations test whether the crawler does not follow links that ACAP prohibits it to
// follow.
func acapFollowStations() []*Station {
	follow := func(id, rests, says, because string, bait content) *Station {
		s := newFork(id, rests, says, because, bait)
		s.Origin, s.Category, s.Protocol = "follow", catFollow, ACAP
		return s
	}
	named := func(s *Station) *Station {
		s.Needs = NeedsName
		return s
	}
	meta := func(id, rests, says, tag string) *Station { return follow(id, rests, says, tag, content{head: tag}) }
	class := func(id, rests, says, because, markup string) *Station {
		s := follow(id, rests, says, because, content{})
		s.Bait, s.From = s.Page(), s.Page()
		s.pages = map[string]content{s.Page(): {body: element(markup, s.Traps[0]) + anchor(s.Controls[0])}}
		return s
	}
	return []*Station{
		follow("acap-follow", "P1 2.5.2", "links of a page with disallow-follow in robots.txt are not followed",
			"ACAP-disallow-follow: /acap-follow/bait.html", content{}),
		alone("addressed", named(follow("acap-follow-named", "P1 2.5.2",
			"a disallow-follow in a record with the crawler's name is obeyed",
			"ACAP-disallow-follow: /acap-follow-named/bait.html",
			content{}))),
		follow("acap-follow-unknown", "P1 2.4.3",
			"a permission to follow that cannot be interpreted completely is treated as a prohibition",
			"ACAP-allow-follow: /acap-follow-unknown/bait.html colour=blue", content{}),
		meta("acap-meta", "P2 2.2.4", "links of a page with a META tag disallow-follow are not followed",
			`<meta name="robots" content="ACAP disallow-follow">`),
		named(meta("acap-meta-named", "P2 2.2.1", "a META tag with the crawler's name is obeyed",
			`<meta name="{{NAME}}" content="ACAP disallow-follow">`)),
		meta("acap-meta-crawl", "P2 2.2.4, N26",
			"a page with a META tag disallow-crawl is discarded, and its links are not followed",
			`<meta name="robots" content="ACAP disallow-crawl">`),
		meta("acap-location", "P2 2.2.9.1, M06",
			"a page whose permission has another location is discarded, and its links are not followed",
			`<meta name="robots" content="ACAP allow-crawl location={{follow}}/acap-location/elsewhere.html">`),
		class("acap-class", "P2 2.2.5", "a link in an element of class the-acap:disallow-follow is not followed",
			`<div class="the-acap:disallow-follow">`,
			`<div class="the-acap:disallow-follow"><p><a href="%s">not to be followed</a></p></div>`),
		class("acap-class-link", "P2 2.2.5",
			"a link with several classes, one of them the-acap:disallow-follow, is not followed",
			`<a class="button the-acap:disallow-follow" …>`,
			`<p><a class="button the-acap:disallow-follow" href="%s">not to be followed</a></p>`),
		class("acap-class-inner", "P2 2.2.5, N06",
			"a permission of an inner element does not lift the prohibition of an outer element",
			`<div class="the-acap:disallow-follow">`,
			`<div class="the-acap:disallow-follow"><p class="the-acap:allow-follow">`+
				`<a href="%s">not to be followed</a></p></div>`),
	}
}

// acapFileStations test which files the crawler reads, and how it combines ACAP fields with
// conventional records.
func acapFileStations() []*Station {
	file := func(id, origin, rests, says, because string) *Station {
		return &Station{ID: id, Origin: origin, Category: catFiles, Protocol: ACAP, Level: Must, Rests: rests,
			Says: says, Because: because,
			Traps: []string{"/" + id + "/closed/trap.html"}, Controls: []string{"/" + id + "/open.html"}}
	}
	return []*Station{
		file("reference", "refer", "P1 2.3.2", "a referenced file is read and obeyed",
			"ACAP-disallow-crawl: /reference/closed/"),
		file("reference-away", "refer", "P1 2.3.2, D05", "a referenced file of another origin is read and obeyed",
			"ACAP-disallow-crawl: /reference-away/closed/"),
		{ID: "reference-lost", Origin: "lost", Category: catFiles, Protocol: ACAP, Level: Must, Rests: "P1 2.3.2, D07",
			Says:    "if a referenced file is not available (503), nothing is requested",
			Because: "ACAP-permissions-reference: /policy/lost.txt", Whole: true},
		{ID: "lifted", Origin: "both", Category: catFiles, Protocol: ACAP, Level: May, Rests: "P1 2.10.2, O04",
			Says:     "an ACAP permission with the same pattern lifts a conventional rule",
			Controls: []string{"/lifted/closed/open.html"}},
		file("ignore", "ignore", "P1 2.10.1", "with ACAP-ignore-conventional-records, ACAP fields are obeyed",
			"ACAP-disallow-crawl: /ignore/closed/"),
		{ID: "ignored", Origin: "ignore", Category: catFiles, Protocol: ACAP, Level: May, Rests: "P1 2.10.1",
			Says: "with ACAP-ignore-conventional-records, crawlers that read ACAP need not obey conventional " +
				"records",
			Controls: []string{"/ignored/open.html"}},
	}
}
