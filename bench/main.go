// Command bench crawls one site on loopback with bare Colly and with acapcrawl, in one run, and prints pages per second of
// both and their ratio.
//
//	go run ./bench [-pages 5000] [-runs 3] [-connections 16]
//
// Server, Colly and acapcrawl are a process each. Colly follows the links from a queue in memory and keeps nothing;
// acapcrawl is the real command: it asks policy, keeps and indexes every page in a data directory of its own. Runs
// alternate, so that what else the machine does strikes both, and the median counts. The time is that of the whole
// process, from start to exit.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	pages := flag.Int("pages", 5000, "pages of the site")
	runs := flag.Int("runs", 3, "runs of each crawler; the median counts")
	connections := flag.Int("connections", 16, "requests under way at once")
	role := flag.String("role", "", "what a process of the benchmark is: serve or colly")
	site := flag.String("site", "", "where the site is, for the role colly")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch *role {
	case "serve":
		err = serve(untilClosed(ctx, os.Stdin), os.Stdout, *pages)
	case "colly":
		err = crawlBare(os.Stdout, *site, *connections)
	default:
		err = compare(ctx, os.Stdout, *pages, *runs, *connections)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// result is one crawl of the whole site.
type result struct {
	pages   int
	seconds float64
	cpu     time.Duration
}

func (r result) perSecond() float64 { return float64(r.pages) / r.seconds }

// crawler runs one crawl of the site at base and returns how many pages it fetched, with the process that did it.
type crawler func(ctx context.Context, base string) (*exec.Cmd, int, error)

func compare(ctx context.Context, out io.Writer, pages, runs, connections int) error {
	if pages < 1 || runs < 1 || connections < 1 {
		return errors.New("-pages, -runs and -connections must be above 0")
	}
	dir, err := os.MkdirTemp("", "acapcrawl-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	binary := filepath.Join(dir, "crawl-under-test")
	fmt.Fprintln(out, "building acapcrawl")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/acapcrawl/acapcrawl/cmd/acapcrawl")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("acapcrawl cannot be built: %w", err)
	}
	base, stop, err := startSite(ctx, self, pages)
	if err != nil {
		return err
	}
	defer stop()

	names := []string{"colly", "acapcrawl"}
	crawlers := map[string]crawler{
		"colly": func(ctx context.Context, base string) (*exec.Cmd, int, error) {
			return bare(ctx, self, base, connections)
		},
		"acapcrawl": func(ctx context.Context, base string) (*exec.Cmd, int, error) {
			return real(ctx, binary, dir, base, connections)
		},
	}
	fmt.Fprintf(out, "%d pages, %d connections, %d runs of each\n", pages, connections, runs)
	results := map[string][]result{}
	for range runs {
		for _, name := range names {
			start := time.Now()
			cmd, n, err := crawlers[name](ctx, base)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			r := result{pages: n, seconds: time.Since(start).Seconds(), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
			if n < pages {
				return fmt.Errorf("%s fetched %d of %d pages", name, n, pages)
			}
			fmt.Fprintf(out, "  %-10s %6.0f pages/s\n", name, r.perSecond())
			results[name] = append(results[name], r)
		}
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "median\tpages/s\tCPU ms/page\t")
	for _, name := range names {
		m := median(results[name])
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t\n", name, m.perSecond(), float64(m.cpu.Microseconds())/1000/float64(m.pages))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	ratio := median(results["acapcrawl"]).perSecond() / median(results["colly"]).perSecond()
	_, err = fmt.Fprintf(out, "acapcrawl / colly = %.2f\n", ratio)
	return err
}

func median(rs []result) result {
	sorted := slices.SortedFunc(slices.Values(rs), func(a, b result) int {
		return int(a.seconds*1e9) - int(b.seconds*1e9)
	})
	return sorted[len(sorted)/2]
}

// untilClosed ends with in, so that the server does not outlive a benchmark that was killed.
func untilClosed(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, in)
		cancel()
	}()
	return ctx
}

// startSite runs the server as a process of its own and returns its address.
func startSite(ctx context.Context, self string, pages int) (base string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "-role", "serve", "-pages", strconv.Itoa(pages))
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe() // open as long as this process is
	if err != nil {
		cancel()
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() {
		cancel()
		cmd.Wait() // ended by us: its status says nothing
	}
	base, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the server did not start: %w", err)
	}
	return strings.TrimSpace(base), stop, nil
}

// bare crawls with Colly alone.
func bare(ctx context.Context, self, base string, connections int) (*exec.Cmd, int, error) {
	cmd := exec.CommandContext(ctx, self, "-role", "colly", "-site", base, "-connections", strconv.Itoa(connections))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	return cmd, n, err
}

// real crawls with the command acapcrawl, into a data directory that is new.
func real(ctx context.Context, binary, dir, base string, connections int) (*exec.Cmd, int, error) {
	data, err := os.MkdirTemp(dir, "data-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(data)
	cmd := exec.CommandContext(ctx, binary, "crawl", "--json", "--delay", "0", "--concurrency", strconv.Itoa(connections), "--data", data, base+"/")
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, err
	}
	var summary struct {
		Fetched int `json:"fetched"`
	}
	if err := json.Unmarshal(out, &summary); err != nil {
		return nil, 0, fmt.Errorf("the summary of crawl: %w", err)
	}
	return cmd, summary.Fetched, nil
}
