package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
)

// mostListed is the number of requests on a page of a list, unless its caller wants fewer.
const mostListed = 1000

// list returns a page of the requests of all nodes, by time. A request that several nodes have noted is listed once,
// with its ID on the node home, otherwise on the node that crawls the page. A page lists only the nodes that have
// answered for the first page.
func (l *nodeLedgers) list(ctx context.Context, c actions.Call, home string,
	callOf func(node string) actions.Call) (is actions.Answer, err error) {
	if c.At == nil && (c.Filter.After > 0 || c.Filter.Before > 0) {
		return refuse(actions.Malformed, "a list of several nodes is continued with the position in the header Link, "+
			"not with a number"), nil
	}
	running, err := l.running(ctx, "")
	if err != nil {
		return is, err
	}
	limit := min(cmp.Or(c.Filter.Limit, mostListed), mostListed)
	asked, total := listedNodes(running, c.At)
	m := requestMerge{newest: c.Filter.Newest, limit: limit, home: home, owners: l.nodes.owners(),
		seen: map[requestKey]int{}}
	in := actions.Shards{Total: total}
	var missing []error
	for _, r := range l.callAll(ctx, asked, soonInAll, func(node string) actions.Call {
		call := callOf(node)
		call.Filter.Limit, call.Filter.After, call.Filter.Before = limit, c.At[node], 0
		if call.Filter.Newest {
			call.Filter.After, call.Filter.Before = 0, c.At[node]
		}
		return call
	}) {
		switch {
		case r.err != nil:
			missing = append(missing, r.err)
			continue
		case r.Code != "":
			return r.Answer, nil
		}
		in.Answered++
		m.lists = append(m.lists, &requestList{reply: r, at: c.At[r.node]})
	}
	if in.Answered == 0 {
		if len(asked) == 0 {
			missing = append(missing, errNoNode)
		}
		return unanswered(missing...), nil
	}
	m.merge()
	is.Requests, is.Shards, is.NextAt = m.out, &in, m.next(c.At)
	return is, nil
}

// listedNodes returns the nodes of those that run that are asked for the page at a position, and the number of all
// nodes of which something could be listed.
func listedNodes(running []string, at actions.Positions) (asked []string, total int) {
	total = len(running)
	for node := range at {
		if !slices.Contains(running, node) {
			total++
		}
	}
	for _, node := range running {
		if _, known := at[node]; known || at == nil {
			asked = append(asked, node)
		}
	}
	return asked, total
}

// requestList is a part of the list of one node, in the order of its IDs.
type requestList struct {
	reply
	at uint64 // ID of the last request that was passed
}

func (l *requestList) pass() {
	l.at = l.Requests[0].ID
	l.Requests = l.Requests[1:]
}

// requestKey is equal for the copies of a request on several nodes, and different for the requests of one node. A
// request that is in force has also a key without time and line: a node has one such request for each action and URL.
type requestKey struct {
	action, url string
	at          time.Time
	line        int
}

// requestMerge merges lists of requests.
type requestMerge struct {
	lists  []*requestList
	newest bool
	limit  int
	home   string // copies of this node are listed, otherwise those of the node that crawls the page
	owners *owners

	out  []actions.Request
	seen map[requestKey]int // index in out
}

// timeOf returns the time by which requests are ordered, which is the same for all copies of a request: nodes note the
// same version of a robots.txt at different times.
func timeOf(r *actions.Request) time.Time {
	if r.From.File != "" && !r.From.Version.IsZero() {
		return r.From.Version
	}
	return r.Asked
}

// first returns the list whose next request comes first; nil if there is none.
func (m *requestMerge) first(full map[*requestList]bool) (best *requestList) {
	for _, l := range m.lists {
		if len(l.Requests) == 0 || full[l] {
			continue
		}
		if best == nil {
			best = l
			continue
		}
		n := timeOf(&l.Requests[0]).Compare(timeOf(&best.Requests[0]))
		if m.newest && n > 0 || !m.newest && n < 0 {
			best = l
		}
	}
	return best
}

// merge sets out to the first requests. The page ends early if one of the parts does, because what follows on that node
// is not known yet. Copies that follow on other nodes are passed, even if the page has ended.
func (m *requestMerge) merge() {
	full, ended := map[*requestList]bool{}, false
	for l := m.first(full); l != nil; l = m.first(full) {
		r := l.Requests[0]
		i, listed := m.listed(&r)
		switch {
		case listed:
			if m.prefers(r, m.out[i]) {
				m.out[i] = r
			}
		case ended || len(m.out) == m.limit:
			full[l] = true
			continue
		default:
			i = len(m.out)
			m.out = append(m.out, r)
		}
		m.note(&r, i)
		l.pass()
		ended = ended || len(l.Requests) == 0 && l.Next > 0
	}
}

// requestKeys returns the keys of a request.
func requestKeys(r *actions.Request) []requestKey {
	list := []requestKey{{r.Action, r.URL, timeOf(r).UTC(), r.From.Line}}
	if r.Standing {
		list = append(list, requestKey{action: r.Action, url: r.URL})
	}
	return list
}

// listed returns the index of a request in out, if a copy of it is listed.
func (m *requestMerge) listed(r *actions.Request) (i int, is bool) {
	for _, key := range requestKeys(r) {
		if i, is = m.seen[key]; is {
			break
		}
	}
	return i, is
}

func (m *requestMerge) note(r *actions.Request, i int) {
	for _, key := range requestKeys(r) {
		m.seen[key] = i
	}
}

// prefers reports whether the copy r is listed instead of the copy other.
func (m *requestMerge) prefers(r, other actions.Request) bool {
	switch m.home {
	case other.Node:
		return false
	case r.Node:
		return true
	}
	owner, err := m.owners.of(r.URL)
	return err == nil && r.Node == owner // after an error the first copy is listed
}

// next returns the position of the next page, after that at the position at; nil: no requests follow.
func (m *requestMerge) next(at actions.Positions) actions.Positions {
	next, more := actions.Positions{}, false
	maps.Copy(next, at) // also of nodes that have not answered
	for _, l := range m.lists {
		next[l.node] = l.at
		more = more || len(l.Requests) > 0 || l.Next > 0
	}
	if !more {
		return nil
	}
	return next
}
