package site

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/test/fakes3"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/internal/test/s3servers"
)

// copied is the archive of a node whose pages have copies.
type copied struct {
	t *testing.T
	*archive.Archive
	cfg  *config.Config
	want map[string]string // text of each page that is stored
}

func setStoreKeys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
}

// newClusterKey writes a key of a cluster into a file, and returns the name of the file.
func newClusterKey(t *testing.T) (name string) {
	t.Helper()
	secret := make([]byte, 32)
	rand.Read(secret)
	name = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(base64.StdEncoding.EncodeToString(secret)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// newCopied makes an archive with copies in a bucket.
func newCopied(t *testing.T, s config.S3) *copied {
	t.Helper()
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": t.TempDir(), "cluster": natstest.One(t),
		"node": "a", "cluster_key_file": newClusterKey(t)}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.S3 = s
	c := &copied{t: t, cfg: cfg, want: map[string]string{}}
	c.open()
	return c
}

func fakeBucket(s *fakes3.Server) config.S3 {
	return config.S3{Endpoint: s.URL, Bucket: fakes3.Bucket, Prefix: "p"}
}

// options returns the options of the archive. They are used once.
func (c *copied) options() archive.Options {
	c.t.Helper()
	o, err := archiveOptions(c.cfg, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

// open opens the archive. It is closed at the latest when the test ends.
func (c *copied) open() {
	c.t.Helper()
	a, err := archive.Open(c.cfg.Data, c.options())
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { a.Close() })
	c.Archive = a
}

// store stores pages with the numbers from first to last.
func (c *copied) store(first, last int) {
	c.t.Helper()
	for n := first; n <= last; n++ {
		address, text := fmt.Sprintf("http://example.com/%d", n), fmt.Sprintf("<p>page %d", n)
		_, err := c.Receive(c.t.Context(), archive.Deposit{Fetched: time.Now(), Body: []byte(text),
			Resource: archive.Resource{URL: address, Status: http.StatusOK, MIME: "text/html"}})
		if err != nil {
			c.t.Fatal(err)
		}
		c.want[address] = text
	}
}

// erase erases a page and compacts.
func (c *copied) erase(n int) {
	c.t.Helper()
	address := fmt.Sprintf("http://example.com/%d", n)
	if erased, err := c.Erase(c.t.Context(), archive.Tombstone{URL: address, Why: "asked"}); erased != 1 || err != nil {
		c.t.Fatal(erased, err)
	}
	delete(c.want, address)
	if _, err := c.Compact(c.t.Context(), nil, nil); err != nil {
		c.t.Fatal(err)
	}
}

// course stores pages and erases some, in two processes.
func (c *copied) course() {
	c.t.Helper()
	c.store(1, 8)
	c.erase(3)
	c.store(9, 12)
	if err := c.Close(); err != nil {
		c.t.Fatal(err)
	}
	c.open()
	c.store(13, 16)
	c.erase(14)
	for _, text := range []string{"first", "second", lastPolicy} {
		if err := c.CopyFile(c.t.Context(), policiesCopy, []byte(text)); err != nil {
			c.t.Fatal(err)
		}
	}
	c.store(17, 18)
}

// lastPolicy is the content of the last copy of a file that course makes.
const lastPolicy = "third"

// recover recovers the archive into another directory, and checks what it has.
func (c *copied) recover() {
	c.t.Helper()
	c.cfg.Data = filepath.Join(c.t.TempDir(), "recovered")
	o := c.options()
	if _, err := archive.Recover(c.t.Context(), c.cfg.Data, o); err != nil {
		c.t.Fatal(err)
	}
	if b, err := archive.CopiedFile(c.t.Context(), *o.Replica, policiesCopy); err != nil || string(b) != lastPolicy {
		c.t.Errorf("the copy of the file is %q, %v", b, err)
	}
	o.Replica.Keys.Close()
	c.open()
	if left, err := c.Repair(c.t.Context(), nil); err != nil || len(left) > 0 {
		c.t.Error(left, err)
	}
	held := 0
	if err := c.EachCapture(func(is archive.Capture) error {
		held++
		body, err := c.Body(is.ID)
		if string(body) != c.want[is.URL] {
			c.t.Errorf("%s is %q", is.URL, body)
		}
		return err
	}); err != nil || held != len(c.want) {
		c.t.Errorf("%d captures, want %d: %v", held, len(c.want), err)
	}
	c.store(21, 22)
	c.erase(21)
}

// TestCopiesOnServers keeps copies in real object stores, and recovers from them.
func TestCopiesOnServers(t *testing.T) {
	setStoreKeys(t)
	for _, name := range s3servers.Names {
		t.Run(name, func(t *testing.T) {
			server := s3servers.Start(t, name)
			c := newCopied(t, config.S3{Endpoint: server.URL, Bucket: s3servers.Bucket, Prefix: "p",
				Region: "us-east-1", Unversioned: true})
			c.course()
			c.recover()
		})
	}
}

// TestCopiesOnBadStore keeps copies in an object store that is slow, fails, cuts connections, or answers with what it
// had before.
func TestCopiesOnBadStore(t *testing.T) {
	setStoreKeys(t)
	every := func(n int32, fail func(w http.ResponseWriter, r *http.Request)) func(*fakes3.Server) {
		return func(s *fakes3.Server) {
			var requests atomic.Int32
			s.Fail = func(w http.ResponseWriter, r *http.Request, object string) bool {
				if object == "" || requests.Add(1)%n != 0 {
					return false
				}
				fail(w, r)
				return true
			}
		}
	}
	status := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, spoil := range map[string]func(*fakes3.Server){
		"500":        every(7, status(http.StatusInternalServerError)),
		"503":        every(7, status(http.StatusServiceUnavailable)),
		"cut before": every(7, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"cut after":  cutAfter,
		"late":       func(s *fakes3.Server) { s.Lag = 4 },
		"slow": func(s *fakes3.Server) {
			s.Fail = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
				select {
				case <-time.After(20 * time.Millisecond):
				case <-r.Context().Done():
				}
				return false
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fakes3.Start(t)
			server.Change(func() { spoil(server) })
			c := newCopied(t, fakeBucket(server))
			c.course()
			c.recover()
			checkObjects(t, c, server)
		})
	}
}

// cutAfter makes a server cut the connection after it has executed each fifth request.
func cutAfter(s *fakes3.Server) {
	var requests atomic.Int32
	var passing sync.Map // requests that are executed
	s.Fail = func(_ http.ResponseWriter, r *http.Request, object string) bool {
		if _, passes := passing.Load(r); passes || object == "" || requests.Add(1)%5 != 0 {
			return false
		}
		passing.Store(r, true)
		s.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// checkObjects compacts the archive, and checks that the bucket has nothing that is not needed: one snapshot, the
// records after it, and the bodies of the pages.
func checkObjects(t *testing.T, c *copied, server *fakes3.Server) {
	t.Helper()
	server.Change(func() { server.Fail = nil })
	server.Settle() // what a list does not show, only a later compaction removes
	c.store(31, 31)
	c.erase(31)
	held, err := c.Stats()
	if err != nil {
		t.Fatal(err)
	}
	snapshot, parts, bodies := "", 0, 0
	all := slices.Sorted(maps.Keys(server.Objects()))
	for _, name := range all {
		switch folder, number, _ := strings.Cut(strings.TrimPrefix(name, "p/nodes/a/"), "/"); folder {
		case "bodies":
			bodies++
		case "snapshots":
			snapshot, _, _ = strings.Cut(number, "/")
			parts++
		}
	}
	if bodies != held.Bodies || parts != 1 || slices.ContainsFunc(all, func(name string) bool {
		number, is := strings.CutPrefix(name, "p/nodes/a/records/")
		return is && number <= snapshot
	}) {
		t.Errorf("%d bodies are needed; there are %v", held.Bodies, all)
	}
}

// TestOrphans checks that records, snapshots and bodies that nothing needs are removed: those that could not be
// deleted, and those that were stored before a failure.
func TestOrphans(t *testing.T) {
	setStoreKeys(t)
	server := fakes3.Start(t)
	c := newCopied(t, fakeBucket(server))
	refuse := func(method, part string) {
		server.Change(func() {
			server.Fail = func(w http.ResponseWriter, r *http.Request, object string) bool {
				refused := r.Method == method && strings.Contains(object, part)
				if refused {
					w.WriteHeader(http.StatusForbidden)
				}
				return refused
			}
		})
	}
	c.store(1, 8)
	for i, failure := range [][2]string{{http.MethodDelete, ""}, {http.MethodPut, "/records/"}} {
		refuse(failure[0], failure[1])
		before := len(server.Objects())
		if _, err := c.Erase(t.Context(), archive.Tombstone{URL: fmt.Sprintf("http://example.com/%d", i+3),
			Why: "asked"}); err != nil {
			t.Error(err)
		}
		if _, err := c.Compact(t.Context(), nil, nil); err == nil {
			t.Error("the compaction is complete although the store refuses requests")
		}
		if failure[0] == http.MethodPut {
			_, err := c.Receive(context.Background(), archive.Deposit{Fetched: time.Now(), Body: []byte("text"),
				Resource: archive.Resource{URL: "http://example.com/x", Status: http.StatusOK}})
			if err == nil {
				t.Error("a page is stored without its record")
			}
		}
		if now := len(server.Objects()); now < before {
			t.Errorf("%d of %d objects are left", now, before)
		}
		if err := c.Close(); err != nil { // the next process tries again at once
			t.Error(err)
		}
		server.Change(func() { server.Fail = nil })
		c.open()
		c.store(2, 2)
	}
	checkObjects(t, c, server)
}
