package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// mostHead is how many bytes of each node's answer are read before one of them is chosen. Why a page is not shown needs
// less.
const mostHead = 64 << 10

// headed is an answer of a node of which the first bytes were read.
type headed struct {
	*nodeAnswer
	head  []byte
	shows bool
	none  unshown // why nothing is shown
}

// askAbout asks all nodes about one page. The answers of the node that crawls the host of the page come first.
func (n *nodes) askAbout(ctx context.Context, page string, call nodeCall) ([]*nodeAnswer, error) {
	answers, err := n.ask(ctx, call.with("--"+shardFlag+"=true"), soon)
	if err != nil {
		return answers, err
	}
	host, err := address.Host(page)
	if err != nil {
		return answers, err
	}
	owner, err := n.caller.Owner(host)
	for _, a := range answers {
		a.owner = a.node == owner
	}
	slices.SortStableFunc(answers, func(a, b *nodeAnswer) int {
		return cmp.Compare(notFirst(a.node, owner), notFirst(b.node, owner))
	})
	return answers, err
}

// readHead reads the beginning of an answer to the verb show.
func (h *headed) readHead(asJSON bool) {
	h.head = make([]byte, mostHead)
	n, err := io.ReadFull(h.nodeAnswer, h.head)
	h.head = h.head[:n]
	if err == nil || h.ended && h.err == nil && h.status == statusDone {
		if asJSON && (!isObject(h.head) || err != nil && !json.Valid(h.head)) {
			h.err = errDamaged
		}
		h.shows = h.err == nil
		return
	}
	if h.refused(statusNothing, statusRefused) {
		return
	}
	if json.Unmarshal(h.head, &h.none) != nil {
		h.err = errDamaged
	}
}

// isObject reports whether text begins like a JSON object.
func isObject(text []byte) bool { return len(text) > 0 && text[0] == '{' }

// choose returns the answer that is shown: a refusal, otherwise the first with a copy, otherwise the first. What one
// node refuses is shown from no other. Only a node that does not crawl the host, and has no policy for its old copy,
// does not hinder the others.
func choose(all []*headed) *headed {
	var best *headed
	rank := func(h *headed) int {
		switch {
		case h.err != nil:
			return 0
		case h.shows:
			return 3
		case h.status == statusRefused && (h.owner || h.none.Reason != string(acap.Unavailable)):
			return 4
		case h.status == statusRefused:
			return 2
		}
		return 1
	}
	for _, h := range all {
		if rank(h) > 0 && (best == nil || rank(h) > rank(best)) {
			best = h
		}
	}
	return best
}

// showFromNodes prints a page that one of the nodes has.
func (c *Command) showFromNodes(ctx context.Context, cfg *config.Config, page string, r showRequest) error {
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	call := r.call
	if r.JSON {
		call = call.with("--json=true")
	}
	answers, err := n.askAbout(ctx, page, call)
	defer closeAnswers(answers)
	if err != nil {
		return err
	}
	all := make([]*headed, len(answers))
	eachAnswer(answers, func(i int, a *nodeAnswer) {
		all[i] = &headed{nodeAnswer: a}
		all[i].readHead(r.JSON)
	})
	in := shardsOf(answers)
	if err := c.finish(in); err != nil {
		return err
	}
	chosen := choose(all)
	for _, h := range all {
		if h != chosen {
			h.close()
		}
	}
	return c.printShown(chosen, r, in)
}

// printShown prints the chosen answer.
func (c *Command) printShown(h *headed, r showRequest, in shards) error {
	if !h.shows {
		var err error
		if r.JSON {
			err = c.printJSON(struct {
				unshown
				Shards shards `json:"shards"`
			}{h.none, in})
		}
		return errors.Join(err, &fault{status: h.status, err: errors.New(h.none.Why), reason: h.none.Reason})
	}
	fmt.Fprint(c.Stderr, printableLines(h.stderr.String()))
	said := h.stderr.Len()
	h.most = 1 << 62 // the body is passed on in parts
	body := io.MultiReader(strings.NewReader(string(h.head)), h.nodeAnswer)
	var err error
	if r.JSON {
		err = addShards(c.raw(), body, in)
	} else {
		_, err = io.Copy(c.raw(), body)
	}
	fmt.Fprint(c.Stderr, printableLines(h.stderr.String()[said:]))
	switch {
	case h.err != nil:
		return failure("the same command again", fmt.Errorf("node %s %w, so only a part is shown", h.node, h.err))
	case err == nil && h.status != statusDone:
		return &fault{status: h.status, err: errors.New(h.said())}
	}
	return err
}

// printableLines returns text from another machine so that it cannot control a terminal.
func printableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(display.Line(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

// addShards writes the JSON object that r contains to w, with the field shards added at its end.
func addShards(w io.Writer, r io.Reader, in shards) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	last := &lastBytes{to: w}
	if _, err := io.Copy(last, r); err != nil {
		return err
	}
	if string(last.held) != "}\n" {
		return fmt.Errorf("a node %w", errDamaged)
	}
	_, err = fmt.Fprintf(w, `,"shards":%s}`+"\n", text)
	return err
}

// errDamaged is an answer of a node that cannot be read.
var errDamaged = errors.New("sent a damaged answer")

// lastBytes is a writer that holds the last two bytes back.
type lastBytes struct {
	to   io.Writer
	held []byte
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.held = append(l.held, p...)
	n := max(len(l.held)-2, 0)
	if _, err := l.to.Write(l.held[:n]); err != nil {
		return 0, err
	}
	l.held = append(l.held[:0], l.held[n:]...)
	return len(p), nil
}
