package present

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
)

// Library is the storage that a Presenter reads: stored pages, and the index of their words.
// Results of a Library must not be shown to readers directly, because only the Presenter checks the
// policies. Methods must be safe for concurrent use. If the requested data is not stored, they
// return archive.ErrNotHeld or false.
type Library interface {
	// Search returns the indexed pages that match a query, best first.
	Search(ctx context.Context, query string) iter.Seq2[index.Hit, error]

	// Matcher returns a function that reports whether a word, from a text in language, matches the
	// query.
	Matcher(query, language string) func(word string) bool

	// Way returns the redirect chain from an address to its final page: the address, the
	// intermediate addresses, and the address of the page.
	Way(ctx context.Context, address string) ([]string, error)

	// Page returns the stored record of the page at an address, without its copies.
	Page(ctx context.Context, address string) (r archive.Resource, known bool, err error)

	// Versions returns the records of all copies of a page, oldest first, without their bodies.
	Versions(ctx context.Context, address string) ([]archive.Capture, error)

	// Moments returns when all copies of a page were fetched, oldest first.
	Moments(ctx context.Context, address string) ([]archive.Moment, error)

	// Capture returns the record of one copy, without its body.
	Capture(ctx context.Context, id uint64) (archive.Capture, error)

	// Copy returns one copy with its body and its rendered document, which is nil if it has none.
	Copy(ctx context.Context, id uint64) (c archive.Capture, body, rendered []byte, err error)

	// Thumbnail returns the stored thumbnail of a version. Version 0 is the thumbnail of a page
	// that has no copy.
	Thumbnail(ctx context.Context, address string, version int) (p archive.Picture, held bool, err error)

	// Tombstones returns what was erased of a page, oldest first.
	Tombstones(ctx context.Context, address string) ([]archive.Tombstone, error)

	// Origins returns the origins that have stored pages, such as http://example.com, in order.
	Origins(ctx context.Context) iter.Seq2[string, error]

	// Addresses returns the addresses of stored pages that begin with prefix, in order.
	Addresses(ctx context.Context, prefix string) iter.Seq2[string, error]

	// NotePresented records when pages were first presented, in a single write. A time that is
	// already recorded is not changed.
	NotePresented(ctx context.Context, addresses []string, at time.Time) error
}

// Stored returns a Library that reads an archive and an index on this machine.
func Stored(a *archive.Archive, ix *index.Index) Library { return stored{a, ix} }

type stored struct {
	archive *archive.Archive
	index   *index.Index
}

func (l stored) Search(ctx context.Context, query string) iter.Seq2[index.Hit, error] {
	return l.index.Hits(ctx, query)
}

func (l stored) Matcher(query, language string) func(string) bool {
	return l.index.Matcher(query, language)
}

func (l stored) Way(_ context.Context, address string) ([]string, error) {
	return l.archive.Way(address)
}

func (l stored) Page(_ context.Context, address string) (archive.Resource, bool, error) {
	return l.archive.Resource(address)
}

func (l stored) Versions(_ context.Context, address string) ([]archive.Capture, error) {
	return l.archive.Captures(address)
}

func (l stored) Moments(_ context.Context, address string) ([]archive.Moment, error) {
	return l.archive.Moments(address)
}

func (l stored) Capture(_ context.Context, id uint64) (archive.Capture, error) {
	return l.archive.Capture(id)
}

func (l stored) Tombstones(_ context.Context, address string) ([]archive.Tombstone, error) {
	return l.archive.Tombstones(address)
}

func (l stored) Copy(_ context.Context, id uint64) (c archive.Capture, body, rendered []byte, err error) {
	if c, err = l.archive.Capture(id); err == nil {
		body, rendered, err = l.archive.Documents(id)
	}
	return c, body, rendered, err
}

func (l stored) Thumbnail(_ context.Context, address string, version int) (archive.Picture, bool, error) {
	return l.archive.Picture(address, version)
}

func (l stored) NotePresented(ctx context.Context, addresses []string, at time.Time) error {
	return l.archive.UpdateAll(ctx, addresses, func(r *archive.Resource) {
		if r.FirstPresented.IsZero() {
			r.FirstPresented = at
		}
	})
}

// chooseVersion returns the copy of r that the parameter which selects, and the same copy as a page.
// The selection may contain a version number, or a time: then the latest copy at that time is
// selected. By default the current copy is selected, or the latest copy if the last crawl stored
// none.
func (p *Presenter) chooseVersion(ctx context.Context, r archive.Resource, which Which) (c archive.Capture,
	pg *page.Page, found bool, err error) {
	id := r.Current
	if which != (Which{}) || id == 0 {
		list, err := p.library.Versions(ctx, r.URL)
		if err != nil {
			return c, nil, false, err
		}
		list = slices.DeleteFunc(list, func(c archive.Capture) bool {
			if which.Version != 0 {
				return c.Version != which.Version
			}
			return c.Redirect() || !which.At.IsZero() && c.Fetched.After(which.At)
		})
		if len(list) == 0 {
			return c, nil, false, nil
		}
		if id = latest(list); which == (Which{}) {
			id = list[len(list)-1].ID
		}
	}
	c, pg, err = p.page(ctx, id)
	if errors.Is(err, archive.ErrNotHeld) {
		if which == (Which{}) && id == r.Current {
			return c, nil, false, nil
		}
		return c, nil, true, ErrNotHeld // the copy was erased after the list of versions was read
	}
	return c, pg, err == nil, err
}

// latest returns the ID of the capture with the latest fetch time. If several captures have that
// time, latest returns the ID of the last of them in list.
func latest(list []archive.Capture) uint64 {
	last := list[0]
	for _, c := range list[1:] {
		if !c.Fetched.Before(last.Fetched) {
			last = c
		}
	}
	return last.ID
}
