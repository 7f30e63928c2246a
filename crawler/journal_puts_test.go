package crawler

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// putSamples are puts of all kinds.
func putSamples(t testing.TB) (puts [][]byte) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range []Record{
		{URL: "http://h/", State: Queued, Seed: true, from: FirstSeed, When: at, place: place{ordinary, 0, 1}},
		{URL: "https://h:8443/a?b=c", State: Queued, Depth: 7, Tries: 2,
			place: place{retried, uint64(at.UnixNano()), 9}},
		{URL: "http://h/p", State: Queued, place: place{promoted, 0, 3}},
		{URL: "http://h/f", State: Fetched, Status: 200, When: at, Again: at.Add(time.Hour), Interval: time.Hour},
		{URL: "http://h/r", State: Refused, Why: "it is prohibited", Led: "http://h/x", TakenDown: "http://h/x"},
		{URL: required + "http://h/i.png", State: Failed, Why: "no answer", from: RequiredByPages},
		{URL: required + "http://h/i%20i http://h/i i", State: Outside, listed: true},
	} {
		v, err := r.encode()
		must(t, err)
		put, err := recordPut(r.URL, v, r.place.class == promoted && r.State == Queued)
		must(t, err)
		puts = append(puts, put)
	}
	h := hostRecord{due: at, held: at, delay: time.Second, pace: 2 * time.Second, failures: 3, beyond: 4, met: true,
		reported: true, asked: true}
	return append(puts, appendPut(putHost, "h:8080", h.portable()), appendPut(putHost, "h", (&hostRecord{}).portable()),
		linksPut(0), linksPut(math.MaxUint64))
}

func TestPuts(t *testing.T) {
	for _, b := range putSamples(t) {
		p, err := decodePut(b)
		if err != nil {
			t.Error(err)
			continue
		}
		if again, err := p.encode(); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%q is written again as %q, %v", b, again, err)
		}
		for n := range b { // a put that is cut is an error, or another put: the end of Why can be missing
			if p, err := decodePut(b[:n]); err == nil && p.record.Why == "" && b[0] != putRecord {
				t.Errorf("%q is accepted", b[:n])
			}
		}
	}
	record := func(url string, r Record, asked bool) []byte {
		v, err := r.encode()
		must(t, err)
		kind := putRecord
		if asked {
			kind = putAsked
		}
		return appendPut(kind, url, v)
	}
	queued := func(c class, rank, seq uint64) Record { return Record{State: Queued, place: place{c, rank, seq}} }
	taken := queued(ordinary, 0, 1)
	taken.TakenDown = "http://h/"
	due := queued(ordinary, 0, 1)
	due.Again = time.Unix(9, 0)
	for name, b := range map[string][]byte{
		"nothing":                     {},
		"an unknown kind":             {9, 0},
		"a length beyond the end":     {putLinks, 200, 1},
		"bytes behind a number":       append(linksPut(1), 0),
		"a long form of a number":     {putLinks, 0x80, 0, 1},
		"a key for a position":        appendPut(putLinks, "x", []byte{1}),
		"no address":                  record("h", Record{State: Fetched}, false),
		"not in normal form":          record("http://H/", Record{State: Fetched}, false),
		"a part of no address":        record(required+"x", Record{State: Fetched}, false),
		"promoted but not asked for":  record("http://h/", queued(promoted, 0, 1), false),
		"asked for but not promoted":  record("http://h/", queued(ordinary, 0, 1), true),
		"asked for but not queued":    record("http://h/", Record{State: Fetched}, true),
		"an unknown class":            record("http://h/", queued(3, 0, 1), false),
		"a sequence without a next":   record("http://h/", queued(ordinary, 0, math.MaxUint64), false),
		"queued and taken down":       record("http://h/", taken, false),
		"queued and to be revisited":  record("http://h/", due, false),
		"an unknown state":            appendPut(putRecord, "http://h/", []byte{200, 0, 0, 0, 0, 0}),
		"too deep":                    appendPut(putRecord, "http://h/", []byte{1, 0, 0xff, 0xff, 0xff, 1, 0, 0, 0}),
		"negative tries":              record("http://h/", Record{State: Fetched, Tries: -1}, false),
		"no host":                     appendPut(putHost, "h/x", (&hostRecord{}).portable()),
		"a host with a default port":  appendPut(putHost, "h/", (&hostRecord{}).portable()),
		"unknown flags of a host":     appendPut(putHost, "h", []byte{0x80, 0, 0, 0, 0, 0, 0}),
		"a negative delay":            appendPut(putHost, "h", (&hostRecord{delay: -1}).portable()),
		"negative failures":           appendPut(putHost, "h", (&hostRecord{failures: -1}).portable()),
		"a delay of a thousand years": appendPut(putHost, "h", (&hostRecord{pace: 9000 * time.Hour * 24}).portable()),
		"too long":                    appendPut(putRecord, "http://h/", make([]byte, maxPut)),
	} {
		if _, err := decodePut(b); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A put is shorter than the limit also if address, reason and redirect are as long as possible.
func TestLongestPut(t *testing.T) {
	long := "http://h/" + strings.Repeat("x", address.MaxLength-len("http://h/"))
	named := "http://h/" + strings.Repeat("%41", (address.MaxLength-len("http://h/"))/3)
	key, err := partKey(named)
	must(t, err)
	for _, url := range []string{long, key} {
		r := Record{URL: url, State: Refused, Led: long, Why: strings.Repeat("ä", 40_000)}
		v, err := r.encode()
		must(t, err)
		put, err := recordPut(url, v, false)
		must(t, err)
		p, err := decodePut(put)
		if err != nil || len(put) > maxPut || len(p.record.Why) < maxPutWhy-1 ||
			strings.ContainsRune(p.record.Why, '\ufffd') {
			t.Errorf("%d bytes, reason of %d bytes, %v", len(put), len(p.record.Why), err)
		}
	}
}

// Whatever is in a journal, a put is read as an error, or as what this program writes. Then a
// frontier can adopt it.
func FuzzPut(f *testing.F) {
	for _, b := range putSamples(f) {
		f.Add(b)
	}
	s := newSharedStore(f, 1)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePut(b)
		if err != nil {
			return
		}
		if again, err := p.encode(); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%q is written again as %q, %v", b, again, err)
		}
		m := &machine{t: t, s: s, j: &fakeJournal{store: s}}
		m.Frontier = newFrontier(t, FrontierOptions{Journal: oneJournal{m.j}}) // closing it checks it
		must(t, m.Adopt(0, true, func(yield func(JournalRecord, error) bool) {
			_ = yield(JournalRecord{1, [][]byte{b, b}}, nil) && yield(JournalRecord{2, [][]byte{b}}, nil)
		}))
	})
}

// oneJournal is a journal with one partition for all hosts.
type oneJournal struct{ *fakeJournal }

func (oneJournal) Partition(string) int { return 0 }
