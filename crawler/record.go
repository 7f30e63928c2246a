package crawler

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// State is the state of an address in the queue.
type State string

// The states of an address: queued, or an outcome.
const (
	Queued  State = "queued"
	Fetched State = "fetched" // a response with any status was received, and what may be kept of it was stored
	Refused State = "refused" // not requested, or not used: prohibited by policy, the rules for addresses or the page
	// robots.txt or a file that it refers to could not be read, so everything is refused
	Unreachable State = "unreachable"
	Failed      State = "failed"       // no response, or only responses with status 408, 429 or 5xx, after all retries
	Outside     State = "out-of-scope" // found out of scope, so not requested
	Deep        State = "too-deep"     // found deeper than the crawl goes, so not requested
	Trapped     State = "trap"         // found and taken for a crawler trap, so not requested
)

// states gives each state its number on disk. Only append to it.
var states = [...]State{Queued, Fetched, Refused, Unreachable, Failed, Outside, Deep, Trapped}

func (s State) number() (byte, error) {
	for i, t := range states {
		if s == t {
			return byte(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not a state of an address", s)
}

// Record is what the frontier stores about one address.
type Record struct {
	URL      string // address in normal form; that of a required resource begins with "part:"
	State    State
	Seed     bool // the operator named the address in some run
	Depth    int  // number of links from the nearest seed to the address
	Tries    int  // number of failed visits, reset when the address is requeued
	Status   int  // HTTP status of the last response, 0 if there was none
	When     time.Time
	Why      string        // reason for the state, as a sentence; empty if Fetched or Queued
	Again    time.Time     // when the address is due to be revisited; zero: never
	Interval time.Duration // time between the last visit and Again
	// the redirect hop that was refused or is taken down, in normal form; "" if the address itself
	// was refused or is taken down
	Led string

	TakenDown string    // the address that is taken down, either Led or URL; "" if neither is taken down
	marked    string    // the value of TakenDown for which the bucket of barred addresses has an entry
	listed    bool      // a sitemap lists the address
	from      uint64    // number of the seed from which the address was found
	place     place     // place in the queue of the host, if State is Queued
	noted     time.Time // the value of Again for which the index of revisits has an entry

	filed     bool   // the address is counted in the bucket bFound
	filedFrom uint64 // number of the seed under which bFound counts the address
}

// Listed reports whether a sitemap lists the address.
func (r *Record) Listed() bool { return r.listed }

// From returns the number of the seed from which the address was found; NoSeed or RequiredByPages if it was found
// from none.
func (r *Record) From() uint64 { return r.from }

// class is the first criterion of the order in a host's queue.
type class byte

const (
	promoted class = iota // named by a re-crawl request; first in the queue
	// ordered by depth; at the same depth addresses from sitemaps come first, then the order of
	// arrival decides
	ordinary
	retried // failed and to be retried; ordered by time, behind the other classes
)

// place is the position of an address in the queue of its host.
type place struct {
	class class
	// for the class ordinary the rank of the record; for the class retried the time of the retry,
	// in nanoseconds
	rank uint64
	seq  uint64
}

const placeSize = 17

// rank returns the rank of r in the class ordinary. Seeds and addresses that sitemaps list come
// before other links of the same depth.
func (r *Record) rank() uint64 {
	n := 2 * uint64(r.Depth)
	if r.Depth > 0 && !r.listed {
		n++
	}
	return n
}

// before reports whether p comes before q in a queue.
func (p place) before(q place) bool {
	return cmp.Or(cmp.Compare(p.class, q.class), cmp.Compare(p.rank, q.rank), cmp.Compare(p.seq, q.seq)) < 0
}

func (p place) append(b []byte) []byte {
	b = append(b, byte(p.class))
	b = binary.BigEndian.AppendUint64(b, p.rank)
	return binary.BigEndian.AppendUint64(b, p.seq)
}

func readPlace(b []byte) place {
	return place{class(b[0]), binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:])}
}

// queueKey returns a key of the bucket of queues: host, NUL, place. A host contains no NUL.
func queueKey(host string, p place) []byte {
	return p.append(append(make([]byte, 0, len(host)+1+placeSize), host+"\x00"...))
}

var errRecord = fmt.Errorf("a record of the frontier has a wrong form; check the disk, or move frontier.db away " +
	"and crawl again")

// maxDepth is the greatest depth that is stored. A deeper address is stored with this depth.
const maxDepth = math.MaxUint16

// The flags of a stored record. Some flags say that an optional field is present.
const (
	flagSeed = 1 << iota
	flagListed
	flagPlace
	flagAgain
	flagLed
	flagBarred
	flagFound
)

// encode writes state and flags, one byte each, then depth, tries, status and time. Then follow the
// optional fields that the flags announce: place, next visit with interval, Led, and the number of
// the seed. Why fills the rest. Numbers are unsigned varints.
func (r *Record) encode() ([]byte, error) {
	n, err := r.State.number()
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 64+len(r.Led)+len(r.Why)), n, r.flags())
	b = binary.AppendUvarint(b, uint64(min(r.Depth, maxDepth)))
	b = binary.AppendUvarint(b, uint64(r.Tries))
	b = binary.AppendUvarint(b, uint64(r.Status))
	b = binary.AppendUvarint(b, uint64(nanos(r.When)))
	if b[1]&flagPlace != 0 {
		b = binary.AppendUvarint(b, uint64(r.place.class))
		b = binary.AppendUvarint(b, r.place.rank)
		b = binary.AppendUvarint(b, r.place.seq)
	}
	if b[1]&flagAgain != 0 {
		b = binary.AppendUvarint(b, uint64(nanos(r.Again)))
		b = binary.AppendUvarint(b, uint64(r.Interval))
	}
	if b[1]&flagLed != 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Led)))
		b = append(b, r.Led...)
	}
	if b[1]&flagFound != 0 {
		b = binary.AppendUvarint(b, r.from)
	}
	return append(b, r.Why...), nil
}

// at returns the address of the hop that determined the outcome of r: Led, or the address of r.
func (r *Record) at() string {
	if r.Led != "" {
		return r.Led
	}
	if address, _, part := partOf(r.URL); part {
		return address
	}
	return r.URL
}

func (r *Record) flags() (flags byte) {
	if r.Seed {
		flags |= flagSeed
	}
	if r.listed {
		flags |= flagListed
	}
	if r.State == Queued {
		flags |= flagPlace
	}
	if !r.Again.IsZero() || r.Interval > 0 {
		flags |= flagAgain
	}
	if r.Led != "" {
		flags |= flagLed
	}
	if r.TakenDown != "" {
		flags |= flagBarred
	}
	if r.from != NoSeed {
		flags |= flagFound
	}
	return flags
}

func decodeRecord(url string, b []byte) (Record, error) {
	if len(b) < 2 || int(b[0]) >= len(states) {
		return Record{}, errRecord
	}
	flags, n := b[1], numbers{b: b[2:]}
	r := Record{
		URL: url, State: states[b[0]], Seed: flags&flagSeed != 0, listed: flags&flagListed != 0,
		Depth: int(n.next()), Tries: int(n.next()), Status: int(n.next()), When: instant(int64(n.next())),
	}
	if flags&flagPlace != 0 {
		r.place = place{class(n.next()), n.next(), n.next()}
	}
	if flags&flagAgain != 0 {
		r.Again, r.Interval = instant(int64(n.next())), time.Duration(n.next())
		r.noted = r.Again
	}
	if flags&flagLed != 0 {
		r.Led = string(n.nextBytes(n.next()))
	}
	if flags&flagFound != 0 {
		r.from = n.next()
	}
	r.filed, r.filedFrom = r.State == Queued, r.from
	if flags&flagBarred != 0 {
		r.TakenDown = r.at()
		r.marked = r.TakenDown
	}
	r.Why = string(n.b)
	if n.bad || (r.State == Queued) != (flags&flagPlace != 0) {
		return Record{}, errRecord
	}
	return r, nil
}

// glance decodes only the fields of a record that decide whether a link changes it.
func glance(b []byte) (r Record, err error) {
	if len(b) < 2 || int(b[0]) >= len(states) {
		return r, errRecord
	}
	n := numbers{b: b[2:]}
	r = Record{State: states[b[0]], listed: b[1]&flagListed != 0, Depth: int(n.next())}
	if n.bad {
		return r, errRecord
	}
	return r, nil
}

// numbers reads successive unsigned varints.
type numbers struct {
	b   []byte
	bad bool // the data ended too early
}

func (n *numbers) next() uint64 {
	v, size := binary.Uvarint(n.b)
	if size <= 0 {
		n.bad = true
		return 0
	}
	n.b = n.b[size:]
	return v
}

func (n *numbers) nextBytes(size uint64) []byte {
	if size > uint64(len(n.b)) {
		n.bad = true
		return nil
	}
	head := n.b[:size]
	n.b = n.b[size:]
	return head
}

// item is an entry of a queue with the data that a lease needs.
type item struct {
	url   string
	depth int
	tries int
	place place
	from  uint64 // number of the seed from which the address was found
	asked bool   // a re-crawl request names the address
}

// schemes are the prefixes of queued addresses. The index is the number of the prefix on disk. Only
// append to it.
var schemes = [...]string{"http", "https", required + "http", required + "https"}

// withSeed is added to the number of a scheme if the number of a seed follows.
const withSeed = 16

// encodeItem writes depth, tries, the number of the scheme, the number of the seed from which the
// address was found, and the path. The host is part of the key.
func encodeItem(r *Record, host string) []byte {
	scheme, rest, _ := strings.Cut(r.URL, "://")
	b := make([]byte, 0, 8+len(rest)-len(host))
	b = binary.AppendUvarint(b, uint64(min(r.Depth, maxDepth)))
	b = binary.AppendUvarint(b, uint64(r.Tries))
	n := byte(slices.Index(schemes[:], scheme))
	if r.from == NoSeed {
		return append(append(b, n), rest[len(host):]...)
	}
	b = binary.AppendUvarint(append(b, n+withSeed), r.from)
	return append(b, rest[len(host):]...)
}

func decodeItem(k, v []byte) (it item, err error) {
	host, ok := hostOf(k)
	n := numbers{b: v}
	it.depth, it.tries = int(n.next()), int(n.next())
	scheme := n.next()
	if scheme >= withSeed {
		scheme, it.from = scheme-withSeed, n.next()
	}
	if !ok || n.bad || len(n.b) == 0 || n.b[0] != '/' || scheme >= uint64(len(schemes)) {
		return item{}, errRecord
	}
	it.url = schemes[scheme] + "://" + host + string(n.b)
	it.place = readPlace(k[len(host)+1:])
	return it, nil
}

// timeKey returns a key of an index by time: the time in nanoseconds, then a host or an address.
func timeKey(at int64, name string) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(name)), uint64(at)), name...)
}

func splitTime(k []byte) (at int64, name string) {
	return int64(binary.BigEndian.Uint64(k)), string(k[8:])
}

// hostOf returns the host of a key of the bucket of queues.
func hostOf(key []byte) (string, bool) {
	i := bytes.IndexByte(key, 0)
	if i < 0 || len(key) != i+1+placeSize {
		return "", false
	}
	return string(key[:i]), true
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.UnixNano(), 0)
}

func instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
