package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/site"
)

// startServing runs a verb that also serves the archive, until it ends by itself or the returned context of stop. The
// address of the server follows the words before in what the verb prints.
func startServing(t *testing.T, before string, args ...string) (s *serving, stop func(), ended <-chan int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	output, said := io.Pipe()
	status := make(chan int, 1)
	go func() {
		c := Command{Stdin: strings.NewReader(""), Stdout: said, Stderr: said, Env: []string{"HOME=" + t.TempDir()}}
		status <- c.Main(ctx, args)
		said.Close()
	}()
	s = &serving{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	address := regexp.MustCompile(regexp.QuoteMeta(before) + `(http://[^/]+)/`)
	lines := bufio.NewReader(output)
	for s.at == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the verb ended with status %d", <-status)
		}
		if found := address.FindStringSubmatch(line); found != nil {
			s.at = found[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return s, stop, status
}

// TestCrawlServes checks that crawl --serve answers readers and publishers while the crawl runs, and ends with it.
func TestCrawlServes(t *testing.T) {
	t.Parallel()
	site, data := crawled(t, "/a.html", "/big.html")
	s, _, ended := startServing(t, "The archive is shown at ", "crawl", "--data", data, "--delay", "0", "--serve",
		"127.0.0.1:0", "--config", guardedSettings(t, ""), site.URL+"/held.html")
	if text := s.text(t, "/search?q=gull"); !strings.Contains(text, "/versions/"+site.URL+"/a.html") {
		t.Error(text)
	}
	if err := site.Await(t.Context(), func(line string) bool { return line == "GET /held.html" }, 1); err != nil {
		t.Fatal(err)
	}
	operator := s.person(t)
	operator.login(t, "operator", operatorPassword)
	for !strings.Contains(operator.text(t, "/sites"), "<dt>Done</dt>") { // the crawl reports it at intervals
	}
	if strings.Contains(s.text(t, "/sites"), "<dt>Done</dt>") {
		t.Error("every reader sees the progress of the crawl")
	}
	if status, at, text := operator.takeDown(t, site.URL+"/a.html", 1); status != 200 ||
		!strings.Contains(text, "<dt>State</dt><dd>done</dd>") {
		t.Errorf("%d %s %s", status, at, text)
	}
	if status := s.read(t, "/versions/"+site.URL+"/a.html", io.Discard); status != http.StatusGone {
		t.Errorf("taken down: %d", status)
	}
	again := operator.form(t, "re-crawl", site.URL+"/big.html")
	if status, _, text := operator.post(t, "/requests", again); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	// the crawl visits the page although it is not complete
	if err := site.Await(t.Context(), func(line string) bool { return line == "GET /big.html" }, 2); err != nil {
		t.Fatal(err)
	}
	site.Release()
	if status := <-ended; status != statusDone {
		t.Error(status)
	}
	if _, err := s.client.Get(s.at); err == nil {
		t.Error("somebody answers after the end of the crawl")
	}
}

// TestExecuteSubmitted checks that a request which is in the ledger and not executed is executed as soon as the channel
// says that there is one.
func TestExecuteSubmitted(t *testing.T) {
	web, data := crawled(t, "/a.html")
	cfg, err := demoConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := site.OpenLedger(cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = ledger.Submit(actions.Submission{Action: acap.TakeDown, URL: web.URL + "/a.html"})
	if err = errors.Join(err, ledger.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c := &Command{Stderr: io.Discard}
	ch := newChannel(ctx, c, cfg)
	defer ch.close()
	ch.awaken("")
	var running sync.WaitGroup
	running.Go(func() { c.executeSubmitted(ctx, cfg, ch, io.Discard) })
	for call(t.Context(), data, "archive", "verify", "--erased", web.URL+"/a.html").status != statusDone {
	}
	stop()
	running.Wait()
}

// TestDemoTakesRequests checks that demo --serve has the pages of requests and logins of serve, and executes requests.
func TestDemoTakesRequests(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "demo")
	s, stop, ended := startServing(t, "The archive is at ", "demo", "--serve", "--data", data, "--config",
		guardedSettings(t, ""))
	link := regexp.MustCompile(`/versions/(http://[^"]+/news/ferry\.html)`)
	ferry := link.FindStringSubmatch(s.text(t, "/search?q=ferry"))
	if ferry == nil {
		t.Fatal("the search does not find the page")
	}
	if text := s.text(t, "/requests"); !strings.Contains(text, "/news/retracted.html") ||
		!strings.Contains(text, "ACAP-request-take-down: /page") {
		t.Errorf("the public requests: %s", text)
	}
	if text := s.text(t, "/requests/1"); !strings.Contains(text, "ACAP-request-") {
		t.Errorf("a public request: %s", text)
	}
	operator := s.person(t)
	operator.login(t, "operator", operatorPassword)
	if status, _, text := operator.takeDown(t, ferry[1], 1); status != 200 ||
		!strings.Contains(text, "<dt>State</dt><dd>done</dd>") {
		t.Errorf("%d %s", status, text)
	}
	if status := s.read(t, "/versions/"+ferry[1], io.Discard); status != http.StatusGone {
		t.Errorf("taken down: %d", status)
	}
	if text := operator.text(t, "/audit"); !strings.Contains(text, "submitted") {
		t.Errorf("the audit log: %s", text)
	}
	stop()
	if status := <-ended; status != statusDone {
		t.Error(status)
	}
}
