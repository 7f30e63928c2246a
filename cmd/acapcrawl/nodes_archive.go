package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// nodesArchive answers what readers ask about more than one page, from all nodes of a cluster. Requests about one page
// never reach it.
type nodesArchive struct {
	emptyArchive
	readers *nodeReaders
}

// newNodeReaders returns what answers readers from all nodes.
func newNodeReaders(n *nodes, who acap.Crawler, failed func(error)) (*nodeReaders, error) {
	readers := &nodeReaders{nodes: n, peers: map[string]*peer{}}
	all := nodesArchive{emptyArchive{who}, readers}
	var err error
	readers.view, err = view.New(view.Options{Presenter: all, Explainer: all, Sites: all,
		Vocabularies: who.Vocabularies, Totals: all.totals, Failed: failed})
	return readers, err
}

// noteShards notes for the header of the answer how many nodes have answered.
func noteShards(ctx context.Context, in shards) {
	if w, is := ctx.Value(shardsKey{}).(*shardsWriter); is {
		w.note(in)
	}
}

// Search implements view.Presenter.
func (a nodesArchive) Search(ctx context.Context, q present.Query, who present.Reader) (f present.Found, err error) {
	if err := index.Check(q.Text); err != nil {
		return f, err
	}
	flags, err := readerFacts(who)
	if err != nil {
		return f, err
	}
	call := nodeCall{verb: "search", flags: flags, args: []string{q.Text}}
	call = call.with("--"+furtherFlag+"="+strconv.Itoa(q.Further), "--"+detailsFlag+"="+strconv.FormatBool(q.Details),
		"--why="+strconv.FormatBool(q.Why))
	for _, u := range q.For {
		call = call.with("--" + usesFlag + "=" + string(u))
	}
	found, in, err := a.readers.nodes.search(ctx, call, q)
	if err != nil {
		return f, silent(err)
	}
	noteShards(ctx, in)
	if err := in.noAnswer(); err != nil {
		return f, silent(err)
	}
	found.Absent = in.Total - in.Answered
	return found, nil
}

// totals returns the counts of all nodes.
func (a nodesArchive) totals(ctx context.Context) (present.Totals, error) {
	sum, in, err := a.readers.nodes.stats(ctx, nodeCall{verb: "archive stats", flags: []string{"--json=true"}})
	noteShards(ctx, in)
	return sum.Totals, err
}

// Sites implements view.Sites: it merges the sites of all nodes. What the node says that crawls a site counts.
func (a nodesArchive) Sites(ctx context.Context, after string, limit int, full bool) (list []view.Site, more bool,
	err error) {
	nodes, missing, err := a.readers.peersFor(ctx, "")
	if err != nil {
		return nil, false, err
	}
	parts, mores := make([][]view.Site, len(nodes)), make([]bool, len(nodes))
	in := shards{Total: len(nodes) + missing}
	var asking sync.WaitGroup
	var mu sync.Mutex
	for i, node := range nodes {
		asking.Go(func() {
			part, further, err := a.readers.sites(ctx, node, after, limit, full)
			if err != nil {
				return
			}
			parts[i], mores[i] = part, further
			mu.Lock()
			defer mu.Unlock()
			in.Answered++
		})
	}
	asking.Wait()
	noteShards(ctx, in)
	known := map[string]int{}
	for i, part := range parts {
		more = more || mores[i]
		for _, one := range part {
			at, is := known[one.Origin]
			if !is {
				known[one.Origin] = len(list)
				list = append(list, one)
				continue
			}
			if owner, err := a.readers.nodes.caller.Owner(one.Host); err == nil && owner == nodes[i] {
				list[at] = one
			}
		}
	}
	slices.SortFunc(list, func(a, b view.Site) int { return cmp.Compare(a.Origin, b.Origin) })
	if len(list) > limit {
		list, more = list[:limit], true
	}
	return list, more, nil
}

// mostSites is the greatest size of a list of sites that a node sends, in bytes.
const mostSites = 4 << 20

// sites returns the sites that one node knows.
func (n *nodeReaders) sites(ctx context.Context, node, after string, limit int, full bool) (list []view.Site, more bool,
	err error) {
	who := view.VisitorOf(ctx)
	if !full {
		who.Role = view.Anyone
	}
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if after != "" {
		query.Set("after", after)
	}
	r, err := http.NewRequestWithContext(view.WithVisitor(ctx, who), http.MethodGet, "http://reader/", nil)
	if err != nil {
		return nil, false, err
	}
	r.RequestURI = "/api/v1/sites?" + query.Encode()
	a := n.get(r, node)
	defer a.close()
	if a.err != nil {
		return nil, false, a.err
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, mostSites))
	switch {
	case err != nil:
		return nil, false, err
	case a.StatusCode != http.StatusOK:
		return nil, false, fmt.Errorf("status %d", a.StatusCode)
	}
	err = json.Unmarshal(text, &list)
	return list, strings.Contains(a.Header.Get("Link"), "next"), err
}
