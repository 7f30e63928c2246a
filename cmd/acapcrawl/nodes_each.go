package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// nodeResult is what one node has answered to a verb that runs on each node.
type nodeResult struct {
	Node   string          `json:"node"`
	Status int             `json:"status"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"` // what the verb printed to standard error, if its status is not 0
}

// onEachNode runs a verb on each node, and prints what each prints, with its name. The status is the greatest one.
func (c *Command) onEachNode(ctx context.Context, cfg *config.Config, call nodeCall, asJSON bool) error {
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	if asJSON {
		call = call.with("--json=true")
	}
	answers, err := n.ask(ctx, call, forWork)
	defer closeAnswers(answers)
	if err != nil {
		return err
	}
	results := make([]nodeResult, len(answers))
	out := &namedLines{stdout: c.Stdout, stderr: c.Stderr}
	eachAnswer(answers, func(i int, a *nodeAnswer) {
		if asJSON {
			results[i] = a.result()
			return
		}
		a.most = 1 << 62
		out.copy(a)
	})
	in := shardsOf(answers)
	if err := c.finish(in); err != nil {
		return err
	}
	if asJSON {
		if err := c.printResults(answers, results, in); err != nil {
			return err
		}
	}
	return errors.Join(out.err, worst(answers))
}

// onNode runs a verb on one node, and prints what it prints.
func (c *Command) onNode(ctx context.Context, cfg *config.Config, node string, call nodeCall, asJSON bool) error {
	if err := cluster.ValidName(node); err != nil {
		return misuse("", "%v", err)
	}
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	if asJSON {
		call = call.with("--json=true")
	}
	a := n.begin(ctx, node, call, forWork)
	defer a.close()
	a.most = 1 << 62
	_, err = io.Copy(c.raw(), a)
	if a.err != nil {
		return failure("acapcrawl cluster status", fmt.Errorf("node %s %w", node, a.err))
	}
	fmt.Fprint(c.Stderr, printableLines(a.stderr.String()))
	if err == nil && a.status != statusDone {
		err = &fault{status: a.status, err: errors.New("")}
	}
	return err
}

// result reads an answer in JSON.
func (a *nodeAnswer) result() nodeResult {
	text, err := io.ReadAll(a)
	if err != nil {
		return nodeResult{}
	}
	r := nodeResult{Node: a.node, Status: a.status}
	if a.status != statusDone {
		r.Error = a.said()
	}
	if len(text) == 0 {
		return r
	}
	if a.parse(text, &r.Result) == nil && !isObject(text) && text[0] != '[' {
		a.err = errDamaged
	}
	return r
}

// printResults prints the results of the nodes that have answered.
func (c *Command) printResults(answers []*nodeAnswer, results []nodeResult, in shards) error {
	done := []nodeResult{}
	for i, a := range answers {
		if a.err == nil {
			done = append(done, results[i])
		}
	}
	return c.printJSON(struct {
		Nodes  []nodeResult `json:"nodes"`
		Shards shards       `json:"shards"`
	}{done, in})
}

// worst returns an error with the greatest status of the answers, nil if all are 0.
func worst(answers []*nodeAnswer) error {
	status := statusDone
	var names []string
	for _, a := range answers {
		if a.err == nil && a.status != statusDone {
			status = max(status, a.status)
			names = append(names, fmt.Sprintf("%s (status %d)", a.node, a.status))
		}
	}
	if status == statusDone {
		return nil
	}
	return &fault{status: status, err: fmt.Errorf("the verb did not succeed on %s", strings.Join(names, ", "))}
}

// namedLines writes the output of several nodes, each line after the name of its node.
type namedLines struct {
	stdout, stderr io.Writer

	mu  sync.Mutex
	err error // of writing
}

// copy writes the output of a node.
func (l *namedLines) copy(a *nodeAnswer) {
	lines := bufio.NewReaderSize(a, mostLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil // a line that is too long continues on the next line
		}
		if len(line) > 0 {
			l.write(l.stdout, a.node, string(line))
		}
		if err != nil {
			break
		}
	}
	for line := range strings.Lines(a.stderr.String()) {
		l.write(l.stderr, a.node, line)
	}
}

func (l *namedLines) write(to io.Writer, node, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line = strings.TrimRight(line, "\n"); line == "" {
		return
	}
	if _, err := fmt.Fprintf(to, "%s: %s\n", node, display.Line(line)); err != nil && l.err == nil {
		l.err = err
	}
}
