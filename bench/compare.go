package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// result is the result of one run of one contestant.
type result struct {
	Pages   int
	Seconds float64
	CPU     time.Duration
	peak    int64 // anonymous memory in bytes
	written int64 // bytes
}

func (r result) perSecond() float64 { return float64(r.Pages) / r.Seconds }

func (r result) perPage() float64 { return float64(r.CPU.Microseconds()) / 1000 / float64(r.Pages) }

// contestant is a program that is measured: a command that prints a result, or the summary of a
// crawl.
type contestant struct {
	name string
	own  bool // the contestant is a role of this program, and not the program acapcrawl
	args []string
}

// contestants lists the programs that are measured, in the order of the runs.
var contestants = []contestant{
	{name: "floor", own: true},
	{name: "colly", own: true},
	{name: "policy", args: []string{"--preserve=false", "--index=false"}},
	{name: "archive", args: []string{"--index=false"}},
	{name: "index"},
	{name: "bleve", own: true},
}

// ratios are the ratios of pages per second that are printed at the end, each with the value that
// it should reach; 0 means no such value.
var ratios = []struct {
	of, by string
	goal   float64
}{{"archive", "colly", 1}, {"index", "colly", 0.8}, {"index", "bleve", 0.8}, {"policy", "floor", 0}}

// stage is the environment of the runs.
type stage struct {
	order
	site         site
	dir          string
	self, binary string
}

// newStage makes a directory for the runs, which the caller must remove, and builds acapcrawl in it.
func newStage(ctx context.Context, out io.Writer, o order) (*stage, error) {
	dir, err := os.MkdirTemp("", "acapcrawl-bench-")
	if err != nil {
		return nil, err
	}
	s := &stage{order: o, dir: dir, binary: filepath.Join(dir, "crawl-under-test")}
	if s.self, err = os.Executable(); err == nil {
		err = build(ctx, out, s.binary)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func compare(ctx context.Context, out io.Writer, o order) error {
	if o.pages < 1 || o.runs < 1 || o.connections < 1 || o.hosts < 1 || o.bytes < 1 {
		return errors.New("-pages, -runs, -connections, -hosts and -bytes must be above 0")
	}
	names := strings.Split(o.only, ",")
	chosen := slices.DeleteFunc(slices.Clone(contestants),
		func(c contestant) bool { return o.only != "" && !slices.Contains(names, c.name) })
	s, err := newStage(ctx, out, o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	stop, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(out, "%d pages of %d bytes on %d hosts, %d connections, answers after %s, %d runs of each\n", o.pages,
		o.bytes, o.hosts, o.connections, o.latency, o.runs)
	results := map[string][]result{}
	for range o.runs {
		for _, c := range chosen {
			r, err := s.run(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			fmt.Fprintf(out, "  %-8s %6.0f pages/s %6.2f CPU ms/page\n", c.name, r.perSecond(), r.perPage())
			results[c.name] = append(results[c.name], r)
		}
	}
	return report(out, o, chosen, results)
}

// build builds acapcrawl.
func build(ctx context.Context, out io.Writer, binary string) error {
	fmt.Fprintln(out, "building acapcrawl")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/acapcrawl/acapcrawl/cmd/acapcrawl")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("acapcrawl cannot be built: %w", err)
	}
	return nil
}

func report(out io.Writer, o order, chosen []contestant, results map[string][]result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "median\tpages/s\tCPU ms/page\tpeak MB\tdisk MB\t")
	rate := func(name string) float64 { return median(results[name], result.perSecond) }
	for _, c := range chosen {
		rs := results[c.name]
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.0f\t%.0f\t\n", c.name, rate(c.name), median(rs, result.perPage),
			median(rs, func(r result) float64 { return float64(r.peak) / 1e6 }),
			median(rs, func(r result) float64 { return float64(r.written) / 1e6 }))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range ratios {
		if len(results[r.of]) == 0 || len(results[r.by]) == 0 {
			continue
		}
		fmt.Fprintf(out, "%s / %s = %.2f pages/s", r.of, r.by, rate(r.of)/rate(r.by))
		if spent := median(results[r.of], result.perPage); spent > 0 {
			fmt.Fprintf(out, ", %.2f by CPU", median(results[r.by], result.perPage)/spent)
		}
		if r.goal > 0 {
			fmt.Fprintf(out, " (goal %.2f)", r.goal)
		}
		fmt.Fprintln(out)
	}
	if o.latency > 0 {
		possible := float64(o.connections) / o.latency.Seconds()
		for _, c := range chosen {
			if c.name != "bleve" {
				fmt.Fprintf(out, "%s: %.2f of the %.0f pages/s that are possible\n", c.name, rate(c.name)/possible,
					possible)
			}
		}
	}
	return nil
}

// median returns the median of the values that the function of returns for the results.
func median(rs []result, of func(result) float64) float64 {
	sorted := slices.SortedFunc(slices.Values(rs), func(a, b result) int { return cmp.Compare(of(a), of(b)) })
	return of(sorted[len(sorted)/2])
}

// open starts the server as a separate process.
func (s *stage) open(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, s.self, "-role", "serve", "-pages", strconv.Itoa(s.pages), "-bytes",
		strconv.Itoa(s.bytes), "-hosts", strconv.Itoa(s.hosts), "-latency", s.latency.String())
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe() // the input stays open until this process ends
	if err != nil {
		cancel()
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	stop = func() {
		cancel()
		cmd.Wait() // the exit status does not matter, because cancel killed it
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	s.site = site{pages: s.pages, bytes: s.bytes, hosts: strings.Fields(line)}
	return stop, nil
}

// command returns a command of acapcrawl with the given data directory.
func (s *stage) command(ctx context.Context, data string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.binary, append(args, "--data", data)...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+s.dir)
	return cmd
}

// run lets one contestant fetch or index the whole site once.
func (s *stage) run(ctx context.Context, c contestant) (result, error) {
	work, err := os.MkdirTemp(s.dir, c.name+"-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(work)
	var cmd *exec.Cmd
	n := strconv.Itoa(s.connections)
	if c.own {
		cmd = exec.CommandContext(ctx, s.self, "-role", c.name, "-pages", strconv.Itoa(s.pages), "-bytes",
			strconv.Itoa(s.bytes), "-site", strings.Join(s.site.hosts, " "), "-connections", n, "-dir", work)
	} else {
		args := append([]string{"crawl", "--json", "--delay", "0", "--concurrency", n, "--per-host", n}, c.args...)
		cmd = s.command(ctx, work, append(args, s.site.seeds()...))
	}
	cmd.Stderr = os.Stderr
	var printed strings.Builder
	cmd.Stdout = &printed
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	w := watch(cmd.Process.Pid)
	err = cmd.Wait()
	took := time.Since(start).Seconds()
	peak, written := w.end()
	if err != nil {
		return result{}, err
	}
	r, err := read(printed.String(), c.own)
	if err != nil {
		return result{}, fmt.Errorf("what it printed: %w", err)
	}
	if r.Pages < s.pages {
		return result{}, fmt.Errorf("%d of %d pages came", r.Pages, s.pages)
	}
	if c.name != "bleve" {
		r.Seconds, r.CPU = took, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	}
	r.peak, r.written = peak, written
	return r, nil
}

// read parses the output of a contestant. If own is true, the output is a result, otherwise the
// summary of a crawl.
func read(printed string, own bool) (r result, err error) {
	if own {
		err = json.Unmarshal([]byte(printed), &r)
		return r, err
	}
	var summary struct {
		Fetched int `json:"fetched"`
	}
	for d := json.NewDecoder(strings.NewReader(printed)); ; { // the summary is the last object
		if err := d.Decode(&summary); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return result{Pages: summary.Fetched}, err
		}
	}
}
