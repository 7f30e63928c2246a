package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/policy"
)

// policyOrder is the content of an order with a policy.
type policyOrder struct {
	Node   string          `json:"node"`             // that has read it
	Since  time.Time       `json:"since,omitzero"`   // time of the version; zero: none was ever read
	Record json.RawMessage `json:"record,omitempty"` // empty: it was too large
	// what earlier versions requested to take down, and nodes may not have executed
	Downs []takeDown `json:"downs,omitempty"`
}

// takeDown is a take-down that the policy of an origin requested.
type takeDown struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

// sharedPolicies has the policies that the nodes of a cluster have read. It implements policy.Shared.
type sharedPolicies struct{ orders *orders }

// notNow returns an error that says nothing about an origin: its policy can be read when the cluster answers.
func notNow(err error) error {
	return fmt.Errorf("%w: %w: %w", policy.ErrNotRequested, gate.ErrPaused, err)
}

var errApart = errors.New("this process is not connected to the cluster")

// Newest implements policy.Shared.
func (p sharedPolicies) Newest(ctx context.Context, origin string) (r policy.Record, mark uint64, err error) {
	list := p.orders.connected()
	switch {
	case list == nil && p.orders.site.shared.Load():
		return r, 0, notNow(errApart)
	case list == nil:
		return r, 0, nil
	}
	last, known, err := list.Last(ctx, policyKind, origin)
	switch {
	case err != nil:
		return r, 0, notNow(err)
	case !known:
		return r, 0, nil
	}
	p.orders.heard(last.Position)
	var order policyOrder
	if err = json.Unmarshal(last.Data, &order); err == nil && order.Record != nil {
		r, err = policy.DecodeRecord(order.Record)
	}
	if err != nil { // the policy is read again and replaces the order
		p.orders.site.o.Log.Error("an order of the cluster is damaged", "position", last.Position, "error", err)
		r = policy.Record{}
	}
	return r, last.Position, nil
}

// republishPause is how long a node waits before it publishes again what the servers have not acknowledged.
const republishPause = 250 * time.Millisecond

// Replace implements policy.Shared. It tries again while this node may request anything.
func (p sharedPolicies) Replace(ctx context.Context, origin string, r policy.Record, mark uint64) error {
	list := p.orders.connected()
	if list == nil {
		return nil
	}
	var data []byte
	for {
		last, _, err := list.Last(ctx, policyKind, origin)
		switch {
		case err != nil:
		case data != nil && bytes.Equal(last.Data, data): // the acknowledgement was lost
			p.orders.heard(last.Position)
			return nil
		case last.Position != mark:
			return policy.ErrOvertaken
		default:
			if data == nil {
				if data, err = p.orders.orderOf(origin, r, last); err != nil {
					return err
				}
			}
			var position uint64
			position, err = list.Publish(ctx, policyKind, origin, data, mark)
			if errors.Is(err, cluster.ErrTooLarge) {
				if data, err = p.orders.hiddenOrder(origin, r, last); err != nil {
					return err
				}
				continue
			}
			if err == nil {
				p.orders.heard(position)
				return nil
			}
		}
		n := p.orders.site.node.Load()
		if n == nil || !n.Until().After(time.Now()) || ctx.Err() != nil {
			return notNow(err)
		}
		sleep(ctx, republishPause)
	}
}

// orderOf returns the order with the record r of an origin, which replaces the order last.
func (o *orders) orderOf(origin string, r policy.Record, last cluster.Order) ([]byte, error) {
	record, err := r.Encode()
	if err != nil {
		return nil, err
	}
	downs, err := o.owed(origin, last)
	if err != nil {
		return nil, err
	}
	now := o.takeDowns(origin, r)
	downs = slices.DeleteFunc(downs, func(d takeDown) bool { return names(now, d) })
	order := policyOrder{Node: o.site.cfg.Cluster.Node, Record: record, Downs: downs}
	if r.Held != nil {
		order.Since = r.Held.Since
	}
	return json.Marshal(order)
}

// hiddenOrder is orderOf for a record that is too large for an order. Nodes that have something of the origin hide it.
func (o *orders) hiddenOrder(origin string, r policy.Record, last cluster.Order) ([]byte, error) {
	downs, err := o.owed(origin, last)
	if err != nil {
		return nil, err
	}
	for _, d := range o.takeDowns(origin, r) {
		if !names(downs, d) {
			downs = append(downs, d)
		}
	}
	return json.Marshal(policyOrder{Node: o.site.cfg.Cluster.Node, Downs: downs})
}

func names(list []takeDown, d takeDown) bool {
	return slices.ContainsFunc(list, func(is takeDown) bool { return is.URL == d.URL })
}

// owed returns what the order last of an origin requests to take down, if any node may not have executed it.
func (o *orders) owed(origin string, last cluster.Order) ([]takeDown, error) {
	if last.Position == 0 {
		return nil, nil
	}
	if _, pending := o.spread(last.Position); len(pending) == 0 {
		return nil, nil
	}
	var order policyOrder
	if err := json.Unmarshal(last.Data, &order); err != nil || order.Record == nil {
		return order.Downs, err
	}
	r, err := policy.DecodeRecord(order.Record)
	if err != nil {
		return nil, err
	}
	return append(o.takeDowns(origin, r), order.Downs...), nil
}

// takeDowns returns the take-downs in the policy of an origin.
func (o *orders) takeDowns(origin string, r policy.Record) (list []takeDown) {
	is := o.site.policy.OriginOf(origin, r)
	if is == nil {
		return nil
	}
	for _, a := range is.Policy.Actions() {
		if a.Action == acap.TakeDown && a.Execute {
			list = append(list, takeDown{a.URL, a.Field.String()})
		}
	}
	return list
}

// executePolicy makes the policy in an order the one in force here, and executes the requests in it and those that it
// replaces.
func (o *orders) executePolicy(ctx context.Context, last cluster.Order, x *actions.Executor) error {
	var order policyOrder
	if err := json.Unmarshal(last.Data, &order); err != nil {
		return err
	}
	own := order.Node == o.site.cfg.Cluster.Node
	if order.Record != nil {
		r, err := policy.DecodeRecord(order.Record)
		if err != nil {
			return err
		}
		if err := o.site.policy.Adopt(last.Key, r); err != nil {
			return err
		}
	}
	if err := o.save(func(s *ordersState) {
		delete(s.Hidden, last.Key)
		if order.Record == nil && !own {
			if s.Hidden == nil {
				s.Hidden = map[string]uint64{}
			}
			s.Hidden[last.Key] = last.Position
		}
	}); err != nil {
		return err
	}
	var failed []error
	if is, known := o.site.policy.HeldOf(last.Key); known && !is.Since.IsZero() {
		failed = append(failed, x.ExecuteReading(ctx, o.site.reading(is)), o.site.blockTakenDown(o.site.frontier, is))
	}
	for _, d := range order.Downs {
		if err := o.erase(ctx, d.URL, d.Source); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// erase erases a page that was to be taken down, although no request for it is in force any more.
func (o *orders) erase(ctx context.Context, rawurl, source string) error {
	h, err := o.site.held(ctx)
	if err != nil {
		return err
	}
	_, err = eraser{h, o.site.frontier, o.site.room, o.site.changeQueue}.Erase(ctx, rawurl, actions.TakenDown, source)
	return err
}

// foreign reports whether another node of the cluster must read the policy of an origin.
func (s *Site) foreign(origin *url.URL) bool {
	n := s.node.Load()
	if n == nil {
		return s.shared.Load()
	}
	owned, _ := n.Holds(origin.Host)
	return !owned
}
