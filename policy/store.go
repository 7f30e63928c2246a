package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"
)

// Status is what came of reading an origin's robots.txt.
type Status string

// The three outcomes (RFC 9309 2.3.1).
const (
	Read        Status = "read"
	None        Status = "none"        // it does not exist: no restrictions
	Unreachable Status = "unreachable" // nothing is permitted until it can be read
)

// Document is one policy file as it was received, or why it was not.
type Document struct {
	URL     string    // as named
	Final   string    `json:",omitempty"` // where redirects led, if elsewhere
	HTTP    int       // status of the last answer; 0: there was none
	Err     string    `json:",omitempty"` // why it could not be read; empty for a robots.txt that does not exist
	Digest  string    // of Text: SHA-256, hexadecimal
	Text    []byte    `json:"-"` // as received, at most one byte more than acap.MaxSize
	Fetched time.Time // start of the request
	Expires time.Time // when it is to be read again
	Assumed bool      `json:",omitempty"` // by the operator, for want of what was never read

	// Of the answer, to ask whether anything has changed; empty where it cannot be asked.
	ETag     string `json:",omitempty"`
	Modified string `json:",omitempty"` // Last-Modified
}

// Status returns the outcome for a robots.txt (RFC 9309 2.3.1.3, 2.3.1.4).
func (d Document) Status() Status {
	switch {
	case d.Err != "":
		return Unreachable
	case d.HTTP/100 == 2:
		return Read
	}
	return None
}

// same reports whether two documents say the same, whenever they were read.
func (d Document) same(e Document) bool {
	return d.URL == e.URL && d.Final == e.Final && d.Err == e.Err && d.Digest == e.Digest && d.Status() == e.Status()
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Version is what an origin said from Since on: a robots.txt that was read or does not exist, and
// the files it refers to.
type Version struct {
	Since      time.Time // unique among the versions of an origin
	Robots     Document
	References []Document
}

// reference finds a referred file by its URL.
func (v *Version) reference(url string) (Document, bool) {
	if v == nil {
		return Document{}, false
	}
	i := slices.IndexFunc(v.References, func(d Document) bool { return d.URL == url })
	if i < 0 {
		return Document{}, false
	}
	return v.References[i], true
}

// Record is the state of an origin.
type Record struct {
	Last Document // the last attempt at robots.txt, without its text
	Held *Version // the last version read; nil: none ever was
}

// Attempt is what came of reading the robots.txt of an origin last.
type Attempt struct {
	Origin  string
	Status  Status
	At      time.Time
	Expires time.Time // when it is to be read again, or tried
	Read    time.Time // when it was last read; zero: it never was
	Since   time.Time // when the version in force was first read; zero: there is none
}

func attempt(origin string, last Document, held *Version) Attempt {
	a := Attempt{Origin: origin, Status: last.Status(), At: last.Fetched, Expires: last.Expires}
	if held == nil {
		return a
	}
	a.Since = held.Since
	if !held.Robots.Assumed {
		a.Read = held.Robots.Fetched
	}
	return a
}

// Store keeps the records of origins and the history of their versions. It is safe for concurrent
// use. Values given and returned are not changed afterwards.
type Store interface {
	Load(origin string) (Record, bool, error)
	// Save replaces the record. A Held whose Since is new is added to the history, else it takes
	// the place of that version.
	Save(origin string, r Record) error
	History(origin string) ([]Version, error) // oldest first
	// Each tells the last attempt at each origin, and when its robots.txt was read last, in the
	// order of their keys. fn must not use the store.
	Each(fn func(Attempt) error) error
	Close() error
}

// maxVersions is the length of history that is kept of an origin.
const maxVersions = 100

type memory struct {
	mu       sync.Mutex
	records  map[string]Record
	versions map[string][]Version
}

// NewMemory makes a store that forgets.
func NewMemory() Store {
	return &memory{records: map[string]Record{}, versions: map[string][]Version{}}
}

func (m *memory) Load(origin string) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[origin]
	return r, ok, nil
}

func (m *memory) Save(origin string, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Last.Text = nil
	m.records[origin] = r
	if r.Held == nil {
		return nil
	}
	vs := m.versions[origin]
	if n := len(vs); n > 0 && vs[n-1].Since.Equal(r.Held.Since) {
		vs = slices.Clone(vs[:n-1])
	}
	vs = append(vs, *r.Held)
	m.versions[origin] = vs[max(0, len(vs)-maxVersions):]
	return nil
}

func (m *memory) History(origin string) ([]Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.versions[origin]), nil
}

func (m *memory) Each(fn func(Attempt) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, origin := range slices.Sorted(maps.Keys(m.records)) {
		r := m.records[origin]
		if err := fn(attempt(origin, r.Last, r.Held)); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Close() error { return nil }
