package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/site"
)

// plainFlag is the hidden flag with which a process asks a node for records that are not compressed.
const plainFlag = "plain"

// nodesExport is an export of the captures of all nodes.
type nodesExport struct {
	nodes   *nodes
	answers []*nodeAnswer
	parts   []*site.NodeExport // of each answer
}

// exportNodes writes the captures of all nodes to one file. What a node sends is written only if it is complete.
func (c *Command) exportNodes(ctx context.Context, cfg *config.Config, r exportRequest) error {
	name := c.path(r.File)
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	plain := strings.HasSuffix(name, ".warc")
	call := r.call.with("--"+shardFlag+"=true", fmt.Sprintf("--%s=%t", plainFlag, plain))
	answers, err := n.ask(ctx, call, forWork)
	defer closeAnswers(answers)
	if err != nil {
		return err
	}
	x := &nodesExport{n, answers, make([]*site.NodeExport, len(answers))}
	defer x.close()
	x.receive(name)
	if err := errors.Join(x.dropErased(ctx), ctx.Err()); err != nil {
		return err
	}
	in := shardsOf(answers)
	if err := in.noAnswer(); err != nil {
		return err
	}
	owners := n.owners()
	owner := func(page string) string {
		node, _ := owners.of(page) // after an error it is not known
		return node
	}
	o := site.JoinOptions{Plain: plain, Owner: owner, Each: func(node string, e holdings.Exported) {
		if e.Why != "" {
			fmt.Fprintln(c.Stderr,
				display.Line(fmt.Sprintf("Not exported: version %d of %s on node %s: %s", e.Version, e.URL,
					node, e.Why)))
		}
	}}
	for _, m := range in.Missing {
		o.Missing = append(o.Missing, site.MissingNode(m))
	}
	whole, others := x.divided()
	counts, err := site.JoinExports(ctx, c.raw(), name, r.Force, whole, others, o)
	if err != nil {
		return errors.Join(c.finish(in), faultOf(err))
	}
	return errors.Join(c.printExportOfNodes(r, counts, in), c.finish(in))
}

func (x *nodesExport) close() {
	for _, part := range x.parts {
		_ = part.Close() // the file has no name, and is not needed any more
	}
}

// receive stores what the nodes send, next to the file with the given name.
func (x *nodesExport) receive(name string) {
	dir := ""
	if name != "-" {
		dir = filepath.Dir(name)
	}
	eachAnswer(x.answers, func(i int, a *nodeAnswer) {
		a.most = 1 << 62 // the parts have limits
		var err error
		x.parts[i], err = site.ReceiveExport(a.node, dir, a)
		if a.err == nil && a.ended && a.refused(statusDone) {
			return
		}
		a.err = cmp.Or(a.err, err)
	})
}

// dropErased leaves out what a node has erased since it began to send its captures, for example because of a take-down.
// A node that does not say what it has erased counts as missing.
func (x *nodesExport) dropErased(ctx context.Context) error {
	again, err := x.nodes.ask(ctx, nodeCall{verb: "archive erasures", flags: []string{"--json=true"}}, inParts)
	if err != nil {
		closeAnswers(again)
		return err
	}
	index := func(node string) int {
		return slices.IndexFunc(x.answers, func(a *nodeAnswer) bool { return a.node == node })
	}
	less := func(a, b *listedErasure) bool { return a.URL < b.URL }
	err = mergeLists(ctx, again, less, func(item listItem[listedErasure]) error {
		if i := index(item.node); i >= 0 && !item.value.When.Before(x.parts[i].Began) {
			x.parts[i].Drop(item.value.URL)
		}
		return nil
	}, nil)
	told := make([]bool, len(x.answers))
	for _, a := range again {
		if i := index(a.node); i >= 0 {
			told[i] = true
			x.answers[i].err = cmp.Or(x.answers[i].err, a.err)
		}
	}
	for i, a := range x.answers {
		if !told[i] {
			a.err = cmp.Or(a.err, errors.New("ended before the file was complete"))
		}
	}
	return err
}

// divided returns what complete answers have sent, and the rest.
func (x *nodesExport) divided() (whole, others []*site.NodeExport) {
	for i, a := range x.answers {
		if a.err == nil {
			whole = append(whole, x.parts[i])
		} else {
			others = append(others, x.parts[i])
		}
	}
	return whole, others
}

// printExportOfNodes prints what was exported.
func (c *Command) printExportOfNodes(r exportRequest, counts holdings.ExportCounts, in shards) error {
	switch {
	case r.JSON:
		return c.printJSON(struct {
			holdings.ExportCounts
			Shards shards `json:"shards"`
		}{counts, in})
	case r.File == "-":
		return printExported(c.Stderr, "Written", counts)
	}
	return printExported(c.Stdout, r.File, counts)
}

// exportParts writes the captures of this node for a process that joins those of all nodes.
func (c *Command) exportParts(ctx context.Context, cfg *config.Config, r exportRequest) (err error) {
	d, err := c.openHeld(ctx, cfg, r.Refresh)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return faultOf(d.ExportParts(ctx, c.raw(), site.ExportOptions{Under: r.Under, Plain: r.Plain}))
}
