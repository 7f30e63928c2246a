package policy

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// TestPublicWhy checks that readers learn a status and not what the network said.
func TestPublicWhy(t *testing.T) {
	for why, want := range map[string]string{
		"": "", "HTTP status 503": "HTTP status 503",
		"HTTP status 301 without Location":                      "HTTP status 301 without Location",
		"the answer broke off after 12 bytes":                   "the answer broke off after 12 bytes",
		"it redirects in a circle":                              "it redirects in a circle",
		"more than 5 redirects":                                 "more than 5 redirects",
		"it was never read":                                     "it was never read",
		"lookup quay.example on 10.255.255.53:53: no such host": "it could not be reached",
		"dial tcp 10.1.2.3:80: HTTP status 503":                 "it could not be reached",
		"robots.txt could not be read: dial tcp 10.1.2.3:80: refused": "robots.txt could not be read: it could not " +
			"be reached",
		"robots.txt could not be read: HTTP status 503": "robots.txt could not be read: HTTP status 503",
	} {
		if got := PublicWhy(why); got != want {
			t.Errorf("%q: %q, want %q", why, got, want)
		}
	}
}

// failing answers every request with a status, or with an error of the network.
type failing int

func (f failing) Fetch(_ context.Context, rawurl string, _ http.Header) (Response, error) {
	if f == 0 {
		return Response{}, errors.New("dial tcp 10.1.2.3:80: connection refused")
	}
	return Response{URL: rawurl, Status: int(f)}, nil
}

// TestPublicDecision checks the reasons of policies that could not be read.
func TestPublicDecision(t *testing.T) {
	for status, want := range map[failing]string{
		0:   "robots.txt could not be read: it could not be reached",
		503: "robots.txt could not be read: HTTP status 503",
	} {
		a := New(status, acap.Crawler{}, NewMemory(), Options{})
		defer a.Close()
		u, err := url.Parse("http://quay.example/")
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.Policy(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		if d := PublicDecision(p.Decide(acap.Crawl, acap.NewResource(u))); d.Note != want {
			t.Errorf("%d: %q, want %q", status, d.Note, want)
		}
	}
}
