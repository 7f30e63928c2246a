package cluster

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Order is what every node with archived pages must obey: a policy that was read, or a request. A later order of the
// same kind with the same key replaces it.
type Order struct {
	Position  uint64
	Kind, Key string
	Data      []byte
}

// Progress says up to which position a node has executed the orders. Progress and Stock remain stored while the node
// does not run.
type Progress struct {
	Node     string `json:"node"`
	Dir      string `json:"dir"` // identifies the data directory
	Position uint64 `json:"position"`
	Stock
}

// Stock says what a data directory has, as its node reported last.
type Stock struct {
	Copies string     `json:"copies,omitempty"` // see Report.Copies; "": the node has reported nothing yet
	Stored Partitions `json:"stored,omitempty"` // partitions of which pages are archived in the directory
}

// Orders is the list of the orders of a cluster. Its methods ask the leader of the list, so that they never return an
// old state, except Nodes. It is safe for concurrent use. Errors wrap ErrNoQuorum if the servers do not answer.
type Orders struct {
	link       *link
	node       string
	dir        string
	partitions int  // of the cluster
	alone      bool // Close ends the connection

	mu       sync.Mutex // held while the progress of this node is stored
	progress Progress   // of this node, as stored last
}

// The errors of Publish.
var (
	// ErrOvertaken means that the order to be replaced is no longer the last one with its key.
	ErrOvertaken = errors.New("another node has published a newer order")
	// ErrTooLarge means that an order has too many bytes for the servers.
	ErrTooLarge = errors.New("the order is too large")
)

// RemovedError means that the operator has removed a node from the cluster, so its data directory is refused.
type RemovedError struct{ Node string }

func (e *RemovedError) Error() string {
	return fmt.Sprintf("the operator has removed node %s from the cluster, so its data directory may hold pages that "+
		"were taken down since", e.Node)
}

// keyField is the header field with the key of an order.
const keyField = "Acapcrawl-Key"

// markKind is the kind of orders that only mark a position.
const markKind = "mark"

func orderSubject(kind, key string) string {
	sum := sha256.Sum256([]byte(key))
	return ordersPrefix + kind + "." + hex.EncodeToString(sum[:16])
}

// ordersConfig is the stream of the orders. It keeps the last order with each key.
func ordersConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: ordersStream, Subjects: []string{ordersPrefix + ">"}, MaxMsgsPerSubject: 1,
		Duplicates: time.Second}
}

// Orders returns the orders of the cluster, for the data directory of this node.
func (n *Node) Orders() *Orders {
	return &Orders{link: n.link, node: n.name, dir: n.member.value.Dir, partitions: n.settings.Partitions}
}

// OpenOrders connects to the cluster for a process that shows the data directory of the node o.Node and does not crawl.
// The caller must call Close. It returns the ID of the cluster.
func OpenOrders(ctx context.Context, o Options) (list *Orders, id string, err error) {
	l, s, err := reach(ctx, o)
	if err != nil {
		return nil, "", err
	}
	return &Orders{link: l, node: o.Node, dir: o.Dir, partitions: s.Partitions, alone: true}, s.ID, nil
}

// Close ends the connection that OpenOrders made.
func (o *Orders) Close() {
	if o.alone {
		o.link.close()
	}
}

// Register makes this node one of those that must execute orders. Call it before the node stores its first page. known
// says that it was registered before; then the error is a *RemovedError if the cluster does not know it any more.
func (o *Orders) Register(ctx context.Context, position uint64, known bool) error {
	e, err := o.link.done.get(ctx, o.node)
	switch {
	case errors.Is(err, errMissing) && known:
		return &RemovedError{o.node}
	case err != nil && !errors.Is(err, errMissing):
		return err
	case err == nil:
		var p Progress
		if err := json.Unmarshal(e.value, &p); err != nil {
			return err
		}
		if p.Dir == o.dir {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.progress = p
			return nil
		}
		if known {
			return &RemovedError{o.node}
		}
	}
	return o.Confirm(ctx, position)
}

// Confirm stores that this node has executed all orders up to a position.
func (o *Orders) Confirm(ctx context.Context, position uint64) error {
	return o.store(ctx, func(p *Progress) { p.Position = position })
}

// Reported returns what this node has reported last with Report. It is valid after Register.
func (o *Orders) Reported() Stock {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.progress.Stock
}

// Report stores what the data directory of this node has. The caller must not change it afterwards.
func (o *Orders) Report(ctx context.Context, is Stock) error {
	return o.store(ctx, func(p *Progress) { p.Stock = is })
}

// store changes the stored progress of this node.
func (o *Orders) store(ctx context.Context, change func(*Progress)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := o.progress
	next.Node, next.Dir = o.node, o.dir
	change(&next)
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if _, err = o.link.done.kv.Put(ctx, o.node, text); err != nil {
		return storeError(err)
	}
	o.progress = next
	return nil
}

// Partition returns the partition of a host, which may have a port.
func (o *Orders) Partition(host string) int { return address.Partition(host, o.partitions) }

// Nodes returns the progress of each registered node, as the servers announced it last, by name.
func (o *Orders) Nodes() []Progress { return o.link.progress() }

func (l *link) progress() (list []Progress) {
	for _, e := range l.done.list() {
		p := Progress{}
		if json.Unmarshal(e.value, &p) != nil {
			p = Progress{Node: e.key} // its position is not known, so it counts as pending
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Progress) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// Changed receives a value after the result of Nodes has changed.
func (o *Orders) Changed() <-chan struct{} { return o.link.done.changed }

// Watch calls fn soon after a new order is published, until end is called. A call may be lost.
func (o *Orders) Watch(fn func()) (end func(), err error) {
	s, err := o.link.nc.Subscribe(orderHint, func(*nats.Msg) { fn() })
	if err != nil {
		return nil, unreachable(err)
	}
	return func() { _ = s.Unsubscribe() }, nil // an error means that the connection has ended
}

// AskReading asks the node that owns an origin to read its policy again. The message may be lost.
func (o *Orders) AskReading(origin string) error {
	return unreachable(o.link.nc.Publish(readingHint, []byte(origin)))
}

// Asked calls fn with the origins whose policies some node wants to be read again, until end is called.
func (o *Orders) Asked(fn func(origin string)) (end func(), err error) {
	s, err := o.link.nc.Subscribe(readingHint, func(m *nats.Msg) { fn(string(m.Data)) })
	if err != nil {
		return nil, unreachable(err)
	}
	return func() { _ = s.Unsubscribe() }, nil // an error means that the connection has ended
}

// Mark returns a position after all orders that were published before the call.
func (o *Orders) Mark(ctx context.Context) (position uint64, err error) {
	return o.publish(ctx, orderSubject(markKind, o.node), o.node, nil)
}

// Publish adds an order. after is the position of the last order of that kind with the key, or 0 if there is none;
// otherwise the error is ErrOvertaken. After another error the order may have been published.
func (o *Orders) Publish(ctx context.Context, kind, key string, data []byte, after uint64) (uint64, error) {
	packed, err := pack(data)
	if err != nil {
		return 0, err
	}
	if int64(len(packed)+len(key)+1024) > o.link.nc.MaxPayload() {
		return 0, ErrTooLarge
	}
	position, err := o.publish(ctx, orderSubject(kind, key), key, packed,
		jetstream.WithExpectLastSequencePerSubject(after))
	if err == nil {
		_ = o.link.nc.Publish(orderHint, nil) // the nodes also look without a hint, but later
	}
	return position, err
}

func (o *Orders) publish(ctx context.Context, subject, key string, data []byte, opts ...jetstream.PublishOpt) (uint64,
	error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header.Set(keyField, hex.EncodeToString([]byte(key))) // a header field cannot hold every character
	opts = append(opts, jetstream.WithRetryAttempts(0))
	position, err := settled(ctx, func() (uint64, error) {
		ack, err := o.link.js.PublishMsg(ctx, msg, opts...)
		if err != nil {
			return 0, err
		}
		return ack.Sequence, nil
	})
	if errors.Is(err, errChanged) {
		return 0, ErrOvertaken
	}
	return position, err
}

// Last returns the last order of a kind with a key. known is false if there is none.
func (o *Orders) Last(ctx context.Context, kind, key string) (last Order, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	msg, err := o.link.orders.GetLastMsgForSubject(ctx, orderSubject(kind, key))
	return readOrder(msg, err)
}

// Next returns the first order of a kind at a position or after it. An empty kind means all kinds. known is false if
// there is none.
func (o *Orders) Next(ctx context.Context, kind string, from uint64) (next Order, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	filter := ordersPrefix + ">"
	if kind != "" {
		filter = ordersPrefix + kind + ".*"
	}
	msg, err := o.link.orders.GetMsg(ctx, from, jetstream.WithGetMsgSubject(filter))
	return readOrder(msg, err)
}

func readOrder(msg *jetstream.RawStreamMsg, err error) (Order, bool, error) {
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Order{}, false, nil
	} else if err != nil {
		return Order{}, false, unreachable(err)
	}
	damaged := func(err error) error { return fmt.Errorf("order %d is damaged: %w", msg.Sequence, err) }
	out := Order{Position: msg.Sequence}
	key, err := hex.DecodeString(msg.Header.Get(keyField))
	if err != nil {
		return out, false, damaged(err)
	}
	out.Key = string(key)
	rest, _ := bytes.CutPrefix([]byte(msg.Subject), []byte(ordersPrefix))
	kind, _, _ := bytes.Cut(rest, []byte("."))
	if out.Kind = string(kind); out.Kind == markKind {
		return out, true, nil
	}
	if out.Data, err = unpack(msg.Data); err != nil {
		return out, false, damaged(err)
	}
	return out, true, nil
}

// pack compresses the data of an order.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Remove removes a node that does not run, so that nothing waits for it to execute orders. Its data directory cannot be
// used in this cluster any more.
func Remove(ctx context.Context, o Options, node string) error {
	l, err := connect(ctx, o)
	if err != nil {
		return err
	}
	defer l.close()
	if _, err := l.done.get(ctx, node); errors.Is(err, errMissing) {
		return &DrainError{fmt.Sprintf("the cluster has no node called %s", node)}
	} else if err != nil {
		return err
	}
	e, err := l.nodes.get(ctx, node)
	switch {
	case err == nil:
		if v, err := readLease(e); err != nil || !v.Fenced {
			return errors.Join(err, &DrainError{fmt.Sprintf("%s is running; drain it first", node)})
		}
	case !errors.Is(err, errMissing):
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return storeError(l.done.kv.Delete(ctx, node))
}
