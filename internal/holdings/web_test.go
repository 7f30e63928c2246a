package holdings

import (
	"context"
	"errors"
	"hash/crc32"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		switch step := os.Getenv(childStep); {
		case strings.HasPrefix(step, "SWEEP "):
			os.Exit(sweepChild(dir, step))
		case strings.HasPrefix(step, "PART "):
			os.Exit(partChild(dir, step))
		default:
			os.Exit(child(dir, step))
		}
	}
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // bleve starts worker goroutines when it is loaded
}

const site = "http://quay.example"

// web is a publisher for tests. It has one policy for all hosts, and contains the resources that
// pages require. It is safe for concurrent use.
type web struct {
	mu     sync.Mutex
	policy *acap.Policy
	asked  func() // called before Policy returns, without holding mu; may be nil
	parts  map[string]string
	sum    uint32                                  // checksum of the lines of the policy
	fails  func(rawurl string) (*page.Page, error) // if not nil, returns the responses to requests instead of parts
}

func newWeb(robots string) *web {
	w := &web{parts: map[string]string{}}
	w.says(robots)
	return w
}

func (w *web) says(robots string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sum = crc32.ChecksumIEEE([]byte(robots))
	w.policy = acap.Parse(site+"/robots.txt", []byte("ACAP-version: 1.1\nACAP-crawler: *\n"+robots+
		"\n")).Policy(acap.Crawler{Names: []string{"gazer"}})
}

func (w *web) Policy(context.Context, *url.URL) (*acap.Policy, error) {
	if w.asked != nil {
		w.asked()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.policy == nil {
		return nil, errors.New("no policy was read")
	}
	return w.policy, nil
}

// version returns the version of the policy: policies with other lines have another version.
func (w *web) version(u *url.URL) archive.PolicyVersion {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.policy == nil {
		return archive.PolicyVersion{}
	}
	return archive.PolicyVersion{Origin: u.Scheme + "://" + u.Host,
		Since: firstUse.Add(time.Duration(w.sum) * time.Second)}
}

func (w *web) Fetch(_ context.Context, rawurl string) (*page.Page, error) {
	if w.fails != nil {
		return w.fails(rawurl)
	}
	if text, ok := w.parts[rawurl]; ok {
		return pageOf(text, rawurl), nil
	}
	return answer(404, rawurl), nil
}

// pageOf returns a page with the given body. It is reached through redirects at urls, in this
// order; the last of urls is the address of the page.
func pageOf(body string, urls ...string) *page.Page {
	return pageWith(http.Header{"Content-Type": {"text/html; charset=utf-8"}}, 200, body, urls...)
}

func answer(status int, urls ...string) *page.Page {
	return pageWith(http.Header{}, status, "", urls...)
}

func pageWith(h http.Header, status int, body string, urls ...string) *page.Page {
	var hops []page.Hop
	for i, u := range urls {
		hop := page.Hop{URL: u, Method: "GET", Proto: "HTTP/1.1", Status: 302, Header: http.Header{}, Start: time.Now()}
		if i == len(urls)-1 {
			hop.Status, hop.Header, hop.Body = status, h, []byte(body)
		}
		hops = append(hops, hop)
	}
	return page.New(hops)
}

// store is a data directory under test.
type store struct {
	*testing.T
	*Holdings
	web     *web
	archive *archive.Archive
	index   *index.Index
}

// open opens holdings that are checked and closed when the test ends.
func open(t *testing.T, dir string, w *web, o Options) *store {
	t.Helper()
	return openWith(t, dir, w, o, archive.Options{})
}

func openWith(t *testing.T, dir string, w *web, o Options, files archive.Options) *store {
	t.Helper()
	if o.Version == nil {
		o.Version = w.version
	}
	s := &store{T: t, web: w}
	var err error
	if s.archive, err = archive.Open(dir, files); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.archive.Close() })
	if s.index, err = index.Open(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.index.Close() })
	if s.Holdings, err = Open(context.Background(), s.archive, s.index, terms.Sources{Policies: w, Fetcher: w},
		o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.shut)
	if files.Fault == nil { // as the start of a crawl does
		if _, _, err := s.lists(context.Background(), s.withDefaults(SweepOptions{})); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// shut closes everything, and checks that no change of the archive is left for the index.
func (s *store) shut() {
	s.Helper()
	if s.Holdings == nil {
		return
	}
	if err := s.Holdings.Close(); err != nil {
		s.Error("close:", err)
	}
	s.Holdings = nil
	s.agree()
	problems, err := s.archive.Verify(context.Background(), archive.VerifyOptions{})
	if err != nil {
		s.Error("verify:", err)
	}
	for _, p := range problems {
		s.Error("verify:", p)
	}
	if err := errors.Join(s.index.Close(), s.archive.Close()); err != nil {
		s.Error("close:", err)
	}
}

// agree checks that the index contains exactly the pages that the archive marks as indexed.
func (s *store) agree() {
	s.Helper()
	var want, got []string
	err := s.archive.Each(func(r archive.Resource) error {
		if r.Indexed {
			want = append(want, r.URL)
		}
		return nil
	})
	for u, e := range s.index.URLs() {
		err = errors.Join(err, e)
		got = append(got, u)
	}
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		s.Errorf("the index holds %q, the archive says %q, %v", got, want, err)
	}
	if left, err := s.archive.Intents(); err != nil || len(left) > 0 {
		s.Errorf("intents are left: %q, %v", left, err)
	}
}

func (s *store) receive(pg *page.Page) Receipt {
	s.Helper()
	r, err := s.Receive(context.Background(), pg)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// found waits until the index is written, and returns the pages that contain the words.
func (s *store) found(query string) string {
	s.Helper()
	s.flushed()
	var urls []string
	for h, err := range s.index.Hits(context.Background(), query) {
		if err != nil {
			s.Fatal(err)
		}
		urls = append(urls, strings.TrimPrefix(h.URL, site))
	}
	return strings.Join(urls, " ")
}

// flushed waits until the index contains everything sent to it before. For that, it sends a change
// with wait set.
func (s *store) flushed() {
	s.Helper()
	wait, err := s.indexer.send(change{url: site + "/nothing", wait: true})
	if err == nil {
		err = wait()
	}
	if err != nil {
		s.Fatal(err)
	}
}

func (s *store) resource(rawurl string) archive.Resource {
	s.Helper()
	r, _, err := s.archive.Resource(rawurl)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// copies returns the stored bodies of a URL, oldest first.
func (s *store) copies(rawurl string) []string {
	s.Helper()
	list, err := s.archive.Captures(rawurl)
	if err != nil {
		s.Fatal(err)
	}
	var bodies []string
	for _, c := range list {
		b, err := s.archive.Body(c.ID)
		if err != nil {
			s.Fatal(err)
		}
		bodies = append(bodies, string(b))
	}
	return bodies
}
