package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	kills    = flag.Int("kills", 6, "how many processes TestKilledAtRandom kills")
	killSeed = flag.Uint64("killseed", 0, "seed of TestKilledAtRandom; 0: another one each time")
)

// prey is a site whose pages have one unique word each, together with a data directory. The test
// kills processes that crawl the site into this directory. prey records which pages must or must
// not be archived.
type prey struct {
	*httptest.Server
	dir    string
	random *rand.Rand
	took   map[string]time.Duration // name of an activity → how long the activity takes if it is not killed

	mu      sync.Mutex
	visits  int
	bare    map[int]bool // numbers of the pages that robots.txt prohibits to preserve
	down    map[int]bool // numbers of the pages whose take-down was recorded
	refused []string     // requests that the site received although they were prohibited
	held    map[int]bool // numbers of the pages that were archived at the last check and may still be archived
}

const preyPages = 60

func newPrey(t *testing.T, seed uint64) *prey {
	p := &prey{dir: filepath.Join(t.TempDir(), "data"), random: rand.New(rand.NewPCG(seed, seed)),
		took: map[string]time.Duration{},
		bare: map[int]bool{}, down: map[int]bool{}, held: map[int]bool{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *prey) at(i int) string { return fmt.Sprintf("%s/%d", p.URL, i) }

// word returns the word that only page i contains.
func word(i int) string { return fmt.Sprintf("quokka%dz", i) }

func (p *prey) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		fmt.Fprint(w, "User-agent: *\nDisallow: /shut/\nACAP-crawler: *\nACAP-disallow-crawl: /shut/\n")
		for i := range preyPages {
			if p.bare[i] {
				fmt.Fprintf(w, "ACAP-disallow-preserve: /%d$\n", i)
			}
		}
		return
	}
	if r.URL.Path == "/.well-known/tdmrep.json" {
		http.NotFound(w, r)
		return
	}
	i := -1
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil || p.down[i] {
		p.refused = append(p.refused, r.URL.Path)
		http.NotFound(w, r)
		return
	}
	p.visits++
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<html lang=en><title>Page %d</title><p>A wallaby, %s, seen %d times.<a href=/shut/%d>shut</a>", i,
		word(i), p.visits, i)
	for _, next := range []int{2*i + 1, 2*i + 2, i + 1} {
		if next < preyPages {
			fmt.Fprintf(w, " <a href=/%d>on</a>", next)
		}
	}
}

// activity is a verb with arguments that the test starts and may kill. done is called if the
// process was not killed.
type activity struct {
	name string
	args []string
	done func()
}

// choose returns a random activity, and changes the site if the activity requires that.
func (p *prey) choose(n int) activity {
	p.mu.Lock()
	defer p.mu.Unlock()
	page := 1 + p.random.IntN(preyPages-1)
	switch p.random.IntN(6) {
	case 0:
		if len(p.down) < preyPages/3 && !p.down[page] && p.held[page] {
			return activity{"take-down", []string{"actions", "submit", "take-down", p.at(page)},
				func() { p.note(page) }}
		}
	case 1:
		return activity{name: "compact", args: []string{"archive", "compact"}}
	case 2:
		return activity{name: "backup", args: []string{"archive", "backup", "--force", p.backup(n)}}
	case 3:
		if len(p.bare) < preyPages/3 {
			p.bare[page] = true
			delete(p.held, page) // from now on, the archived copy of the page may be missing
		}
		return activity{name: "sweep", args: []string{"sweep", "--refresh"}}
	}
	return activity{name: "crawl", args: []string{"crawl", "--refetch", "--delay", "0", "--concurrency", "4",
		"--max-pages", "25", p.at(0)}}
}

func (p *prey) backup(n int) string { return fmt.Sprintf("%s-%d.tar", p.dir, n) }

// note records that the take-down of a page is in the ledger: from now on the page must not be
// requested or shown.
func (p *prey) note(page int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down[page] = true
	delete(p.held, page)
}

// kill starts the process of activity a and kills the process at a random moment of its usual
// duration. It returns false if the process ended before that.
func (p *prey) kill(t *testing.T, a activity) bool {
	t.Helper()
	cmd := exec.Command("acapcrawl", append(slices.Clone(a.args), "--data", p.dir)...)
	cmd.Env = append(os.Environ(), "ACAPCRAWL_DELAY=0s")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	expected := p.took[a.name]
	if expected == 0 {
		expected = time.Second
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(p.random.Float64()*1.05*float64(expected)), func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && !exit.Exited():
		return true
	case err != nil && exit.ExitCode() != statusNothing:
		t.Errorf("%v: %v\n%s", a.args, err, said.String())
	}
	if p.took[a.name] = time.Since(begun); a.done != nil {
		a.done()
	}
	return false
}

// TestKilledAtRandom kills crawls, take-downs, compactions, backups and sweeps at random moments.
// After each kill it checks that no page was lost, that no prohibited request was made, and that no
// erased page can be read. With -kills 1000 the test takes about half an hour.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	const lives = 3
	for life := range lives {
		t.Run(fmt.Sprint(life), func(t *testing.T) {
			t.Parallel()
			p := newPrey(t, seed+uint64(life))
			p.must(t, 0, "crawl", "--delay", "0", p.at(0))
			p.look(t)
			counts := map[string]int{}
			for n, killed := 0, 0; killed < (*kills+lives-1)/lives && !t.Failed(); n++ {
				a := p.choose(n)
				if p.kill(t, a) {
					killed++
					counts[a.name]++
				}
				p.after(t, a, n)
			}
			p.last(t)
			t.Logf("seed %d: killed %v; %d pages taken down, %d that must not be preserved", seed, counts, len(p.down),
				len(p.bare))
		})
	}
}

// must runs a verb that is not killed, and returns its output. The test fails if the exit status is
// not status.
func (p *prey) must(t *testing.T, status int, verb ...string) string {
	t.Helper()
	out, got := do(t, "acapcrawl", "", p.dir, verb...)
	if got != status {
		t.Errorf("%v ended with %d, want %d:\n%s", verb, got, status, out)
	}
	return out
}

// after checks the state after an activity ended or was killed.
func (p *prey) after(t *testing.T, a activity, n int) {
	t.Helper()
	p.must(t, 0, "actions", "verify")
	switch a.name {
	case "take-down":
		p.noticed(t)
	case "sweep":
		p.must(t, 0, "sweep", "--refresh") // erases pages that policy no longer permits to keep
	case "backup":
		if _, err := os.Stat(p.backup(n)); err == nil {
			p.restored(t, p.backup(n))
		}
	}
	p.sound(t)
	p.look(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) > 0 {
		t.Errorf("%s: requested %q", a.name, p.refused)
	}
}

// sound checks that the stores are intact. Items that the next sweep removes are not counted as
// damage, because the process may have been killed between an erasure and the removal of the last
// record.
func (p *prey) sound(t *testing.T) {
	t.Helper()
	out, status := do(t, "acapcrawl", "", p.dir, "archive", "verify")
	if status == 0 {
		return
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, p.URL) && !strings.Contains(line, "is due for sweep: record, nothing else is left") {
			t.Errorf("archive verify ended with %d: %s", status, out)
			return
		}
	}
	p.must(t, 0, "sweep")
	p.must(t, 0, "archive", "verify")
}

// noticed finds the take-downs that were recorded although the process that submitted them was
// killed. It checks that these take-downs are in force at once, and that actions run executes them.
func (p *prey) noticed(t *testing.T) {
	t.Helper()
	var list []struct{ Action, URL, State string }
	out := p.must(t, 0, "actions", "ls", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err, out)
	}
	for _, r := range list {
		page := -1
		if _, err := fmt.Sscanf(strings.TrimPrefix(r.URL, p.URL), "/%d", &page); err != nil {
			t.Fatal(r)
		}
		p.note(page)
		if r.State != "done" {
			p.unreadable(t, page)
			p.must(t, 0, "actions", "run")
		}
	}
	if len(list) > 0 {
		p.unreadable(t, pageOfURL(list[p.random.IntN(len(list))].URL))
	}
}

func pageOfURL(address string) (page int) {
	_, _ = fmt.Sscan(address[strings.LastIndexByte(address, '/')+1:], &page)
	return page
}

// unreadable checks that no part of a page can be found or shown.
func (p *prey) unreadable(t *testing.T, page int) {
	t.Helper()
	for _, verb := range [][]string{{"search", word(page)}, {"show", p.at(page)}, {"show", "--snippet", p.at(page)}} {
		if out, status := do(t, "acapcrawl", "", p.dir, verb...); status == 0 || strings.Contains(out, "wallaby") {
			t.Errorf("%v ended with %d: %s", verb, status, out)
		}
	}
}

// look checks that no page is lost that was archived at the previous check.
func (p *prey) look(t *testing.T) {
	t.Helper()
	var list []struct{ URL string }
	out, status := do(t, "acapcrawl", "", p.dir, "archive", "ls", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 0 {
		t.Fatal(err, out)
	}
	now := map[int]bool{}
	for _, c := range list {
		now[pageOfURL(c.URL)] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for page := range p.held {
		if !now[page] {
			t.Errorf("page %d is lost", page)
		}
	}
	for page := range now {
		if !p.down[page] && !p.bare[page] {
			p.held[page] = true
		}
	}
}

// restored checks that a backup can be restored and is complete, and deletes the backup.
func (p *prey) restored(t *testing.T, backup string) {
	t.Helper()
	to := backup + ".restored"
	if out, status := do(t, "acapcrawl", "", to, "archive", "restore", backup); status != 0 {
		t.Errorf("restore ended with %d: %s", status, out)
	}
	if out, status := do(t, "acapcrawl", "", to, "archive", "verify"); status != 0 {
		t.Errorf("archive verify of what was restored ended with %d: %s", status, out)
	}
	if err := errors.Join(os.RemoveAll(to), os.Remove(backup)); err != nil {
		t.Error(err)
	}
}

// last lets all remaining work finish and compacts the archive. Then it checks that the export
// contains exactly the pages that must be archived, and that nothing is left of the pages that were
// taken down.
func (p *prey) last(t *testing.T) {
	t.Helper()
	for _, verb := range [][]string{{"actions", "run"}, {"sweep", "--refresh"}, {"crawl", "--refetch", "--delay", "0",
		p.at(0)}, {"archive", "compact"},
		{"archive", "verify"}, {"actions", "verify"}} {
		p.must(t, 0, verb...)
	}
	p.look(t)
	file := filepath.Join(t.TempDir(), "all.warc")
	p.must(t, 0, "archive", "export", "-o", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for page := range preyPages {
		if got, want := strings.Contains(string(text), word(page)+","), p.held[page]; got != want {
			t.Errorf("page %d: in the export %v, held %v", page, got, want)
		}
		if p.down[page] {
			p.unreadable(t, page)
			p.must(t, 0, "archive", "verify", "--erased", p.at(page))
		}
	}
	if len(p.refused) > 0 {
		t.Errorf("requested %q", p.refused)
	}
}
