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

// P1 2.3.2 (D05): a file that robots.txt refers to is read, from another host too. REP 1 (F23): it
// may be fetched even if robots.txt prohibits crawling it.
func TestReferenceIsRead(t *testing.T) {
	s, foreign := newSite(t), newSite(t)
	s.Text("/robots.txt", "User-agent: *", "Disallow: /rules/",
		"ACAP-crawler: testbot", "ACAP-permissions-reference: /rules/s.txt",
		"ACAP-crawler: *", "ACAP-permissions-reference: "+foreign.URL+"/f.txt")
	s.Text("/rules/s.txt", "ACAP-crawler: *", "ACAP-disallow-index: /a/")
	foreign.Text("/f.txt", "ACAP-crawler: *", "ACAP-disallow-index: /b/")
	// P1 2.3.2 (X62): the robots.txt of the other host does not prohibit fetching the policy file.
	foreign.Text("/robots.txt", "User-agent: *", "Disallow: /")
	a := authority(t, NewMemory(), Options{})
	o := origin(t, a, s.at("/"))
	expect(t, o, acap.Index, s.at("/a/x"), false)
	// the paths in the referenced file apply to the site that refers to the file
	expect(t, o, acap.Index, s.at("/b/x"), false)
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

// P1 2.3.2 (D01, X65): a reference inside a referenced file, or to robots.txt itself, is not
// followed.
func TestNestedAndSelfReferences(t *testing.T) {
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

// P1 2.3.2 (D07): if a reference cannot be read, for any reason, everything is prohibited.
func TestReferenceUnavailable(t *testing.T) {
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
			s.asked("/robots.txt", 1) // robots.txt was still fresh
		})
	}
}

// P1 2.3.2 (D07): a reference that is not an http URL cannot be read, so everything is prohibited.
func TestUnresolvableReference(t *testing.T) {
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

// The Crawl-delay of robots.txt applies to the requests for its references too.
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
