package gate

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A pause that a host asks for holds for requests of all kinds. A long one lets requests fail, except for policy files.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hs := newHosts(1, time.Second, nil)
		enter := func(kind Kind) (*visit, time.Duration, error) {
			began := time.Now()
			v, err := hs.enter(t.Context(), "h:80", "h:80", kind)
			return v, time.Since(began), err
		}
		request := func(status int, retry string) {
			v, _, err := enter(PageRequest)
			if err != nil {
				t.Fatal(err)
			}
			v.start()
			v.observe(&http.Response{StatusCode: status, Header: http.Header{"Retry-After": {retry}}})
			v.leave()
		}
		for _, kind := range []Kind{PageRequest, Part, Sitemap, PolicyFile} {
			request(http.StatusTooManyRequests, "5")
			v, took, err := enter(kind)
			if err != nil || took < 5*time.Second {
				t.Fatalf("kind %d: %s, %v", kind, took, err)
			}
			v.leave()
		}
		request(http.StatusNotFound, "5") // means nothing
		v, took, err := enter(Part)
		if err != nil || took > 2*time.Second {
			t.Fatal(took, err)
		}
		v.leave()
		request(http.StatusServiceUnavailable, "3600")
		for _, kind := range []Kind{PageRequest, Part, Sitemap} {
			if _, took, err := enter(kind); !IsNetworkError(err) || took > 2*time.Second {
				t.Errorf("kind %d: %s, %v", kind, took, err)
			}
		}
		if v, took, err = enter(PolicyFile); err != nil || took > 2*time.Second {
			t.Fatal(took, err)
		}
		v.leave()
		time.Sleep(time.Hour)
		if v, took, err = enter(Part); err != nil || took > 2*time.Second {
			t.Fatal(took, err)
		}
		v.leave()
	})
}

// A request waits until the time that Options.Held names.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(30 * time.Second)
		hs := newHosts(1, time.Second, func(key string) time.Time {
			if key != "h:80" {
				return time.Time{}
			}
			return until
		})
		for key, want := range map[string]time.Time{"other:80": time.Now(), "h:80": until} {
			v, err := hs.enter(t.Context(), key, key, PolicyFile)
			if err != nil || time.Now().Before(want) {
				t.Fatal(key, time.Now(), err)
			}
			v.leave()
		}
	})
}

// A gate obeys Retry-After for a request of another kind.
func TestRetryAfter(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	g := newGate(t, Options{}, rule(open), s)
	if _, err := g.Get(t.Context(), PageRequest, s.URL+"/busy"); err != nil {
		t.Fatal(err)
	}
	answered := time.Now()
	if _, err := g.Get(t.Context(), Part, s.URL+"/part"); err != nil || time.Since(answered) < 950*time.Millisecond {
		t.Errorf("%s, %v", time.Since(answered), err)
	}
}
