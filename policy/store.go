package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"
)

// Status is the result of reading the robots.txt of an origin.
type Status string

// The three results (RFC 9309 2.3.1).
const (
	Read        Status = "read"
	None        Status = "none"        // robots.txt does not exist: no restrictions
	Unreachable Status = "unreachable" // robots.txt could not be read: nothing is permitted
)

// Document is one policy file as it was received, or the reason why it could not be read.
type Document struct {
	URL   string // address of the file before redirects
	Final string `json:",omitempty"` // address after redirects; "" without redirects
	HTTP  int    // status of the last answer; 0: no answer
	// why the file could not be read; empty if it was read, and for a robots.txt that does not
	// exist
	Err     string    `json:",omitempty"`
	Digest  string    // SHA-256 of Text, hexadecimal
	Text    []byte    `json:"-"` // the text as received, at most acap.MaxSize + 1 bytes
	Fetched time.Time // when the request was sent
	Expires time.Time // when the file must be read again
	// set by Assume: the operator says that this is the robots.txt, because none was ever read
	Assumed bool `json:",omitempty"`

	// ETag and Modified are the validators of the answer. They are empty if the file cannot be
	// revalidated.
	ETag     string `json:",omitempty"`
	Modified string `json:",omitempty"` // Last-Modified
}

// Status returns the result of reading a robots.txt (RFC 9309 2.3.1.3, 2.3.1.4).
func (d Document) Status() Status {
	switch {
	case d.Err != "":
		return Unreachable
	case d.HTTP/100 == 2:
		return Read
	}
	return None
}

// same reports whether two documents have the same address, text and result. It ignores the times
// of reading.
func (d Document) same(e Document) bool {
	return d.URL == e.URL && d.Final == e.Final && d.Err == e.Err && d.Digest == e.Digest && d.Status() == e.Status()
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Version is the content of the policy files of an origin from Since on: robots.txt, which was read
// or does not exist, and the files that it refers to.
type Version struct {
	Since      time.Time // no two versions of an origin have the same time
	Robots     Document
	References []Document
}

// reference returns the file with this URL to which robots.txt refers. v may be nil.
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

// Record is the stored state of an origin.
type Record struct {
	Last Document // the last attempt to read robots.txt, without its text
	Held *Version // the last version that was read; nil: no version was ever read
}

// Attempt is the result of the last attempt to read the robots.txt of an origin.
type Attempt struct {
	Origin  string
	Status  Status
	At      time.Time
	Expires time.Time // when robots.txt must be read or tried again
	Read    time.Time // when robots.txt was last read; zero: never
	Since   time.Time // when the version in force was first read; zero: there is no version
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

// Store stores the records of origins and the history of their versions. It is safe for concurrent
// use. Arguments and results must not be changed afterwards.
type Store interface {
	Load(origin string) (Record, bool, error)
	// Save replaces the record. If Held has a new Since, it is added to the history. Otherwise it
	// replaces the version with that Since.
	Save(origin string, r Record) error
	History(origin string) ([]Version, error) // History returns the versions of an origin, oldest first
	// Since returns Version.Since of the last version of an origin that was read; zero if none was
	// ever read. It costs less than Load.
	Since(origin string) (time.Time, error)
	// Each calls fn with the last attempt at each origin whose key comes after the key after, in the
	// order of keys, until fn returns an error. fn must not use the store.
	Each(after string, fn func(Attempt) error) error
	Close() error
}

// maxVersions is the maximal number of versions that are stored of an origin.
const maxVersions = 100

type memory struct {
	mu       sync.Mutex
	records  map[string]Record
	versions map[string][]Version
}

// NewMemory returns a Store in memory.
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

func (m *memory) Since(origin string) (since time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held := m.records[origin].Held; held != nil {
		since = held.Since
	}
	return since, nil
}

func (m *memory) Each(after string, fn func(Attempt) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, origin := range slices.Sorted(maps.Keys(m.records)) {
		if origin <= after {
			continue
		}
		r := m.records[origin]
		if err := fn(attempt(origin, r.Last, r.Held)); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Close() error { return nil }
