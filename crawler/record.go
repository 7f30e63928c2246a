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

// State is where an address stands in the frontier.
type State string

// The states: queued, or one of the outcomes.
const (
	Queued      State = "queued"
	Fetched     State = "fetched"      // a response was received and kept on its terms, whatever its status
	Refused     State = "refused"      // policy, the address rule or the page itself said no
	Unreachable State = "unreachable"  // robots.txt or a reference could not be read, so everything is refused
	Failed      State = "failed"       // no answer, or an answer of 429 or 5xx, as often as it was tried
	Outside     State = "out-of-scope" // found, not asked for
	Deep        State = "too-deep"     // found below the depth of the crawl, not asked for
	Trapped     State = "trap"         // found where pages seem to have no end, not asked for
)

// states gives each state its number on disk; only append.
var states = [...]State{Queued, Fetched, Refused, Unreachable, Failed, Outside, Deep, Trapped}

func (s State) number() (byte, error) {
	for i, t := range states {
		if s == t {
			return byte(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not a state of an address", s)
}

// Record is what the frontier knows of one address.
type Record struct {
	URL      string // in normal form; that of a resource that pages require begins with "part:"
	State    State
	Seed     bool // named by the operator in some run
	Depth    int  // links followed from the nearest seed
	Tries    int  // requests that failed so far
	Status   int  // HTTP status of the last answer, 0 without one
	When     time.Time
	Why      string        // the sentence that decided, empty for fetched and queued
	Again    time.Time     // when it is due to be visited again; zero: never
	Interval time.Duration // between the last visit and that
	// the redirect hop that was refused or is taken down, in normal form, where that is not the
	// address itself
	Led string

	TakenDown string    // what is taken down: Led or the address itself; "" for nothing
	marked    string    // barred as on disk
	listed    bool      // a sitemap names it
	from      uint64    // the number of the seed from which it was found
	place     place     // its queue entry while queued
	noted     time.Time // Again as on disk

	filed     bool   // it is counted by seed and host on disk
	filedFrom uint64 // under this seed
}

// class orders the queue of a host.
type class byte

const (
	promoted class = iota // asked for by a re-crawl request
	ordinary              // by depth, then what a sitemap lists, then order
	retried               // by time; behind everything else
)

// place is the place of an address in the queue of its host.
type place struct {
	class class
	rank  uint64 // for ordinary by depth and list, for retried the time in nanoseconds
	seq   uint64
}

const placeSize = 17

// rank is the rank of r in the class ordinary: seeds and what sitemaps list come before the links
// of their depth.
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

// queueKey is host, NUL, place; hosts hold no NUL.
func queueKey(host string, p place) []byte {
	return p.append(append(make([]byte, 0, len(host)+1+placeSize), host+"\x00"...))
}

var errRecord = fmt.Errorf("a record of the frontier has a wrong form; check the disk, or move frontier.db away " +
	"and crawl anew")

// maxDepth is the greatest depth noted; deeper is as deep.
const maxDepth = math.MaxUint16

// The flags of a record. Those of fields say that the field is there.
const (
	flagSeed = 1 << iota
	flagListed
	flagPlace
	flagAgain
	flagLed
	flagBarred
	flagFound
)

// encode writes state and flags, a byte each, then depth, tries, status and time; where the flags
// say so place, next visit with interval, led, and the seed from which it was found; and why to the
// end. Numbers are unsigned varints.
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

// at is the address that decided how r ended: Led, or its own.
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
		r.Led = string(n.take(n.next()))
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

// glance reads of a record what tells whether a link says something new of it.
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

// numbers reads unsigned varints one after the other.
type numbers struct {
	b   []byte
	bad bool // something was missing
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

func (n *numbers) take(size uint64) []byte {
	if size > uint64(len(n.b)) {
		n.bad = true
		return nil
	}
	head := n.b[:size]
	n.b = n.b[size:]
	return head
}

// item is a queue entry as a lease needs it.
type item struct {
	url   string
	depth int
	tries int
	place place
	from  uint64 // the number of the seed from which it was found
	asked bool   // for by a re-crawl
}

// schemes are what an address of the queue begins with, by its number on disk; only append.
var schemes = [...]string{"http", "https", required + "http", required + "https"}

// withSeed is added to the number of a scheme where that of a seed follows.
const withSeed = 16

// encodeItem writes depth and tries, the number of the scheme, that of the seed from which the
// address was found, and the path: the key holds the host.
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

// hostRecord is what is kept of a host.
type hostRecord struct {
	due      time.Time
	held     time.Time     // due, without what is added for not answering
	delay    time.Duration // the pause that the host asks for
	met      bool          // delay is known
	pace     time.Duration // the pause that its answers suggest
	failures int           // in a row
	known    int           // addresses noted of it
	queued   int           // of these
	beyond   int           // links to addresses that were not noted because too many are
	told     bool          // that there are such
	ready    int64         // its entry in the index of hosts that have something queued, 0: none
}

const (
	flagMet = 1 << iota
	flagTold
)

// encode writes a byte of flags, and the numbers as unsigned varints.
func (h *hostRecord) encode() []byte {
	flags := byte(0)
	if h.met {
		flags |= flagMet
	}
	if h.told {
		flags |= flagTold
	}
	b := append(make([]byte, 0, 48), flags)
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
		met: b[0]&flagMet != 0, told: b[0]&flagTold != 0,
		due: instant(int64(n.next())), held: instant(int64(n.next())), delay: time.Duration(n.next()),
		pace:     time.Duration(n.next()),
		failures: int(n.next()), known: int(n.next()), queued: int(n.next()), beyond: int(n.next()),
		ready: int64(n.next()),
	}
	if n.bad || len(n.b) > 0 {
		return hostRecord{}, errRecord
	}
	return h, nil
}

// timeKey is the key of an index by time: of hosts that have something queued, or of addresses to
// be visited again.
func timeKey(at int64, name string) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(name)), uint64(at)), name...)
}

func splitTime(k []byte) (at int64, name string) {
	return int64(binary.BigEndian.Uint64(k)), string(k[8:])
}

// hostOf is the host of a queue key.
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
