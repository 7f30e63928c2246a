package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// sharedStore is the replicated part of a crawl in memory: the journals of the partitions, the
// streams of links between them, and who owns which partition.
type sharedStore struct {
	t          testing.TB
	partitions int

	mu       sync.Mutex
	owner    map[int]*fakeJournal
	fence    map[int]uint64 // partition → position of the record with which its owner took it over
	journals map[int][]JournalRecord
	links    map[int][]sentOffers
	next     uint64 // the last position that was given away
	faults   *rand.Rand
	cut      int // one in so many appends leaves only a part of its puts and fails; 0: none
	keep     int // the next append leaves this number of its puts and fails; negative: it does not
	appends  int
	sends    int
}

type sentOffers struct {
	position uint64
	offers   []Offer
}

// errCut is the error of an Append that left a part of its puts in the journal.
var errCut = errors.New("the connection was cut")

func newSharedStore(t testing.TB, partitions int) *sharedStore {
	return &sharedStore{t: t, partitions: partitions, owner: map[int]*fakeJournal{}, fence: map[int]uint64{},
		journals: map[int][]JournalRecord{}, links: map[int][]sentOffers{}, keep: -1}
}

// fakeJournal is the Journal of one machine.
type fakeJournal struct {
	store *sharedStore
	mu    sync.Mutex
	until time.Time
	gate  chan struct{} // Append waits until it is closed; nil: it does not wait
}

func (s *sharedStore) machine() *fakeJournal {
	return &fakeJournal{store: s, until: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (j *fakeJournal) Partition(host string) int { return j.store.partition(host) }

// partition returns the number after the last dot of a host: "a.1" and "b.1" are in partition 1.
func (s *sharedStore) partition(host string) int {
	var n int
	if _, err := fmt.Sscan(host[strings.LastIndexByte(host, '.')+1:], &n); err != nil {
		s.t.Errorf("%s is not a host of this test", host)
	}
	return n % s.partitions
}

func (j *fakeJournal) Until() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.until
}

func (j *fakeJournal) setUntil(t time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.until = t
}

// block makes Append wait until the function that it returns is called.
func (j *fakeJournal) block() (free func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	gate := make(chan struct{})
	j.gate = gate
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.gate = nil
		close(gate)
	}
}

func (j *fakeJournal) Append(ctx context.Context, entries []Entry) (positions []uint64, lost []int, err error) {
	j.mu.Lock()
	gate := j.gate
	j.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	s := j.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appends++
	seen := map[int]bool{}
	for _, e := range entries {
		if seen[e.Partition] || len(e.Puts) == 0 {
			s.t.Errorf("a second or empty entry for partition %d", e.Partition)
		}
		seen[e.Partition] = true
		for _, p := range e.Puts {
			if _, err := decodePut(p); err != nil {
				s.t.Error(err)
			}
		}
		if s.owner[e.Partition] != j || s.fence[e.Partition] != e.Adopted {
			lost = append(lost, e.Partition)
			positions = append(positions, 0)
			continue
		}
		if s.cut > 0 && s.faults.IntN(s.cut) == 0 {
			s.add(e.Partition, e.Puts[:s.faults.IntN(len(e.Puts)+1)])
			return nil, nil, errCut
		}
		if s.keep >= 0 {
			s.add(e.Partition, e.Puts[:min(s.keep, len(e.Puts))])
			return nil, nil, errCut
		}
		// an entry may be stored as several messages
		for len(e.Puts) > 3 {
			s.add(e.Partition, e.Puts[:3])
			e.Puts = e.Puts[3:]
		}
		positions = append(positions, s.add(e.Partition, e.Puts))
	}
	return positions, lost, nil
}

func (s *sharedStore) add(n int, puts [][]byte) uint64 {
	s.next++
	s.journals[n] = append(s.journals[n], JournalRecord{s.next, puts})
	return s.next
}

func (j *fakeJournal) Send(_ context.Context, offers []Offer) error {
	s := j.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sends++
	byPartition := map[int][]Offer{}
	for _, o := range offers {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		var again Offer
		if err := json.Unmarshal(text, &again); err != nil {
			return err
		}
		host, _, _ := strings.Cut(strings.SplitN(o.URL, "://", 2)[1], "/")
		n := s.partition(host)
		byPartition[n] = append(byPartition[n], again)
	}
	for n, list := range byPartition {
		s.next++
		s.links[n] = append(s.links[n], sentOffers{s.next, list})
	}
	return nil
}

// give makes j the owner of a partition.
func (s *sharedStore) give(n int, j *fakeJournal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner[n] = j
	if j != nil {
		s.fence[n] = s.add(n, [][]byte{})
	}
}

// entries returns the journal of a partition after a position. fresh says that it begins later.
func (s *sharedStore) entries(n int, after uint64) (fresh bool, list iter.Seq2[JournalRecord, error]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	journal := s.journals[n]
	fresh = len(journal) > 0 && journal[0].Puts == nil && journal[0].Position > after
	return fresh, func(yield func(JournalRecord, error) bool) {
		for _, r := range journal {
			if (fresh || r.Position > after) && !yield(r, nil) {
				return
			}
		}
	}
}

// purge deletes the journal of a partition up to a position, and leaves a mark of the first
// position that it contains.
func (s *sharedStore) purge(n int, upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := []JournalRecord{{Position: upTo}}
	for _, r := range s.journals[n] {
		if r.Position > upTo {
			kept = append(kept, r)
		}
	}
	s.journals[n] = kept
}

// adopt makes f, with the journal j, the owner of a partition.
func (s *sharedStore) adopt(f *Frontier, j *fakeJournal, n int) error {
	s.give(n, j)
	position, _, _ := f.Position(n)
	fresh, list := s.entries(n, position)
	return f.Adopt(n, fresh, list)
}

// deliver passes all links of a partition that f has not applied to f, or those after position if
// it is given.
func (s *sharedStore) deliver(f *Frontier, n int, again bool) error {
	_, after, _ := f.Position(n)
	if again {
		after = 0
	}
	s.mu.Lock()
	list := s.links[n]
	s.mu.Unlock()
	for _, l := range list {
		if l.position > after {
			if err := f.Receive(n, l.position, l.offers); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryNext is Next without waiting for a host that is due: it returns nil if there is none.
func tryNext(f *Frontier) (*Lease, error) {
	f.mu.Lock()
	l, _, err := f.pick(f.now())
	f.mu.Unlock()
	if l == nil {
		if errors.Is(err, ErrIdle) {
			err = nil
		}
		return nil, err
	}
	if ready, err := f.announce(context.Background(), l); !ready || err != nil {
		return nil, err
	}
	return l, nil
}
