package course

// robotsStations test whether the crawler reads robots.txt and how it handles unusual files. Each
// unusual file has its own origin.
func robotsStations() []*Station {
	return []*Station{
		{ID: "robots-first", Origin: "index", Category: catRobots, Protocol: REP, Level: Must, Rests: "RFC 9309 2.3",
			Says: "robots.txt of an origin is requested before anything else from that origin", watch: robotsFirst},
		{ID: "missing", Origin: "gone", Category: catRobots, Protocol: REP, Level: May, Rests: "RFC 9309 2.3.1.3",
			Says:     "if there is no robots.txt (404), everything may be requested",
			Controls: []string{"/missing/open.html"}},
		{ID: "down", Origin: "down", Category: catRobots, Protocol: REP, Level: Must, Rests: "RFC 9309 2.3.1.4",
			Says:    "if robots.txt is answered with a server error (503), nothing is requested",
			Because: "HTTP status 503",
			Whole:   true},
		{ID: "broken", Origin: "broken", Category: catRobots, Protocol: REP, Level: Must, Rests: "RFC 9309 2.3.1.4",
			Says:    "if the connection breaks when robots.txt is requested, nothing else is requested",
			Because: "no answer", Whole: true},
		{ID: "moved", Origin: "moved", Category: catRobots, Protocol: REP, Level: Must, Rests: "RFC 9309 2.3.1.2",
			Says:    "five redirects to robots.txt are followed, also to another origin",
			Because: "Disallow: /moved/trap.html",
			Traps:   []string{"/moved/trap.html"}, Controls: []string{"/moved/open.html"}},
		{ID: "large", Origin: "large", Category: catRobots, Protocol: REP, Level: Must, Rests: "RFC 9309 2.5",
			Says: "a rule after 400 KiB is obeyed: at least 500 KiB are read", Because: "Disallow: /large/trap.html",
			Traps: []string{"/large/trap.html"}, Controls: []string{"/large/open.html"}},
		{ID: "beyond", Origin: "large", Category: catRobots, Protocol: REP, Level: May, Rests: "RFC 9309 2.5, A19",
			Says: "a rule after 500 KiB may be ignored", Controls: []string{"/beyond/open.html"}},
		{ID: "byte-order-mark", Origin: "bom", Category: catRobots, Protocol: REP, Level: Advice, Rests: "custom, A17",
			Says: "a byte order mark is not part of the first line", Because: "Disallow: /byte-order-mark/trap.html",
			Traps: []string{"/byte-order-mark/trap.html"}, Controls: []string{"/byte-order-mark/open.html"}},
		{ID: "carriage-return", Origin: "cr", Category: catRobots, Protocol: REP, Level: Must,
			Rests: "RFC 9309 2.2, A01",
			Says:  "a single carriage return ends a line", Because: "Disallow: /carriage-return/trap.html",
			Traps: []string{"/carriage-return/trap.html"}, Controls: []string{"/carriage-return/open.html"}},
		{ID: "markup", Origin: "markup", Category: catRobots, Protocol: REP, Level: Must, Rests: "RFC 9309 2.3.1.5",
			Says:    "in a file with HTML around its lines, valid lines are obeyed",
			Because: "Disallow: /markup/trap.html",
			Traps:   []string{"/markup/trap.html"}, Controls: []string{"/markup/open.html"}},
	}
}

// ruleStations test which group and which rule the crawler obeys.
func ruleStations() []*Station {
	rules := []*Station{
		newRule("plain", "RFC 9309 2.2.2", "a rule prohibits all paths that begin with its value",
			"Disallow: /plain/trap",
			"/plain/trap.html", "/plain/trap/deep.html"),
		newRule("order", "RFC 9309 2.2.2", "a longer rule wins against a shorter Allow before it",
			"Disallow: /order/closed/", "/order/closed/trap.html"),
		newRule("longest", "RFC 9309 2.2.2", "if three rules match, the longest wins",
			"Disallow: /longest/closed/", "/longest/closed/trap.html"),
		newRule("wildcard", "RFC 9309 2.2.3", "* matches any characters", "Disallow: /wildcard/*/print.html",
			"/wildcard/2026/print.html"),
		newRule("end", "RFC 9309 2.2.3", "$ matches the end of the address", "Disallow: /end/trap.php$",
			"/end/trap.php"),
		newRule("percent", "RFC 9309 2.2.2",
			"lower-case percent-encoding and unencoded non-ASCII characters match a rule with upper-case "+
				"percent-encoding", "Disallow: /percent/caf%C3%A9.html", "/percent/caf%c3%a9.html",
			"/percent/café.html"),
		newRule("unreserved", "RFC 9309 2.2.2", "a percent-encoded letter in a rule matches the letter",
			"Disallow: /unreserved/%74rap.html", "/unreserved/trap.html"),
		newRule("slash", "RFC 9309 2.2.2", "an encoded slash matches an encoded slash in a rule, in either letter case",
			"Disallow: /slash/a%2fb.html", "/slash/a%2Fb.html"),
		newRule("upper-case", "RFC 9309 2.2.2", "letter case matters in paths", "Disallow: /upper-case/TRAP.html",
			"/upper-case/TRAP.html"),
		newRule("field-case", "RFC 9309 2.2", "letter case does not matter in field names",
			"dISALLOW: /field-case/trap.html", "/field-case/trap.html"),
		newRule("query", "RFC 9309 2.2.2", "rules are compared with path and query",
			"Disallow: /query/page.html?session=",
			"/query/page.html?session=1"),
		newRule("blanks", "RFC 9309 2.2", "blanks around a field and a comment after it are ignored",
			"Disallow :\t/blanks/trap.html", "/blanks/trap.html"),
		newRule("dots", "RFC 3986 5.2.4, F12", "dot segments are removed before a path is compared",
			"Disallow: /dots/closed/", "/dots/open/../closed/trap.html"),
		presuming("end", newRule("fragment", "RFC 9309 2.2.2, F12", "fragments are ignored",
			"Disallow: /fragment/trap.html$", "/fragment/trap.html#part")),
		// each of these files has its own origin, because a parser that fails at one of them may
		// misread the rest of the file
		alone("groups", newRule("again", "RFC 9309 2.2.1", "several groups for the same crawler are combined",
			"Disallow: /again/", "/again/first/trap.html", "/again/last/trap.html")),
		alone("shared", newRule("shared", "RFC 9309 2.2.1", "a group may have several User-agent lines",
			"Disallow: /shared/trap.html", "/shared/trap.html")),
		alone("lines", newRule("unknown", "RFC 9309 2.2.4",
			"unknown lines do not affect the lines around them", "Disallow: /unknown/",
			"/unknown/before/trap.html", "/unknown/after/trap.html")),
		alone("blank", newRule("blank-line", "RFC 9309 2.2", "a blank line does not end a group",
			"Disallow: /blank-line/", "/blank-line/before/trap.html", "/blank-line/after/trap.html")),
	}
	named := func(origin, id, says, because string, traps ...string) *Station {
		s := alone(origin, newRule(id, "RFC 9309 2.2.1", says, because, traps...))
		s.Needs = NeedsName
		return s
	}
	rules[4].Controls = []string{"/end/trap.php?x=1", "/end/trap.phps", "/end/open.php?x=1", "/end/open.phps"}
	return append(rules,
		named("named", "own-group", "the group with the crawler's name is obeyed instead of the group for any crawler",
			"Disallow: /own-group/trap.html", "/own-group/trap.html"),
		presuming("own-group", named("cased", "own-case", "letter case does not matter in the crawler's name",
			"Disallow: /own-case/trap.html", "/own-case/trap.html")),
		presuming("own-group", named("twice", "own-again", "several groups with the crawler's name are combined",
			"Disallow: /own-again/", "/own-again/first/trap.html", "/own-again/last/trap.html")),
		&Station{ID: "own-only", Origin: "named", Category: catRules, Protocol: REP, Level: May, Needs: NeedsName,
			Rests:    "RFC 9309 2.2.1",
			Says:     "a crawler with its own group need not obey the group for any crawler",
			Controls: []string{"/own-only/open.html"}},
		&Station{ID: "conventional", Origin: "both", Category: catRules, Protocol: REP, Level: Must,
			Rests:   "P1 2.10.2, O05",
			Says:    "an ACAP permission with a different pattern does not lift a conventional rule",
			Because: "Disallow: /conventional/closed/",
			Traps:   []string{"/conventional/closed/trap.html"}, Controls: []string{"/conventional/open.html"}},
	)
}

// newRule returns a station of the origin called rules. All rules in its robots.txt address any
// crawler.
func newRule(id, rests, says, because string, traps ...string) *Station {
	return &Station{ID: id, Origin: "rules", Category: catRules, Protocol: REP, Level: Must, Rests: rests, Says: says,
		Because: because,
		Traps:   traps, Controls: []string{"/" + id + "/open.html"}}
}

// alone changes the origin of a station and returns the station.
func alone(origin string, s *Station) *Station {
	s.Origin = origin
	return s
}
