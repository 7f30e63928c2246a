package policy

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Stored files are revalidated by ETag or Last-Modified. A file that has not changed is fresh
// again. The same holds for the files that robots.txt refers to.
func TestRevalidated(t *testing.T) {
	for _, by := range []string{"ETag", "Last-Modified"} {
		t.Run(by, func(t *testing.T) {
			s := newSite(t)
			var version, whole atomic.Int64
			serve := func(text string) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					mark, asked := fmt.Sprintf("%q", fmt.Sprint(version.Load())), r.Header.Get("If-None-Match")
					if by == "Last-Modified" {
						mark = time.Date(2026, 1, 1+int(version.Load()), 0, 0, 0, 0, time.UTC).Format(http.TimeFormat)
						asked = r.Header.Get("If-Modified-Since")
					}
					w.Header().Set(by, mark)
					if asked == mark {
						w.WriteHeader(http.StatusNotModified)
						return
					}
					whole.Add(1)
					_, _ = fmt.Fprintf(w, "ACAP-crawler: *\nACAP-disallow-crawl: /v%d\n%s\n", version.Load(), text)
				}
			}
			s.Handle("/robots.txt", serve("ACAP-permissions-reference: /more.txt"))
			s.Handle("/more.txt", serve(""))
			c, path := newClock(), filepath.Join(t.TempDir(), "policy.db")
			// Each step is a run with its own Authority on the same store.
			for i, step := range []struct{ version, whole int64 }{{0, 2}, {0, 2}, {1, 4}, {1, 4}} {
				version.Store(step.version)
				store, err := Open(path)
				if err != nil {
					t.Fatal(err)
				}
				a := New(fetcher(t), tester, store, Options{Now: c.now})
				o, err := a.Refresh(t.Context(), s.at("/"))
				if err != nil {
					t.Fatal(err)
				}
				if o.Status != Read || o.Incomplete || !o.Fetched.Equal(c.now()) || o.Since.After(c.now()) {
					t.Errorf("step %d: %+v", i, o)
				}
				expect(t, o, acap.Crawl, s.at(fmt.Sprintf("/v%d", step.version)), false)
				expect(t, o, acap.Crawl, s.at("/v7"), true)
				if got := whole.Load(); got != step.whole {
					t.Errorf("step %d: %d files were sent, want %d", i, got, step.whole)
				}
				if vs, err := a.History(s.at("/")); err != nil || len(vs) != 1+int(step.version) {
					t.Errorf("step %d: %d versions, %v", i, len(vs), err)
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
				c.pass(time.Hour)
			}
			s.asked("/robots.txt", 4)
			s.asked("/more.txt", 4)
		})
	}
}

// A file is revalidated only if it was received without a redirect, because the target of a
// redirect may change. A Last-Modified within the last minute before the answer is not used,
// because the file may change again within the same second.
func TestNotRevalidated(t *testing.T) {
	asked := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "User-agent: *\nDisallow: /shut\n")
	}
	for name, serve := range map[string]func(s *site){
		"redirect": func(s *site) {
			s.Redirect("/robots.txt", "/r2")
			s.Handle("/r2", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"a"`)
				asked(w, r)
			})
		},
		"just written": func(s *site) {
			s.Handle("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Last-Modified", time.Now().UTC().Add(-10*time.Second).Format(http.TimeFormat))
				asked(w, r)
			})
		},
		"no date": func(s *site) {
			s.Handle("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Last-Modified", "yesterday")
				asked(w, r)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			serve(s)
			a := authority(t, NewMemory(), Options{})
			for range 2 {
				o, err := a.Refresh(t.Context(), s.at("/"))
				if err != nil || o.HTTP != http.StatusOK {
					t.Errorf("%+v, %v", o, err)
				}
				expect(t, o, acap.Crawl, s.at("/shut"), false)
			}
		})
	}
}

// If a 304 names another version than the stored file, the file is requested again without
// condition.
func TestNotModifiedOfAnother(t *testing.T) {
	s := newSite(t)
	var changed atomic.Bool
	s.Handle("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !changed.Load():
			w.Header().Set("ETag", `"a"`)
			_, _ = io.WriteString(w, "User-agent: *\nDisallow:\n")
		case r.Header.Get("If-None-Match") != "":
			w.Header().Set("ETag", `W/"b"`)
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /shut\n")
		}
	})
	a := authority(t, NewMemory(), Options{})
	expect(t, origin(t, a, s.at("/")), acap.Crawl, s.at("/shut"), true)
	changed.Store(true)
	o, err := a.Refresh(t.Context(), s.at("/"))
	if err != nil || o.Status != Read {
		t.Fatalf("%+v, %v", o, err)
	}
	expect(t, o, acap.Crawl, s.at("/shut"), false)
	s.asked("/robots.txt", 3)
}

// A 304 does not confirm an assumed robots.txt, a file from another URL, or a file that could not
// be read: robots.txt is then unreachable.
func TestNotModifiedOfNothing(t *testing.T) {
	for name, before := range map[string]func(s *site, a *Authority){
		"assumed": func(s *site, a *Authority) {
			if assumed, err := a.Assume(s.at("/"), []byte("User-agent: *\nDisallow:\n")); err != nil || !assumed {
				t.Error(assumed, err)
			}
		},
		"redirected": func(s *site, a *Authority) {
			s.Redirect("/robots.txt", "/r2")
			s.Text("/r2", "User-agent: *", "Disallow:")
			origin(t, a, s.at("/"))
		},
		"unreachable": func(s *site, a *Authority) {
			s.Status("/robots.txt", 503)
			origin(t, a, s.at("/"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			a := authority(t, NewMemory(), Options{})
			before(s, a)
			s.Status("/robots.txt", 304)
			o, err := a.Refresh(t.Context(), s.at("/"))
			if err != nil || o.Status != Unreachable {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
}

// Attempts reports an origin that fails with the times of its last attempt and of its last
// successful reading.
func TestAttempts(t *testing.T) {
	s, c := newSite(t), newClock()
	a := authority(t, NewMemory(), Options{Now: c.now})
	origin(t, a, s.at("/"))
	read := c.now()
	c.pass(MaxAge)
	s.Status("/robots.txt", 503)
	origin(t, a, s.at("/"))
	n := 0
	err := a.Attempts("", func(at Attempt) error {
		n++
		if at != (Attempt{Origin: s.URL, Status: Unreachable, At: c.now(), Expires: c.now().Add(MinAge), Read: read,
			Since: at.Since}) {
			t.Errorf("%+v", at)
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Error(n, err)
	}
}
