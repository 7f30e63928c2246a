package simulation

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// server is a key-value bucket of the servers of NATS.
type server struct {
	s      *Simulation
	ttl    time.Duration // 0: values do not expire
	leases bool          // the values are the leases of nodes, otherwise the table
	last   uint64
	values map[string]stored
}

// stored is a value in a server.
type stored struct {
	text     []byte
	revision uint64
	expires  time.Duration // by the clock of the server; 0: never
}

// serverLease is the lease of a node as the servers have it.
type serverLease struct {
	held    bool
	epoch   uint64
	expires time.Duration // by the clock of the server
}

// expired reports whether a time has passed by the clock of the server that leads now.
func (s *Simulation) expired(expires time.Duration) bool {
	return expires > 0 && s.now+s.serverAhead >= expires
}

func (b *server) live(key string) (stored, bool) {
	v, is := b.values[key]
	if is && b.s.expired(v.expires) {
		delete(b.values, key)
		return stored{}, false
	}
	return v, is
}

func (b *server) put(key string, text []byte) (uint64, error) {
	b.last++
	v := stored{text: text, revision: b.last}
	if b.ttl > 0 {
		v.expires = b.s.now + b.s.serverAhead + b.ttl
	}
	b.values[key] = v
	return b.last, b.s.announce(b, cluster.Value{Key: key, Text: text, Revision: b.last}, v.expires)
}

// announce lets the nodes know of a change, and notes what the checks need.
func (s *Simulation) announce(b *server, v cluster.Value, expires time.Duration) error {
	news := !b.leases
	if b.leases {
		lease, err := cluster.Announced(v)
		if err != nil {
			return err
		}
		news = s.said[v.Key] != lease
		s.said[v.Key] = lease
		if i, known := s.names[v.Key]; known {
			s.leases[i] = serverLease{held: !lease.Fenced, epoch: lease.Epoch, expires: expires}
		}
	} else {
		var t cluster.Table
		if err := json.Unmarshal(v.Text, &t); err != nil {
			return err
		}
		s.table = t.Owners
	}
	for _, n := range s.nodes {
		if n.listens() {
			n.hear(b, v)
			if news {
				n.kick()
			}
		}
	}
	return nil
}

// client is a server as one node reaches it.
type client struct {
	n      *node
	server *server
	heard  map[string]cluster.Value
	count  *Operations
}

// errNoAnswer is what a node gets if a request or its answer is lost.
var errNoAnswer = errors.New("the store does not answer")

// call does fn in the store. It takes time for the request and for the answer. Either may be lost.
func (c *client) call(counter *int, fn func() error) error {
	n := c.n
	*counter++
	until := min(n.s.now+answerTime, n.deadline)
	travel := fastest/2 + time.Duration(n.s.random.ExpFloat64()*float64(jitter/2))
	if !n.sleep(n.s.now + travel) {
		return errNoAnswer
	}
	if n.cutTo || n.s.noQuorum {
		n.sleep(until)
		return errNoAnswer
	}
	err := fn()
	travel = fastest/2 + time.Duration(n.s.random.ExpFloat64()*float64(jitter/2))
	if !n.sleep(n.s.now + travel) {
		return errNoAnswer
	}
	if n.cutFrom {
		n.sleep(until)
		return errNoAnswer
	}
	return err
}

// Create implements cluster.Store.
func (c *client) Create(key string, text []byte) (revision uint64, err error) {
	err = c.call(&c.count.Creates, func() error {
		if _, is := c.server.live(key); is {
			return cluster.ErrChanged
		}
		revision, err = c.server.put(key, text)
		return err
	})
	return revision, err
}

// Update implements cluster.Store.
func (c *client) Update(key string, text []byte, last uint64) (revision uint64, err error) {
	counter := &c.count.TableChanges
	if c.server.leases {
		counter = &c.count.Renewals
	}
	err = c.call(counter, func() error {
		if v, is := c.server.live(key); !is || v.revision != last {
			return cluster.ErrChanged
		}
		revision, err = c.server.put(key, text)
		return err
	})
	return revision, err
}

// Get implements cluster.Store.
func (c *client) Get(key string) (v cluster.Value, err error) {
	err = c.call(&c.count.Reads, func() error {
		held, is := c.server.live(key)
		if !is {
			delete(c.heard, key)
			return cluster.ErrMissing
		}
		v = cluster.Value{Key: key, Text: held.text, Revision: held.revision}
		return nil
	})
	v.Heard = c.n.Elapsed()
	return v, err
}

// Remove implements cluster.Store.
func (c *client) Remove(key string, last uint64) error {
	return c.call(&c.count.Renewals, func() error {
		if v, is := c.server.live(key); !is || v.revision != last {
			return cluster.ErrChanged
		}
		delete(c.server.values, key)
		delete(c.n.s.said, key)
		if i, known := c.n.s.names[key]; known {
			c.n.s.leases[i].held = false
		}
		for _, n := range c.n.s.nodes {
			if n.listens() {
				delete(n.leases.heard, key)
				n.kick()
			}
		}
		return nil
	})
}

// List implements cluster.Store.
func (c *client) List() []cluster.Value {
	list := make([]cluster.Value, 0, len(c.heard))
	for _, name := range c.n.s.keys {
		if v, is := c.heard[name]; is {
			list = append(list, v)
		}
	}
	return list
}
