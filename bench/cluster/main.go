// Command cluster simulates a cluster of crawlers in virtual time.
//
//	go run ./bench/cluster [-nodes 100] [-hosts 10000000] [-urls 1000000000] [-lasts 1h] [-seed 1]
//
// It prints pages per second, the shortest time between two requests to a host, and what coordination costs per page.
// If it is interrupted, it prints what it has found so far. It exits with status 1 if a request left that should not
// have left. See package cluster/simulation for what is simulated and what is a model.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster/simulation"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run() error {
	o := simulation.Default(100, 10_000_000, 1_000_000_000)
	flag.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes")
	flag.IntVar(&o.Hosts, "hosts", o.Hosts, "hosts")
	flag.IntVar(&o.URLs, "urls", o.URLs, "URLs of all hosts")
	flag.IntVar(&o.Visits, "visits", o.Visits, "visits of a node at the same time")
	flag.IntVar(&o.Partitions, "partitions", o.Partitions, "partitions")
	flag.Float64Var(&o.Links, "links", o.Links, "new links of a page to other partitions")
	flag.DurationVar(&o.Lasts, "lasts", o.Lasts, "virtual time")
	flag.DurationVar(&o.FaultEvery, "fault-every", o.FaultEvery, "mean time between faults of nodes; 0: none")
	flag.DurationVar(&o.StoreFault, "store-fault-every", o.StoreFault,
		"mean time between losses of the quorum; 0: none")
	flag.Uint64Var(&o.Seed, "seed", o.Seed, "the same seed gives the same result")
	profile := flag.String("cpuprofile", "", "file for a CPU profile")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	began := time.Now()
	s, err := simulation.New(o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := s.Run(ctx, func(r simulation.Result) {
		if len(r.Minutes)%5 == 0 {
			fmt.Fprintf(os.Stderr, "%s of virtual time in %s: %d pages, %d violations\n", r.Lasted,
				time.Since(began).Round(time.Second), r.Pages, r.Violations)
		}
	})
	if err := r.Write(os.Stdout); err != nil {
		return err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(os.Stderr, "It took %s and %d MB of memory.\n", time.Since(began).Round(time.Second), m.Sys>>20)
	if r.Violations > 0 {
		return fmt.Errorf("%d requests left that should not have left", r.Violations)
	}
	return nil
}
