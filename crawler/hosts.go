package crawler

import (
	"encoding/binary"
	"errors"
	"maps"
	"time"

	"go.etcd.io/bbolt"
)

// HostState is what the frontier stores about a host.
type HostState struct {
	Due      time.Time     // when the host may be requested next; zero: no address of it is queued
	Delay    time.Duration // delay between two requests that the host asks for (Crawl-delay)
	Pace     time.Duration // delay derived from its response times; 0: no response yet
	Failures int           // number of failures in a row
	Known    int           // number of recorded addresses, of pages and of required resources
	Queued   int           // number of queued addresses
	Beyond   int           // number of links that were not recorded, because the host has too many
}

// Host returns the committed state of a host, which is named as in Lease.Host. known is false if no
// address of the host is recorded.
func (f *Frontier) Host(name string) (s HostState, known bool, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bHosts).Get([]byte(name))
		if known = v != nil; !known {
			return nil
		}
		h, err := decodeHost(v)
		s = h.state()
		return err
	})
	return s, known, err
}

func (h *hostRecord) state() HostState {
	return HostState{Due: instant(h.ready), Delay: h.delay, Pace: h.pace, Failures: h.failures, Known: h.known,
		Queued: h.queued, Beyond: h.beyond}
}

// errFull ends a walk that has found enough records.
var errFull = errors.New("enough records")

// Records returns at most limit records of addresses that begin with prefix and come after the
// address after, in order of address. Unlike Each, it leaves no transaction open between two calls.
func (f *Frontier) Records(prefix, after string, limit int) (list []Record, err error) {
	from := prefix
	if after != "" {
		from = after + "\x00"
	}
	err = f.view(func(tx *bbolt.Tx) error {
		err := each(tx.Bucket(bKnown), prefix, from, func(r Record) error {
			if len(list) == limit {
				return errFull
			}
			list = append(list, r)
			return nil
		})
		if errors.Is(err, errFull) {
			return nil
		}
		return err
	})
	return list, err
}

// hostRecord is what the frontier stores about a host.
type hostRecord struct {
	due      time.Time
	held     time.Time     // when the host would be due without the pause after failures
	delay    time.Duration // delay that the host asks for
	met      bool          // the delay that the host asks for is known
	pace     time.Duration // adaptive delay, derived from response times
	failures int           // number of failures in a row
	known    int           // number of recorded addresses of the host
	queued   int           // number of queued addresses of the host
	beyond   int           // number of links to addresses that were not recorded, because the host has too many
	reported bool          // it was reported that the host has too many addresses
	asked    bool          // a request to the host may have been made; known only with a journal
	// due time in the index of hosts that have queued addresses, in nanoseconds; 0: not in the
	// index
	ready int64
}

const (
	flagMet = 1 << iota
	flagReported
	flagAsked
)

func (h *hostRecord) flags() (flags byte) {
	if h.met {
		flags |= flagMet
	}
	if h.reported {
		flags |= flagReported
	}
	if h.asked {
		flags |= flagAsked
	}
	return flags
}

func (h *hostRecord) setFlags(flags byte) {
	h.met, h.reported, h.asked = flags&flagMet != 0, flags&flagReported != 0, flags&flagAsked != 0
}

// encode writes one byte of flags, then the numbers as unsigned varints.
func (h *hostRecord) encode() []byte {
	b := append(make([]byte, 0, 48), h.flags())
	for _, n := range []int64{nanos(h.due), nanos(h.held), int64(h.delay), int64(h.pace), int64(h.failures),
		int64(h.known),
		int64(h.queued), int64(h.beyond), h.ready} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func decodeHost(b []byte) (hostRecord, error) {
	if len(b) == 0 {
		return hostRecord{}, errRecord
	}
	n := numbers{b: b[1:]}
	h := hostRecord{
		due: instant(int64(n.next())), held: instant(int64(n.next())), delay: time.Duration(n.next()),
		pace:     time.Duration(n.next()),
		failures: int(n.next()), known: int(n.next()), queued: int(n.next()), beyond: int(n.next()),
		ready: int64(n.next()),
	}
	h.setFlags(b[0])
	if n.bad || len(n.b) > 0 {
		return hostRecord{}, errRecord
	}
	return h, nil
}

// HostQueue is how many addresses of a host are queued that were found from one seed, with the state of the host.
type HostQueue struct {
	Host  string // as in Lease.Host
	From  uint64 // number of the seed; NoSeed or RequiredByPages for addresses that were found from no seed
	Count int
	Busy  bool // a request to the host is in progress
	HostState
}

// EachQueue calls fn for each seed and host that has queued addresses, in the order of the numbers of seeds, then of
// hosts. If machines share the crawl, it skips hosts whose partition is not adopted. A transaction is open during the
// calls, so fn must be fast and must not use the frontier.
func (f *Frontier) EachQueue(fn func(HostQueue) error) error {
	busy := map[string]bool{}
	f.mu.Lock()
	for name, h := range f.hosts {
		busy[name] = h.busy > 0
	}
	owned := maps.Clone(f.partitions)
	f.mu.Unlock()
	return f.view(func(tx *bbolt.Tx) error {
		hosts := tx.Bucket(bHosts)
		return tx.Bucket(bFound).ForEach(func(k, v []byte) error {
			from, host := splitFound(k)
			if f.shared() && owned[f.o.Journal.Partition(host)] == nil {
				return nil
			}
			q := HostQueue{Host: host, From: from, Count: int(binary.BigEndian.Uint64(v)),
				Busy: busy[host]}
			if v := hosts.Get([]byte(host)); v != nil {
				h, err := decodeHost(v)
				if err != nil {
					return err
				}
				q.HostState = h.state()
			}
			return fn(q)
		})
	})
}
