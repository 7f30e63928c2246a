package policy

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// An assumed robots.txt applies to stored pages until the real one is read, and never after that.
func TestAssume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.db")
	kept, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	answers := map[string]string{}
	a := New(answering(func(address string) (Response, error) {
		if text, ok := answers[address]; ok {
			return Response{URL: address, Status: http.StatusOK, Body: []byte(text)}, nil
		}
		return Response{URL: address, Status: http.StatusServiceUnavailable}, nil
	}), acap.Crawler{Names: []string{"gazer"}}, kept, Options{Now: func() time.Time { return now }})
	u := &url.URL{Scheme: "http", Host: "quay.example", Path: "/a"}
	may := func(usage acap.Usage) bool {
		o, known := a.Held(u)
		return known && o.Policy.Decide(usage, acap.NewResource(u)).Allowed
	}
	assume := func(text []byte, want bool) {
		t.Helper()
		now = now.Add(time.Second)
		if got, err := a.Assume(u, text); err != nil || got != want {
			t.Errorf("assumed %v, %v", got, err)
		}
	}
	assume([]byte("ACAP-crawler: *\nACAP-disallow-preserve: /\n"), true)
	first, _ := a.Held(u)
	if may(acap.Preserve) || !may(acap.Index) || first.Since.IsZero() {
		t.Error("the assumed robots.txt does not apply")
	}
	assume([]byte("ACAP-crawler: *\nACAP-disallow-preserve: /\n"), true)
	if again, _ := a.Held(u); !again.Since.Equal(first.Since) {
		t.Error("assuming the same text again makes another version")
	}
	assume(nil, true)
	if again, _ := a.Held(u); !may(acap.Preserve) || !again.Since.After(first.Since) {
		t.Error("the assumption that there is no robots.txt does not apply")
	}
	// An assumed robots.txt permits no request.
	if o, err := a.Origin(t.Context(), u); err != nil || o.Status != Unreachable ||
		o.Policy.Decide(acap.Crawl, acap.NewResource(u)).Allowed {
		t.Errorf("it answers 503: %+v, %v", o, err)
	}
	if !may(acap.Preserve) {
		t.Error("the assumption no longer applies after the site could not be reached")
	}
	assume([]byte("ACAP-crawler: *\nACAP-disallow-index: /\n"), true)
	if may(acap.Index) {
		t.Error("after 503 nothing can be assumed")
	}
	answers["http://quay.example/robots.txt"] = "ACAP-crawler: *\nACAP-disallow-present: /\n"
	now = now.Add(time.Second)
	if _, err := a.Refresh(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	assume(nil, false)
	if may(acap.Present) || !may(acap.Index) {
		t.Error("the real robots.txt does not apply")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if kept, err = Open(file); err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	if r, known, err := kept.Load("http://quay.example"); err != nil || !known || r.Held == nil ||
		r.Held.Robots.Assumed {
		t.Errorf("%+v, %v", r, err)
	}
}

// answering is a Fetcher that calls the function itself for each address.
type answering func(address string) (Response, error)

func (f answering) Fetch(_ context.Context, address string, _ http.Header) (Response, error) {
	return f(address)
}
