package site

import "testing"

// TestCrawlErased checks that pages which were erased because of something from which their scripts made them are
// queued: by Close, by the next call that executes requests, by the next crawl, and at once during a crawl. A page that
// was never visited is not.
func TestCrawlErased(t *testing.T) {
	p := newPublisher(t, "/1", "/2")
	dir := t.TempDir()
	s := open(t, dir)
	crawl(t, s, p.origin+"/1", p.origin+"/2")
	queued := func() (n int) {
		t.Helper()
		list, _, err := s.Queue(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list {
			n += q.Queued
		}
		return n
	}
	s.crawlErased(p.origin + "/1") // the queue stays open after a crawl
	if n := queued(); n != 1 {
		t.Errorf("during a crawl: %d", n)
	}
	crawl(t, s, p.origin+"/1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir)
	s.crawlErased(p.origin + "/1")
	s.crawlErased(p.origin + "/never")
	if n := queued(); n != 0 {
		t.Errorf("queued while the queue may be in use: %d", n)
	}
	if err := s.executeOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := queued(); n != 1 {
		t.Errorf("after requests were executed: %d", n)
	}
	s.crawlErased(p.origin + "/2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = open(t, dir); queued() != 2 {
		t.Errorf("after Close: %d", queued())
	}
	crawl(t, s, p.origin+"/1", p.origin+"/2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir)
	s.crawlErased(p.origin + "/1")
	crawl(t, s, p.origin+"/1")
	if n := queued(); n != 0 {
		t.Errorf("visited twice: %d", n)
	}
}

// TestErasedPages checks that a page that cannot be queued is kept, and that only one goroutine queues pages.
func TestErasedPages(t *testing.T) {
	p := newPublisher(t, "/1")
	s := open(t, t.TempDir())
	crawl(t, s, p.origin+"/1")
	s.erasedPages.direct.Store(false)
	s.crawlErased(p.origin + "/1")
	first := s.erasedPages.take()
	s.crawlErased(p.origin + "/1")
	if second := s.erasedPages.take(); len(first) != 1 || second != nil {
		t.Errorf("taken %q, then %q", first, second)
	}
	s.erasedPages.done(first)
	if err := s.frontier.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.queueErased(); err == nil {
		t.Error("the queue was closed, but no error was returned")
	}
	if list := s.erasedPages.take(); len(list) != 2 {
		t.Errorf("kept: %q", list)
	}
}
