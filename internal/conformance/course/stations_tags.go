package course

// tagStations test whether the crawler does not follow links if the page, or its HTTP header,
// prohibits that.
func tagStations() []*Station {
	marked := func(id, rests, says, because, markup string) *Station {
		s := newFork(id, rests, says, because, content{})
		trap := s.Traps[0]
		s.Bait, s.From = s.Page(), s.Page()
		s.pages = map[string]content{s.Page(): {body: element(markup, trap) + anchor(s.Controls[0])}}
		return s
	}
	head := func(id, rests, says, because string) *Station {
		return newFork(id, rests, says, because, content{head: because})
	}
	header := func(id, rests, says, name, value string) *Station {
		return newFork(id, rests, says, name+": "+value, content{header: [][2]string{{name, value}}})
	}
	named := func(s *Station) *Station {
		s.Needs = NeedsName
		return s
	}
	// These stations are advice. The draft of the Robots-Tag header does not define nofollow yet.
	// In HTML, rel=nofollow only says that the author does not endorse a link.
	custom := func(s *Station) *Station {
		s.Level = Advice
		return s
	}
	return []*Station{
		head("meta", "REP 2", "links of a page with the META tag robots nofollow are not followed",
			`<meta name="robots" content="nofollow">`),
		head("meta-list", "REP 2", "nofollow is obeyed in a list of values, in any letter case",
			`<meta name="ROBOTS" content="NoArchive, NoFollow">`),
		head("meta-none", "REP 2", "none means noindex and nofollow", `<meta name="robots" content="none">`),
		named(head("meta-named", "RTAG 3.1.2", "a META tag with the crawler's name is obeyed",
			`<meta name="{{NAME}}" content="nofollow">`)),
		header("x-robots-tag", "REP 2", "links of a page with the header X-Robots-Tag nofollow are not followed",
			"X-Robots-Tag", "nofollow"),
		named(header("x-robots-tag-named", "RTAG 3.1.1", "an X-Robots-Tag header with the crawler's name is obeyed",
			"X-Robots-Tag", "{{NAME}}: nofollow")),
		custom(header("robots-tag", "RTAG 3.1.1, 5.1",
			"links of a page with the header Robots-Tag nofollow are not followed", "Robots-Tag", "*;nofollow")),
		custom(marked("rel", "HTML, link type", "a link with rel=nofollow is not followed", `<a rel="nofollow" …>`,
			`<p><a rel="nofollow" href="%s">not to be followed</a></p>`)),
		custom(marked("rel-list", "HTML, link type",
			"nofollow is obeyed in a list of link relations, in any letter case",
			`<a rel="external NoFollow" …>`, `<p><a rel="external NoFollow" href="%s">not to be followed</a></p>`)),
	}
}

// newFork returns a station with two pages: a crawler must not follow links of bait.html, but may
// follow links of twin.html.
func newFork(id, rests, says, because string, bait content) *Station {
	at := "/" + id + "/"
	bait.body += anchor(at + "trap.html")
	return &Station{ID: id, Origin: "tags", Category: catTags, Protocol: Tags, Level: Must, Rests: rests, Says: says,
		Because: because,
		Bait:    at + "bait.html", From: at + "bait.html", Traps: []string{at + "trap.html"},
		Controls: []string{at + "open.html"},
		pages: map[string]content{
			at:               {body: anchor(at+"bait.html") + anchor(at+"twin.html")},
			at + "bait.html": bait,
			at + "twin.html": {body: anchor(at + "open.html")},
		}}
}
