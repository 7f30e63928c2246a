package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// A node must accept these calls soon, because a take-down must reach every running node within 5 s, also if a node
// hangs. A take-down is executed before the answer to forChange, which can take long.
var (
	forKey    = timing{first: 5 * time.Second, accept: 2 * time.Second, whole: true}
	forChange = timing{first: 5 * time.Second, accept: 2 * time.Second}
)

// nodeLedgers passes the calls of publishers and of the operator on to the ledgers of the nodes. It implements
// web.Backend. A request has the ID that it has in one ledger, with the name of the node: a:17. The nodes decide which
// credentials are valid. A call that changes something is sent to one node only.
type nodeLedgers struct {
	nodes  *nodes
	failed func(error)
	newKey bool // no node knows the key of a request that is submitted: it was made for this call
}

// Answer implements web.Backend.
func (l *nodeLedgers) Answer(ctx context.Context, c actions.Call) (actions.Answer, error) {
	switch {
	case c.Do == actions.DoStatus:
		return l.status(ctx)
	case c.As == actions.AsCredential:
		return l.answerPublisher(ctx, c)
	case c.As == actions.AsOperator, c.As == actions.AsAnyone:
	default:
		return refuse(actions.Malformed, "%.40q is not a caller", c.As), nil
	}
	switch c.Do {
	case actions.DoList:
		return l.list(ctx, c, "", func(string) actions.Call { return c })
	case actions.DoSubmit:
		return l.submit(ctx, c)
	case actions.DoPreview:
		if c.As != actions.AsOperator {
			return refuse(actions.BadCredential, "only the operator and publishers change requests"), nil
		}
		return l.preview(ctx, c)
	}
	return l.callAbout(ctx, c)
}

func refuse(code, format string, args ...any) actions.Answer {
	return actions.Answer{Code: code, Why: fmt.Sprintf(format, args...)}
}

// unanswered is the answer if nodes have not answered.
func unanswered(errs ...error) actions.Answer {
	var list []string
	for _, err := range errs {
		list = append(list, err.Error())
	}
	return refuse(actions.Unavailable, "%s; repeat the request later, with the same key", strings.Join(list, ", and "))
}

// begin lets a node begin to answer a call.
func (l *nodeLedgers) begin(ctx context.Context, node string, c actions.Call, p timing) *nodeAnswer {
	c.Node, c.At = "", nil
	text, _ := json.Marshal(c) // cannot fail: the fields are text and numbers
	return l.nodes.begin(ctx, node, nodeCall{verb: answerName, input: text}, p)
}

// read returns the answer of a node. Its requests have the name of the node.
func (l *nodeLedgers) read(a *nodeAnswer) (is actions.Answer, err error) {
	if err := a.decode(&is); err != nil {
		return is, fmt.Errorf("node %s %w", a.node, err)
	}
	if is.Request != nil {
		is.Request.Node = a.node
	}
	for i := range is.Requests {
		is.Requests[i].Node = a.node
	}
	if said := a.said(); said != "" {
		l.failed(fmt.Errorf("node %s: %s", a.node, said))
	}
	return is, nil
}

// call lets one node answer a call. begun says after an error that the node may have executed the call nevertheless.
func (l *nodeLedgers) call(ctx context.Context, node string, c actions.Call, p timing) (is actions.Answer, begun bool,
	err error) {
	a := l.begin(ctx, node, c, p)
	defer a.close()
	is, err = l.read(a)
	return is, a.begun(), err
}

// reply is what a node has answered.
type reply struct {
	node string
	actions.Answer
	err error // why there is no answer
}

// callAll lets all nodes in list answer a call, which callOf returns for each.
func (l *nodeLedgers) callAll(ctx context.Context, list []string, p timing,
	callOf func(node string) actions.Call) []reply {
	answers, replies := make([]*nodeAnswer, len(list)), make([]reply, len(list))
	for i, node := range list {
		answers[i] = l.begin(ctx, node, callOf(node), p)
	}
	defer closeAnswers(answers)
	eachAnswer(answers, func(i int, a *nodeAnswer) {
		r := reply{node: a.node}
		if r.Answer, r.err = l.read(a); r.err == nil && r.Code == actions.Unavailable {
			r.err = fmt.Errorf("node %s: %s", a.node, r.Why)
		}
		replies[i] = r
	})
	return replies
}

// running returns the names of the nodes that run: first the node that crawls the page, then the other nodes that
// crawl. page may be "".
func (l *nodeLedgers) running(ctx context.Context, page string) (list []string, err error) {
	members, err := l.nodes.caller.Members(ctx)
	switch {
	case err != nil:
		return nil, clusterFault(err)
	case len(members) == 0:
		return nil, failure(startNode, errNoNode)
	}
	owner := ""
	if host := hostOf(page); host != "" {
		if owner, err = l.nodes.caller.Owner(host); err != nil {
			return nil, err
		}
	}
	rank := func(p cluster.Peer) int {
		switch {
		case p.Node == owner:
			return 0
		case !p.Reader:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(members, func(a, b cluster.Peer) int { return cmp.Compare(rank(a), rank(b)) })
	for _, m := range members {
		list = append(list, m.Node)
	}
	return list, nil
}

// submit submits a request of the operator at the node that crawls the page, or at the one that knows its key from
// before. Another node gets it only if that one cannot be reached at all: a request is never made on two nodes because
// an answer is missing.
func (l *nodeLedgers) submit(ctx context.Context, c actions.Call) (is actions.Answer, err error) {
	list, err := l.running(ctx, c.URL)
	if err != nil {
		return is, err
	}
	if !l.newKey {
		list = l.byKey(ctx, list, c)
	}
	for _, node := range list {
		begun := false
		if is, begun, err = l.call(ctx, node, c, forChange); err == nil || begun {
			break
		}
	}
	if err != nil {
		is = unanswered(err)
	}
	return is, nil
}

// byKey returns the nodes in list in the order in which they are asked to submit a request: only the one that knows the
// key of c, otherwise all, those last that do not answer.
func (l *nodeLedgers) byKey(ctx context.Context, list []string, c actions.Call) []string {
	before := actions.Call{Do: actions.DoRepeat, As: c.As, Key: c.Key}
	var answered, silent []string
	for _, r := range l.callAll(ctx, list, forKey, func(string) actions.Call { return before }) {
		switch {
		case r.err != nil:
			silent = append(silent, r.node)
		case r.Code == "":
			return []string{r.node}
		default:
			answered = append(answered, r.node)
		}
	}
	return append(answered, silent...)
}

// preview returns what DoSubmit would record, and what all nodes have archived at the URL. The caller must have checked
// who sends the call: the nodes answer it like one of the operator.
func (l *nodeLedgers) preview(ctx context.Context, c actions.Call) (is actions.Answer, err error) {
	list, err := l.running(ctx, c.URL)
	if err != nil {
		return is, err
	}
	c.As, c.Token = actions.AsOperator, ""
	var missing []error
	for _, r := range l.callAll(ctx, list, soonInAll, func(string) actions.Call { return c }) {
		switch {
		case r.err != nil:
			missing = append(missing, r.err)
		case r.Code != "":
			return r.Answer, nil
		case r.Request == nil || r.Holding == nil:
			missing = append(missing, fmt.Errorf("node %s %w", r.node, errDamaged))
		case is.Request == nil:
			is = r.Answer
		default:
			is.Holding.Add(*r.Holding)
		}
	}
	if is.Request == nil {
		is = unanswered(missing...)
	}
	return is, nil
}

// callAbout lets the node answer in whose ledger a request is.
func (l *nodeLedgers) callAbout(ctx context.Context, c actions.Call) (is actions.Answer, err error) {
	name := actions.Name(c.Node, c.ID)
	if cluster.ValidName(c.Node) != nil {
		return refuse(actions.NotFound, "there is no request %s: here the ID of a request has the name of a node, "+
			"as in a:17", name), nil
	}
	list, err := l.running(ctx, "")
	if err != nil {
		return is, err
	}
	if !slices.Contains(list, c.Node) {
		stopped, err := l.nodes.caller.Stopped(ctx)
		if slices.Contains(stopped, c.Node) {
			return refuse(actions.Unavailable, "node %s, which has request %s, does not run", c.Node, name), nil
		}
		return refuse(actions.NotFound, "there is no request %s", name), err
	}
	patience := soonInAll
	if c.Do == actions.DoWithdraw {
		patience = forChange
	}
	if is, _, err = l.call(ctx, c.Node, c, patience); err != nil {
		return unanswered(err), nil
	}
	return is, nil
}

// find returns the node that accepts a token, and its credential. If no node accepts it, node is empty, and refusal is
// the answer to the caller.
func (l *nodeLedgers) find(ctx context.Context, token string) (node string, by *actions.Credential,
	refusal actions.Answer, err error) {
	list, err := l.running(ctx, "")
	if err != nil {
		return "", nil, refusal, err
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	answers := make([]*nodeAnswer, len(list))
	for i, node := range list {
		answers[i] = l.begin(asking, node, actions.Call{Do: actions.DoFind, Token: token}, soonInAll)
	}
	defer closeAnswers(answers)
	var mu sync.Mutex
	var missing []string
	eachAnswer(answers, func(_ int, a *nodeAnswer) {
		found, err := l.read(a)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil && found.Code == "" && found.Credential != nil:
			node, by = a.node, found.Credential
			stop() // a token is valid on one node only
		case err != nil || found.Code != actions.BadCredential:
			missing = append(missing, a.node)
		}
	})
	switch {
	case node != "":
		return node, by, refusal, nil
	case len(missing) > 0:
		return "", nil, unanswered(fmt.Errorf("no node accepts the credential, but these nodes do not answer: %s",
			strings.Join(missing, ", "))), nil
	}
	refusal, err = l.refuseToken(ctx, list[0], token)
	return "", nil, refusal, err
}

// refuseToken lets one node note that a token was wrong. The answer names nodes that might accept it but do not run.
func (l *nodeLedgers) refuseToken(ctx context.Context, node, token string) (is actions.Answer, err error) {
	is, _, err = l.call(ctx, node, actions.Call{Do: actions.DoIdentify, Token: token}, soonInAll)
	if err != nil {
		return unanswered(err), nil
	}
	stopped, err := l.nodes.caller.Stopped(ctx)
	if is.Code == actions.BadCredential && len(stopped) > 0 {
		is.Why += "; nodes that do not run may know it: " + strings.Join(stopped, ", ")
	}
	return is, err
}

// answerPublisher answers a call with the credential of a publisher. Only the node that accepts the credential changes
// something. The other nodes are asked for what they know about requests for the origins of the credential.
func (l *nodeLedgers) answerPublisher(ctx context.Context, c actions.Call) (is actions.Answer, err error) {
	home, by, is, err := l.find(ctx, c.Token)
	if home == "" {
		return is, err
	}
	reading := c
	reading.As, reading.Token, reading.Origins = actions.AsOrigins, "", by.Origins
	switch c.Do {
	case actions.DoIdentify:
		return actions.Answer{Credential: by}, nil
	case actions.DoList:
		return l.list(ctx, c, home, func(node string) actions.Call {
			if node == home {
				return c
			}
			return reading
		})
	case actions.DoGet, actions.DoReceipt:
		if c.Node != home {
			return l.callAbout(ctx, reading)
		}
	case actions.DoWithdraw:
		if c.Node != home {
			if c, is, err = l.ownCopy(ctx, home, c, reading); is.Code != "" || err != nil {
				return is, err
			}
		}
	}
	if is, _, err = l.call(ctx, home, c, forChange); err != nil {
		return unanswered(err), nil
	}
	if c.Do == actions.DoPreview && is.Code == "" {
		return l.preview(ctx, c)
	}
	return is, nil
}

// ownCopy returns the call c, which withdraws a request under the number of another node, with the number that the
// request has on the node home. If it is not in force there, is refuses the call.
func (l *nodeLedgers) ownCopy(ctx context.Context, home string, c, reading actions.Call) (own actions.Call,
	is actions.Answer, err error) {
	reading.Do = actions.DoGet
	there, err := l.callAbout(ctx, reading)
	if err != nil || there.Code != "" {
		return c, there, err
	}
	if there.Request == nil {
		return c, is, fmt.Errorf("node %s %w", c.Node, errDamaged)
	}
	list := actions.Call{Do: actions.DoList, Token: c.Token, Filter: actions.Filter{URL: there.Request.URL,
		Action: there.Request.Action, Standing: true}}
	here, _, err := l.call(ctx, home, list, soonInAll)
	switch {
	case err != nil:
		return c, unanswered(err), nil
	case here.Code != "":
		return c, here, nil
	case len(here.Requests) == 0:
		return c, refuse(actions.NotFound, "request %s is not in force on node %s, which accepts the credential",
			there.Request.Name(), home), nil
	}
	c.Node, c.ID = home, here.Requests[0].ID
	return c, is, nil
}

// status adds what the ledgers of all nodes say of their open requests. A request counts on each node that has it.
func (l *nodeLedgers) status(ctx context.Context) (is actions.Answer, err error) {
	list, err := l.running(ctx, "")
	if err != nil {
		return is, err
	}
	var sum actions.Status
	status := func(string) actions.Call { return actions.Call{Do: actions.DoStatus} }
	for _, r := range l.callAll(ctx, list, soonInAll, status) {
		if r.err == nil && r.Status == nil {
			r.err = fmt.Errorf("node %s %w", r.node, errDamaged)
		}
		if r.err != nil {
			err = errors.Join(err, r.err)
			continue
		}
		sum.Add(*r.Status)
	}
	return actions.Answer{Status: &sum}, err
}
