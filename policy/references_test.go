package policy

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestReferenceIsRead(t *testing.T) { // P1 2.3.2, D05, F23
	s, foreign := newSite(t), newSite(t)
	s.Text("/robots.txt", "User-agent: *", "Disallow: /rules/",
		"ACAP-crawler: testbot", "ACAP-permissions-reference: /rules/s.txt",
		"ACAP-crawler: *", "ACAP-permissions-reference: "+foreign.URL+"/f.txt")
	s.Text("/rules/s.txt", "ACAP-crawler: *", "ACAP-disallow-index: /a/")
	foreign.Text("/f.txt", "ACAP-crawler: *", "ACAP-disallow-index: /b/")
	foreign.Text("/robots.txt", "User-agent: *", "Disallow: /") // X62
	a := authority(t, NewMemory(), Options{})
	o := origin(t, a, s.at("/"))
	expect(t, o, acap.Index, s.at("/a/x"), false)
	expect(t, o, acap.Index, s.at("/b/x"), false) // relative to the site that refers
	expect(t, o, acap.Index, s.at("/c/x"), true)
	if len(o.References) != 2 || o.References[0].File == nil || o.References[1].File == nil {
		t.Errorf("%+v", o.References)
	}
	if d := o.Policy.Decide(acap.Index, acap.NewResource(s.at("/a/x"))); d.Because == nil ||
		d.Because.Source != acap.Referred || d.Because.URL != s.URL+"/rules/s.txt" {
		t.Errorf("because %v", d.Because)
	}
	foreign.asked("/robots.txt", 0)
}

func TestSameReferenceOnce(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "ACAP-crawler: testbot", "ACAP-permissions-reference: /s.txt",
		"ACAP-crawler: *", "ACAP-permissions-reference: s.txt",
		"ACAP-crawler: *", "ACAP-permissions-reference: "+s.URL+"/s.txt#top")
	s.Text("/s.txt", "ACAP-crawler: *", "ACAP-disallow-index: /a/")
	a := authority(t, NewMemory(), Options{})
	o := origin(t, a, s.at("/"))
	expect(t, o, acap.Index, s.at("/a/x"), false)
	expect(t, o, acap.Index, s.at("/x"), true)
	s.asked("/s.txt", 1)
}

func TestNestedAndSelfReferences(t *testing.T) { // D01, X65
	s := newSite(t)
	s.Text("/robots.txt", "ACAP-crawler: *", "ACAP-permissions-reference: /robots.txt",
		"ACAP-crawler: *", "ACAP-permissions-reference: /s.txt")
	s.Text("/s.txt", "ACAP-crawler: *", "ACAP-permissions-reference: /t.txt", "ACAP-crawler: *",
		"ACAP-disallow-index: /a/")
	s.Text("/t.txt", "ACAP-crawler: *", "ACAP-disallow-crawl: /z")
	a := authority(t, NewMemory(), Options{})
	o := origin(t, a, s.at("/"))
	expect(t, o, acap.Crawl, s.at("/z"), true)
	expect(t, o, acap.Index, s.at("/a/x"), false)
	s.asked("/robots.txt", 1)
	s.asked("/t.txt", 0)
}

func TestReferenceUnavailable(t *testing.T) { // D07: every failure
	for name, serve := range map[string]func(s *site){
		"404":      func(s *site) {},
		"429":      func(s *site) { s.Status("/s.txt", 429) },
		"503":      func(s *site) { s.Status("/s.txt", 503) },
		"304":      func(s *site) { s.Status("/s.txt", 304) },
		"dropped":  func(s *site) { s.Handle("/s.txt", drop) },
		"short":    func(s *site) { s.Handle("/s.txt", short) },
		"circle":   func(s *site) { s.Redirect("/s.txt", "/s.txt") },
		"scheme":   func(s *site) { s.Redirect("/s.txt", "gopher://example.com/") },
		"location": func(s *site) { s.Status("/s.txt", 301) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.Text("/robots.txt", "ACAP-crawler: *", "ACAP-permissions-reference: /s.txt")
			serve(s)
			c := newClock()
			a := authority(t, NewMemory(), Options{Now: c.now})
			o := origin(t, a, s.at("/"))
			if o.Status != Read || len(o.References) != 1 || o.References[0].Err == nil {
				t.Errorf("%+v", o)
			}
			for _, usage := range acap.Usages() {
				d := o.Policy.Decide(usage, acap.NewResource(s.at("/x")))
				if d.Allowed || d.Reason != acap.Unavailable {
					t.Errorf("%s: %v, %s", usage, d.Allowed, d.Reason)
				}
			}
			s.Text("/s.txt", "ACAP-crawler: *", "ACAP-disallow-index: /a/")
			c.pass(MinAge)
			o = origin(t, a, s.at("/"))
			expect(t, o, acap.Index, s.at("/a/x"), false)
			expect(t, o, acap.Index, s.at("/x"), true)
			s.asked("/robots.txt", 1) // it was fresh
		})
	}
}

func TestUnresolvableReference(t *testing.T) { // D07
	s := newSite(t)
	s.Text("/robots.txt", "ACAP-crawler: *", "ACAP-permissions-reference: ftp://example.com/s.txt")
	a := authority(t, NewMemory(), Options{})
	expect(t, origin(t, a, s.at("/")), acap.Index, s.at("/x"), false)
}

func TestRedirectedReference(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "ACAP-crawler: *", "ACAP-permissions-reference: /s.txt")
	s.Redirect("/s.txt", "/moved/s.txt")
	s.Text("/moved/s.txt", "ACAP-crawler: *", "ACAP-disallow-index: /a/")
	a := authority(t, NewMemory(), Options{})
	o := origin(t, a, s.at("/"))
	expect(t, o, acap.Index, s.at("/a/x"), false)
	expect(t, o, acap.Index, s.at("/x"), true)
}

func TestTooManyReferences(t *testing.T) {
	s := newSite(t)
	var lines []string
	for i := range MaxReferences + 1 {
		path := fmt.Sprintf("/s%d.txt", i)
		lines = append(lines, "ACAP-crawler: *", "ACAP-permissions-reference: "+path)
		s.Text(path, "ACAP-crawler: *")
	}
	s.Text("/robots.txt", lines...)
	a := authority(t, NewMemory(), Options{})
	o := origin(t, a, s.at("/"))
	expect(t, o, acap.Index, s.at("/x"), false)
	s.asked("/s31.txt", 1)
	s.asked("/s32.txt", 0)
	if last := o.References[MaxReferences]; last.File != nil || last.Err == nil {
		t.Errorf("%+v", last)
	}
	s.Text("/robots.txt", lines[:2*MaxReferences]...)
	o, err := a.Refresh(t.Context(), s.at("/"))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, o, acap.Index, s.at("/x"), true)
}

// The pause that robots.txt asks for binds the references already.
func TestPaceBeforeReferences(t *testing.T) {
	s := newSite(t)
	var mu sync.Mutex
	var log []string
	s.Text("/robots.txt", "User-agent: *", "Crawl-delay: 7", "ACAP-crawler: *", "ACAP-permissions-reference: /s.txt")
	s.Handle("/s.txt", func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, "reference")
	})
	a := authority(t, NewMemory(), Options{Pace: func(u *url.URL, d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, u.String()+" "+d.String())
	}})
	origin(t, a, s.at("/"))
	if want := []string{s.URL + " 7s", "reference"}; !slices.Equal(log, want) {
		t.Errorf("%q, want %q", log, want)
	}
}
