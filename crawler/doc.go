// Package crawler visits pages: it owns the frontier, politeness between visits, and scope, and it
// alone knows Colly.
//
//	crawler.go   Crawler, Handler, Options
//	run.go       the beginning and the end of a run
//	visit.go     a page's life, top to bottom
//	limits.go    when no more visits begin
//	colly.go     the visits of a worker with its Colly collector, redirects included
//	collect.go   what callbacks of users see and may ask for
//	judge.go     from the hops of a visit to its outcome; retries
//	parts.go     resources that pages require
//	revisit.go   when a page is visited again
//	scope.go     how far from its seeds a crawl goes; patterns of addresses
//	trap.go      addresses that programs make up
//	normal.go    the normal form of an address
//	identity.go  query parameters that make no difference
//	sitemap.go   what a sitemap lists
//	report.go    Summary, Progress, Skip
//	tally.go     what a run has done so far
//	frontier.go  Frontier: what is queued and what became of the rest
//	found.go     from which seed an address was found, and what a run of some seeds visits
//	again.go     queueing again what was visited
//	promote.go   what re-crawls ask for
//	barred.go    what take-downs bar
//	lease.go     Lease, Next, Done: taking an address and giving it back
//	schedule.go  which host is due
//	pace.go      how long a host is left alone
//	writer.go    the one writer, which groups changes into transactions
//	disk.go      frontier.db: buckets and the bookkeeping of a transaction
//	record.go    the form of its records
//	check.go     whether they agree
//
// Everything is requested through the Gate, which decides; this package asks for no permission
// itself. An address is leased, visited, received durably by the Handler and then acknowledged
// together with the links it led to. Until then it stands in its queue on disk, so that a crash
// repeats a page and never loses one.
package crawler
