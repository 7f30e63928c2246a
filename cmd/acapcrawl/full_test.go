package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// wordy returns an endless site: each page links to ten others and has the given number of words.
func wordy(t *testing.T, words int, visits *atomic.Int64) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r) // also for /robots.txt
			return
		}
		visits.Add(1)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html lang=en><title>Page %d</title><p>A wallaby, page%dz.", n, n)
		for i := range words {
			fmt.Fprintf(w, " w%xx%x", n, i*i*7919)
		}
		for i := range 10 {
			fmt.Fprintf(w, " <a href=/%d>on</a>", 10*n+i)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// A crawl stops cleanly before the disk is full, says why in one sentence, and continues when there
// is space again.
func TestCrawlLeavesRoom(t *testing.T) {
	visits := &atomic.Int64{}
	s := wordy(t, 2000, visits)
	data := filepath.Join(t.TempDir(), "data")
	const most = 20
	run := func(full bool, args ...string) (status int, said string) {
		var out, err bytes.Buffer
		c := Command{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Env: []string{"ACAPCRAWL_DELAY=0s"}}
		c.free = func(string) (free, total int64, _ error) {
			if full && visits.Load() >= most {
				return 20 << 20, 1 << 40, nil
			}
			return 1 << 39, 1 << 40, nil
		}
		status = c.Main(t.Context(), append(args, "--data", data))
		return status, out.String() + err.String()
	}
	status, said := run(true, "crawl", "--concurrency", "2", "--depth", "-1", s.URL+"/1")
	if n := visits.Load(); status != statusFailed || n < most || n > most+4 ||
		strings.Count(said, "min_free is 256.0 MB") != 1 {
		t.Errorf("status %d, %d pages: %s", status, n, said)
	}
	status, said = run(true, "crawl", "--json")
	if n := visits.Load(); status != statusFailed || n > most+4 || !strings.Contains(said, `"interrupted":true`) {
		t.Errorf("again: status %d, %d pages: %s", status, n, said)
	}
	if status, said = run(true, "archive", "verify"); status != statusDone {
		t.Error(said)
	}
	before := visits.Load()
	if status, said = run(false, "crawl", "--max-pages", "3"); status != statusDone || visits.Load() != before+3 {
		t.Errorf("with room: status %d, %d pages: %s", status, visits.Load()-before, said)
	}
	if status, said = run(true, "crawl", "--min-free", "10MB", "--max-pages", "3"); status != statusDone ||
		visits.Load() != before+6 {
		t.Errorf("with another setting: status %d, %d pages: %s", status, visits.Load()-before, said)
	}
}

// fullScript fills a small disk and tries verbs on a data directory there. For a step with an
// unexpected status it prints the number, the status and the output.
const fullScript = `step 1 4 acapcrawl crawl --data "$D/d" --delay 0 --concurrency 4 --depth -1 "$S/1"
says 1 min_free
cat /dev/zero >"$D/fill" 2>"$OUT/dd"
[ "$(df --output=avail "$D" | tail -n 1)" -eq 0 ] || { df "$D"; cat "$OUT/dd"; exit 91; }
step 2 0 acapcrawl archive ls --data "$D/d"
step 3 0 acapcrawl search --data "$D/d" wallaby
step 4 0 acapcrawl show --data "$D/d" "$S/1"
step 5 0 acapcrawl archive stats --data "$D/d"
step 6 0 acapcrawl archive verify --data "$D/d"
step 7 0 acapcrawl actions submit take-down --data "$D/d" "$S/1"
says 7 "done 2"
step 8 1 acapcrawl show --data "$D/d" "$S/1"
step 9 1 acapcrawl search --data "$D/d" page1z
step 10 0 acapcrawl archive verify --data "$D/d" --erased "$S/1"
step 11 0 acapcrawl sweep --data "$D/d"
step 12 0 acapcrawl actions ls --data "$D/d"
step 13 4 acapcrawl crawl --data "$D/d" --delay 0
step 14 0 acapcrawl archive verify --data "$D/d"
rm "$D/fill"
step 15 0 acapcrawl archive verify --data "$D/d"
`

// On a disk that is really full, archived pages can be read, and a take-down is recorded and
// executed.
func TestReallyFullDisk(t *testing.T) { onSmallDisk(t, "16m", 2000, fullScript) }

// behindScript crawls large pages, many at once, and deletes the index. Then it fills the disk, so
// that there is too little space to build the index again.
const behindScript = `step 1 4 acapcrawl crawl --data "$D/d" --delay 0 --concurrency 16 --depth -1 "$S/1"
says 1 min_free
step 2 0 acapcrawl search --data "$D/d" wallaby
rm -r "$D/d/index"
head -c "$((($(df --output=avail -k "$D" | tail -n 1) - 1024) * 1024))" /dev/zero >"$D/fill"
step 3 0 acapcrawl archive ls --data "$D/d"
says 3 "no room for the index"
step 4 1 acapcrawl search --data "$D/d" wallaby
step 5 0 acapcrawl show --data "$D/d" "$S/1"
step 6 0 acapcrawl actions submit take-down --data "$D/d" "$S/1"
says 6 "done 2"
step 7 1 acapcrawl show --data "$D/d" "$S/1"
step 8 0 acapcrawl archive verify --data "$D/d" --erased "$S/1"
step 9 0 acapcrawl sweep --data "$D/d"
rm "$D/fill"
step 10 0 acapcrawl archive verify --data "$D/d"
step 11 0 acapcrawl search --data "$D/d" wallaby
`

// If the disk has some space but not enough for the index, archived pages can be read, take-downs
// are executed, and the index is completed when there is space.
func TestIndexWaitsForRoom(t *testing.T) { onSmallDisk(t, "10m", 20_000, behindScript) }

// smallDisk is put before fullScript and behindScript: it mounts a small disk and defines the
// functions step and says.
const smallDisk = `mount -t tmpfs -o size="$SIZE" tmpfs "$D" || exit 90
step() { n=$1 want=$2; shift 2; "$@" >"$OUT/said" 2>&1; got=$?
	if [ $got != $want ]; then echo "$n: $* ended with $got, want $want:"; cat "$OUT/said"; fi; }
says() { grep -q "$2" "$OUT/said" || { echo "$1: it does not say $2"; cat "$OUT/said"; }; }
`

// onSmallDisk runs a script on a disk of the given size, and serves a site whose pages have the
// given number of words. Mounting the disk requires a user namespace.
func onSmallDisk(t *testing.T, size string, words int, script string) {
	t.Parallel() // tests that call onSmallDisk mostly wait for the disk or for a process
	if out, err := exec.Command("unshare", "-rm", "true").CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted here: unshare -rm: %v %s", err, out)
	}
	s := wordy(t, words, &atomic.Int64{})
	disk, said := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c", smallDisk+script)
	cmd.Env = append(os.Environ(), "D="+disk, "OUT="+said, "S="+s.URL, "SIZE="+size)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 90 {
		t.Skipf("a small disk cannot be mounted here: %s", out)
	}
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
