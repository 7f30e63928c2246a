// Package crawler visits pages. It contains the frontier, the delays between requests and the scope
// of a crawl. No other package uses Colly.
//
//	crawler.go   Crawler, Handler, Options
//	run.go       the beginning and the end of a run
//	visit.go     the steps of a visit, in order; visit_end.go: how it ends
//	limits.go    limits after which no more visits start
//	colly.go     the visits of a worker with its Colly collector, redirects included
//	collect.go   the pages that callbacks see and the links that they request
//	judge.go     from the hops of a visit to its outcome; retries
//	parts.go     visits of resources that pages require
//	revisit.go   when a page is visited again
//	reach.go     Extent: which addresses a crawl visits
//	scope.go     Scope; patterns of addresses
//	trap.go      crawler traps
//	identity.go  removal of query parameters that do not change a page
//	sitemap.go   the addresses that a sitemap lists
//	report.go    Summary, Progress, Skip
//	tally.go     the counts of a run
//	queue.go     Queue, Lease, End, Offer, Filter
//	frontier.go  Frontier: queued addresses and the outcomes of visits
//	offers.go    offering addresses to a Frontier
//	found.go     from which seed an address was found; runs that name seeds
//	again.go     requeueing of visited addresses
//	promote.go   addresses that re-crawl requests name
//	barred.go    addresses that are not visited because of a take-down
//	lease.go     Next, Done and Return: the beginning and the end of a lease
//	schedule.go  which host is due
//	pace.go      the delay between two requests to a host
//	writer.go    the writer goroutine, which groups changes into transactions;
//	             writer_offer.go: what it does with an offered address
//	disk.go      frontier.db: its buckets and write transactions; file.go: opening it
//	record.go    the encoding of its records
//	backup.go    copying the file during a crawl
//	hosts.go     what is known of a host
//	check.go     verification of the file
//
// Several machines can share a crawl. Then a Frontier has a Journal:
//
//	journal.go   Journal: the replicated journals of partitions of the hosts, and links between them
//	journal_puts.go    the encoding of journal entries
//	partitions.go      which partitions a Frontier owns; Release and Lose
//	adopt.go           Adopt and Receive: from a journal to the file
//	drop.go            removal of a partition from the file
//	rewrite.go         Rewrite, after which the beginning of a journal can be deleted
//	writer_journal.go  what a write transaction adds to journals and sends to other partitions
//	sent.go            links that were sent already
//
// Every request goes through the Gate, which decides whether it is permitted; this package does not
// evaluate policies. An address is leased and visited. The Handler stores the page durably. Then
// the crawler records the outcome together with the links of the page. Until then the address stays
// in its queue on disk, so that a crash repeats a visit and loses none.
package crawler
