package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// read requests path as a reader, writes the body to w, and returns the status.
func (s *serving) read(t *testing.T, path string, w io.Writer) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.at+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// text returns the body of the page at path, and fails unless its status is 200.
func (s *serving) text(t *testing.T, path string) string {
	t.Helper()
	var out strings.Builder
	if status := s.read(t, path, &out); status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, out.String())
	}
	return out.String()
}

// TestReadersWhileOthersWork checks that readers get the same answers while serve has the data directory
// open, while a crawl or another verb has it open, and afterwards.
func TestReadersWhileOthersWork(t *testing.T) {
	t.Parallel()
	site, data := crawled(t, "/a.html")
	s, end := startServe(t, data)
	versions := "/versions/" + site.URL + "/a.html"
	before := s.text(t, versions)
	if _, lines := get(t, s.admin+"/readyz"); !strings.Contains(strings.Join(lines, ""), "ready") {
		t.Errorf("ready: %q", lines)
	}

	// a verb that every process can run
	if said := call(t.Context(), data, "archive", "ls"); said.status != statusDone ||
		!strings.Contains(said.stdout, "a.html") {
		t.Errorf("archive ls next to serve: %+v", said)
	}

	// a verb for which serve closes the data directory; meanwhile its process answers readers
	d, done := own(t, data, "crawl")
	d.serve()
	for _, path := range []string{versions, "/search?q=gull", "/versions/" + site.URL + "/none.html", "/"} {
		want := http.StatusOK
		if strings.HasSuffix(path, "none.html") {
			want = http.StatusNotFound
		}
		if status := s.read(t, path, io.Discard); status != want {
			t.Errorf("%s through another process: %d", path, status)
		}
	}
	if during := s.text(t, versions); during != before {
		t.Errorf("through another process:\n%s\nwant\n%s", during, before)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	if after := s.text(t, versions); after != before {
		t.Errorf("afterwards:\n%s\nwant\n%s", after, before)
	}

	// a whole crawl, with readers all the time
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				var text strings.Builder
				status := s.read(t, "/search?q=gull", &text)
				if status != http.StatusOK && status != http.StatusTooManyRequests {
					t.Errorf("during a crawl: %d %s", status, text.String())
				}
			}
		})
	}
	said := call(t.Context(), data, "crawl", "--delay", "0", site.URL+"/big.html")
	stop()
	readers.Wait()
	if said.status != statusDone {
		t.Errorf("a crawl next to serve: %+v", said)
	}
	s.text(t, "/versions/"+site.URL+"/big.html")
	if status := end(); status != statusDone {
		t.Errorf("serve ended with status %d: %s", status, s.log.String())
	}
}

// TestReadersOfNothing checks what readers get before anything is archived.
func TestReadersOfNothing(t *testing.T) {
	s, end := startServe(t, t.TempDir()+"/data")
	if resp, err := s.client.Get(s.admin + "/readyz"); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready: %+v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	for path, want := range map[string]int{"/": 200, "/search?q=gull": 200, "/sites": 200, "/sites/quay.example": 404,
		"/versions/http://quay.example/": 404, "/raw/20260105120000/http://quay.example/": 404,
		"/cdx?url=quay.example": 200, "/feed.atom?q=gull": 200, "/explain?url=http://quay.example/": 200,
		"/api/v1/search?q=gull": 200, "/api/v1/archive/ls": 200,
		"/api/v1/show?url=http://quay.example/": 404, "/robots.txt": 200,
		"/thumbnail/20260105120000/http://quay.example/": 404, "/openapi.json": 200} {
		if status := s.read(t, path, io.Discard); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
	pasted := url.Values{"robots": {"ACAP-crawler: *\nACAP-disallow-index: /x"}, "url": {"http://quay.example/x"}}
	if status, _, text := s.post(t, "/explain", pasted); status != 200 ||
		!strings.Contains(text, "ACAP-disallow-index") {
		t.Errorf("pasted text: %d %s", status, text)
	}
	if status := end(); status != statusDone {
		t.Error(status)
	}
}
