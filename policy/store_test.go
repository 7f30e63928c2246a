package policy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
)

func openStore(t *testing.T, path string) Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func document(url, text string, at time.Time) Document {
	return Document{URL: url, HTTP: 200, Digest: digest([]byte(text)), Text: []byte(text), Fetched: at,
		Expires: at.Add(time.Hour)}
}

func TestStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.db")
	for name, s := range map[string]Store{"memory": NewMemory(), "disk": openStore(t, path)} {
		t.Run(name, func(t *testing.T) {
			at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
			if _, known, err := s.Load("http://a"); known || err != nil {
				t.Errorf("%v, %v", known, err)
			}
			failed := Document{URL: "http://a/robots.txt", HTTP: 503, Err: "HTTP status 503", Fetched: at,
				Expires: at.Add(MinAge)}
			if err := s.Save("http://a", Record{Last: failed}); err != nil {
				t.Fatal(err)
			}
			r, known, err := s.Load("http://a")
			if !known || err != nil || r.Held != nil || !reflect.DeepEqual(r.Last, failed) {
				t.Errorf("%+v, %v, %v", r, known, err)
			}
			var versions []Version
			for i := range 3 {
				v := Version{Since: at.Add(time.Duration(i) * time.Minute),
					Robots:     document("http://a/robots.txt", fmt.Sprint("# ", i), at),
					References: []Document{document("http://a/s.txt", "the same", at)}}
				versions = append(versions, v)
				for _, origin := range []string{"http://a", "http://a.b", "http://a:81"} {
					if err := s.Save(origin, Record{Last: v.Robots, Held: &v}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, origin := range []string{"http://a", "http://a.b", "http://a:81"} {
				vs, err := s.History(origin)
				if err != nil || !reflect.DeepEqual(vs, versions) {
					t.Errorf("history of %s: %+v, %v", origin, vs, err)
				}
				if r, _, err = s.Load(origin); err != nil || !reflect.DeepEqual(*r.Held, versions[2]) ||
					r.Last.Text != nil {
					t.Errorf("%+v, %v", r, err)
				}
			}
			since, err := s.Since("http://a")
			if none, also := s.Since("http://"); err != nil || also != nil || !since.Equal(versions[2].Since) ||
				!none.IsZero() {
				t.Errorf("since %v and %v, %v, %v", since, none, err, also)
			}
			renewed := versions[2]
			renewed.Robots.Expires = at.Add(48 * time.Hour)
			if err := s.Save("http://a", Record{Last: renewed.Robots, Held: &renewed}); err != nil {
				t.Fatal(err)
			}
			if vs, err := s.History("http://a"); err != nil || len(vs) != 3 ||
				!vs[2].Robots.Expires.Equal(renewed.Robots.Expires) {
				t.Errorf("renewed: %+v, %v", vs, err)
			}
			var keys []string
			if err := s.Each("", func(at Attempt) error {
				keys = append(keys, at.Origin)
				if at.Origin == "http://a" && (at.Status != Read || !at.At.Equal(renewed.Robots.Fetched) ||
					!at.Expires.Equal(renewed.Robots.Expires) || !at.Read.Equal(at.At)) {
					t.Errorf("%+v", at)
				}
				return nil
			}); err != nil || !slices.Equal(keys, []string{"http://a", "http://a.b", "http://a:81"}) {
				t.Errorf("%q, %v", keys, err)
			}
			for i := range maxVersions {
				v := Version{Since: at.Add(time.Duration(i) * time.Hour),
					Robots: document("http://z/robots.txt", fmt.Sprint("# long ", i), at)}
				for range 2 {
					if err := s.Save("http://z", Record{Last: v.Robots, Held: &v}); err != nil {
						t.Fatal(err)
					}
				}
			}
			v := Version{Since: at.Add(10_000 * time.Hour), Robots: document("http://z/robots.txt", "# last", at)}
			if err := s.Save("http://z", Record{Last: v.Robots, Held: &v}); err != nil {
				t.Fatal(err)
			}
			if vs, err := s.History("http://z"); err != nil || len(vs) != maxVersions ||
				string(vs[0].Robots.Text) != "# long 1" {
				t.Errorf("%d versions, %v", len(vs), err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_ = db.View(func(tx *bolt.Tx) error {
		if n := tx.Bucket(textsBucket).Stats().KeyN; n != maxVersions+3*4 {
			t.Errorf("%d texts are kept", n)
		}
		return nil
	})
}

func TestRestart(t *testing.T) {
	up, down := newSite(t), newSite(t)
	up.Text("/robots.txt", "ACAP-crawler: *", "ACAP-disallow-index: /private/", "ACAP-crawler: *",
		"ACAP-permissions-reference: /s.txt")
	up.Text("/s.txt", "ACAP-crawler: *", "ACAP-disallow-follow: /private/")
	down.Status("/robots.txt", 503)
	path, c := filepath.Join(t.TempDir(), "policy.db"), newClock()
	run := func(o Options) *Authority {
		o.Now = c.now
		return New(fetcher(t), tester, openStore(t, path), o)
	}
	check := func(a *Authority) {
		t.Helper()
		held, known := a.Held(up.at("/"))
		if !known {
			t.Fatal("not held")
		}
		expect(t, held, acap.Index, up.at("/private/x"), false)
		o := origin(t, a, up.at("/"))
		expect(t, o, acap.Index, up.at("/private/x"), false)
		expect(t, o, acap.Follow, up.at("/private/x"), false)
		expect(t, o, acap.Index, up.at("/x"), true)
		expect(t, origin(t, a, down.at("/")), acap.Crawl, down.at("/x"), false)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	a := run(Options{})
	origin(t, a, up.at("/"))
	check(a)
	down.asked("/robots.txt", 1)
	c.pass(time.Minute)
	check(run(Options{}))
	up.asked("/robots.txt", 1)
	up.asked("/s.txt", 1)
	down.asked("/robots.txt", 2) // a file that could not be read is tried again in every run
	check(run(Options{Reread: c.now()}))
	up.asked("/robots.txt", 2)
	up.asked("/s.txt", 2)
	c.pass(MaxAge)
	check(run(Options{}))
	up.asked("/robots.txt", 3)
	up.asked("/s.txt", 3)
}

func TestHistory(t *testing.T) {
	s, c := newSite(t), newClock()
	a := authority(t, openStore(t, filepath.Join(t.TempDir(), "policy.db")), Options{Now: c.now})
	robots := []string{"ACAP-crawler: *", "ACAP-permissions-reference: /s.txt"}
	steps := []func(){
		func() { s.Text("/robots.txt", robots...); s.Text("/s.txt", "ACAP-crawler: *") },
		func() {}, // nothing has changed: no new version
		func() { s.Text("/s.txt", "ACAP-crawler: *", "ACAP-disallow-index: /") },
		func() { s.Status("/s.txt", 503) },
		func() { s.Status("/robots.txt", 503) }, // robots.txt was not read: no new version
		func() { s.Status("/robots.txt", 404) },
		func() { s.Text("/robots.txt", "# nothing") },
	}
	since := []int{0, 0, 2, 3, 3, 5, 6} // for each step, the number of the step that made the version in force
	for i, step := range steps {
		step()
		now, err := a.Refresh(t.Context(), s.at("/"))
		if err != nil {
			t.Fatal(err)
		}
		want := newClock().now().Add(time.Duration(since[i]) * time.Hour)
		if held, known := a.Held(s.at("/")); !known || !held.Since.Equal(want) {
			t.Errorf("step %d: %v holds since %s", i, known, held.Since)
		}
		if unread := now.Status == Unreachable; unread != now.Since.IsZero() || !unread && !now.Since.Equal(want) {
			t.Errorf("step %d: in force since %s", i, now.Since)
		}
		c.pass(time.Hour)
	}
	vs, err := a.History(s.at("/"))
	if err != nil {
		t.Fatal(err)
	}
	start := newClock().now()
	want := []struct {
		hour       int
		status     Status
		references int
	}{{0, Read, 1}, {2, Read, 1}, {3, Read, 1}, {5, None, 0}, {6, Read, 0}}
	if len(vs) != len(want) {
		t.Fatalf("%d versions: %+v", len(vs), vs)
	}
	for i, w := range want {
		v := vs[i]
		if !v.Since.Equal(start.Add(time.Duration(w.hour)*time.Hour)) || v.Robots.Status() != w.status ||
			len(v.References) != w.references {
			t.Errorf("version %d: %+v", i, v)
		}
		if v.Robots.Digest != digest(v.Robots.Text) {
			t.Errorf("version %d: digest of another text", i)
		}
	}
	if !vs[0].Robots.Fetched.Equal(start.Add(time.Hour)) {
		t.Errorf("the first version was last read at %s", vs[0].Robots.Fetched)
	}
	if !bytes.Contains(vs[1].References[0].Text, []byte("disallow-index")) || vs[2].References[0].Err == "" ||
		string(vs[4].Robots.Text) != "# nothing\n" {
		t.Errorf("%+v", vs)
	}
}

func TestStoreInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.db")
	s := openStore(t, path)
	defer s.Close()
	if _, err := Open(path); err == nil {
		t.Error("opened twice")
	}
}

func TestDamagedStore(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.db")
	s := openStore(t, whole)
	for i := range 40 {
		v := Version{Since: time.Unix(int64(i), 0),
			Robots: document("http://a/robots.txt", fmt.Sprintf("%d%4000s", i, ""), time.Unix(int64(i), 0))}
		if err := s.Save("http://a", Record{Last: v.Robots, Held: &v}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(src)
	for i := 3 * 4096; i < len(flipped); i += 7 {
		flipped[i] ^= 0xa5
	}
	for name, content := range map[string][]byte{
		"garbage": bytes.Repeat([]byte("not a database "), 4096),
		"cut":     src[:3*4096],
		"short":   src[:100],
		"flipped": flipped,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err != nil {
			continue
		}
		if r, known, err := s.Load("http://a"); err == nil && known && r.Held != nil {
			t.Errorf("%s: %+v", name, r.Held)
		}
		_ = s.Close()
	}
}
