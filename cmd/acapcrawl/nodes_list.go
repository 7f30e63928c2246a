package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/acapcrawl/acapcrawl/config"
)

// listItem is a value in a list that a node has sent.
type listItem[T any] struct {
	node  string
	value T
	raw   json.RawMessage
}

// itemsOf sends the items of an answer, which is a JSON array, until it ends or ctx ends. Of the answer it stores no
// more than a few items.
func itemsOf[T any](ctx context.Context, a *nodeAnswer, to chan<- listItem[T]) {
	defer close(to)
	a.most = 1 << 62 // the limit is for each item
	bounded := &io.LimitedReader{R: a, N: mostValue}
	err := readItems(json.NewDecoder(bounded), bounded, func(item listItem[T]) error {
		item.node = a.node
		select {
		case to <- item:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err == nil {
		_, err = io.Copy(io.Discard, bounded)
	}
	switch {
	case ctx.Err() != nil && (err != nil || a.err != nil):
		a.err = context.Canceled
	case a.err != nil:
	case a.ended && a.status != statusDone:
		a.refused()
	case bounded.N <= 0:
		a.err = fmt.Errorf("sent an entry of more than %s", size(mostValue))
	case err != nil:
		a.err = fmt.Errorf("%w: %s", errDamaged, firstWords(err.Error()))
	}
}

// readItems reads a JSON array. It resets bounded for each item.
func readItems[T any](d *json.Decoder, bounded *io.LimitedReader, fn func(listItem[T]) error) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return fmt.Errorf("a list begins with %v", t)
	}
	for {
		bounded.N = mostValue
		if !d.More() {
			break
		}
		bounded.N = mostValue
		var item listItem[T]
		if err := d.Decode(&item.raw); err != nil {
			return err
		}
		if err := json.Unmarshal(item.raw, &item.value); err != nil {
			return err
		}
		if err := fn(item); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// mergeLists passes the items of all answers to fn. Where two nodes have an item, the one that less puts first comes
// first. The order of the items of one node stays. ended is called when the items of an answer have ended; an error
// ends the list. It may be nil.
func mergeLists[T any](ctx context.Context, answers []*nodeAnswer, less func(a, b *T) bool,
	fn func(listItem[T]) error, ended func(*nodeAnswer) error) error {
	ctx, stop := context.WithCancel(ctx)
	lists := make([]chan listItem[T], len(answers))
	for i, a := range answers {
		lists[i] = make(chan listItem[T], 16)
		go itemsOf(ctx, a, lists[i])
	}
	defer func() {
		stop()
		closeAnswers(answers)
		for _, l := range lists {
			for range l { // wait for the goroutine
			}
		}
	}()
	heads := make([]*listItem[T], len(lists))
	advance := func(i int) error {
		heads[i] = nil
		if item, ok := <-lists[i]; ok {
			heads[i] = &item
		} else if ended != nil {
			return ended(answers[i])
		}
		return nil
	}
	for i := range heads {
		if err := advance(i); err != nil {
			return err
		}
	}
	for {
		first := -1
		for i, h := range heads {
			if h != nil && (first < 0 || less(&h.value, &heads[first].value)) {
				first = i
			}
		}
		if first < 0 {
			return ctx.Err()
		}
		if err := fn(*heads[first]); err != nil {
			return err
		}
		if err := advance(first); err != nil {
			return err
		}
	}
}

// nodeList says how a list of all nodes is printed.
type nodeList[T any] struct {
	name  string // of the list, in JSON
	less  func(a, b *T) bool
	print func(w io.Writer, node string, v T) // prints a line of a table
	end   func(w io.Writer)                   // prints the end of the table; may be nil
	most  int                                 // most items to print; 0: all
}

// printNodeList prints the merged list of what the nodes answer to a call.
func printNodeList[T any](ctx context.Context, c *Command, cfg *config.Config, call nodeCall, asJSON bool,
	l nodeList[T]) error {
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	answers, err := n.ask(ctx, call.with("--json=true"), inParts)
	if err != nil {
		return err
	}
	table, count := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0), 0
	if asJSON {
		fmt.Fprintf(c.Stdout, `{"%s":`, l.name)
	}
	values := jsonArray{w: c.Stdout}
	err = mergeLists(ctx, answers, l.less, func(item listItem[T]) error {
		if l.most > 0 && count == l.most {
			return errEnough
		}
		count++
		if asJSON {
			return values.add(item.withNode())
		}
		l.print(table, item.node, item.value)
		if count%aligned == 0 {
			return table.Flush()
		}
		return nil
	}, nil)
	in := shardsOf(answers)
	if err == errEnough {
		err, in = nil, answeredOf(answers)
	}
	if err != nil {
		return err
	}
	if asJSON {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		if err := values.end(); err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, ",\"shards\":%s}\n", text)
		return c.finish(in)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if l.end != nil {
		l.end(c.Stdout)
	}
	return c.finish(in)
}

// errEnough ends a list.
var errEnough = errors.New("enough items")

// answeredOf is like shardsOf, for answers that this process itself has interrupted.
func answeredOf(answers []*nodeAnswer) (s shards) {
	for _, a := range answers {
		if a.err == context.Canceled {
			a.err = nil
		}
	}
	return shardsOf(answers)
}

// withNode returns the JSON object that the node has sent, with the name of the node.
func (i listItem[T]) withNode() json.RawMessage {
	text := bytes.TrimRight(i.raw, " \t\r\n")
	if len(text) < 2 || text[0] != '{' {
		return i.raw
	}
	out := append([]byte(`{"node":`), strconv.Quote(i.node)...)
	if len(bytes.TrimSpace(text[1:len(text)-1])) > 0 {
		out = append(out, ',')
	}
	return append(out, text[1:]...)
}
