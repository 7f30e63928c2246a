package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// listNodes lists the captures of all nodes, by time and then by address.
func (c *Command) listNodes(ctx context.Context, cfg *config.Config, r archiveRequest) error {
	return printNodeList(ctx, c, cfg, r.call, r.JSON, nodeList[present.Entry]{name: "captures",
		less: func(a, b *present.Entry) bool { return orderTimed(a.Fetched, b.Fetched, a.URL, b.URL) },
		print: func(w io.Writer, node string, v present.Entry) {
			fmt.Fprintf(w, "%s\t", node)
			printEntry(w, v)
		}})
}

func orderTimed(at, other time.Time, address, otherAddress string) bool {
	if !at.Equal(other) {
		return at.Before(other)
	}
	return address < otherAddress
}

// erasuresOfNodes lists what was erased on all nodes, by address and then by time.
func (c *Command) erasuresOfNodes(ctx context.Context, cfg *config.Config, r archiveRequest) error {
	var sum erasedSum
	return printNodeList(ctx, c, cfg, r.call, r.JSON, nodeList[listedErasure]{name: "erasures",
		less: func(a, b *listedErasure) bool {
			return a.URL < b.URL || a.URL == b.URL && a.When.Before(b.When)
		},
		print: func(w io.Writer, node string, e listedErasure) {
			sum.add(e.URL, e.Captures)
			fmt.Fprintf(w, "%s: ", node)
			_ = e.print(w) // an error of w comes again when the table is flushed
		},
		end: func(w io.Writer) { _ = sum.print(w) }})
}

// actionsOfNodes lists the requests of all nodes, by the time when they were first seen.
func (c *Command) actionsOfNodes(ctx context.Context, cfg *config.Config, call nodeCall, r actionsRequest) error {
	return printNodeList(ctx, c, cfg, call, r.JSON, nodeList[actions.Request]{name: "requests", most: r.Limit,
		less: func(a, b *actions.Request) bool { return orderTimed(a.Asked, b.Asked, a.URL, b.URL) },
		print: func(w io.Writer, node string, a actions.Request) {
			fmt.Fprintf(w, "%s:", node)
			printAction(w, a)
		}})
}

// showActionOfNode prints a request of one node, or those with the same number of all nodes. reach is the flag that the
// printed command needs to ask the same cluster; "": none, because the cluster is a setting.
func (c *Command) showActionOfNode(ctx context.Context, cfg *config.Config, node, reach string, call nodeCall,
	r actionsRequest) error {
	switch {
	case r.File != "":
		return misuse("> "+r.File, "with --cluster a receipt is printed to standard output")
	case node != "" && (r.JSON || r.Receipt):
		return c.onNode(ctx, cfg, node, call, r.JSON)
	case r.Receipt:
		return misuse(fmt.Sprintf("acapcrawl actions show a:%d --receipt", r.ID),
			"each node has its own receipts: name the node")
	case r.JSON:
		return c.onEachNode(ctx, cfg, call, true)
	case node != "" && cluster.ValidName(node) != nil:
		return misuse("", "%v", cluster.ValidName(node))
	}
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	call = call.with("--json=true")
	var answers []*nodeAnswer
	if node != "" {
		answers = []*nodeAnswer{n.begin(ctx, node, call, forWork)}
	} else if answers, err = n.ask(ctx, call, forWork); err != nil {
		closeAnswers(answers)
		return err
	}
	defer closeAnswers(answers)
	return c.printShownActions(answers, reach)
}

// printShownActions prints the requests that nodes show as JSON. The names of the requests have the names of the nodes.
func (c *Command) printShownActions(answers []*nodeAnswer, reach string) error {
	results, shown := make([]nodeResult, len(answers)), make([]shownAction, len(answers))
	eachAnswer(answers, func(i int, a *nodeAnswer) {
		if results[i] = a.result(); a.err == nil && a.status == statusDone {
			_ = a.parse(results[i].Result, &shown[i]) // a has the error
		}
	})
	if err := c.finish(shardsOf(answers)); err != nil {
		return err
	}
	for i, a := range answers {
		switch {
		case a.err != nil:
		case a.status != statusDone:
			fmt.Fprintf(c.Stderr, "%s: %s\n", a.node, results[i].Error)
		default:
			shown[i].Request.Node = a.node
			if err := shown[i].print(c.Stdout, reach); err != nil {
				return err
			}
		}
	}
	return worst(answers)
}

// shardStats is what a node counts for a process of its cluster.
type shardStats struct {
	present.Totals
	Erased int `json:"erased"`       // copies
	Pages  int `json:"erased_pages"` // pages of which something was erased
}

// add adds the counts of another node.
func (s *shardStats) add(o shardStats) {
	for to, n := range map[*int]int{&s.Captures: o.Captures, &s.Resources: o.Resources, &s.Bodies: o.Bodies,
		&s.Aliases: o.Aliases, &s.Tombstones: o.Tombstones, &s.Pictures: o.Pictures, &s.Erased: o.Erased,
		&s.Pages: o.Pages} {
		*to += n
	}
	s.Bytes, s.Raw, s.Stored = s.Bytes+o.Bytes, s.Raw+o.Raw, s.Stored+o.Stored
	for u, n := range o.Verdicts {
		sum := s.Verdicts[u]
		sum.Prohibit, sum.Agreement = sum.Prohibit+n.Prohibit, sum.Agreement+n.Agreement
		sum.Permit, sum.Unknown = sum.Permit+n.Permit, sum.Unknown+n.Unknown
		s.Verdicts[u] = sum
	}
}

// stats adds the counts of all nodes. A page of which two nodes have captures counts twice.
func (n *nodes) stats(ctx context.Context, call nodeCall) (sum shardStats, in shards, err error) {
	sum.Verdicts = map[acap.Usage]present.VerdictCounts{}
	answers, err := n.ask(ctx, call.with("--"+shardFlag+"=true"), forWork)
	defer closeAnswers(answers)
	if err != nil {
		return sum, in, err
	}
	for _, one := range decodeAll[shardStats](answers, mostValue) {
		sum.add(one)
	}
	return sum, shardsOf(answers), ctx.Err()
}

func (c *Command) statsOfNodes(ctx context.Context, cfg *config.Config, r archiveRequest) error {
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	sum, in, err := n.stats(ctx, r.call)
	if err = errors.Join(err, c.finish(in)); err != nil {
		return err
	}
	if !r.JSON {
		return c.printStatsText(sum.Stats, sum.Erased, sum.Pages)
	}
	return c.printJSON(struct {
		present.Totals
		Shards shards `json:"shards"`
	}{sum.Totals, in})
}
