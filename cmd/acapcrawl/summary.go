package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/site"
)

// row is one line of the summary: a right-aligned number, and the name of what was counted.
type row struct {
	n    int
	what string
}

// block returns as text a heading and the rows whose number is not 0, or "" if there are no such
// rows.
func block(heading string, rows ...row) string {
	var b strings.Builder
	for _, r := range rows {
		if r.n != 0 {
			fmt.Fprintf(&b, "%8s  %s\n", number(r.n), r.what)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + heading + "\n" + b.String()
}

// printSummary prints the result of a crawl as several blocks of rows.
func printSummary(w io.Writer, s site.CrawlSummary, now time.Time) error {
	var b strings.Builder
	from := ""
	if s.Hosts > 0 {
		from = " from " + several(s.Hosts, "host")
	}
	fmt.Fprintf(&b, "%s fetched%s in %s: %s, %s\n", several(s.Fetched, "page"), from,
		span(time.Duration(s.Duration*float64(time.Second))), speed(s.Rate), size(s.Bytes))
	fmt.Fprintf(&b, "%8s  stored\n%8s  indexed\n", number(s.Stored), number(s.Indexed))
	if s.Rendered > 0 {
		fmt.Fprintf(&b, "%8s  rendered: their scripts ran\n", number(s.Rendered))
	}
	if s.Limit != "" {
		fmt.Fprintf(&b, "The limit %s ended the crawl.\n", s.Limit)
	}
	if s.Unchanged > 0 {
		fmt.Fprintf(&b, "%8s  unchanged since they were last fetched\n", number(s.Unchanged))
	}
	if s.Cut > 0 {
		fmt.Fprintf(&b, "%8s  cut at a limit of size, time or requests\n", number(s.Cut))
	}
	if s.Redirected > 0 {
		fmt.Fprintf(&b, "%8s  redirected to other pages\n", number(s.Redirected))
	}
	b.WriteString(block("Not fetched",
		row{s.Refused.Crawl, "refused by policy"},
		row{s.TakenDown, "taken down at the request of their publisher"},
		row{s.Unreachable, "refused because policy could not be read"},
		row{s.Errors, "failed"},
		row{s.Skipped.Outside, "out of scope"},
		row{s.Skipped.Deep, "too many links away from a seed"},
		row{s.Skipped.Trapped, "in crawler traps"},
		row{s.Beyond, "links not recorded, because their hosts have too many addresses (in all runs)"}))
	b.WriteString(block("Scripts of pages",
		row{s.Scripts.Blocked, "requests refused or not answered"},
		row{s.Scripts.Failed, "pages not rendered, so only the page as sent is used"}))
	b.WriteString(block("Fetched, but by policy",
		row{s.Refused.Follow, "not followed"},
		row{s.Refused.Index, "not indexed"},
		row{s.Refused.Preserve, "not preserved"}))
	if len(s.Erased) > 0 {
		b.WriteString("\n")
		_ = printErased(&b, s.Erased)
	}
	left := block("Left for another run",
		row{s.Queued - s.OtherSeeds, queuedInWords(s, now)},
		row{s.OtherSeeds, "queued by earlier crawls of other seeds: visit them with acapcrawl crawl, without a URL"},
		row{s.Waiting, "to be visited again, pages and required resources" + due(", the first ", s.NextAgain, now)})
	if left == "" {
		left = "\nNothing is left for another run.\n"
	}
	b.WriteString(left)
	fmt.Fprintf(&b, "Everything is stored in %s\n", s.Data)
	_, err := io.WriteString(w, b.String())
	return err
}

// queuedInWords says what is queued on how many hosts, and when the next address is due. It leaves out both if they
// are those of other seeds too.
func queuedInWords(s site.CrawlSummary, now time.Time) string {
	if s.OtherSeeds > 0 {
		return "queued"
	}
	return "queued on " + several(s.QueuedHosts, "host") + due(", the next due ", s.NextDue, now)
}

// due returns the text lead, followed by the time until t in words, or "" if t is zero.
func due(lead string, t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return lead + until(t, now)
}
