package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/warc"
)

// scaleVariable is the environment variable for the number of captures in the archive during the
// take-down. The documentation promises the time limit atOnce for 100000 captures.
const scaleVariable = "ACAPCRAWL_SCALE"

const (
	usualScale = 1500
	// on an idle machine, the maximum time from the request of a take-down until the page cannot be
	// found and its keys are destroyed
	atOnce = 2 * time.Second
)

// strange returns a word that only page i contains; text, title and header of the page contain this
// word.
func strange(i int) string { return fmt.Sprintf("quux%dquux", i) }

// captures writes a WARC file with n pages of 2 KB.
func captures(t *testing.T, n int, site string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pages.warc")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, random := warc.NewWriter(f, false), rand.New(rand.NewPCG(7, 7))
	for i := range n {
		var body strings.Builder
		fmt.Fprintf(&body, "<!DOCTYPE html><html lang=en><title>Title%s</title><p>The text%s stands here.", strange(i),
			strange(i))
		for body.Len() < 2000 {
			fmt.Fprintf(&body, " w%x", random.IntN(20000))
		}
		_, err := w.Write(warc.Entry{Type: warc.Response, ID: warc.NewID(), Date: time.Now().Add(-time.Hour),
			Target:      fmt.Sprintf("%s/%d", site, i),
			ContentType: warc.TypeResponse, Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Word: head" +
				strange(i) + "\r\n\r\n"), Payload: []byte(body.String())})
		if err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// endless returns a site on which each page links to further pages without end. For each requested
// page, the site sends a value to asked if the test is receiving.
func endless(t *testing.T) (site *httptest.Server, asked chan struct{}) {
	asked = make(chan struct{})
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html lang=en><title>Page %d</title><p>A cormorant, number%d. <a href=/%d>on</a> <a "+
			"href=/%d>on</a>", i, i, 2*i+1, 2*i+2)
	}))
	t.Cleanup(site.Close)
	return site, asked
}

// holding returns the files below dir that contain one of the words.
func holding(t *testing.T, dir string, words ...string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // files may disappear, because the crawl continues
		}
		data, err := os.ReadFile(path)
		for _, word := range words {
			if err == nil && strings.Contains(string(data), word) {
				found = append(found, word+" in "+path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A take-down in a large archive during a crawl: when the command ends, the page is not found and
// its keys are destroyed, within two seconds if ACAPCRAWL_SCALE is set. The compaction that follows
// automatically removes the page from the files, and the test checks that.
func TestTakeDownAtScale(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("with -short it is left out: an archive of thousands of pages is made for it")
	}
	n, limit := usualScale, patience
	if said := os.Getenv(scaleVariable); said != "" {
		var err error
		if n, err = strconv.Atoi(said); err != nil {
			t.Fatal(err)
		}
		limit = atOnce
	}
	big := httptest.NewServer(http.NotFoundHandler())
	defer big.Close()
	data := filepath.Join(t.TempDir(), "data")
	if said := call(t.Context(), data, "archive", "import", "--assume-policy", "none",
		captures(t, n, big.URL)); said.status != statusDone {
		t.Fatalf("%.2000s", said.stderr)
	}
	site, asked := endless(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	crawled := make(chan answer, 1)
	go func() { crawled <- call(ctx, data, "crawl", "--delay", "0", "--max-host-urls", "-1", site.URL+"/0") }()
	for range 20 {
		select {
		case <-asked:
		case said := <-crawled:
			t.Fatal(said)
		}
	}

	which := n / 2
	url, word := fmt.Sprintf("%s/%d", big.URL, which), "text"+strange(which)
	if said := call(t.Context(), data, "search", word); said.status != statusDone {
		t.Fatal("it is not found before:", said)
	}
	began := time.Now()
	if said := call(t.Context(), data, "actions", "submit", "take-down", url); said.status != statusDone {
		t.Fatal(said)
	}
	if said := call(t.Context(), data, "search", word); said.status != statusNothing {
		t.Error("it is found:", said)
	}
	hidden := time.Since(began)
	said := erased(t, data, url)
	gone := time.Since(began)
	if !said.Verified || len(said.Erasures) != 1 || said.Erasures[0].Captures != 1 || len(said.Erasures[0].Keys) < 3 {
		t.Errorf("%+v", said)
	}
	if hidden > limit || gone > limit {
		t.Errorf("found no more after %s, erased after %s", hidden, gone)
	}
	for tick := time.Tick(100 * time.Millisecond); !said.Settled; said = erased(t, data, url) {
		select {
		case <-tick:
		case said := <-crawled:
			t.Fatal("the crawl is over, and the files remember:", said)
		}
	}
	if !said.Verified {
		t.Errorf("%+v", said)
	}
	t.Logf("of %d captures one was found no more after %s, its keys were destroyed after %s, and it was in no file "+
		"after %s", n, hidden, gone, time.Since(began))
	<-asked // the crawl continues
	stop()
	if said := <-crawled; said.status != statusDone {
		t.Error(said)
	}
	if where := holding(t, data, "Title"+strange(which), word, "head"+strange(which),
		reverse(strange(which))); where != nil {
		t.Error(where)
	}
	if where := holding(t, filepath.Join(data, "index"), url); where != nil {
		t.Error(where)
	}
	if said := call(t.Context(), data, "search", "text"+strange(which+1)); said.status != statusDone {
		t.Error("another one is not found:", said)
	}
	if said := call(t.Context(), data, "archive", "verify"); said.status != statusDone {
		t.Error(said)
	}
}

// reverse returns s with its bytes in reverse order, because the dictionaries of the index also
// store words in this form.
func reverse(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// erased returns the receipt of an erasure.
func erased(t *testing.T, data, url string) (r receipt) {
	t.Helper()
	said := call(t.Context(), data, "archive", "verify", "--json", "--erased", url)
	if err := json.NewDecoder(strings.NewReader(said.stdout)).Decode(&r); err != nil {
		t.Fatal(said, err)
	}
	return r
}
