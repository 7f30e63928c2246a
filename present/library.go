package present

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
)

// Library is what a Presenter reads: what is stored of pages, and where words are found. Nothing
// that it returns may be shown as it is: the Presenter asks the policies first. It must be safe for
// concurrent use. What is not held is archive.ErrNotHeld, or false.
type Library interface {
	// Search returns the addresses of the indexed pages that match a query, best first.
	Search(ctx context.Context, query string) iter.Seq2[string, error]

	// Matcher returns what reports whether a word of a text in language is one that the query looks
	// for.
	Matcher(query, language string) func(word string) bool

	// Way returns the redirect chain from an address to the page that it leads to: both, and the
	// addresses between them.
	Way(ctx context.Context, address string) ([]string, error)

	// Page returns what is stored of the page at an address, beside its copies.
	Page(ctx context.Context, address string) (r archive.Resource, known bool, err error)

	// Versions returns what is stored of the copies of a page, the oldest first, without their
	// bodies.
	Versions(ctx context.Context, address string) ([]archive.Capture, error)

	// Copy returns one copy with its body.
	Copy(ctx context.Context, id uint64) (archive.Capture, []byte, error)

	// Thumbnail returns the picture stored of a version; version 0 is the one that stands for no
	// copy.
	Thumbnail(ctx context.Context, address string, version int) (p archive.Picture, held bool, err error)

	// NotePresented notes when pages were first presented; what is noted already stays. It does so
	// for all in one write.
	NotePresented(ctx context.Context, addresses []string, at time.Time) error
}

// Stored returns the library of an archive and an index on this machine.
func Stored(a *archive.Archive, ix *index.Index) Library { return stored{a, ix} }

type stored struct {
	archive *archive.Archive
	index   *index.Index
}

func (l stored) Search(ctx context.Context, query string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for hit, err := range l.index.Hits(ctx, query) {
			if !yield(hit.URL, err) {
				return
			}
		}
	}
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

func (l stored) Copy(_ context.Context, id uint64) (c archive.Capture, body []byte, err error) {
	if c, err = l.archive.Capture(id); err == nil {
		body, err = l.archive.Body(id)
	}
	return c, body, err
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

// chooseVersion returns the copy of r that which names, with its body: by number, the latest at a
// time, the current one, or the latest if the last crawl brought none.
func (p *Presenter) chooseVersion(ctx context.Context, r archive.Resource, which Which) (c archive.Capture,
	body []byte, found bool, err error) {
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
	c, body, err = p.library.Copy(ctx, id)
	if errors.Is(err, archive.ErrNotHeld) {
		if which == (Which{}) && id == r.Current {
			return c, nil, false, nil
		}
		return c, nil, true, ErrNotHeld // erased meanwhile
	}
	return c, body, err == nil, err
}

// latest returns the capture that was fetched last; of several at the same time the last in the
// list.
func latest(list []archive.Capture) uint64 {
	last := list[0]
	for _, c := range list[1:] {
		if !c.Fetched.Before(last.Fetched) {
			last = c
		}
	}
	return last.ID
}
