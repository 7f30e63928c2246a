package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
	"github.com/acapcrawl/acapcrawl/site"
)

// quay returns a site with a page, a page that may not be shown, and a page whose answer is delayed. It is not a
// variable: the program of these tests is also started as acapcrawl, thousands of times.
func quay() map[string]string {
	return map[string]string{
		testweb.RulesFile: `{"/held.html": {"hold": true}}`,
		"robots.txt":      "ACAP-crawler: *\nACAP-disallow-present: /shy.html\nACAP-request-take-down: /gone.html\n",
		"a.html":          "<!DOCTYPE html><html lang=en><title>Pier</title><p>A gull sat on the pier.</html>",
		"shy.html":        "<!DOCTYPE html><html lang=en><p>A tern sat on the quay.</html>",
		"big.html":        "<!DOCTYPE html><html lang=en><p>" + strings.Repeat("A gull. ", 1<<18),
		"noise.html":      noise(),
		"held.html":       "<p>Here.",
	}
}

// crawled starts a site, crawls the given pages into a new data directory, and returns both.
func crawled(t *testing.T, pages ...string) (site *testweb.Site, data string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range quay() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	site, err := testweb.Start(dir, "127.0.0.1", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	data = filepath.Join(t.TempDir(), "data")
	args := []string{"crawl", "--delay", "0"}
	for _, page := range pages {
		args = append(args, site.URL+page)
	}
	if said := call(t.Context(), data, args...); said.status != statusDone {
		t.Fatal(said)
	}
	return site, data
}

// answer is the exit status and the output of a verb.
type answer struct {
	status         int
	stdout, stderr string
}

// call runs a verb as if in a process of its own.
func call(ctx context.Context, data string, args ...string) answer {
	var stdout, stderr bytes.Buffer
	c := Command{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Env: []string{"HOME=" + filepath.Dir(data)}}
	status := c.Main(ctx, append(args, "--data", data))
	return answer{status, stdout.String(), stderr.String()}
}

// own opens a data directory as verb does, so that this process can run the verbs of other
// processes until end is called.
func own(t *testing.T, data, verb string) (d *directory, end func() error) {
	t.Helper()
	c := Command{Stderr: io.Discard, verb: verb}
	cfg, err := demoConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	if d, err = c.open(cfg, site.Options{Create: true,
		Crawler: &acap.Crawler{Names: []string{"acapcrawl"}}}); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceValue(d.Close)
	t.Cleanup(func() { end() })
	if err := d.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, end
}

// A verb prints the same in its own process and in the process of another verb.
func TestTakenInAsAlone(t *testing.T) {
	t.Parallel()
	site, data := crawled(t, "/a.html", "/shy.html", "/big.html")
	const noon = "2040-01-01T12:00:00Z"
	verbs := [][]string{
		{"search", "gull"}, {"search", "--json", "gull"}, {"search", "tern"}, {"search", "--json",
			"cormorant"}, {"search", `"gull`}, {"search", "--refresh", "gull"},
		{"show", site.URL + "/a.html"}, {"show", "--json", "--headers", site.URL + "/a.html"}, {"show",
			site.URL + "/shy.html"}, {"show", site.URL + "/none.html"},
		{"show", site.URL + "/big.html"}, {"show", "--version", "2", site.URL + "/a.html"},
		{"archive", "ls"}, {"archive", "ls", "--json"}, {"archive", "stats"}, {"archive", "stats",
			"--json"}, {"archive", "verify"}, {"archive", "verify", "--json"},
		{"actions", "ls"}, {"actions", "ls", "--json"},
		{"explain", "--as-of", noon, site.URL + "/a.html"}, {"explain", "--as-of", noon, "--json",
			site.URL + "/shy.html"},
		{"explain", "--as-of", noon, "--usage", "present", site.URL + "/shy.html"},
	}
	alone := make([]answer, len(verbs))
	for i, verb := range verbs {
		alone[i] = call(t.Context(), data, verb...)
	}
	s, end := own(t, data, "crawl")
	s.serve()
	var guests sync.WaitGroup
	for i, verb := range verbs {
		guests.Go(func() {
			if got := call(t.Context(), data, verb...); got != alone[i] {
				t.Errorf("%s: taken in %.500q\nalone %.500q", verb, fmt.Sprint(got), fmt.Sprint(alone[i]))
			}
		})
	}
	guests.Wait()
	if err := end(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{ownerFile, socketFile} {
		if _, err := os.Lstat(filepath.Join(data, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	for i, verb := range verbs {
		if got := call(t.Context(), data, verb...); got != alone[i] {
			t.Errorf("%s: afterwards %.500q\nbefore %.500q", verb, fmt.Sprint(got), fmt.Sprint(alone[i]))
		}
	}
}

// asking starts a verb that requests a page whose answer the site delays, and returns when the page
// was requested.
func asking(t *testing.T, ctx context.Context, site *testweb.Site, data string) (said chan answer) {
	t.Helper()
	said = make(chan answer, 1)
	go func() { said <- call(ctx, data, "explain", "--page", "--usage", "index", site.URL+"/held.html") }()
	if err := site.Await(t.Context(), func(line string) bool { return line == "GET /held.html" }, 1); err != nil {
		t.Fatal(err)
	}
	return said
}

// A verb that runs in another process ends when it is interrupted, and that other process (the
// host) continues.
func TestInterruptedGuest(t *testing.T) {
	site, data := crawled(t, "/a.html")
	s, _ := own(t, data, "crawl")
	s.serve()
	ctx, interrupt := context.WithCancel(t.Context())
	said := asking(t, ctx, site, data)
	interrupt()
	if got := <-said; got != (answer{statusFailed, "", "Error: interrupted\n"}) {
		t.Errorf("said %v", got)
	}
	if got := call(t.Context(), data, "search", "gull"); got.status != statusDone {
		t.Errorf("said %v", got)
	}
}

// A host, which is a process that runs verbs of other processes (guests), waits at its end until
// its guests have finished.
func TestEndWaits(t *testing.T) {
	site, data := crawled(t, "/a.html")
	s, end := own(t, data, "crawl")
	s.host.grace = time.Hour
	s.serve()
	said := asking(t, t.Context(), site, data)
	ended := make(chan error)
	go func() { ended <- end() }()
	for _, err := os.Stat(filepath.Join(data, ownerFile)); err == nil; _, err = os.Stat(filepath.Join(data,
		ownerFile)) {
		runtime.Gosched() // wait until the host begins to end and has removed owner.json
	}
	site.Release()
	if got := <-said; got.status != statusDone {
		t.Errorf("said %v", got)
	}
	if all := strings.Join(site.Requests(), "\n"); strings.Count(all, "GET /held.html") != 1 {
		t.Errorf("it began again: %s", all)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// At its end a host does not wait without limit: neither for a guest whose verb is still running
// nor for a guest that does not read its output.
func TestEndIsBounded(t *testing.T) {
	site, data := crawled(t, "/a.html", "/big.html")
	s, end := own(t, data, "crawl")
	s.host.grace, s.host.linger = 0, 0
	s.serve()
	asked := asking(t, t.Context(), site, data)
	o, _ := readOwner(data)
	conn, err := net.Dial("unix", o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(request{Token: o.Token, Args: []string{"show", "--data", data,
		site.URL + "/big.html"}}); err != nil {
		t.Fatal(err)
	}
	var m message
	// read until the first output; after that this guest reads nothing
	for hears := json.NewDecoder(conn); len(m.Out) == 0; {
		if err := hears.Decode(&m); err != nil || len(m.Err) > 0 {
			t.Fatalf("%v, %s", err, m.Err)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	site.Release()
	// this guest had no output yet, and began again in its own process
	if got := <-asked; got.status != statusDone || got.stdout == "" || got.stderr != "" {
		t.Errorf("said %v", got)
	}
}

// A verb that connects before the host is ready prints that it waits, and then runs in the process
// of the host.
func TestNotReady(t *testing.T) {
	_, data := crawled(t, "/a.html")
	s, _ := own(t, data, "crawl")
	hears, says := io.Pipe()
	done := make(chan int)
	go func() {
		c := Command{Stdout: io.Discard, Stderr: says}
		done <- c.Main(t.Context(), []string{"search", "--data", data, "gull"})
	}()
	line, err := bufio.NewReader(hears).ReadString('\n')
	if err != nil || !strings.Contains(line, "acapcrawl crawl") {
		t.Errorf("heard %q, %v", line, err)
	}
	s.serve()
	if status := <-done; status != statusDone {
		t.Errorf("status %d", status)
	}
}

// If a host ends before it was ready, the verbs that waited for the host run in their own
// processes. A crawl waits for the end of a host, because a crawl cannot run in the process of a
// host.
func TestNeverReady(t *testing.T) {
	site, data := crawled(t, "/a.html")
	for _, verb := range [][]string{{"search", "gull"}, {"crawl", "--delay", "0", site.URL + "/shy.html"}} {
		s, end := own(t, data, "archive export")
		said := make(chan answer)
		go func() { said <- call(t.Context(), data, verb...) }()
		// the verb connects only to test whether the owner listens, and sends no request
		conn, err := s.host.listener.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, conn)
		conn.Close()
		if err := end(); err != nil {
			t.Error(err)
		}
		if got := <-said; got.status != statusDone {
			t.Errorf("said %v", got)
		}
	}
}

// If the path of the socket would be too long, the socket is in a temporary directory, which is
// removed at the end.
func TestLongPath(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	_, short := crawled(t, "/a.html")
	data := filepath.Join(filepath.Dir(short), strings.Repeat("long", 40))
	if err := os.Rename(short, data); err != nil {
		t.Fatal(err)
	}
	for _, killed := range []bool{true, false} {
		s, end := own(t, data, "crawl")
		s.serve()
		if o, _ := readOwner(data); !strings.HasPrefix(o.Socket, tmp) {
			t.Fatalf("the socket is %s", o.Socket)
		}
		if got := call(t.Context(), data, "search", "gull"); got.status != statusDone {
			t.Errorf("said %v", got)
		}
		if killed { // a killed host leaves its files
			s.host.listener.SetUnlinkOnClose(false)
			keep, _ := os.ReadFile(filepath.Join(data, ownerFile))
			o, _ := readOwner(data)
			s.host.socket = filepath.Join(tmp, "other")
			end()
			if err := os.WriteFile(filepath.Join(data, ownerFile), keep, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(o.Socket); err != nil {
				t.Fatal(err)
			}
		} else {
			end()
		}
		if got := call(t.Context(), data, "search", "gull"); got.status != statusDone {
			t.Errorf("said %v", got)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A guest that sends a wrong token is rejected, and other users cannot read the token.
func TestToken(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	_, data := crawled(t, "/a.html")
	// a temporary file, readable by everybody, as a killed process could have left it
	if err := os.WriteFile(filepath.Join(data, ownerFile+".new"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ := own(t, data, "crawl")
	s.serve()
	for _, name := range []string{ownerFile, socketFile, "frontier.db"} {
		if info, err := os.Stat(filepath.Join(data, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	o, _ := readOwner(data)
	for _, sent := range []string{`{"args":["search","gull"]}`, `{"token":"x","args":["search","gull"]}`,
		"GET / HTTP/1.1\r\n\r\n", ""} {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: o.Socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, sent)
		conn.CloseWrite()
		if got, err := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("%q was answered %q, %v", sent, got, err)
		}
		conn.Close()
	}
}

// A panic in a guest's verb does not end its host.
func TestGuestPanics(t *testing.T) {
	var told bytes.Buffer
	w := &wire{to: json.NewEncoder(&told), over: t.Context()}
	status := request{Args: []string{"search", "--data", t.TempDir(), "gull"}}.run(t.Context(), &site.Site{}, w, nil)
	var m message
	if err := json.NewDecoder(&told).Decode(&m); status != statusFailed || err != nil ||
		!bytes.HasPrefix(m.Err, []byte("Error: a defect")) {
		t.Errorf("status %d, %v, %q", status, err, m.Err)
	}
}

// The verb of a guest uses the content of the configuration file that the guest sends, and does not read the file.
func TestGuestSendsConfiguration(t *testing.T) {
	_, data := crawled(t, "/a.html")
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("depth: deep"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, end := own(t, data, "crawl")
	s.serve()
	var out, problems bytes.Buffer
	c := Command{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &problems, configText: []byte("depth: 7")}
	status := c.Main(t.Context(), []string{"search", "--data", data, "--config", file, "gull"})
	if status != statusDone {
		t.Errorf("status %d: %s", status, problems.String())
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// If the verb of a guest does not end, the host ends nevertheless, and prints which files could not
// be closed.
func TestEndWithoutGuest(t *testing.T) {
	_, data := crawled(t, "/a.html")
	s, end := own(t, data, "crawl")
	s.host.grace, s.host.linger, s.host.patient = 0, 0, 0
	s.serve()
	free := make(chan struct{})
	s.host.guests.Go(func() { <-free })
	err := end()
	var said bytes.Buffer
	if status := report(&said, err); !errors.Is(err, errGuests) || status != statusFailed ||
		strings.Count(said.String(), "could not be closed") != 1 {
		t.Errorf("status %d, said %q", status, said.String())
	}
	close(free)
	s.host = nil
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// If another user may have written owner.json in the data directory, a verb does not connect to the
// socket that owner.json names.
func TestPlantedOwner(t *testing.T) {
	site, data := crawled(t, "/a.html")
	reached := false
	pretend(t, data, nil, func(*net.UnixConn) { reached = true })
	if err := os.Chmod(filepath.Join(data, ownerFile), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := call(t.Context(), data, "show", site.URL+"/a.html"); got.status != statusDone || reached {
		t.Errorf("reached: %t, %v", reached, got)
	}
}
