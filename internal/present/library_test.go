package present

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/kept"
)

// memory is a Library in memory. Its search returns the pages that contain all words of a query,
// ordered by address.
type memory struct {
	mu       sync.Mutex
	pages    map[string]archive.Resource
	ways     map[string]string
	versions map[string][]archive.Capture
	bodies   map[uint64][]byte
	pictures map[string]archive.Picture // keyed by the address, with the version appended
	texts    map[string]string
}

func newMemory() *memory {
	return &memory{pages: map[string]archive.Resource{}, ways: map[string]string{},
		versions: map[string][]archive.Capture{},
		bodies:   map[uint64][]byte{}, pictures: map[string]archive.Picture{}, texts: map[string]string{}}
}

func (m *memory) Search(_ context.Context, query string) iter.Seq2[index.Hit, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for address, text := range m.texts {
		words := strings.Fields(strings.ToLower(text))
		if !slices.ContainsFunc(strings.Fields(query), func(w string) bool { return !slices.Contains(words, w) }) {
			list = append(list, address)
		}
	}
	slices.Sort(list)
	return func(yield func(index.Hit, error) bool) {
		for _, address := range list {
			if !yield(index.Hit{URL: address}, nil) {
				return
			}
		}
	}
}

func (m *memory) Matcher(query, _ string) func(string) bool {
	words := strings.Fields(query)
	return func(word string) bool { return slices.Contains(words, strings.ToLower(word)) }
}

func (m *memory) Way(_ context.Context, address string) ([]string, error) {
	way := []string{address}
	for to, leads := m.ways[address]; leads; to, leads = m.ways[to] {
		way = append(way, to)
	}
	return way, nil
}

func (m *memory) Page(_ context.Context, address string) (archive.Resource, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.pages[address]
	return r, known, nil
}

func (m *memory) Versions(_ context.Context, address string) ([]archive.Capture, error) {
	return slices.Clone(m.versions[address]), nil
}

func (m *memory) Copy(_ context.Context, id uint64) (c archive.Capture, body, rendered []byte, err error) {
	for _, list := range m.versions {
		for _, c := range list {
			if c.ID == id {
				return c, m.bodies[id], nil, nil
			}
		}
	}
	return archive.Capture{}, nil, nil, archive.ErrNotHeld
}

func (m *memory) Thumbnail(_ context.Context, address string, version int) (archive.Picture, bool, error) {
	p, held := m.pictures[fmt.Sprint(address, version)]
	return p, held, nil
}

func (m *memory) Moments(_ context.Context, address string) (list []archive.Moment, err error) {
	for _, c := range m.versions[address] {
		list = append(list, archive.Moment{ID: c.ID, Fetched: c.Fetched})
	}
	return list, nil
}

func (m *memory) Capture(ctx context.Context, id uint64) (archive.Capture, error) {
	c, _, _, err := m.Copy(ctx, id)
	return c, err
}

func (m *memory) Tombstones(context.Context, string) ([]archive.Tombstone, error) { return nil, nil }

func (m *memory) Origins(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield(site, nil) }
}

func (m *memory) Addresses(_ context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, address := range slices.Sorted(maps.Keys(m.pages)) {
			if strings.HasPrefix(address, prefix) && !yield(address, nil) {
				return
			}
		}
	}
}

func (m *memory) NotePresented(_ context.Context, addresses []string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, address := range addresses {
		if r, known := m.pages[address]; known && r.FirstPresented.IsZero() {
			r.FirstPresented = at
			m.pages[address] = r
		}
	}
	return nil
}

// receive stores a deposit in the same way as an archive and an index do.
func (m *memory) receive(d archive.Deposit, text string) {
	r := d.Resource
	before := m.pages[r.URL]
	r.LastCrawled, r.Indexed, r.Versions = d.Fetched, d.Index, before.Versions
	r.FirstCrawled, r.FirstIndexed, r.FirstPreserved = d.Fetched, d.Fetched, d.Fetched
	list := m.versions[r.URL]
	for i := range list {
		list[i].Current = false
	}
	if d.Body != nil {
		r.Versions++
		r.Current = uint64(len(m.bodies) + 1)
		m.bodies[r.Current] = d.Body
		list = append(list, archive.Capture{ID: r.Current, URL: r.URL, Version: r.Versions, Fetched: d.Fetched,
			Status: r.Status, MIME: r.MIME,
			Current: true, Header: d.Header, Own: r.Own})
	}
	m.pages[r.URL], m.versions[r.URL] = r, list
	if d.Picture != nil {
		m.pictures[fmt.Sprint(r.URL, 0)] = *d.Picture
	}
	for _, alias := range d.Aliases {
		m.ways[alias] = r.URL
	}
	if d.Index {
		m.texts[r.URL] = text
	}
}

// deposits returns pages with one copy, with two copies, without a copy, with a thumbnail, and with
// a redirect to the page.
func deposits() (list []archive.Deposit, texts []string) {
	add := func(path, body string, day int, change func(*archive.Deposit)) {
		h := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
		d := archive.Deposit{Resource: archive.Resource{URL: site + path, Status: 200, MIME: "text/html",
			Language: "en",
			Own:      acap.Own{URL: site + path}}, Fetched: noon.AddDate(0, 0, day), Body: []byte(body), Header: h,
			Index: true}
		if change != nil {
			change(&d)
		}
		list, texts = append(list, d), append(texts, body)
	}
	add("/a", "the tide comes in", -3, nil)
	add("/a", "the tide goes out", -1, nil)
	add("/b", "the tide stays", -2, func(d *archive.Deposit) { d.Aliases = []string{site + "/old"} })
	add("/c", "no copy of the tide", -2, func(d *archive.Deposit) {
		d.Body = nil
		d.Resource.Kept.SetText(acap.PresentSnippet, kept.Text{Text: "an excerpt of the tide"})
		d.Resource.Kept.Title = "Tide"
	})
	add("/d", "", -2, func(d *archive.Deposit) {
		d.Body, d.Index, d.Resource.MIME = nil, false, "image/png"
		d.Picture = &archive.Picture{MIME: "image/png", Width: 4, Height: 2, Body: []byte("four by two")}
	})
	return list, texts
}

// TestLibrary checks that a presenter shows the same results for two libraries with the same
// content.
func TestLibrary(t *testing.T) {
	s := open(t)
	m := newMemory()
	list, texts := deposits()
	for i, d := range list {
		if _, err := s.archive.Receive(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		m.receive(d, texts[i])
		if d.Index {
			err := s.index.Put(index.Document{URL: d.Resource.URL, Text: texts[i], Language: "en", Analysis: "en",
				Host:    "quay.example",
				Fetched: d.Fetched, Positions: d.Body != nil})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	inMemory := New(m, s)
	inMemory.now = s.now
	both := []*Presenter{s.Presenter, inMemory}
	ctx, shown, refused := t.Context(), 0, 0
	same := func(what string, show func(*Presenter) (any, error)) {
		t.Helper()
		got, err := show(both[0])
		other, errOther := show(both[1])
		if fmt.Sprint(err) != fmt.Sprint(errOther) || !reflect.DeepEqual(got, other) {
			t.Errorf("%s:\n%+v, %v\nin memory\n%+v, %v", what, got, err, other, errOther)
		}
		if shown++; err != nil {
			refused++
		}
	}
	for _, robots := range []string{"", "ACAP-disallow-preserve: /", "ACAP-disallow-present-snippet: /",
		"ACAP-request-take-down: /a",
		"ACAP-disallow-present-oldcopy: /\nACAP-disallow-present-thumbnail: /", "ACAP-disallow-index: /b"} {
		s.setRobots(robots)
		for _, query := range []string{"tide", "tide stays", "excerpt", "nothing"} {
			same(robots+" search "+query, func(p *Presenter) (any, error) {
				found, err := p.Search(ctx, Query{Text: query, Limit: 10, Why: true}, Reader{})
				for i := range found.Results {
					found.Results[i].Score = 0 // only the index has scores
				}
				slices.SortFunc(found.Results, func(a, b Result) int { return strings.Compare(a.URL, b.URL) })
				return found, err
			})
		}
		for _, path := range []string{"/a", "/b", "/c", "/d", "/old", "/none"} {
			for _, which := range []Which{{}, {Version: 1}, {Version: 2}, {At: noon.AddDate(0, 0, -2)},
				{At: noon.AddDate(0, 0, -9)}} {
				what := fmt.Sprint(robots, path, which)
				same(what+" copy", func(p *Presenter) (any, error) { return p.Copy(ctx, site+path, which, Reader{}) })
				same(what+" snippet",
					func(p *Presenter) (any, error) { return p.Snippet(ctx, site+path, "tide", which, Reader{}) })
				same(what+" thumbnail",
					func(p *Presenter) (any, error) { return p.Thumbnail(ctx, site+path, which, Reader{}) })
			}
			same(path+" original", func(p *Presenter) (any, error) { return p.Original(ctx, site+path, Reader{}) })
			same(path+" page", func(p *Presenter) (any, error) {
				r, known, err := p.library.Page(ctx, site+path)
				return fmt.Sprint(known, r.FirstPresented), err
			})
		}
	}
	if refused == 0 || refused == shown {
		t.Errorf("%d of %d were refused", refused, shown)
	}
}
