// Command bench measures acapcrawl and other programs on the same site on 127.0.0.1.
//
//		go run ./bench [-pages 5000] [-runs 3] [-connections 16] [-hosts 4] [-bytes 15360]
//			[-latency 0] [-only colly,archive]
//
//	  - floor: Go's HTTP client and a tokenizer that finds links; no crawler can be faster
//	  - colly: Colly without acapcrawl; it follows links from a queue in memory and stores nothing
//	  - policy: acapcrawl, which obeys policies and stores nothing (--preserve=false --index=false)
//	  - archive: acapcrawl, which also stores an encrypted copy of every page (--index=false)
//	  - index: acapcrawl with defaults, which also indexes every page
//	  - bleve: bleve alone, which indexes the texts of the same pages; it fetches no page
//
// Each is a process, and so is the server. Runs alternate, so that other work on the machine
// affects all of them. The medians are printed. On a busy machine, CPU time is more reliable than
// pages per second. The time is that of the whole process from start to exit. For bleve it excludes
// the preparation of the texts. Memory is the largest RssAnon, disk is the number of bytes written
// to disk. Both come from /proc and are 0 without it.
//
// With -hostile 16 it crawls and imports that many copies of each kind of page that is made to take
// much memory, and prints how much memory that takes.
//
// With -polite 1000 it crawls that many hosts at once, and prints how evenly they progress.
//
// With -readers 200 it lets so many readers search and open copies, while a crawl runs and next to 10,000 idle
// connections, and prints how long answers take.
//
// With -held 5000,20000 it crawls sites of so many pages, and prints what each verb then costs.
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

// order holds the command-line options of a run.
type order struct {
	pages, runs, connections, hosts, bytes int
	latency                                time.Duration
	only                                   string // names of contestants, separated by commas; "": all
}

func main() {
	var o order
	flag.IntVar(&o.pages, "pages", 5000, "pages of the site")
	flag.IntVar(&o.runs, "runs", 3, "runs of each; the median counts")
	flag.IntVar(&o.connections, "connections", 16, "requests under way at once")
	flag.IntVar(&o.hosts, "hosts", 4, "hosts of the pages")
	flag.IntVar(&o.bytes, "bytes", 15<<10, "size of a page")
	flag.DurationVar(&o.latency, "latency", 0, "time that the server takes before it answers")
	flag.StringVar(&o.only, "only", "",
		"run only these, separated by commas: floor, colly, policy, archive, index, bleve")
	politely := flag.Int("polite", 0, "instead, crawl this many hosts at once with a second of delay each")
	lasting := flag.Duration("lasting", time.Minute, "how long, with -polite and -readers")
	hostile := flag.Int("hostile", 0,
		"instead, crawl and import this many copies of each kind of hostile page at once, and print the memory that "+
			"takes")
	kinds := flag.String("kinds", "", "with -hostile, only these kinds, separated by commas")
	held := flag.String("held", "",
		"instead, crawl sites of so many pages, numbers separated by commas, and print what "+
			"each verb costs with these pages held")
	readers := flag.Int("readers", 0, "instead, let this many readers use acapcrawl serve, and print how "+
		"long answers take; -lasting says for how long")
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
		case *readers > 0:
			err = measureReaders(ctx, os.Stdout, o, *readers, *lasting)
		case *held != "":
			err = measureHeld(ctx, os.Stdout, o, *held)
		case *hostile > 0:
			err = crawlHostile(ctx, os.Stdout, *hostile, *kinds)
		default:
			err = compare(ctx, os.Stdout, o)
		}
	case "serve":
		s := site{pages: o.pages, bytes: o.bytes}
		err = s.serve(untilClosed(ctx, os.Stdin), os.Stdout, o.hosts, o.latency)
	default:
		s := site{pages: o.pages, bytes: o.bytes, hosts: strings.Fields(*hosts)}
		err = play(os.Stdout, *role, s, o.connections, *dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// play runs the contestant of a role and prints its result.
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

// untilClosed returns a context that ends when in is closed, so that the server does not outlive a
// benchmark that was killed.
func untilClosed(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, in)
		cancel()
	}()
	return ctx
}
