package terms_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// The terms of a page combine the policy of its origin with the statements of the page. They decide, and give the
// text and the snippet that are left.
func Example() {
	robots := acap.Parse("http://example.com/robots.txt",
		[]byte("ACAP-crawler: *\nACAP-disallow-preserve: /\nACAP-allow-present-snippet: / max-length=6-words\n"))
	origin := robots.Policy(acap.Crawler{Names: []string{"examplebot"}})
	u := &url.URL{Scheme: "http", Host: "example.com", Path: "/ferry.html"}
	received := page.New([]page.Hop{{URL: u.String(), Status: 200, Header: http.Header{"Content-Type": {"text/html"}},
		Body: []byte(`<title>Ferry</title><p>The ferry sails at noon.
			<b class="the-acap:disallow-index">The price is two coins.</b>`)}})
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

	t := terms.Of(context.Background(), origin, u, received, terms.Sources{}, acap.Facts{Now: now})
	fmt.Println(t.Decide(acap.Preserve).Why())
	if text, ok := t.Text(); ok {
		fmt.Println("to index:", text.Text)
	}
	if s, ok := t.Snippet(acap.PresentSnippet, snippet.Wanted{Query: "price"}); ok {
		fmt.Println("to show:", s.Text)
	}
	// Output:
	// prohibited by http://example.com/robots.txt:2: ACAP-disallow-preserve: /
	// to index: The ferry sails at noon.
	// to show: …noon. The price is two coins.
}
