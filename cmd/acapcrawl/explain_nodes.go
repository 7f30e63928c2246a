package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/site"
)

// shardExplained is what a node answers to the verb explain of a process of its cluster.
type shardExplained struct {
	Held    bool   `json:"held"`    // the page is archived, so its own statements count
	Down    bool   `json:"down"`    // a take-down is in force
	Refused bool   `json:"refused"` // see explanation.refused
	Report  []byte `json:"report"`  // in the wanted format
}

// explainShard answers a process of the cluster by the policies as they were last read. Requests for policies must keep
// the pace of their hosts, so only the crawl makes them.
func (c *Command) explainShard(ctx context.Context, cfg *config.Config, r explainRequest) error {
	d, err := c.open(cfg, site.Options{})
	if err != nil {
		return err
	}
	if err := c.locate(ctx, cfg, &r.Reader); err != nil {
		return errors.Join(err, d.Close())
	}
	page, err := address.Normal(r.URL.String())
	if err != nil {
		return errors.Join(misuse("", "%w", err), d.Close())
	}
	found, err := d.Explain(ctx, explain.Question{URL: r.URL, Crawler: d.Crawler(), Usages: r.Usages, AsOf: r.AsOf,
		Reader: r.Reader, All: r.All}, present.Reader{Target: r.Reader, AsOf: r.AsOf})
	if errors.Is(err, explain.ErrNeverRead) {
		err = nothing(err.Error())
	}
	if err != nil {
		return errors.Join(err, d.Close())
	}
	e := &explanation{found, &r}
	out := shardExplained{Held: found.Page != nil, Down: d.TakenDown(ctx, page) != nil, Refused: e.refused()}
	var text bytes.Buffer
	to := display.NewText(&text, false)
	if err := errors.Join(e.write(to), to.Flush(), d.Close()); err != nil {
		return err
	}
	out.Report = text.Bytes()
	return c.printJSON(out)
}

// explainFromNodes prints what the crawler may do with a URL, by the policies that the nodes have read.
func (c *Command) explainFromNodes(ctx context.Context, cfg *config.Config, r explainRequest) error {
	if r.Page || r.PageFile != "" {
		return misuse("--robots FILE, or without --page and --page-file",
			"the nodes of a cluster decide by the policies and pages that they have read")
	}
	page, err := address.Normal(r.URL.String())
	if err != nil {
		return misuse("", "%w", err)
	}
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	call := r.call
	if r.Out.JSON() {
		call = call.with("--json=true")
	}
	answers, err := n.askAbout(ctx, page, call)
	defer closeAnswers(answers)
	if err != nil {
		return err
	}
	all := make([]*shardExplained, len(answers))
	eachAnswer(answers, func(i int, a *nodeAnswer) { all[i] = a.explained() })
	in := shardsOf(answers)
	if err := c.finish(in); err != nil {
		return err
	}
	chosen := chooseExplained(all)
	if chosen == nil {
		return nothing(fmt.Sprintf("No node has read the robots.txt of %s.", r.URL.Host))
	}
	err = c.writeReport(r.Out, func(w io.Writer) error { return writeExplained(w, chosen, r.Out.JSON(), in) })
	if err == nil && chosen.Refused {
		return &fault{status: statusRefused, err: errors.New("")}
	}
	return err
}

// explained reads an answer. It returns nil if the node has not answered, or never read the policy.
func (a *nodeAnswer) explained() *shardExplained {
	out := &shardExplained{}
	a.most = mostValue
	text, err := io.ReadAll(a)
	if err != nil || a.refused(statusDone, statusNothing) || a.status == statusNothing || a.parse(text, out) != nil {
		return nil
	}
	return out
}

// chooseExplained returns the answer that is printed, of answers in the order in which they count: one with a
// take-down, otherwise one with an archived page, otherwise the first.
func chooseExplained(all []*shardExplained) *shardExplained {
	all = slices.DeleteFunc(all, func(e *shardExplained) bool { return e == nil })
	for _, better := range []func(*shardExplained) bool{
		func(e *shardExplained) bool { return e.Down },
		func(e *shardExplained) bool { return e.Held },
		func(*shardExplained) bool { return true },
	} {
		if i := slices.IndexFunc(all, better); i >= 0 {
			return all[i]
		}
	}
	return nil
}

func writeExplained(w io.Writer, e *shardExplained, asJSON bool, in shards) error {
	if !asJSON {
		_, err := w.Write(e.Report)
		return err
	}
	return addShards(w, bytes.NewReader(e.Report), in)
}
