package crawler

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
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
	URL      string
	State    State
	Seed     bool // named by the operator in some run
	Depth    int  // links followed from the nearest seed
	Tries    int  // requests that failed so far
	Status   int  // HTTP status of the last answer, 0 without one
	When     time.Time
	Why      string        // the sentence that decided, empty for fetched and queued
	Again    time.Time     // when it is due to be visited again; zero: never
	Interval time.Duration // between the last visit and that
	Led      string        // the redirect hop that was refused, in normal form, where that is not the address itself

	place place // its queue entry while queued
}

// class orders the queue of a host.
type class byte

const (
	promoted class = iota // asked for by a re-crawl request
	ordinary              // by depth, then order
	retried               // by time; behind everything else
)

// place is the place of an address in the queue of its host.
type place struct {
	class class
	rank  uint64 // depth, or for retried the time in nanoseconds
	seq   uint64
}

const placeSize = 17

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

var errRecord = fmt.Errorf("a record of the frontier has a wrong form; check the disk, or move frontier.db away and crawl anew")

const recordHead = 1 + 1 + 2 + 1 + 2 + 8 + placeSize

func (r *Record) encode() ([]byte, error) {
	n, err := r.State.number()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, recordHead+len(r.Why))
	flags := byte(0)
	if r.Seed {
		flags = 1
	}
	b = append(b, n, flags)
	b = binary.BigEndian.AppendUint16(b, uint16(min(r.Depth, math.MaxUint16)))
	b = append(b, byte(min(r.Tries, math.MaxUint8)))
	b = binary.BigEndian.AppendUint16(b, uint16(r.Status))
	b = binary.BigEndian.AppendUint64(b, uint64(nanos(r.When)))
	b = r.place.append(b)
	b = append(b, strings.ReplaceAll(r.Why, "\x00", "\ufffd")...) // it quotes what others wrote
	if r.Led != "" {                                              // a URL in normal form holds no NUL
		b = append(append(b, 0), r.Led...)
	}
	return b, nil
}

func decodeRecord(url string, b []byte) (Record, error) {
	if len(b) < recordHead || int(b[0]) >= len(states) {
		return Record{}, errRecord
	}
	why, led, _ := strings.Cut(string(b[recordHead:]), "\x00")
	return Record{
		URL:    url,
		State:  states[b[0]],
		Seed:   b[1]&1 != 0,
		Depth:  int(binary.BigEndian.Uint16(b[2:])),
		Tries:  int(b[4]),
		Status: int(binary.BigEndian.Uint16(b[5:])),
		When:   instant(int64(binary.BigEndian.Uint64(b[7:]))),
		place:  readPlace(b[15:]),
		Why:    why,
		Led:    led,
	}, nil
}

// glance reads state and depth alone.
func glance(b []byte) (State, int, error) {
	if len(b) < recordHead || int(b[0]) >= len(states) {
		return "", 0, errRecord
	}
	return states[b[0]], int(binary.BigEndian.Uint16(b[2:])), nil
}

// item is a queue entry as a lease needs it.
type item struct {
	url   string
	depth int
	tries int
}

func encodeItem(r *Record) []byte {
	b := make([]byte, 0, 3+len(r.URL))
	b = binary.BigEndian.AppendUint16(b, uint16(min(r.Depth, math.MaxUint16)))
	b = append(b, byte(min(r.Tries, math.MaxUint8)))
	return append(b, r.URL...)
}

func decodeItem(b []byte) (item, error) {
	if len(b) < 4 {
		return item{}, errRecord
	}
	return item{url: string(b[3:]), depth: int(binary.BigEndian.Uint16(b)), tries: int(b[2])}, nil
}

// hostRecord is what is kept of a host. ready is its entry in the index of hosts that have something queued.
type hostRecord struct {
	due      time.Time
	delay    time.Duration // the pause that the host asks for
	met      bool          // delay is known
	failures int           // in a row
	queued   int
	ready    int64
}

const hostSize = 8 + 8 + 1 + 2 + 8 + 8

func (h *hostRecord) encode() []byte {
	b := make([]byte, 0, hostSize)
	b = binary.BigEndian.AppendUint64(b, uint64(nanos(h.due)))
	b = binary.BigEndian.AppendUint64(b, uint64(h.delay))
	met := byte(0)
	if h.met {
		met = 1
	}
	b = append(b, met)
	b = binary.BigEndian.AppendUint16(b, uint16(min(h.failures, math.MaxUint16)))
	b = binary.BigEndian.AppendUint64(b, uint64(h.queued))
	return binary.BigEndian.AppendUint64(b, uint64(h.ready))
}

func decodeHost(b []byte) (hostRecord, error) {
	if len(b) != hostSize {
		return hostRecord{}, errRecord
	}
	return hostRecord{
		due:      instant(int64(binary.BigEndian.Uint64(b))),
		delay:    time.Duration(binary.BigEndian.Uint64(b[8:])),
		met:      b[16] == 1,
		failures: int(binary.BigEndian.Uint16(b[17:])),
		queued:   int(binary.BigEndian.Uint64(b[19:])),
		ready:    int64(binary.BigEndian.Uint64(b[27:])),
	}, nil
}

func readyKey(at int64, host string) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(host)), uint64(at)), host...)
}

func splitReady(k []byte) (at int64, host string) {
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
