package policy

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// reader is a crawler that obeys all newer vocabularies.
func reader(t *testing.T) acap.Crawler {
	t.Helper()
	who := tester
	var err error
	if who.Vocabularies, err = preference.Vocabularies(preference.Names(), preference.Settings{}); err != nil {
		t.Fatal(err)
	}
	return who
}

// tdmrep.json is requested once with each robots.txt, whether it exists, fails or is read, but not if
// robots.txt prohibits it.
func TestTDMRepRequests(t *testing.T) {
	const path = "/.well-known/tdmrep.json"
	for name, c := range map[string]struct {
		rule   string
		status int
		want   int // requests after robots.txt was read twice
	}{"read": {"Disallow: /x", 200, 2}, "missing": {"Disallow: /x", 404, 2}, "failing": {"Disallow: /x", 503, 2},
		"prohibited": {"Disallow: /.well-known/", 200, 0}} {
		t.Run(name, func(t *testing.T) {
			s, now := newSite(t), newClock()
			s.Text("/robots.txt", "User-agent: *", c.rule)
			s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(`[{"location": "/", "tdm-reservation": 1}]`))
			})
			a := New(fetcher(t), reader(t), NewMemory(), Options{Now: now.now})
			for range 2 {
				for range 3 {
					o := origin(t, a, s.at("/"))
					expect(t, o, acap.TDM, s.at("/a"), c.status != 200 || c.want == 0)
					now.pass(time.Minute)
				}
				now.pass(MaxAge)
			}
			s.asked(path, c.want)
			s.asked("/robots.txt", 2)
		})
	}
}

// At returns what was said when a page was fetched, and Since keeps it, although it was lifted.
func TestAt(t *testing.T) {
	s, now := newSite(t), newClock()
	s.Text("/robots.txt", "User-agent: *", "Content-Usage: train-ai=n")
	a := New(fetcher(t), reader(t), NewMemory(), Options{Now: now.now})
	origin(t, a, s.at("/"))
	now.pass(time.Hour)
	fetched := now.now()
	if a.At(s.at("/"), fetched) != nil {
		t.Error("there is an earlier policy before the policy changed")
	}
	s.Text("/robots.txt", "User-agent: *", "Content-Usage: train-ai=y, ai-use=n")
	now.pass(MaxAge)
	today, r := origin(t, a, s.at("/")).Policy, acap.NewResource(s.at("/a"))
	then := a.At(s.at("/"), fetched)
	if then == nil {
		t.Fatal("the earlier policy is not known")
	}
	for u, want := range map[acap.Usage][2]bool{acap.TrainAI: {true, false}, acap.AIUse: {false, false},
		acap.TDM: {true, true}} {
		if got := today.Decide(u, r).Allowed; got != want[0] {
			t.Errorf("today %s is allowed: %t", u, got)
		}
		if got := today.Since(then).Decide(u, r).Allowed; got != want[1] {
			t.Errorf("%s of the held page is allowed: %t", u, got)
		}
	}
	if a.At(s.at("/"), now.now()) != nil || a.At(s.at("/"), fetched.Add(-2*time.Hour)) != nil {
		t.Error("there is an earlier policy for a page that was fetched today, or before any policy was read")
	}
}

// A licence document that many pages name is requested once while it is fresh, and one that cannot be
// read has the reason.
func TestLicences(t *testing.T) {
	s, now := newSite(t), newClock()
	release := make(chan struct{})
	s.Handle("/l.xml", func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = w.Write([]byte(`<rsl xmlns="https://rslstandard.org/rsl" max-age="2">` +
			`<content url=""><license/></content></rsl>`))
	})
	a := New(fetcher(t), reader(t), NewMemory(), Options{Now: now.now})
	list := []acap.Licence{{URL: s.URL + "/l.xml"}, {Text: []byte("inline")}, {URL: s.URL + "/gone.xml"}}
	read := func() {
		got, err := a.Licences(t.Context(), list)
		if err != nil || len(got[0].Text) == 0 || got[0].Err != "" || string(got[1].Text) != "inline" ||
			got[2].Err != "HTTP status 404" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(read)
	}
	close(release)
	wg.Wait()
	s.asked("/l.xml", 1)
	now.pass(47 * time.Hour)
	read()
	s.asked("/l.xml", 1)
	now.pass(2 * time.Hour)
	read()
	s.asked("/l.xml", 2)
	if got, err := authority(t, NewMemory(), Options{}).Licences(t.Context(), list); err != nil || got[0].Text != nil {
		t.Errorf("a crawler that does not obey the vocabulary read %+v, %v", got, err)
	}
}

// A licence that changes after robots.txt was read makes a version from the time when it was read: a
// page that was fetched before is judged by what was said then.
func TestAtAfterLicence(t *testing.T) {
	s, now, store := newSite(t), newClock(), NewMemory()
	text := "prohibits"
	s.Handle("/l.xml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<rsl xmlns="https://rslstandard.org/rsl" max-age="1">` +
			`<content url="/"><license><` + text + ` type="usage">all</` + text + `></license></content></rsl>`))
	})
	s.Text("/robots.txt", "License: "+s.URL+"/l.xml")
	read := func() *Authority {
		a := New(fetcher(t), reader(t), store, Options{Now: now.now})
		origin(t, a, s.at("/"))
		return a
	}
	read()
	now.pass(23*time.Hour + 55*time.Minute) // the licence is still fresh when robots.txt is read again
	a := New(fetcher(t), reader(t), store, Options{Now: now.now})
	if _, err := a.Refresh(t.Context(), s.at("/")); err != nil {
		t.Fatal(err)
	}
	now.pass(time.Minute)
	fetched := now.now()
	text = "permits"
	now.pass(time.Hour)
	read()
	now.pass(MaxAge)
	a = read()
	then := a.At(s.at("/"), fetched)
	today := origin(t, a, s.at("/")).Policy
	if r := acap.NewResource(s.at("/a")); then == nil || !today.Decide(acap.TrainAI, r).Allowed ||
		today.Since(then).Decide(acap.TrainAI, r).Allowed {
		t.Errorf("then %v, today %+v", then != nil, today.Decide(acap.TrainAI, r))
	}
}
