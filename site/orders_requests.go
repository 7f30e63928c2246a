package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// requestOrder is the content of an order with a request.
type requestOrder struct {
	Node string `json:"node"` // that has published it
	actions.Announcement
}

// publishRequests publishes the requests of the channel and of the operator that this node has noted and that the
// cluster does not have yet. The ledger keeps them until then, so they also spread after a time without a quorum.
func (o *orders) publishRequests(ctx context.Context) error {
	list := o.connected()
	if list == nil {
		return nil
	}
	noted, head, err := o.site.ledger.Announced(o.state.Published)
	if err != nil || head == o.state.Published {
		return err
	}
	for _, a := range noted {
		later, err := o.publishRequest(ctx, list, a)
		if err != nil || later {
			return err
		}
	}
	return o.save(func(s *ordersState) { s.Published = head })
}

// publishRequest publishes a request, unless the cluster has it as it is. later is true if an order about the same
// request must be executed here before.
func (o *orders) publishRequest(ctx context.Context, list *cluster.Orders, a actions.Announced) (later bool,
	err error) {
	last, known, err := list.Last(ctx, requestKind, a.Key())
	if err != nil {
		return false, err
	}
	var is requestOrder
	if known {
		if err := json.Unmarshal(last.Data, &is); err != nil {
			return false, err
		}
	}
	same, err := sameAnnouncement(is.Announcement, a.Announcement)
	if err != nil {
		return false, err
	}
	position := last.Position
	switch {
	case known && same:
	case known && !o.executed(last.Position):
		return true, nil
	default:
		data, err := json.Marshal(requestOrder{o.site.cfg.Cluster.Node, a.Announcement})
		if err != nil {
			return false, err
		}
		position, err = list.Publish(ctx, requestKind, a.Key(), data, last.Position)
		if errors.Is(err, cluster.ErrOvertaken) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	o.heard(position)
	return false, o.site.ledger.SetOrder(a.ID, position)
}

// sameAnnouncement reports whether two announcements are equal, apart from when and by whom the request was made first.
func sameAnnouncement(a, b actions.Announcement) (bool, error) {
	b.Asked, b.Kind, b.Credential, b.Text = a.Asked, a.Kind, a.Credential, a.Text
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return bytes.Equal(x, y), errors.Join(err, err2)
}

// executed reports whether the order at a position is executed here.
func (o *orders) executed(position uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.waiting {
		if w.position == position {
			return false
		}
	}
	return position <= o.read
}

// executeRequest notes the request of an order, and executes it.
func (o *orders) executeRequest(ctx context.Context, last cluster.Order, x *actions.Executor) error {
	var order requestOrder
	if err := json.Unmarshal(last.Data, &order); err != nil {
		return err
	}
	a := order.Announcement
	if !a.Standing && a.Action == acap.TakeDown && a.State != actions.Refused && order.Node != o.site.cfg.Cluster.Node {
		// it was executed elsewhere before it was withdrawn
		if err := o.erase(ctx, a.URL, a.Text); err != nil {
			return err
		}
	}
	id, err := o.site.ledger.Adopt(a, last.Position, order.Node == o.site.cfg.Cluster.Node)
	if err != nil || id == 0 {
		return err
	}
	if a.Standing {
		_, err = x.Execute(ctx, id)
		return err
	}
	if f := o.site.frontier; f != nil && a.Action == acap.TakeDown {
		return o.site.changeQueue(func() error { return o.site.lift(f, a.Origin) })
	}
	return err
}
