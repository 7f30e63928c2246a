package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/policy"
)

// ordersFile is the name of the file that says which orders of the cluster this data directory has executed.
const ordersFile = "orders.json"

// The kinds of orders.
const (
	policyKind  = "policy"  // what was read of an origin; the key is the origin
	requestKind = "request" // a request of the channel or of the operator
)

// orders executes in a data directory what other nodes of the cluster have read or were asked for. An origin with an
// order that is not executed is hidden: nothing of it is shown. Everything is hidden until the orders that were
// published before this process began are known.
type orders struct {
	site *Site

	mu      sync.Mutex
	list    *cluster.Orders // nil: this process is not connected to the cluster
	known   bool            // all orders that were published before the process began are known
	read    uint64          // position up to which orders were read
	highest uint64          // highest position that this process knows
	waiting []waitingOrder  // orders that are not executed, by position
	state   ordersState

	executing sync.Mutex     // held while orders are executed
	changes   sync.WaitGroup // changes of the queue in progress, see Site.changeQueue
	kick      chan struct{}  // a value wakes the goroutine that executes
}

// ordersState is the content of ordersFile.
type ordersState struct {
	Registered bool   `json:"registered"` // the cluster knows that this directory must execute orders
	Position   uint64 `json:"position"`   // orders up to this position are executed
	Published  uint64 `json:"published"`  // requests up to this entry of the ledger's chain are published
	// origins whose policy was too large for an order, with its position; they are hidden
	Hidden map[string]uint64 `json:"hidden,omitempty"`
}

// waitingOrder is an order that is not executed.
type waitingOrder struct {
	position          uint64
	kind, key, origin string
	hides             bool // its origin is hidden until it is executed
}

// ordersTick is how often a node looks for orders that nobody announces, and tries again what failed.
const ordersTick = time.Second

func newOrders(s *Site) *orders { return &orders{site: s, kick: make(chan struct{}, 1)} }

// open reads ordersFile.
func (o *orders) open() error {
	name := filepath.Join(o.site.cfg.Data, ordersFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &o.state); err != nil {
		return fmt.Errorf("%s is damaged: %w", name, err)
	}
	return nil
}

// save writes ordersFile if its content has changed.
func (o *orders) save(change func(*ordersState)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := o.state
	next.Hidden = maps.Clone(o.state.Hidden)
	change(&next)
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if old, err := json.Marshal(o.state); err == nil && string(old) == string(text) {
		return nil
	}
	if err := disk.Replace(filepath.Join(o.site.cfg.Data, ordersFile), append(text, '\n'), 0o600); err != nil {
		return err
	}
	o.state = next
	return nil
}

// hides reports whether nothing of an origin may be shown now.
func (o *orders) hides(origin string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known || o.state.Hidden[origin] > 0 {
		return true
	}
	return slices.ContainsFunc(o.waiting, func(w waitingOrder) bool { return w.hides && w.origin == origin })
}

// hides reports whether nothing of an origin may be shown now, since this node of a cluster may not know the last word
// of the publisher.
func (s *Site) hides(origin string) bool { return s.shared.Load() && s.orders.hides(origin) }

// hidesURL is hides for the origin of an address.
func (s *Site) hidesURL(rawurl string) bool {
	u, err := url.Parse(rawurl)
	if err != nil {
		return s.shared.Load()
	}
	key, err := policy.Key(u)
	return s.shared.Load() && (err != nil || s.hides(key))
}

// connected returns the orders of the cluster, or nil.
func (o *orders) connected() *cluster.Orders {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.list
}

// heard notes that the cluster has a position.
func (o *orders) heard(position uint64) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.highest = max(o.highest, position)
	return o.highest
}

// attach connects to the cluster, registers the data directory, and executes all orders that were published before.
// Orders that cannot be executed keep their origins hidden; follow tries them again.
func (o *orders) attach(ctx context.Context, list *cluster.Orders, x *actions.Executor) error {
	if err := list.Register(ctx, o.state.Position, o.state.Registered); err != nil {
		return err
	}
	end, err := list.Mark(ctx)
	if err != nil {
		return err
	}
	fresh := !o.state.Registered && o.site.recovered.IsZero()
	if err := o.save(func(s *ordersState) {
		if s.Registered = true; s.Position > end { // the servers were restored from a backup
			s.Position = 0
		}
	}); err != nil {
		return err
	}
	o.mu.Lock()
	o.list, o.read, o.highest = list, o.state.Position, end
	o.mu.Unlock()
	o.site.ledger.UseNodes(o.spread)
	kind := ""
	if fresh { // nothing is stored yet, so policies do not matter
		kind = requestKind
	}
	if err := o.readUpTo(ctx, kind, end); err != nil {
		return err
	}
	if fresh {
		o.mu.Lock()
		o.read = end
		o.mu.Unlock()
	}
	if err := o.execute(ctx, x); err != nil && ctx.Err() != nil {
		return err
	}
	o.mu.Lock()
	o.known = true
	o.mu.Unlock()
	return o.commit(ctx)
}

// detach ends the connection. From then on everything is hidden, since newer orders are not heard of.
func (o *orders) detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list, o.known, o.waiting = nil, false, nil
}

// readUpTo notes all orders of a kind up to a position, and hides their origins. An empty kind means all kinds; end is
// 0 for all orders.
func (o *orders) readUpTo(ctx context.Context, kind string, end uint64) error {
	list := o.connected()
	for list != nil {
		o.mu.Lock()
		from := o.read + 1
		o.mu.Unlock()
		next, known, err := list.Next(ctx, kind, from)
		if err != nil || !known || end > 0 && next.Position > end {
			return err
		}
		concerns, hides, err := o.concerns(next)
		if err != nil {
			return err
		}
		o.mu.Lock()
		o.read, o.highest = next.Position, max(o.highest, next.Position)
		if concerns {
			origin, _, _ := strings.Cut(next.Key, "\x00")
			o.waiting = append(o.waiting, waitingOrder{next.Position, next.Kind, next.Key, origin, hides})
		}
		o.mu.Unlock()
	}
	return nil
}

// concerns reports whether an order changes anything in this data directory, and whether its origin must be hidden
// until it is executed. A policy concerns the directory if something of the origin is stored, or if the policy is.
// Otherwise it is read when something is stored.
func (o *orders) concerns(next cluster.Order) (concerns, hides bool, err error) {
	switch next.Kind {
	case requestKind:
		var order requestOrder
		err := json.Unmarshal(next.Data, &order)
		return true, order.Node != o.site.cfg.Cluster.Node, err // this node has executed its own
	case policyKind:
		var order policyOrder
		if err := json.Unmarshal(next.Data, &order); err != nil {
			return false, false, err
		}
		known, err := o.site.policy.Knows(next.Key)
		if !known && err == nil {
			known, err = o.site.archive.HoldsUnder(next.Key + "/")
		}
		if err != nil || !known {
			return false, false, err
		}
		is, known := o.site.policy.HeldOf(next.Key)
		same := known && is.Since.Equal(order.Since) && len(order.Downs) == 0 && order.Record != nil
		return true, !same && order.Node != o.site.cfg.Cluster.Node, nil
	}
	return false, false, nil
}

// execute executes the waiting orders. It goes on after one that fails, and tries that one again at the next call.
func (o *orders) execute(ctx context.Context, x *actions.Executor) error {
	o.executing.Lock()
	defer o.executing.Unlock()
	o.mu.Lock()
	todo := slices.Clone(o.waiting)
	o.mu.Unlock()
	var failed []error
	for _, w := range todo {
		err := o.executeOne(ctx, w, x)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("order %d about %s: %w", w.position, w.origin, err))
			continue
		}
		o.mu.Lock()
		o.waiting = slices.DeleteFunc(o.waiting, func(is waitingOrder) bool { return is == w })
		o.mu.Unlock()
		o.site.rejudge(w.origin)
	}
	return errors.Join(failed...)
}

// executeOne executes the last order with the key of w.
func (o *orders) executeOne(ctx context.Context, w waitingOrder, x *actions.Executor) error {
	list := o.connected()
	if list == nil {
		return cluster.ErrNoQuorum
	}
	last, known, err := list.Last(ctx, w.kind, w.key)
	switch {
	case err != nil || !known:
		return err
	case w.kind == policyKind:
		return o.executePolicy(ctx, last, x)
	}
	return o.executeRequest(ctx, last, x)
}

// rejudge checks again what is stored for an origin.
func (s *Site) rejudge(origin string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holdings != nil {
		s.holdings.Rejudge(origin)
	}
}

// commit stores up to where the orders are executed, here and for the other nodes.
func (o *orders) commit(ctx context.Context) error {
	list := o.connected()
	if list == nil {
		return nil
	}
	o.mu.Lock()
	position, before := o.read, o.state.Position
	if len(o.waiting) > 0 {
		position = min(position, o.waiting[0].position-1)
	}
	o.mu.Unlock()
	if position <= before {
		return nil
	}
	if err := list.Confirm(ctx, position); err != nil {
		return err
	}
	return o.save(func(s *ordersState) { s.Position = position })
}

// spread returns which nodes have executed all orders up to a position, and which have not.
func (o *orders) spread(position uint64) (done, pending []string) {
	list := o.connected()
	if list == nil {
		return nil, []string{o.site.cfg.Cluster.Node}
	}
	for _, p := range list.Nodes() {
		if p.Position >= position {
			done = append(done, p.Node)
		} else {
			pending = append(pending, p.Node)
		}
	}
	return done, pending
}
