package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Frontier is the part of crawler.Frontier that a node needs.
type Frontier interface {
	Position(partition int) (journal, links uint64, known bool)
	Stored() ([]int, error)
	Adopt(partition int, fresh bool, records iter.Seq2[crawler.JournalRecord, error]) error
	Release(ctx context.Context, partition int) error
	Lose(partition int)
	Receive(partition int, position uint64, offers []crawler.Offer) error
	Rewrite(partition int) (from uint64, err error)
	SetSeeds(map[string]uint64) error
	Wake()
	Idle() bool
	Counts() crawler.Counts
}

// Node is a process that takes part in a cluster. It implements crawler.Journal. After Join, call Start with the
// frontier that uses the node as its journal. A Node is safe for concurrent use.
type Node struct {
	name     string
	settings Settings
	clock    Clock
	log      *slog.Logger
	copies   string // see Report.Copies
	link     *link
	member   *member // used by the goroutine of run only, except for its lease
	journal  *journal
	frontier Frontier

	ctx     context.Context // ends when the node must do nothing more
	stop    context.CancelCauseFunc
	tasks   sync.WaitGroup // run, and the goroutines that it has started
	kick    chan struct{}  // a value makes run look around at once
	ready   chan struct{}  // closed when the node has opened its share for the first time
	joined  uint64         // revision of the settings with which the node has joined
	changed chan struct{}  // closed when the settings have changed since
	ended   chan struct{}  // closed when nothing in the cluster is left to do, or the node is drained
	lag     atomic.Int64   // in nanoseconds

	clockWrong atomic.Bool // the clock differs too much from that of the servers, so nothing is requested

	mu       sync.Mutex
	parts    map[int]*part
	verified Owner   // the lease under which all open partitions are known to be still this node's
	released []int   // partitions that must be given back in the table
	running  int     // number of nodes that run
	owners   []Owner // the table of partitions as last read
	seeds    Seeds
	adding   int    // calls of AddSeeds that have not ended
	work     uint64 // see Report
	reported Report // as last stored
	mayIdle  bool   // the servers may have a report of this node that says that it is idle, whether it is known or not
	pages    func() int
	cleaning bool // a journal is being shortened
	leaving  bool // the node hands over all its partitions, since it ends
	done     bool // ended is closed
	over     bool // nothing in the cluster is left to do
}

// part is a partition that this node owns, by the table.
type part struct {
	state partState
	links *nats.Subscription // announces new links
	dirty bool               // there may be links that are not queued
}

type partState int

const (
	opening partState = iota // being rebuilt from the journal
	open
	closing // being handed over
)

// adoptSlots is how many partitions a node rebuilds at the same time.
const adoptSlots = 8

// Join connects this process to the cluster as the node o.Node, and takes the lease. It makes the cluster if there is
// none. If a process with the same data directory had the lease and was killed, Join waits until that lease has
// expired; waiting is called before. Servers that can be reached but do not answer, because they elect a leader at
// this moment, are asked again. The error wraps ErrNoQuorum, or is an *InUseError or a *DifferentError.
func Join(ctx context.Context, o Options, waiting func()) (*Node, error) {
	return join(ctx, o, waiting, ElectionTime)
}

// ElectionTime is longer than the servers take to elect a leader after they have lost one.
const ElectionTime = 5 * answerTime

// join joins the cluster. It makes no further attempt when the servers have not answered for the time limit.
func join(ctx context.Context, o Options, waiting func(), limit time.Duration) (*Node, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if err := errors.Join(ValidName(o.Node), o.Check()); err != nil {
		return nil, err
	}
	nc, err := dialServers(o)
	if err != nil {
		return nil, err
	}
	answered, told := false, false
	noteWait := func() { // the servers answer: they say that the lease of an earlier process has not expired
		if answered = true; waiting != nil && !told {
			told = true
			waiting()
		}
	}
	for since := o.clock().Elapsed(); ; {
		answered = false
		n, err := joinOnce(ctx, nc, o, noteWait)
		now := o.clock().Elapsed()
		if answered {
			since = now
		}
		switch {
		case err == nil:
			return n, nil
		case !errors.Is(err, ErrNoQuorum), now-since > limit, wait(ctx, retryPause) != nil:
			nc.Close()
			return nil, err
		}
		o.Log.Warn("the servers of the cluster do not answer; they are asked again", "error", err)
	}
}

// joinOnce tries to join once. It leaves the connection open if it fails.
func joinOnce(ctx context.Context, nc *nats.Conn, o Options, waiting func()) (*Node, error) {
	l := &link{nc: nc}
	err := l.open(ctx, o.clock())
	if errors.Is(err, errNoCluster) {
		err = l.make(ctx, o)
	}
	if err == nil {
		n := newNode(o, l)
		if err = n.enter(ctx, o, waiting); err == nil {
			return n, nil
		}
	}
	l.closeBuckets()
	return nil, err
}

func newNode(o Options, l *link) *Node {
	n := &Node{name: o.Node, clock: o.clock(), log: o.Log, copies: o.Copies, link: l, kick: make(chan struct{}, 1),
		ready: make(chan struct{}), ended: make(chan struct{}), changed: make(chan struct{}),
		parts: map[int]*part{}, seeds: Seeds{},
		pages: func() int { return 0 }}
	n.ctx, n.stop = context.WithCancelCause(context.Background())
	n.journal = &journal{js: l.js, stream: l.journal, process: o.Node + "." + rand.Text()[:12],
		limit: int(l.nc.MaxPayload())/2 - 1024, parts: map[int]*journalEnd{}}
	return n
}

// enter compares the settings and the clock, and takes the lease.
func (n *Node) enter(ctx context.Context, o Options, waiting func()) (err error) {
	if n.settings, n.joined, err = n.link.join(ctx, o.Settings); err != nil {
		return err
	}
	if err := n.checkClock(ctx); err != nil {
		return err
	}
	// a request of which the answer is lost must not use up the lease
	n.link.nodes.answer = min(answerTime, n.settings.Lease/3)
	n.link.state.answer = n.link.nodes.answer
	n.member = newMember(n.link.nodes, n.link.state, n.clock, n.settings.Lease, n.settings.Margin,
		leaseValue{Node: o.Node, Dir: o.Dir, Version: o.Version, Report: Report{Copies: o.Copies}})
	if err := n.member.lease.await(ctx, n.member.value, waiting); err != nil {
		return err
	}
	return n.resetBudget(ctx)
}

// connect connects to the servers and opens the cluster there. The error is errNoCluster if there is none.
func connect(ctx context.Context, o Options) (*link, error) {
	nc, err := dialServers(o)
	if err != nil {
		return nil, err
	}
	l := &link{nc: nc}
	if err := l.open(ctx, o.clock()); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// reach connects to a cluster that exists, and returns its settings. The error is errNoCluster if there is none.
func reach(ctx context.Context, o Options) (*link, Settings, error) {
	l, err := connect(ctx, o)
	if err != nil {
		return nil, Settings{}, err
	}
	s, _, err := l.settings(ctx)
	if err != nil {
		l.close()
		return nil, s, err
	}
	return l, s, nil
}

// make makes the stores of a cluster and opens them. Servers that have just made a stream, for this node or for another
// one, may answer for some time that there is none.
func (l *link) make(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, makeTime)
	defer cancel()
	for {
		err := l.create(ctx, o.Settings)
		if err == nil {
			err = l.open(ctx, o.clock())
		}
		if !errors.Is(err, errNoCluster) || wait(ctx, retryPause) != nil {
			return err
		}
	}
}

// makeTime is how long a node tries to make a cluster.
const makeTime = 30 * time.Second

// ClockError means that the clock of this machine differs too much from that of the servers.
type ClockError struct{ By, Most time.Duration }

func (e *ClockError) Error() string {
	return fmt.Sprintf("the clock of this machine differs from that of the NATS server by %s; at most %s is possible "+
		"with this lease_margin", e.By.Round(time.Millisecond), e.Most)
}

// checkClock compares the clock with that of the servers.
func (n *Node) checkClock(ctx context.Context) error {
	key := clockPrefix + n.name
	sent := n.clock.Now()
	if _, err := n.link.state.kv.PutString(ctx, key, "x"); err != nil {
		return storeError(err)
	}
	answered := n.clock.Now()
	e, err := n.link.state.get(ctx, key)
	if err != nil {
		return err
	}
	by, most := e.ahead(sent, answered), n.settings.Margin/2
	if by.Abs() > most {
		return &ClockError{by, most}
	}
	return nil
}

// Epoch returns the epoch of the lease of this node.
func (n *Node) Epoch() uint64 { return n.member.lease.owner().Epoch }

// Settings returns the settings of the cluster.
func (n *Node) Settings() Settings { return n.settings }

// Partition implements crawler.Journal.
func (n *Node) Partition(host string) int { return address.Partition(host, n.settings.Partitions) }

func (n *Node) partitionOf(url string) (int, error) {
	host, err := address.Host(url)
	return n.Partition(host), err
}

// Until implements crawler.Journal.
func (n *Node) Until() time.Time { return time.Now().Add(n.remaining()) }

// remaining returns how long requests may be made. It is not positive if they may not.
func (n *Node) remaining() time.Duration {
	n.mu.Lock()
	verified := n.verified
	n.mu.Unlock()
	if n.clockWrong.Load() || verified == (Owner{}) || verified != n.member.lease.owner() {
		return 0
	}
	return n.member.lease.remaining()
}

// Holds reports whether this node owns the partition of a host, and whether requests may be made at this moment.
func (n *Node) Holds(host string) (owned, active bool) {
	p := n.Partition(host)
	n.mu.Lock()
	part := n.parts[p]
	owned = part != nil && part.state != opening
	n.mu.Unlock()
	return owned, owned && n.remaining() > 0
}

// Lost is called by the frontier when it has learned that another node owns a partition.
func (n *Node) Lost(partition int) {
	n.log.Warn("another node owns a partition by now", "partition", partition)
	n.forget(partition)
	n.look()
}

// look makes the goroutine of run look around at once.
func (n *Node) look() {
	select {
	case n.kick <- struct{}{}:
	default:
	}
}
