// Package course is a publisher site for testing crawlers, and the judge of the crawlers that visit
// it.
//
// The course consists of stations. Each station tests one requirement. It has a bait (a link, a
// redirect or an entry of a sitemap), a trap and a control. The bait leads to the trap, which the
// crawler must not request. The same kind of bait leads to the control, which the crawler may
// request. A crawler that requested the control and not the trap has kept the requirement. A
// crawler that did not get the bait, or did not request the control, has not been tested. The
// stations are spread over several origins, and each origin has its own robots.txt.
//
// The judge sees only requests. For each request it asks the policy engine of acapcrawl whether the
// course permits it. It tries every crawler that the visitor may be: the names in its User-Agent,
// any purpose unless the purposes are known, and strict and lenient readings. A request is a
// violation only if none of these crawlers may make it.
//
//	station.go           Station: one requirement; protocols, levels, categories
//	stations_*.go        the table of stations
//	origins*.go          the origins, and what is unusual about the robots.txt of each
//	web.go               Web: the answer of every address of the course to one visitor
//	server.go            Server: serves each origin on its own port and records the visits
//	visit.go             Visit: one request, stored as a line of JSON
//	visitors.go          groups visits by visitor
//	visitor.go           names in a User-Agent; User-Agents of browsers
//	judge.go             Judge: computes outcomes from visits, with the evidence
//	crowd.go             visits that excuse another visitor: one crawler at several addresses,
//	                     a program that reads robots.txt for a crawler
//	reads.go             Reads: whether a visitor is judged by a protocol that crawlers need not know
//	reading.go           what the engine permits to one crawler that the visitor may be
//	manners.go           requirements about order and time: robots.txt first, delays, parallel requests
//	documents.go         requirements about tdmrep.json and licence documents: when and how often
//	text.go, html.go     the report as text and as HTML
//	ci.go                the report as JUnit and SARIF
package course
