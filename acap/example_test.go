package acap_test

import (
	"fmt"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

const robots = `ACAP-version: 1.1
ACAP-crawler: *
ACAP-disallow-index: /
ACAP-allow-index: /news/ time-limit=3-days
`

// This example parses a robots.txt, decides whether a page may be indexed, and prints the line that
// decided.
func Example() {
	file := acap.Parse("http://example.com/robots.txt", []byte(robots))
	policy := file.Policy(acap.Crawler{Names: []string{"searchbot"}})

	for _, address := range []string{"http://example.com/news/ferry.html", "http://example.com/imprint.html"} {
		u, err := url.Parse(address)
		if err != nil {
			fmt.Println(err)
			return
		}
		facts := acap.Facts{Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)}
		d := policy.Decide(acap.Index, acap.NewResource(u)).At(facts)
		if err := d.Err(address); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("permitted by line", d.Because.Line, "until", d.Limits(facts).Until.Format(time.DateOnly))
	}
	// Output:
	// permitted by line 4 until 2026-01-08
	// index of http://example.com/imprint.html is not permitted: prohibited by http://example.com/robots.txt:3: ACAP-disallow-index: /
}

// This example prints which fields lost against the line that decided, and why.
func ExamplePolicy_Trace() {
	file := acap.Parse("http://example.com/robots.txt", []byte(robots))
	policy := file.Policy(acap.Crawler{Names: []string{"searchbot"}})
	page := acap.NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/news/ferry.html"})

	for _, v := range policy.Trace(acap.Index, page, acap.Facts{Now: time.Now()}) {
		fmt.Printf("line %d %s\n", v.Field.Line, v.Outcome)
		if v.Over != nil {
			fmt.Printf("  to line %d: %s\n", v.Over.Line, v.Why)
		}
	}
	// Output:
	// line 4 decides
	// line 3 loses
	//   to line 4: the other pattern is narrower
}

// The caller fetches the files that robots.txt refers to. If one of these files cannot be read,
// nothing is permitted.
func ExampleFile_References() {
	searchbot := acap.Crawler{Names: []string{"searchbot"}}
	file := acap.Parse("http://example.com/robots.txt",
		[]byte("ACAP-crawler: *\nACAP-permissions-reference: /terms.txt\n"))
	refs := file.References(searchbot)
	for i := range refs {
		fmt.Println("to be read:", refs[i].URL)
		refs[i].File = acap.ParseReferred(refs[i].URL, []byte("ACAP-crawler: *\nACAP-disallow-follow: /\n"))
	}
	front := acap.NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/"})
	fmt.Println(file.Policy(searchbot, refs...).Decide(acap.Follow, front).Why())
	fmt.Println(file.Policy(searchbot).Decide(acap.Index, front).Allowed)
	// Output:
	// to be read: http://example.com/terms.txt
	// prohibited by http://example.com/terms.txt:2: ACAP-disallow-follow: /
	// false
}

// The statements in a page are combined with the policy of its origin.
func ExamplePolicy_Narrow() {
	file := acap.Parse("http://example.com/robots.txt", []byte(robots))
	policy := file.Policy(acap.Crawler{Names: []string{"searchbot"}}).Narrow(acap.Own{
		URL:  "http://example.com/news/ferry.html",
		Tags: []acap.Tag{{Source: acap.Meta, Name: "robots", Content: "noindex", Line: 4, Column: 1}},
	})
	page := acap.NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/news/ferry.html"})
	fmt.Println(policy.Decide(acap.Index, page).Why())
	// Output:
	// restricted by http://example.com/news/ferry.html:4: noindex
}
