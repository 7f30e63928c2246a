package page_test

import (
	"fmt"
	"net/http"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// article returns a page as a crawler receives it.
func article(body string) *page.Page {
	return page.New([]page.Hop{{URL: "http://example.com/news/ferry.html", Method: http.MethodGet, Status: 200,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body)}})
}

// A page is read once; text, links and the statements of the page itself come from the same reading.
func Example() {
	p := article(`<!DOCTYPE html><title>The ferry</title><meta name="robots" content="nosnippet">
		<p>It sails <a href="/noon.html">at noon</a>.`)

	fmt.Println(p.Title(page.Cut{}))
	fmt.Println(p.Text(page.Cut{}))
	fmt.Println(p.Links(page.Cut{}))
	for _, tag := range p.Own().Tags {
		fmt.Println(tag.Name, tag.Content)
	}
	// Output:
	// The ferry
	// The ferry It sails at noon.
	// [http://example.com/noon.html]
	// robots nosnippet
}

// A Cut says which elements a usage may see, by their class attributes. Copy returns the markup that is left.
func ExamplePage_Copy() {
	p := article(`<p>For everybody.<p class="the-acap:disallow-preserve">For readers of today.`)

	body, cut := p.Copy(page.Cut{Keep: func(marks []acap.Mark) bool { return len(marks) == 0 }})
	fmt.Println(cut, string(body))
	// Output:
	// true <html><head></head><body><p>For everybody.</p></body></html>
}
