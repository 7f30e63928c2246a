package gate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/policy"
)

// Every request of a crawler passes a gate. It reads the policy of the host first, and sends nothing that the policy
// prohibits, also after a redirect. It is an http.RoundTripper, so an http.Client can use it.
func Example() {
	paper := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("requested:", r.URL.Path)
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "ACAP-crawler: *\nACAP-disallow-crawl: /members/\n")
		case "/old":
			http.Redirect(w, r, "/members/old", http.StatusFound)
		}
	}))
	defer paper.Close()

	who := acap.Crawler{Names: []string{"examplebot"}}
	g := gate.New(gate.Options{UserAgent: "examplebot/1.0"})
	defer g.Close()
	policies := policy.New(policy.Through(g), who, policy.NewMemory(), policy.Options{Pace: g.Pace})
	defer policies.Close()
	g.Use(policies)
	if u, err := url.Parse(paper.URL); err == nil {
		g.Name(u) // a host with a private address is requested only if it is named
	}

	client := &http.Client{Transport: g}
	for _, path := range []string{"/news", "/old"} {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, paper.URL+path, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := client.Do(req)
		if refusal, is := errors.AsType[*gate.Refusal](err); is {
			fmt.Println("refused by line", refusal.Decision.Because.Line)
			continue
		} else if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("status", resp.StatusCode)
		resp.Body.Close()
	}
	// Output:
	// requested: /robots.txt
	// requested: /news
	// status 200
	// requested: /old
	// refused by line 2
}
