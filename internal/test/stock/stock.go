// Package stock makes small archives in temporary directories, for tests of what readers may see of them.
package stock

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Site is the origin of all pages.
const Site = "http://quay.example"

// Robots is the address of the robots.txt of Site.
const Robots = Site + "/robots.txt"

// Stock is an archive of pages of Site, with the robots.txt that is in force. It may be used
// concurrently.
type Stock struct {
	*present.Presenter
	Archive *archive.Archive
	Index   *index.Index

	t      testing.TB
	mu     sync.Mutex
	policy *acap.Policy // nil: robots.txt was never read
}

// New returns an empty archive. robots.txt permits everything.
func New(t testing.TB) *Stock {
	t.Helper()
	dir, s := t.TempDir(), &Stock{t: t}
	var err error
	if s.Archive, err = archive.Open(dir, archive.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Archive.Close() })
	if s.Index, err = index.Open(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Index.Close() })
	s.SetRobots("")
	s.Presenter = present.New(present.Stored(s.Archive, s.Index), s)
	return s
}

// SetRobots sets the fields of robots.txt for all crawlers, from line 3 on.
func (s *Stock) SetRobots(fields string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = acap.Parse(Robots, []byte("ACAP-version: 1.1\nACAP-crawler: *\n"+fields+"\n")).Policy(
		acap.Crawler{Names: []string{"gazer"}})
}

// SetUnread makes robots.txt unknown.
func (s *Stock) SetUnread() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = nil
}

// Policy implements terms.Policies.
func (s *Stock) Policy(context.Context, *url.URL) (*acap.Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.policy == nil {
		return nil, errors.New("the policy was never read")
	}
	return s.policy, nil
}

// Hold archives and indexes an HTML page, as fetched at that time.
func (s *Stock) Hold(path, body string, fetched time.Time) {
	s.t.Helper()
	s.HoldAnswer(Site+path, http.StatusOK, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, []byte(body),
		fetched)
}

// HoldPicture archives a picture.
func (s *Stock) HoldPicture(path string, fetched time.Time) {
	s.t.Helper()
	var body bytes.Buffer
	if err := png.Encode(&body, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		s.t.Fatal(err)
	}
	s.HoldAnswer(Site+path, http.StatusOK, http.Header{"Content-Type": {"image/png"}}, body.Bytes(), fetched)
}

// HoldAnswer archives and indexes those parts of the answer of a server that robots.txt permits to store.
func (s *Stock) HoldAnswer(address string, status int, header http.Header, body []byte, fetched time.Time) {
	s.t.Helper()
	s.HoldHop(page.Hop{URL: address, Method: http.MethodGet, Status: status, Header: header, Body: body,
		Start: fetched})
}

// HoldHop archives and indexes those parts of an answer, and of the document that its scripts made, that robots.txt
// permits to store.
func (s *Stock) HoldHop(hop page.Hop) {
	s.t.Helper()
	u, err := url.Parse(hop.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	pg, fetched := page.New([]page.Hop{hop}), hop.Start
	policy, err := s.Policy(context.Background(), u)
	if err != nil {
		s.t.Fatal(err)
	}
	t := terms.Of(context.Background(), policy, u, pg, terms.Sources{Policies: s}, acap.Facts{Now: fetched})
	content, indexed := t.Text()
	holding := t.HoldingCopy(false)
	kept := holding.Preserve.Allowed
	d := archive.Deposit{Resource: archive.Resource{URL: u.String(), Status: hop.Status, MIME: pg.MIME(),
		Language: pg.Language(), Own: pg.Own(), Kept: t.Keep(kept, content)},
		Fetched: fetched, Header: hop.Header, Index: indexed, Cut: holding.Cut}
	if kept {
		d.Body, d.Rendered = holding.Body, holding.Rendered
	}
	if _, err := s.Archive.Receive(context.Background(), d); err != nil {
		s.t.Fatal(err)
	}
	if !indexed {
		return
	}
	if err := s.Index.Put(index.Document{URL: u.String(), Title: content.Title, Text: content.Text,
		Language: pg.Language(), Analysis: pg.LikelyLanguage(), Host: u.Host, Fetched: fetched,
		Positions: kept}); err != nil {
		s.t.Fatal(err)
	}
}

// Erase erases everything that is archived of a page.
func (s *Stock) Erase(path, why string, when time.Time) {
	s.t.Helper()
	if _, err := s.Archive.Erase(context.Background(), archive.Tombstone{URL: Site + path, When: when,
		Why: why}); err != nil {
		s.t.Fatal(err)
	}
}
