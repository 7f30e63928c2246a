package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// The numbers of versions of which it is checked at once whether a node refuses them: a list that is read only in part
// begins with few.
const (
	firstChecked = 50
	mostChecked  = 1000
)

// List implements view.Presenter: it merges the lists of all nodes. An address that any node refuses is left out. Nodes
// that do not answer at all are missing; if one fails later, the list ends with an error. Only the Entry of a version
// is set.
func (a nodesArchive) List(ctx context.Context, l present.Listing,
	who present.Reader) iter.Seq2[present.Version, error] {
	return func(yield func(present.Version, error) bool) {
		v := versionMerge{nodes: a.readers.nodes, owners: a.readers.nodes.owners(), reader: who, most: firstChecked}
		v.yield = func(e present.Entry) error {
			if !yield(present.Version{Entry: e}, nil) {
				return errEnough
			}
			return nil
		}
		if err := v.run(ctx, l); err != nil && err != errEnough {
			yield(present.Version{}, err)
		}
	}
}

// versionMerge merges the versions that several nodes list.
type versionMerge struct {
	nodes  *nodes
	owners *owners
	reader present.Reader
	yield  func(present.Entry) error

	in      shards
	names   []string        // of the nodes that have answered so far
	begun   bool            // something was passed on, or nothing is listed
	waiting []present.Entry // not checked yet
	most    int             // length of waiting at which it is checked
}

func (v *versionMerge) run(ctx context.Context, l present.Listing) error {
	members, err := v.nodes.caller.Members(ctx)
	if err == nil && len(members) == 0 {
		err = errNoNode
	}
	if err != nil {
		return silent(err)
	}
	for _, m := range members {
		v.names = append(v.names, m.Node)
	}
	v.in.Total = len(members)
	answers, err := v.ask(ctx, listCall{Reader: v.reader, Listing: l.Text}, inParts)
	if err != nil {
		return err
	}
	less := func(a, b *present.Entry) bool {
		return cmp.Or(cmp.Compare(l.Key(a.URL), l.Key(b.URL)), a.Fetched.Compare(b.Fetched)) < 0
	}
	add := func(item listItem[present.Entry]) error {
		if !l.In(l.Key(item.value.URL)) { // of a damaged node: a client that reads page after page would not get on
			return nil
		}
		if v.waiting = append(v.waiting, item.value); len(v.waiting) < v.most {
			return nil
		}
		return v.check(ctx)
	}
	if err := mergeLists(ctx, answers, less, add, v.ended); err != nil {
		return err
	}
	return v.check(ctx)
}

// ended notes that a node lists no more.
func (v *versionMerge) ended(a *nodeAnswer) error {
	switch {
	case a.err == nil || errors.Is(a.err, context.Canceled):
	case v.begun:
		return silent(a.err)
	default:
		v.leaveOut(a)
	}
	return nil
}

// leaveOut notes that a node has not answered. It is not asked again.
func (v *versionMerge) leaveOut(a *nodeAnswer) {
	v.in.Missing = append(v.in.Missing, missingShard{a.node, display.Line(a.err.Error())})
	v.names = slices.DeleteFunc(v.names, func(name string) bool { return name == a.node })
}

// ask lets the nodes that have answered so far begin to answer a call.
func (v *versionMerge) ask(ctx context.Context, call listCall, p timing) (answers []*nodeAnswer, err error) {
	text, err := json.Marshal(call)
	for _, name := range v.names {
		if err == nil {
			answers = append(answers, v.nodes.begin(ctx, name, nodeCall{verb: listName, input: text}, p))
		}
	}
	return answers, err
}

// check passes on the waiting versions that no node refuses. The first call notes how many nodes have answered.
func (v *versionMerge) check(ctx context.Context) error {
	refused, err := v.refused(ctx)
	if err != nil {
		return err
	}
	if v.in.Answered = len(v.names); !v.begun {
		if err := v.in.noAnswer(); err != nil {
			return silent(err)
		}
		noteShards(ctx, v.in)
		v.begun = true
	}
	for _, e := range v.waiting {
		if refused[e.URL] {
			continue
		}
		if err := v.yield(e); err != nil {
			return err
		}
	}
	v.waiting, v.most = v.waiting[:0], min(2*v.most, mostChecked)
	return ctx.Err()
}

// refused returns which addresses of waiting versions any node refuses.
func (v *versionMerge) refused(ctx context.Context) (map[string]bool, error) {
	call := listCall{Reader: v.reader}
	for i, e := range v.waiting {
		if i == 0 || e.URL != v.waiting[i-1].URL {
			call.Addresses = append(call.Addresses, e.URL)
		}
	}
	out := map[string]bool{}
	if len(call.Addresses) == 0 {
		return out, ctx.Err()
	}
	answers, err := v.ask(ctx, call, soonInAll)
	defer closeAnswers(answers)
	if err != nil {
		return nil, err
	}
	for i, r := range decodeAll[listRefusals](answers, mostAnswer) {
		if answers[i].err != nil && ctx.Err() == nil {
			v.leaveOut(answers[i])
		}
		for _, address := range r.Refused {
			out[address] = true
		}
		for _, address := range r.Unknown {
			owner, err := v.owners.of(address)
			if err != nil {
				return nil, err
			}
			out[address] = out[address] || owner == answers[i].node
		}
	}
	return out, ctx.Err()
}
