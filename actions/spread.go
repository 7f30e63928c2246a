package actions

import (
	"encoding/json"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Spread says which machines have executed a take-down, if several machines share a crawl. It is immutable.
type Spread struct {
	Order        uint64   `json:"order"`         // machines that have executed all orders up to this position are done
	NodesDone    []string `json:"nodes_done"`    // machines that have erased what they had, and do not show it
	NodesPending []string `json:"nodes_pending"` // machines that show nothing of the origin before they have done so
}

// order returns the position of the order with the request; 0 if there is none.
func (r *Request) order() uint64 {
	if r.Spread == nil {
		return 0
	}
	return r.Order
}

// pending reports whether other machines still have to execute r, as far as the ledger knows.
func (r *Request) pending() bool { return r.Spread != nil && len(r.NodesPending) > 0 }

// same reports whether two results are equal.
func (s *Spread) same(o *Spread) bool {
	return slices.Equal(s.NodesDone, o.NodesDone) && slices.Equal(s.NodesPending, o.NodesPending)
}

// UseNodes makes requests and receipts list the machines that have executed them. fn returns which machines have
// executed all orders up to a position, and which have not. It must not use the ledger.
func (l *Ledger) UseNodes(fn func(order uint64) (done, pending []string)) { l.nodes.Store(&fn) }

// spread sets which machines have executed r.
func (t *txn) spread(r *Request) {
	if t.nodes == nil || r.order() == 0 || r.Action != acap.TakeDown {
		return
	}
	s := &Spread{Order: r.Order}
	done, pending := (*t.nodes)(r.Order)
	s.NodesDone, s.NodesPending = append([]string{}, done...), append([]string{}, pending...)
	r.Spread = s
}

// NoteNodes notes which machines have executed the take-downs that some of them had not executed yet, and writes their
// receipts again.
func (l *Ledger) NoteNodes() error {
	var changed []uint64
	err := l.view(func(t *txn) error {
		t.nodes = l.nodes.Load()
		return t.open(func(r Request) error {
			before := r.Spread
			if before == nil {
				return nil
			}
			if t.spread(&r); !r.same(before) {
				changed = append(changed, r.ID)
			}
			return nil
		})
	})
	if err != nil || len(changed) == 0 {
		return err
	}
	return l.update(func(t *txn) error {
		for _, id := range changed {
			if err := t.alter(id, func(*Request) string { return "nodes" }); err != nil {
				return err
			}
			if err := l.renewReceipt(t, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// renewReceipt writes the receipt of a request again, if there is one, with the machines that have executed it.
func (l *Ledger) renewReceipt(t *txn, id uint64) error {
	doc := t.tx.Bucket(bReceipts).Get(number(id))
	if doc == nil {
		return nil
	}
	var d document
	var is Receipt
	err := json.Unmarshal(doc, &d)
	if err == nil {
		err = json.Unmarshal(d.Receipt, &is)
	}
	if err != nil {
		return err
	}
	r, _, err := t.request(id)
	if err != nil {
		return err
	}
	is.Spread = r.Spread
	return l.putReceipt(t, is)
}
