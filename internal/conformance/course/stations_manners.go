package course

// mannerStations test request rates, repeated reads of robots.txt and the crawler's name. No
// document demands these requirements, so they are advice.
func mannerStations() []*Station {
	advice := func(id, origin, rests, says string, w func(*watch) finding) *Station {
		return &Station{ID: id, Origin: origin, Category: catManners, Protocol: REP, Level: Advice, Rests: rests,
			Says: says, watch: w}
	}
	delay := advice("crawl-delay", "slow", "REP, Crawl-delay",
		"the time between requests is at least the Crawl-delay (one second)", crawlDelay)
	delay.Controls = []string{"/crawl-delay/open.html"}
	return []*Station{
		delay,
		advice("parallel", "index", "custom", "at most eight requests to an origin are in progress at the same time",
			parallel),
		advice("robots-again", "index", "RFC 9309 2.4", "robots.txt is cached, not requested again for each page",
			robotsAgain),
		advice("name", "index", "RFC 9309 2.2.1",
			"the User-Agent contains a name by which robots.txt can address the crawler", hasName),
	}
}
