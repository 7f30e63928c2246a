package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// shardRequest holds the hidden flags with which a process asks a node of a cluster to search.
type shardRequest struct {
	Shard   bool // print a shardFound, also if nothing is found
	Details bool
	Further int
	Public  bool         // the reader is not the operator
	Uses    []acap.Usage // see present.Query.For
}

// The hidden flags of verbs that a process of a cluster asks a node to run.
const (
	shardFlag   = "shard"
	detailsFlag = "details"
	furtherFlag = "further"
	publicFlag  = "public"
	usesFlag    = "uses"
	factsFlag   = "reader-facts"
)

// shardFlags adds the hidden flags of a search. It returns a function that reads their values.
func shardFlags(flags *pflag.FlagSet) func(*judging) (shardRequest, error) {
	shard := shardOnly(flags)
	details := flags.Bool(detailsFlag, false, "explain each result")
	further := flags.Int(furtherFlag, 0, "examine at most `N` further hits")
	public := flags.Bool(publicFlag, false, "decide for a reader who is not the operator")
	uses := flags.StringArray(usesFlag, nil, "only pages for which `USAGE` is allowed")
	facts := factsOf(flags)
	for _, name := range []string{detailsFlag, furtherFlag, publicFlag, usesFlag} {
		flags.MarkHidden(name)
	}
	return func(j *judging) (r shardRequest, err error) {
		r = shardRequest{Shard: *shard, Details: *details, Further: *further, Public: *public}
		for _, u := range *uses {
			r.Uses = append(r.Uses, acap.Usage(u))
		}
		return r, facts(j)
	}
}

// shardOnly adds the hidden flag with which a process asks a node of a cluster.
func shardOnly(flags *pflag.FlagSet) *bool {
	shard := flags.Bool(shardFlag, false, "print what a process of a cluster needs")
	flags.MarkHidden(shardFlag)
	return shard
}

// factsOf adds a hidden flag with everything that is known of a reader. It returns a function that reads it.
func factsOf(flags *pflag.FlagSet) func(*judging) error {
	text := flags.String(factsFlag, "", "decide for the reader with these `FACTS` in JSON")
	flags.MarkHidden(factsFlag)
	return func(j *judging) error {
		if *text == "" {
			return nil
		}
		if err := json.Unmarshal([]byte(*text), &j.Reader); err != nil {
			return misuse("", "--%s: %v", factsFlag, err)
		}
		j.Known = true
		return nil
	}
}

// shardFound is a present.Found as a node sends it.
type shardFound struct {
	Results []shardResult `json:"results"`
	Count   int           `json:"count"`
	More    bool          `json:"more"`
	Hurried bool          `json:"hurried,omitempty"`
}

// shardResult is a present.Result with the fields that its own JSON does not have.
type shardResult struct {
	present.Result
	Score   float64          `json:"score"`
	Same    string           `json:"same,omitempty"`
	Details *present.Details `json:"details,omitempty"`
	Clauses []string         `json:"clauses,omitempty"` // of Result.LeftOut
}

func newShardFound(f present.Found) shardFound {
	out := shardFound{Results: []shardResult{}, Count: f.Count, More: f.More, Hurried: f.Hurried}
	for _, r := range f.Results {
		one := shardResult{Result: r, Score: r.Score, Same: r.Same, Details: r.Details}
		for _, l := range r.LeftOut {
			one.Clauses = append(one.Clauses, l.Clause)
		}
		out.Results = append(out.Results, one)
	}
	return out
}

// result returns the result that a node has sent.
func (r shardResult) result() present.Result {
	out := r.Result
	out.Score, out.Same, out.Details = r.Score, r.Same, r.Details
	for i := range out.LeftOut {
		if i < len(r.Clauses) {
			out.LeftOut[i].Clause = r.Clauses[i]
		}
	}
	return out
}

// mostDeep is the greatest number of results that are requested of each node, including those to be skipped.
const mostDeep = 10_000

// search lets all nodes search, and merges what they have found. call has all flags but those for the part of the
// results.
func (n *nodes) search(ctx context.Context, call nodeCall, q present.Query) (found present.Found, in shards,
	err error) {
	if q.Skip+q.Limit > mostDeep {
		return found, in, misuse("a narrower query", "a search in a cluster returns at most the first %d results",
			mostDeep)
	}
	answers, err := n.ask(ctx, call.with("--"+shardFlag+"=true", "--limit="+strconv.Itoa(q.Skip+q.Limit)), soonInAll)
	defer closeAnswers(answers)
	if err != nil {
		return found, in, err
	}
	all := decodeAll[shardFound](answers, mostAnswer)
	return mergeFound(all, q), shardsOf(answers), ctx.Err()
}

// mergeFound merges the results of several nodes, by score and then by address. The scores of different indexes are
// comparable only roughly, since each index weighs a word by its own pages. If several nodes have found a page, the
// newest capture is the result. If several pages would look the same, only the first is a result, as on one machine.
// The count is too great if this concerns results that the nodes have counted but not sent.
func mergeFound(all []shardFound, q present.Query) (found present.Found) {
	at := map[string]int{}
	var list []present.Result
	for _, one := range all {
		found.Count += max(one.Count, 0)
		found.More, found.Hurried = found.More || one.More, found.Hurried || one.Hurried
		for _, sent := range one.Results {
			r := sent.result()
			i, known := at[r.URL]
			switch {
			case !known:
				at[r.URL] = len(list)
				list = append(list, r)
				continue
			case r.Shown() && list[i].Shown():
				found.Count--
			}
			if newer(r, list[i]) {
				list[i] = r
			}
		}
	}
	slices.SortStableFunc(list, func(a, b present.Result) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.URL, b.URL))
	})
	folded := present.Fold(list)
	found.Count -= len(list) - len(folded)
	found.Results = cut(folded, q)
	countPartial(&found)
	return found
}

// newer reports whether r replaces the result other for the same page. A page that one node does not show is not shown.
func newer(r, other present.Result) bool {
	if r.Shown() != other.Shown() {
		return !r.Shown()
	}
	return r.Fetched.After(other.Fetched)
}

// cut returns the part of the results that q wants. Results that are not shown do not count.
func cut(list []present.Result, q present.Query) (out []present.Result) {
	n := 0
	for _, r := range list {
		if !r.Shown() {
			if n >= q.Skip && n < q.Skip+q.Limit {
				out = append(out, r)
			}
			continue
		}
		if n++; n > q.Skip && n <= q.Skip+q.Limit {
			out = append(out, r)
		}
	}
	return out
}

// countPartial counts the results that are shown without a part, as Presenter.Search does.
func countPartial(found *present.Found) {
	for _, r := range found.Results {
		if r.Shown() {
			found.CountPartial(r)
		}
	}
}

// searchNodes searches in all nodes of a cluster.
func (c *Command) searchNodes(ctx context.Context, cfg *config.Config, r searchRequest) error {
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	found, in, err := n.search(ctx, r.call, r.query())
	if err != nil {
		return err
	}
	if err := c.finish(in); err != nil {
		return err
	}
	return c.printFound(found, r, &in)
}

// readerFacts returns a flag with everything that is known of a reader.
func readerFacts(who present.Reader) (flags []string, err error) {
	text, err := json.Marshal(who.Target)
	if err != nil {
		return nil, fmt.Errorf("the facts about the reader cannot be sent: %w", err)
	}
	flags = append(flags, "--"+factsFlag+"="+string(text))
	if who.Public {
		flags = append(flags, "--"+publicFlag+"=true")
	}
	if !who.AsOf.IsZero() {
		flags = append(flags, "--as-of="+who.AsOf.Format(time.RFC3339))
	}
	return flags, nil
}
