package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// spending is what one process took.
type spending struct {
	took, cpu     time.Duration
	written, peak int64 // bytes written to disk, and the largest anonymous memory in bytes
}

func (s spending) plus(o spending) spending {
	return spending{s.took + o.took, s.cpu + o.cpu, s.written + o.written, max(s.peak, o.peak)}
}

// verb is something that an operator does with an archive: one or several commands.
type verb struct {
	name     string
	commands [][]string
	fails    bool     // the command may end with a status other than 0, because it finds nothing
	killed   []string // a command that is run and killed first; nil: none
}

// verbs lists what measureHeld measures. The verbs after the take-downs use the changed archive.
func (s *stage) verbs(work string) []verb {
	page := s.site.address(s.pages / 2)
	return []verb{
		{name: "version", commands: [][]string{{"version"}}},
		{name: "open (archive stats)", commands: [][]string{{"archive", "stats"}}},
		{name: "search", commands: [][]string{{"search", s.site.frequentWord()}}},
		{name: "show", commands: [][]string{{"show", page}}},
		{name: "explain", commands: [][]string{{"explain", page}}},
		{name: "crawl one more page", commands: [][]string{{"crawl", "--delay", "0", "--max-pages", "1",
			s.site.hosts[0] + "/p/1.html?again"}}, fails: true},
		{name: "sweep, nothing due", commands: [][]string{{"sweep"}}},
		{name: "sweep after a killed crawl", commands: [][]string{{"sweep"}},
			killed: append([]string{"crawl", "--delay", "0", "--refetch"}, s.site.seeds()...)},
		{name: "take-down and compact", commands: [][]string{{"actions", "submit", "take-down", page},
			{"archive", "compact"}}},
		{name: "a second take-down",
			commands: [][]string{{"actions", "submit", "take-down", s.site.address(s.pages / 4)},
				{"archive", "compact"}}},
		{name: "verify", commands: [][]string{{"archive", "verify"}}},
		{name: "ls", commands: [][]string{{"archive", "ls", "--json"}}},
		{name: "export", commands: [][]string{{"archive", "export", "--output", filepath.Join(work, "out.warc.gz")}}},
	}
}

// frequentWord returns a word that more pages contain than any other. A search for it examines the
// greatest number of results that a search examines, if a few thousand pages are held.
func (s site) frequentWord() string {
	pages := map[string]int{}
	for i := range min(s.pages, 100) {
		_, text, _ := strings.Cut(string(s.page(i)), "<p>")
		words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" .<>/\n", r) })
		slices.Sort(words)
		for _, word := range slices.Compact(words) {
			pages[word]++
		}
	}
	for _, tag := range []string{"p", "body", "html"} {
		delete(pages, tag)
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(pages)), func(a, b string) int { return pages[a] - pages[b] })
}

// measureHeld crawls a site for each number of pages in sizes, and prints what each verb costs with
// so many captures held.
func measureHeld(ctx context.Context, out io.Writer, o order, sizes string) error {
	s, err := newStage(ctx, out, o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	for size := range strings.SplitSeq(sizes, ",") {
		if s.pages, err = strconv.Atoi(size); err != nil || s.pages < 8 {
			return fmt.Errorf("-held: %q is not a number of pages from 8", size)
		}
		if err := s.held(ctx, out); err != nil {
			return fmt.Errorf("with %d pages: %w", s.pages, err)
		}
	}
	return nil
}

// held crawls the whole site, and measures the verbs with its pages held.
func (s *stage) held(ctx context.Context, out io.Writer) error {
	stop, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer stop()
	work, err := os.MkdirTemp(s.dir, "held-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	data, n := filepath.Join(work, "data"), strconv.Itoa(s.connections)
	crawl := append([]string{"crawl", "--delay", "0", "--concurrency", n, "--per-host", n}, s.site.seeds()...)
	spent, err := s.spend(ctx, data, crawl, false)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d pages, archived and indexed in %.0f s\n", s.pages, spent.took.Seconds())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "verb\tseconds\tCPU ms\tMB written\tpeak MB\t")
	for _, v := range s.verbs(work) {
		var sum spending
		if v.killed != nil {
			if err := s.kill(ctx, data, v.killed); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
		}
		for _, args := range v.commands {
			spent, err := s.spend(ctx, data, args, v.fails)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			sum = sum.plus(spent)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%d\t%.1f\t%.0f\t\n", v.name, sum.took.Seconds(), sum.cpu.Milliseconds(),
			float64(sum.written)/1e6, float64(sum.peak)/1e6)
	}
	return w.Flush()
}

// killAfter is how long kill lets a command run.
const killAfter = time.Second

// kill runs a command of acapcrawl for a short time, and kills it.
func (s *stage) kill(ctx context.Context, data string, args []string) error {
	ctx, stop := context.WithTimeout(ctx, killAfter)
	defer stop()
	cmd := s.command(ctx, data, args)
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		return fmt.Errorf("a crawl of so few pages ends within %s and cannot be killed: give -held a larger number",
			killAfter)
	}
	return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
}

// spend runs a command of acapcrawl and returns what it took. If fails is true, its exit status may
// be other than 0.
func (s *stage) spend(ctx context.Context, data string, args []string, fails bool) (spending, error) {
	cmd := s.command(ctx, data, args)
	var told strings.Builder
	cmd.Stderr = &told
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return spending{}, err
	}
	w := watch(cmd.Process.Pid)
	err := cmd.Wait()
	out := spending{took: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	out.peak, out.written = w.end()
	out.written = max(out.written, blocksWritten(cmd.ProcessState))
	if err != nil && !fails {
		return out, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, told.String())
	}
	return out, nil
}
