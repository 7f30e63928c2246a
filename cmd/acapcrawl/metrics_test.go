package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// get requests url, and returns the status and the lines of the answer.
func get(t *testing.T, url string) (int, []string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.Split(string(body), "\n")
}

func TestMetrics(t *testing.T) {
	p := crawler.Progress{UnderWay: 2, Rate: 1.5, SoFar: crawler.Summary{Fetched: 3, Stored: 2, Indexed: 1,
		Refused:     crawler.Refusal{Crawl: 4, Follow: 5, Index: 6, Preserve: 7},
		Unreachable: 8, Errors: 9, Bytes: 10, Requests: 11, Skipped: crawler.Skipped{Outside: 12, Deep: 13,
			Trapped: 14}, Queued: 15, QueuedHosts: 16, Waiting: 17, TakenDown: 18}}
	at, stop, err := serveMetrics(t.Context(), "127.0.0.1:0", func() crawler.Progress { return p })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	_, lines := get(t, "http://"+at+"/metrics")
	var got []string
	for _, line := range lines {
		if strings.HasPrefix(line, "acapcrawl_") && !strings.Contains(line, "build_info") {
			got = append(got, strings.TrimPrefix(line, "acapcrawl_"))
		}
	}
	want := `body_bytes_total 10
held_total{usage="index"} 1
held_total{usage="preserve"} 2
pages_per_second 1.5
pages_total{outcome="failed"} 9
pages_total{outcome="fetched"} 3
pages_total{outcome="refused"} 4
pages_total{outcome="taken-down"} 18
pages_total{outcome="unreachable"} 8
queue_addresses 15
queue_hosts 16
refusals_total{usage="crawl"} 4
refusals_total{usage="follow"} 5
refusals_total{usage="index"} 6
refusals_total{usage="preserve"} 7
requests_total 11
skipped_total{reason="out-of-scope"} 12
skipped_total{reason="too-deep"} 13
skipped_total{reason="trap"} 14
visits_under_way 2
waiting_addresses 17`
	if strings.Join(got, "\n") != want {
		t.Errorf("answered\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	p.SoFar.NextDue = noon
	if _, lines := get(t, "http://"+at+"/metrics"); !strings.Contains(strings.Join(lines, "\n"),
		"\nacapcrawl_next_due_timestamp_seconds 1.7676144e+09\n") {
		t.Error("it is not told when the next host is due")
	}
	if status, _ := get(t, "http://"+at+"/"); status != http.StatusNotFound {
		t.Errorf("/ answers with status %d", status)
	}
}

// A crawl serves metrics from its start to its end, and nothing listens afterwards. If the address
// is in use, the crawl does not start.
func TestCrawlWithMetrics(t *testing.T) {
	dir, data := t.TempDir(), filepath.Join(t.TempDir(), "d")
	for name, text := range map[string]string{testweb.RulesFile: `{"/": {"hold": true}}`,
		"index.html": "<p>Here.</p>"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	site, err := testweb.Start(dir, "127.0.0.1", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	crawlAt := func(stderr io.Writer, metrics string) int {
		c := Command{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr}
		return c.Main(context.Background(), []string{"crawl", "--data", data, "--delay", "0", "--metrics", metrics,
			site.URL + "/"})
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var said bytes.Buffer
	if status := crawlAt(&said, taken.Addr().String()); status != statusFailed || len(site.Requests()) > 0 ||
		!strings.Contains(said.String(), "Try: ") {
		t.Errorf("an address in use: status %d, requests %q, %s", status, site.Requests(), said.String())
	}

	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- crawlAt(in, "127.0.0.1:0")
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	lines.Scan()
	url := regexp.MustCompile(`http://\S+/metrics`).FindString(lines.Text())
	if url == "" {
		t.Fatalf("%q names no address", lines.Text())
	}
	go io.Copy(io.Discard, out)
	if err := site.Await(t.Context(), func(line string) bool { return line == "GET /" }, 1); err != nil {
		t.Fatal(err)
	}
	if status, _ := get(t, url); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	site.Release()
	if status := <-ended; status != statusDone {
		t.Errorf("the crawl ended with status %d", status)
	}
	if conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics")); err == nil {
		conn.Close()
		t.Error("it is still answered after the crawl")
	}
}
