package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/site"
)

// timing says how long to wait for the answer of a node.
type timing struct {
	first  time.Duration // for its beginning
	next   time.Duration // for each further part; 0: there is no limit
	whole  bool          // first is for the whole answer
	accept time.Duration // for the node to accept the call; 0: first
}

var (
	soonInAll = timing{first: 5 * time.Second, whole: true}
	soon      = timing{first: 5 * time.Second, next: 10 * time.Second}
	inParts   = timing{first: 10 * time.Second, next: 10 * time.Second}
	// for verbs that work long before they print anything; the connection itself notices a node that hangs
	forWork = timing{first: 10 * time.Second}
)

// asksNodes reports whether a verb asks the nodes of a cluster instead of opening a data directory.
func (c *Command) asksNodes(cfg *config.Config) bool {
	return c.owner == nil && cfg.Cluster.Servers != ""
}

// asksNamed reports whether a verb asks the nodes of a cluster that the user has named with a flag. It is for verbs
// that must work without the servers of the cluster on the machine of a node, where the cluster is a setting.
func (c *Command) asksNamed(cmd *cobra.Command, cfg *config.Config) bool {
	return c.asksNodes(cfg) && cmd.Flags().Changed("cluster")
}

// namedCluster is the flag --cluster in a command that is printed. Its value is left out: it may have a password.
const namedCluster = " --cluster …"

// clusterFlags adds to a verb the flags that say which cluster to ask.
func clusterFlags(cmd *cobra.Command) {
	reachFlags(cmd)
	cmd.Flags().Lookup("cluster").Usage = "ask the nodes of the cluster at the NATS servers `URLS`"
}

// localOnly makes a verb refuse the flag --cluster. why continues the sentence that says so, and try is what the user
// can do instead. It must be called when cmd.RunE is set.
func localOnly(cmd *cobra.Command, why, try string) {
	flags, run := cmd.Flags(), cmd.RunE
	flags.String("cluster", "", "")
	flags.MarkHidden("cluster")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.Changed("cluster") {
			return misuse(try, "%s does not work with --cluster: %s", cmd.CommandPath(), why)
		}
		return run(cmd, args)
	}
}

// nodeCall is a verb that nodes run. A node uses its own settings, except for the flags.
type nodeCall struct {
	verb  string
	flags []string // in the form --name=value
	args  []string
	input []byte // standard input
}

// callOf returns the verb cmd as a call to nodes, with the flags that the user gave. It leaves out the flags that
// concern only this process, and those in without.
func callOf(cmd *cobra.Command, args []string, without ...string) nodeCall {
	c := nodeCall{verb: strings.Join(strings.Fields(cmd.CommandPath())[1:], " "), args: args}
	own := slices.Concat(reachCluster, strings.Fields("config data log-level log-format format json output force"),
		without)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(own, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, v := range values {
			c.flags = append(c.flags, "--"+f.Name+"="+v)
		}
	})
	return c
}

// with returns the call with further flags.
func (c nodeCall) with(flags ...string) nodeCall {
	c.flags = slices.Concat(c.flags, flags)
	return c
}

func (c nodeCall) words() []string {
	return slices.Concat(strings.Fields(c.verb), c.flags, []string{"--"}, c.args)
}

// nodes asks the nodes of a cluster. It is safe for concurrent use.
type nodes struct {
	caller *cluster.Caller
	bold   bool
}

// openNodes connects to the cluster that cfg names.
func (c *Command) openNodes(ctx context.Context, cfg *config.Config) (*nodes, error) {
	caller, err := cluster.Open(ctx, site.ClusterOptions(cfg))
	if err != nil {
		return nil, clusterFault(err)
	}
	if !caller.Quorum() {
		fmt.Fprintln(c.Stderr, "Notice: too few servers of the cluster run, so only nodes that answer at this moment "+
			"are asked")
	}
	return &nodes{caller: caller, bold: c.Bold}, nil
}

func (n *nodes) close() { n.caller.Close() }

// owners remembers which nodes crawl the hosts of many pages. It is not safe for concurrent use.
type owners struct {
	find  func(host string) (string, error)
	known map[string]string // by host
}

func (n *nodes) owners() *owners { return &owners{n.caller.Owner, map[string]string{}} }

// of returns the node that crawls a page; "" if none does.
func (o *owners) of(page string) (node string, err error) {
	host := hostOf(page)
	node, known := o.known[host]
	if !known {
		if node, err = o.find(host); err == nil {
			o.known[host] = node
		}
	}
	return node, err
}

// shards says how many nodes have answered, of how many.
type shards struct {
	Answered int            `json:"answered"`
	Total    int            `json:"total"`
	Missing  []missingShard `json:"missing,omitempty"`
}

// missingShard is a node that has not answered, or not completely.
type missingShard struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// shardsOf counts the answers, which have ended.
func shardsOf(answers []*nodeAnswer) (s shards) {
	s.Total = len(answers)
	for _, a := range answers {
		if a.err == nil {
			s.Answered++
		} else {
			s.Missing = append(s.Missing, missingShard{a.node, display.Line(a.err.Error())})
		}
	}
	return s
}

// notice returns a sentence that names the nodes that have not answered; "" if all have.
func (s shards) notice() string {
	if len(s.Missing) == 0 {
		return ""
	}
	var list []string
	for _, m := range s.Missing {
		list = append(list, fmt.Sprintf("node %s %s", m.Node, m.Why))
	}
	text := fmt.Sprintf("only %d of %d nodes answered, so something may be missing", s.Answered, s.Total)
	if s.Answered == 0 {
		text = "none of the nodes answered"
	}
	return text + ": " + strings.Join(list, "; ")
}

// errNoNode means that no node of the cluster runs.
var errNoNode = errors.New("no node of the cluster runs")

const startNode = "acapcrawl crawl --cluster … --node a, or acapcrawl serve --cluster … --data DIR of a node"

// noAnswer returns an error if no node has answered.
func (s shards) noAnswer() error {
	if s.Answered == 0 {
		return failure("acapcrawl cluster status", errors.New(s.notice()))
	}
	return nil
}

// finish prints which nodes have not answered, and returns an error if none has.
func (c *Command) finish(s shards) error {
	if err := s.noAnswer(); err != nil {
		return err
	}
	if text := s.notice(); text != "" {
		fmt.Fprintln(c.Stderr, "Notice: "+text)
	}
	return nil
}

// ask lets all nodes that run begin to run a verb. It does not wait for them. The caller must close the answers, which
// are ordered by the name of the node.
func (n *nodes) ask(ctx context.Context, call nodeCall, p timing) ([]*nodeAnswer, error) {
	members, err := n.caller.Members(ctx)
	if err != nil {
		return nil, clusterFault(err)
	}
	if len(members) == 0 {
		return nil, failure(startNode, errNoNode)
	}
	answers := make([]*nodeAnswer, len(members))
	for i, m := range members {
		answers[i] = n.begin(ctx, m.Node, call, p)
	}
	return answers, ctx.Err()
}

// begin lets one node begin to run a verb. It does not wait for it.
func (n *nodes) begin(ctx context.Context, node string, call nodeCall, p timing) *nodeAnswer {
	now := time.Now()
	a := &nodeAnswer{node: node, timing: p, most: mostAnswer, within: cmp.Or(p.accept, p.first),
		dialed: make(chan struct{}), input: call.input}
	ctx, a.cancel = context.WithCancel(ctx)
	go func() {
		defer close(a.dialed)
		dialing, cancel := context.WithDeadline(ctx, now.Add(a.within))
		defer cancel()
		conn, err := n.caller.Call(dialing, node)
		if err == nil {
			a.within, a.until = p.first, now.Add(p.first)
			context.AfterFunc(ctx, func() { conn.Close() })
			conn.SetDeadline(a.until)
			a.conn, a.lines = conn, bufio.NewReaderSize(conn, mostLine)
			err = json.NewEncoder(conn).Encode(request{Args: call.words(), Bold: n.bold})
		}
		if err != nil {
			a.fail(err)
		}
	}()
	return a
}

// httpConn returns a connection on which a node answers HTTP requests of readers.
func (n *nodes) httpConn(ctx context.Context, node string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, inParts.first)
	defer cancel()
	conn, err := n.caller.Call(ctx, node)
	if err != nil {
		return nil, err
	}
	return introduceReaders(conn, request{Readers: true})
}
