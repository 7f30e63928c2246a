package course

// mannerStations test request rates, repeated reads of robots.txt and the crawler's name. No
// document demands these, so they are advice.
func mannerStations() []*Station {
	advice := func(id, origin, rests, says string, w func(*watch) finding) *Station {
		return &Station{ID: id, Origin: origin, Category: catManners, Protocol: REP, Level: Advice, Rests: rests,
			Says: says, watch: w}
	}
	delay := advice("crawl-delay", "slow", "REP, Crawl-delay",
		"requests keep the distance that Crawl-delay asks for (one second)", crawlDelay)
	delay.Controls = []string{"/crawl-delay/open.html"}
	return []*Station{
		delay,
		advice("parallel", "index", "custom", "not more than eight requests to an origin are under way at once",
			parallel),
		advice("robots-again", "index", "RFC 9309 2.4", "robots.txt is kept for a while, not read again for each page",
			robotsAgain),
		advice("name", "index", "RFC 9309 2.2.1",
			"the User-Agent says the name by which robots.txt can address the crawler", hasName),
	}
}
