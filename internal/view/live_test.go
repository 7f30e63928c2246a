package view

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
)

// TestLive checks in Chromium that a page follows a crawl: counts and progress change, and at its end the page says so
// and asks no more.
func TestLive(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := pagecheck.Browse(t)
	f := &fixedSites{count: 1, crawl: &Crawl{Began: day, Done: 4711}}
	h := sitesHandler(t, f)
	var mu sync.Mutex
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/sites" {
			asked++
		}
		h.ServeHTTP(w, r.WithContext(WithVisitor(r.Context(), Visitor{Role: Operator})))
	}))
	defer server.Close()
	// renew changes what the server knows, and waits until the page shows these words
	renew := func(change func(), words string) {
		t.Helper()
		mu.Lock()
		change()
		mu.Unlock()
		pagecheck.Eval[bool](b, `new Promise((resolve) => {
			const seen = () => document.body.innerText.includes("`+words+`") && resolve(true);
			new MutationObserver(seen).observe(document.body, {childList: true, subtree: true});
			document.dispatchEvent(new Event("visibilitychange"));
		})`)
	}
	b.Open(server.URL + "/sites")
	b.See("4711", "h000.example")
	renew(func() { f.crawl.Done, f.count = 4712, 3 }, "4712")
	b.See("h002.example")
	renew(func() { f.crawl = nil }, "The crawl has ended. Reload this page.")
	mu.Lock()
	before := asked
	mu.Unlock()
	pagecheck.Eval[bool](b, `document.dispatchEvent(new Event("visibilitychange"))`)
	pagecheck.Eval[bool](b, `fetch("/").then(() => true)`) // a request that began before is sent by then
	mu.Lock()
	defer mu.Unlock()
	if asked != before {
		t.Errorf("the page asks %d more times", asked-before)
	}
}
