// Command bench crawls one site on loopback with acapcrawl and with what it is measured by, in one run.
//
//		go run ./bench [-pages 5000] [-runs 3] [-connections 16] [-hosts 4] [-latency 0] [-only colly,archive]
//
//	  - floor: Go's HTTP client and a tokenizer that looks for links; no crawler can be faster
//	  - colly: bare Colly, which follows the links from a queue in memory and keeps nothing
//	  - policy: acapcrawl, which asks policy and keeps nothing (--preserve=false --index=false)
//	  - archive: acapcrawl, which also keeps a sealed copy of every page (--index=false)
//	  - index: acapcrawl as it is, which also indexes every page
//	  - bleve: bleve alone, which indexes the texts of the same pages; no page is fetched
//
// Each is a process of its own, and so is the server. Runs alternate, so that what else the machine does strikes all, and the median
// counts; CPU time says more than pages per second on a machine that does other things. The time is that of the whole process, from
// start to exit, but for bleve, where making the texts does not count. Memory is the largest RssAnon seen, disk what was
// written to it; both are asked of /proc, and 0 where there is none.
//
// With -hostile 16 it crawls, and imports, as many copies of pages that are made to take memory,
// and prints how much they take.
//
// With -polite 1000 it crawls as many hosts at once instead, and prints how evenly they progress.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

// order is of what a run does.
type order struct {
	pages, runs, connections, hosts int
	latency                         time.Duration
	only                            string // names of contestants, comma between; "" for all
}

func main() {
	var o order
	flag.IntVar(&o.pages, "pages", 5000, "pages of the site")
	flag.IntVar(&o.runs, "runs", 3, "runs of each; the median counts")
	flag.IntVar(&o.connections, "connections", 16, "requests under way at once")
	flag.IntVar(&o.hosts, "hosts", 4, "hosts that the pages stand on")
	flag.DurationVar(&o.latency, "latency", 0, "time that the server takes before it answers")
	flag.StringVar(&o.only, "only", "", "run these alone, comma between: floor, colly, policy, archive, index, bleve")
	politely := flag.Int("polite", 0, "instead, crawl this many hosts at once with a second of delay each")
	lasting := flag.Duration("lasting", time.Minute, "how long, with -polite")
	hostile := flag.Int("hostile", 0, "instead, crawl and import this many copies of each kind of hostile page at once, and print the memory that takes")
	kinds := flag.String("kinds", "", "with -hostile, these kinds alone, comma between")
	role := flag.String("role", "", "what a process of the benchmark is: serve, floor, colly or bleve")
	hosts := flag.String("site", "", "the hosts of the site, blanks between, for a process of the benchmark")
	dir := flag.String("dir", "", "where a process of the benchmark may write")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch *role {
	case "":
		switch {
		case *politely > 0:
			err = crawlPolitely(ctx, os.Stdout, *politely, *lasting)
		case *hostile > 0:
			err = crawlHostile(ctx, os.Stdout, *hostile, *kinds)
		default:
			err = compare(ctx, os.Stdout, o)
		}
	case "serve":
		err = serve(untilClosed(ctx, os.Stdin), os.Stdout, o.pages, o.hosts, o.latency)
	default:
		err = play(os.Stdout, *role, site{pages: o.pages, hosts: strings.Fields(*hosts)}, o.connections, *dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// play does what a role does, and prints its result.
func play(out io.Writer, role string, s site, connections int, dir string) error {
	var r result
	var err error
	start := time.Now()
	switch role {
	case "floor":
		r.Pages, err = crawlFloor(s.seeds(), connections)
	case "colly":
		r.Pages, err = crawlColly(s.seeds(), connections)
	case "bleve":
		var before time.Duration
		r.Pages, err = indexBleve(s, dir, func() { start, before = time.Now(), cpu() })
		r.CPU = cpu() - before
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	return json.NewEncoder(out).Encode(r)
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
