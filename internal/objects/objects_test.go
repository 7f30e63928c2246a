package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/fakes3"
)

// open returns a store in the bucket of a server, claimed by the archive "a1".
func open(t *testing.T, server *fakes3.Server, o Options) *Store {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	o.Endpoint, o.Bucket = server.URL, fakes3.Bucket
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Claim(t.Context(), "a1"); err != nil {
		t.Fatal(err)
	}
	return s
}

func ids(t *testing.T, s *Store) (list []uint64) {
	t.Helper()
	for id, err := range s.IDs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, id)
	}
	return list
}

// TestStore stores, replaces, reads, lists and deletes bodies, more than one answer of a list can hold.
func TestStore(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t, server, Options{Prefix: "crawl/one"})
	want := map[uint64][]byte{}
	for id := uint64(1); id <= 250; id++ {
		want[id] = bytes.Repeat([]byte{byte(id)}, int(id)*100)
		sealed := bytes.Clone(want[id])
		if err := s.Put(t.Context(), id, sealed); err != nil {
			t.Fatal(err)
		}
		clear(sealed) // the caller may use it again
	}
	if got, err := s.Get(t.Context(), 250, []byte("x")); err != nil || !bytes.Equal(got[1:], want[250]) {
		t.Errorf("before Sync: %d bytes, %v", len(got), err)
	}
	want[7] = []byte("again")
	err := s.Put(t.Context(), 7, want[7])
	if err = errors.Join(err, s.Sync()); err != nil {
		t.Fatal(err)
	}
	for id, sealed := range want {
		if got, err := s.Get(t.Context(), id, nil); err != nil || !bytes.Equal(got, sealed) {
			t.Errorf("body %d: %d bytes, %v", id, len(got), err)
		}
	}
	for _, id := range []uint64{3, 9, 9, 1000} {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Error(err)
		}
		delete(want, id)
	}
	if got := ids(t, s); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("it lists %v", got)
	}
	if got, err := s.Get(t.Context(), 3, []byte("x")); err != nil || string(got) != "x" {
		t.Errorf("a deleted body: %q, %v", got, err)
	}
	for name := range server.Objects() {
		if !strings.HasPrefix(name, "crawl/one/") {
			t.Errorf("object %s", name)
		}
	}
}

// TestClaim checks which buckets are refused.
func TestClaim(t *testing.T) {
	for name, c := range map[string]struct {
		versioning  string
		unversioned bool
		before      string // archive that claimed the bucket
		want        string // text of the error; "": none
	}{
		"new":               {},
		"again":             {before: "a1"},
		"of another":        {before: "b2", want: "another archive"},
		"versions":          {versioning: "Enabled", want: "versioning is enabled"},
		"earlier versions":  {versioning: "Suspended", want: "versioning is suspended"},
		"unknown":           {versioning: "NotImplemented", want: "s3.unversioned"},
		"unknown, vouched":  {versioning: "NotImplemented", unversioned: true},
		"versions, vouched": {versioning: "Enabled", unversioned: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakes3.Start(t)
			s := open(t, server, Options{Prefix: "other"})
			s.prefix = "p/"
			if c.before != "" {
				if err := s.Claim(t.Context(), c.before); err != nil {
					t.Fatal(err)
				}
			}
			server.Change(func() { server.Versioning = c.versioning })
			s.o.Unversioned = c.unversioned
			err := s.Claim(t.Context(), "a1")
			if c.want == "" && err != nil ||
				c.want != "" && (!errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), c.want)) {
				t.Error(err)
			}
		})
	}
	server := fakes3.Start(t)
	s := open(t, server, Options{})
	s.o.Bucket = "none"
	if err := s.Claim(t.Context(), "a1"); !errors.Is(err, ErrUnfit) ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

// TestWrongAddress checks that an address of a server is understood or refused.
func TestWrongAddress(t *testing.T) {
	for _, at := range []string{"", "s3.example.com", "ftp://s3.example.com", "https://s3.example.com/path",
		"https://"} {
		if _, err := Open(Options{Endpoint: at, Bucket: "b"}); !errors.Is(err, ErrUnfit) {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// TestFailures lets requests fail: those that pass are repeated, and Sync says if a body is not stored.
func TestFailures(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t, server, Options{})
	var failures atomic.Int32
	failures.Store(3)
	server.Change(func() {
		server.Fail = func(w http.ResponseWriter, _ *http.Request, object string) bool {
			if strings.HasPrefix(object, bodyFolder) && failures.Add(-1) >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
			return false
		}
	})
	if err := errors.Join(s.Put(t.Context(), 1, []byte("one")), s.Sync()); err != nil {
		t.Error("three failures:", err)
	}
	server.Change(func() {
		server.Fail = func(w http.ResponseWriter, r *http.Request, object string) bool {
			if r.Method == http.MethodPut && strings.HasSuffix(object, "2") {
				http.Error(w, "<Error><Code>AccessDenied</Code></Error>", http.StatusForbidden)
				return true
			}
			return false
		}
	})
	for id := range uint64(3) {
		if err := s.Put(t.Context(), id+1, fmt.Append(nil, "body ", id+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sync(); err == nil || !strings.Contains(err.Error(), "cannot be stored in the bucket pages") {
		t.Error(err)
	}
	if err := s.Sync(); err != nil {
		t.Error("an error is returned once:", err)
	}
	if got := ids(t, s); !slices.Equal(got, []uint64{1, 3}) {
		t.Error(got)
	}
}

// TestLateObject checks that a body which a store finds late is read nevertheless.
func TestLateObject(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t, server, Options{})
	if err := errors.Join(s.Put(t.Context(), 1, []byte("one")), s.Sync()); err != nil {
		t.Fatal(err)
	}
	var missing atomic.Int32
	missing.Store(3)
	server.Change(func() {
		server.Fail = func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if r.Method == http.MethodPut || missing.Add(-1) < 0 {
				return false
			}
			http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
			return true
		}
	})
	if got, err := s.Get(t.Context(), 1, nil); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestInterrupted checks that a server which does not answer holds nobody who has given up.
func TestInterrupted(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t, server, Options{})
	asked := make(chan struct{})
	server.Change(func() {
		server.Fail = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
			_, _ = io.Copy(io.Discard, r.Body) // a server notices only then that the client is gone
			close(asked)
			<-r.Context().Done()
			return true
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Put(ctx, 1, []byte("one")); err != nil {
		t.Fatal(err)
	}
	<-asked
	cancel()
	if err := s.Sync(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestListWhileStoring checks that a list, which any caller may ask for, takes no error away from the caller of Sync.
func TestListWhileStoring(t *testing.T) {
	server := fakes3.Start(t)
	s := open(t, server, Options{})
	server.Change(func() {
		server.Fail = func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if r.Method == http.MethodPut {
				w.WriteHeader(http.StatusForbidden)
			}
			return r.Method == http.MethodPut
		}
	})
	if err := s.Put(t.Context(), 1, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, s); len(got) > 0 {
		t.Errorf("it lists %v", got)
	}
	if err := s.Sync(); err == nil {
		t.Error("a body that is not stored counts as durable")
	}
}

// TestRecords checks that objects with names are created only once, and can be read, listed and removed.
func TestRecords(t *testing.T) {
	useRecords(t, open(t, fakes3.Start(t), Options{Prefix: "p"}))
}

// useRecords uses a store that has no records yet.
func useRecords(t *testing.T, s *Store) {
	t.Helper()
	r, ctx := s.Records(), t.Context()
	var want []string
	for n := range 120 {
		name := fmt.Sprintf("records/%03d", n)
		if err := r.Create(ctx, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
		if want = append(want, name); n == 50 {
			err := r.Create(ctx, "other/x", nil)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Create(ctx, "records/007", []byte("again")); !errors.Is(err, fs.ErrExist) {
		t.Error("an object is replaced:", err)
	}
	if b, err := r.Read(ctx, "records/007"); err != nil || string(b) != "records/007" {
		t.Errorf("%q, %v", b, err)
	}
	for _, name := range []string{"records/007", "records/007"} {
		if err := r.Remove(ctx, name); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Read(ctx, "records/007"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	var got []string
	for name, err := range r.List(ctx, "records/") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	if !slices.Equal(got, slices.Delete(want, 7, 8)) {
		t.Errorf("it lists %v", got)
	}
}
