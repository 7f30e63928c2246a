// Package course is the reference publisher site for testing crawlers, and the judge of those that visit it.
//
// The course is a field of stations. A station is one requirement: a page with a bait (a link, a redirect, an entry of a sitemap), a trap that
// the bait leads to and that must not be requested, and a control, which the same kind of bait leads to and which may be. Who
// took the control and left the trap has kept the requirement; who was never led to either has not been tested by it. The stations stand on
// several origins, each with a robots.txt of its own.
//
// The judge sees requests and nothing else. It asks the engine that crawls, on the course's own bytes, whether anything that the
// visitor may be (the names in its User-Agent, any purpose unless told, strict and lenient readings) lets it do what it did.
//
//	station.go           Station: one requirement; protocols, levels, categories
//	stations_*.go        the table
//	origins.go           the origins and what is odd about their robots.txt
//	web.go               Web: what every address of the course answers to a visitor
//	server.go            Server: an origin a port, and the record of visits
//	visit.go             Visit: one request, as a line of JSON
//	visitors.go          which visits are of one visitor
//	visitor.go           names in a User-Agent, and who is a browser
//	judge.go             Judge: from visits to outcomes, with the evidence
//	crowd.go             what visitors have in common: one crawler at several addresses, robots.txt read by another program
//	reads_acap.go        ReadsACAP: whether a visitor is judged by ACAP
//	reading.go           what one crawler that the visitor may be has to do, by the engine
//	manners.go           what time tells: robots.txt first, delays, parallel requests
//	text.go, html.go     the report in words and as a page
//	ci.go                the report as JUnit and SARIF have it
//	page.go              the table as a page for readers
package course
