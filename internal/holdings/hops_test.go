package holdings

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/page"
)

// ledPage returns a page reached by redirects. The header and the request of each redirect contain
// a word that occurs nowhere else.
func ledPage(at time.Time, urls ...string) *page.Page {
	pg := pageOf(article, urls...)
	hops := pg.Hops()
	for i := range hops[:len(hops)-1] {
		word := wordOf(hops[i].URL)
		hops[i].Header = http.Header{"X-Word": {word}, "Location": {hops[i+1].URL}}
		hops[i].Head = []byte("HTTP/1.1 302 Found\r\nX-Word: " + word + "\r\nLocation: " + hops[i+1].URL +
			"\r\nContent-Length: 0\r\n\r\n")
		hops[i].Sent = []byte("GET / HTTP/1.1\r\nCookie: " + word + "\r\n\r\n")
	}
	for i := range hops {
		hops[i].Start = at
	}
	return page.New(hops)
}

func wordOf(address string) string {
	return "quux" + strings.ReplaceAll(strings.TrimPrefix(address, site+"/"), "/", "") + "quux"
}

// words lists the stored redirects to a page.
func (s *store) words(address string) string {
	s.Helper()
	list, err := s.archive.Captures(address)
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	for _, c := range list {
		for _, hop := range c.Hops {
			kept, err := s.archive.Captures(hop.URL)
			if err != nil {
				s.Fatal(err)
			}
			for _, r := range kept {
				out = append(out, strings.TrimPrefix(hop.URL, site)+"="+r.Header.Get("X-Word"))
			}
		}
	}
	return strings.Join(out, " ")
}

// exported returns the output of an export of everything.
func (s *store) exported() string {
	s.Helper()
	var w bytes.Buffer
	if _, err := s.Export(context.Background(), &w, ExportOptions{Plain: true}, nil); err != nil {
		s.Fatal(err)
	}
	return w.String()
}

// TestTakeDownHop checks a redirect at an address that is taken down. It must not be stored with
// the page that it redirects to, whether the page is received before or after the take-down request
// appears. When the request disappears, the redirect must not be stored again from older data.
func TestTakeDownHop(t *testing.T) {
	const old, mid = site + "/old", site + "/mid"
	ctx := context.Background()
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint("received before ", before), func(t *testing.T) {
			dir := t.TempDir()
			w := newWeb("")
			s := open(t, dir, w, Options{})
			if before {
				s.receive(ledPage(time.Now(), old, mid, a))
				if got := s.words(a); got != "/old=quuxoldquux /mid=quuxmidquux" {
					t.Fatalf("kept %s", got)
				}
			}
			w.says("ACAP-request-take-down: /old")
			if before {
				if n, err := s.Erase(ctx, old, takenDown, "line"); n != 1 || err != nil {
					t.Fatal(n, err)
				}
				if r, err := s.Holdings.Receipt(old); err != nil || !r.Verified() || r.Erasures[0].Hops != 1 ||
					r.Erasures[0].Line != "line" || !r.Erasures[0].Asked {
					t.Errorf("%+v, %v", r, err)
				}
			} else {
				s.receive(ledPage(time.Now(), old, mid, a))
			}
			check := func(when string) {
				t.Helper()
				if got := s.words(a); got != "/mid=quuxmidquux" {
					t.Errorf("%s: kept %s", when, got)
				}
				if out := s.exported(); strings.Contains(out, wordOf(old)) || strings.Contains(out, old) ||
					!strings.Contains(out, wordOf(mid)) {
					t.Errorf("%s: exported\n%s", when, out)
				}
				if held, err := s.Holds(old); held || err != nil {
					t.Error(when, held, err)
				}
				if to, err := s.archive.Resolve(old); to != old || err != nil {
					t.Errorf("%s: it leads to %s, %v", when, to, err)
				}
			}
			check("while the line stands")
			w.says("")
			check("when it has gone")
			if len(s.copies(a)) != 1 || s.found("pilot") != "/a" {
				t.Error("the page is lost")
			}
			if _, err := s.Compact(ctx, nil); err != nil {
				t.Fatal(err)
			}
			s.shut()
			if where := holding(t, dir, wordOf(old)); where != nil {
				t.Errorf("the word is in %q", where)
			}
		})
	}
}

// TestTakeDownHopMeanwhile checks that a take-down of a redirecting address, executed while the
// page is being received, erases the redirect.
func TestTakeDownHopMeanwhile(t *testing.T) {
	const old = site + "/old"
	for n := 1; ; n++ {
		w := newWeb("")
		s := open(t, t.TempDir(), w, Options{})
		var once sync.Once
		asked, late := 0, true
		w.asked = func() {
			if asked++; asked == n {
				once.Do(func() {
					late = false
					w.says("ACAP-request-take-down: /old")
					if _, err := s.Erase(context.Background(), old, takenDown, "line"); err != nil {
						t.Error(err)
					}
				})
			}
		}
		s.receive(ledPage(time.Now(), old, a))
		w.asked = nil
		if late {
			if n < 4 {
				t.Errorf("policies were asked for %d times alone", n)
			}
			return
		}
		if held, err := s.Holds(old); held || err != nil || s.words(a) != "" || len(s.copies(a)) != 1 {
			t.Errorf("asked %d times: held %v, %v, %s, %d copies", n, held, err, s.words(a), len(s.copies(a)))
		}
		if to, err := s.archive.Resolve(old); to != old || err != nil {
			t.Errorf("asked %d times: it leads to %s, %v", n, to, err)
		}
	}
}

// TestImportTakenDownHop checks a redirect that is older than a take-down of its address: it is not
// imported. Redirects to that address are imported without a target.
func TestImportTakenDownHop(t *testing.T) {
	const first, old = site + "/first", site + "/old"
	long := time.Now().Add(-24 * time.Hour)
	from := open(t, t.TempDir(), newWeb(""), Options{})
	from.receive(ledPage(long, first, old, a))
	file := from.exported()
	for _, c := range []struct {
		name   string
		before func(s *store)
		kept   string
	}{
		{name: "it was never taken down", before: func(*store) {}, kept: "/first=quuxfirstquux /old=quuxoldquux"},
		{name: "the line stands", before: func(s *store) { s.web.says("ACAP-request-take-down: /old") }},
		{name: "the line stood", before: func(s *store) {
			s.receive(ledPage(long, old, b))
			if _, err := s.Erase(context.Background(), old, takenDown, "line"); err != nil {
				s.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{})
			c.before(s)
			counts, err := s.Import(context.Background(), strings.NewReader(file), ImportOptions{MaxBody: 1 << 20}, nil)
			if err != nil || counts.Imported != 1 {
				t.Fatalf("%+v, %v", counts, err)
			}
			if got := s.words(a); got != c.kept {
				t.Errorf("kept %s", got)
			}
			if to, err := s.archive.Resolve(first); (to == a) != (c.kept != "") || err != nil {
				t.Errorf("%s leads to %s, %v", first, to, err)
			}
			if held, err := s.Holds(old); held != (c.kept != "") || err != nil {
				t.Error(held, err)
			}
		})
	}
}

// TestExportHopErasedMeanwhile checks that Export fails if a redirect that it has written is erased
// before Export ends.
func TestExportHopErasedMeanwhile(t *testing.T) {
	const old = site + "/old"
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(ledPage(time.Now(), old, a))
	var w bytes.Buffer
	_, err := s.Export(context.Background(), &w, ExportOptions{Plain: true}, func(Exported) {
		if _, err := s.Erase(context.Background(), old, takenDown, ""); err != nil {
			t.Error(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), ErrErased.Error()) {
		t.Error(err)
	}
}
