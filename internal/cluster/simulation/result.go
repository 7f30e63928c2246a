package simulation

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Operations are what the nodes ask of the store, apart from journals and links.
type Operations struct {
	Rounds       int // of nodes, each with a renewal, a read of the table and a look at the stream of links
	Creates      int // of leases
	Renewals     int // of leases, with their ends
	Reads        int // of the table, and of leases that may have expired
	TableChanges int // tried
	StreamInfos  int // whether there are links
	JournalReads int // whether a journal has another owner
}

func (o Operations) total() int {
	return o.Creates + o.Renewals + o.Reads + o.TableChanges + o.StreamInfos + o.JournalReads
}

// Result is what a simulation has found.
type Result struct {
	Options Options
	Lasted  time.Duration // virtual time
	Faults  map[string]int

	Requests int
	Pages    int             // URLs that were visited
	Policies int             // requests for robots.txt
	Failures int             // requests without an answer, and answers with 503
	Repeated int             // visits that were in progress when their node lost the partition
	Left     int             // URLs left
	Hosts    int             // with URLs left
	Open     int             // partitions that their owners have open at the end
	Minutes  []int           // requests
	Recovery []time.Duration // from the end of a process until another one has a partition open

	Gaps   gaps // of all requests to a host
	Across gaps // where another node made the request before

	Operations   Operations
	Commits      int
	Changes      int     // that went to journals
	Messages     int     // of journals
	LinkMessages float64 // expected

	Violations int
	First      []Violation
}

func (r *Result) finish(hosts []host) {
	for i := range hosts {
		r.Left += int(hosts[i].left)
		if hosts[i].left > 0 {
			r.Hosts++
		}
	}
	slices.Sort(r.Recovery)
}

// Write prints the result.
func (r *Result) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	o := &r.Options
	line("nodes, hosts, URLs", "%d, %d, %d in %d partitions, seed %d", o.Nodes, o.Hosts, o.URLs, o.Partitions, o.Seed)
	line("virtual time", "%s", r.Lasted)
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		line("fault", "%d × %s", r.Faults[name], name)
	}
	line("pages", "%d; left: %d on %d hosts", r.Pages, r.Left, r.Hosts)
	line("partitions open", "%d at the end", r.Open)
	line("other requests", "%d for robots.txt, %d failed; at most %d visits repeated", r.Policies, r.Failures,
		r.Repeated)
	r.writePace(line)
	r.writeCost(line)
	line("violations", "%d", r.Violations)
	for _, v := range r.First {
		line("", "%s", v)
	}
	return w.Flush()
}

func (r *Result) writePace(line func(name, format string, args ...any)) {
	seconds := r.Lasted.Seconds()
	line("pages/s", "%.0f; requests/s: %.0f", float64(r.Pages)/seconds, float64(r.Requests)/seconds)
	if n := len(r.Minutes); n > 0 {
		sorted := slices.Sorted(slices.Values(r.Minutes))
		line("requests/s by minute", "least %d, a tenth below %d, median %d, most %d", sorted[0]/60, sorted[n/10]/60,
			sorted[n/2]/60, sorted[n-1]/60)
	}
	if n := len(r.Recovery); n > 0 {
		line("partition without owner", "after %d losses by kill: median %.1f s, nine of ten below %.1f s, most %.1f s",
			n, r.Recovery[n/2].Seconds(), r.Recovery[n*9/10].Seconds(), r.Recovery[n-1].Seconds())
	}
	if r.Gaps.Count > 0 {
		line("shortest gap of a host", "%s; the delay and %s (%d gaps)", r.Gaps.Shortest, r.Gaps.Spare, r.Gaps.Count)
	}
	if r.Across.Count > 0 {
		line("from node to node", "%s; the delay and %s (%d gaps)", r.Across.Shortest, r.Across.Spare, r.Across.Count)
	}
}

func (r *Result) writeCost(line func(name, format string, args ...any)) {
	pages, ops, messages := max(float64(r.Pages), 1), r.Operations, float64(max(r.Messages, 1))
	seconds := r.Lasted.Seconds()
	line("store operations", "%.6f per page, %.0f/s: %d renewals, %d creates, %d reads, %d changes of the table, "+
		"%d looks for links, %d of journals, in %d rounds", float64(ops.total())/pages, float64(ops.total())/seconds,
		ops.Renewals, ops.Creates, ops.Reads, ops.TableChanges, ops.StreamInfos, ops.JournalReads, ops.Rounds)
	line("journal messages", "%.3f per page, %.0f/s; %.2f changes in a message, %.1f in a commit",
		float64(r.Messages)/pages, float64(r.Messages)/seconds, float64(r.Changes)/messages,
		float64(r.Changes)/float64(max(r.Commits, 1)))
	line("link messages", "%.3f per page, with %g links to other partitions", r.LinkMessages/pages, r.Options.Links)
}
